package meta

import (
	"errors"
	"fmt"
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Request is the request of a command on hosts, replicas and steps: one type for each kind of command. Package hosts
// or package plan carries the request out; the rules are in the DESIGN.md of the package.
type Request interface {
	kind() CommandKind
	// code writes the fields, or reads the fields.
	code(c *form.Coder)
	// apply carries the request out. The machine has a topology, except before HostsFound.
	apply(m *Machine, at hosts.At) hosts.Answer
}

// Origin says who asks for a change of hosts, replicas or steps, and why.
type Origin struct {
	Wall uint64 // the wall clock of the proposing host, in milliseconds; for people
	By   string // a principal, a host, or the governor
	Why  string
}

// NewCommand returns the command of a request.
func NewCommand(r Request, o Origin) Command { return Command{Kind: r.kind(), Request: r, Origin: o} }

// requests makes an empty request of each kind.
var requests = func() map[CommandKind]func() Request {
	kinds := make(map[CommandKind]func() Request)
	for _, make := range []func() Request{
		func() Request { return &HostsFound{} },
		func() Request { return &HostJoin{} },
		func() Request { return &HostBoot{} },
		func() Request { return &HostReturn{} },
		func() Request { return &HostShutdown{} },
		func() Request { return &HostRename{} },
		func() Request { return &HostDrain{} },
		func() Request { return &HostUndrain{} },
		func() Request { return &HostCordon{} },
		func() Request { return &HostAlter{} },
		func() Request { return &HostExpel{} },
		func() Request { return &HostReplace{} },
		func() Request { return &ShardTransfer{} },
		func() Request { return &PolicySet{} },
		func() Request { return &TokenCreate{} },
		func() Request { return &TokenRevoke{} },
		func() Request { return &HostFailed{} },
		func() Request { return &HostReach{} },
		func() Request { return &ReplicasKnown{} },
		func() Request { return &ReplicaCleared{} },
		func() Request { return &StepBegin{} },
		func() Request { return &StepReport{} },
		func() Request { return &StepCancel{} },
		func() Request { return &StepForget{} },
		func() Request { return &AccessGrant{} },
		func() Request { return &AccessRevoke{} },
		func() Request { return &AccessRoleSet{} },
		func() Request { return &AccessRoleDelete{} },
		func() Request { return &AccessTokenCreate{} },
		func() Request { return &AccessTokenRevoke{} },
		func() Request { return &BackupNote{} },
		func() Request { return &ActNote{} },
		func() Request { return &ShardRecover{} },
		func() Request { return &ShardsCounted{} },
		func() Request { return &HostWeigh{} },
	} {
		kinds[make().kind()] = make
	}
	return kinds
}()

// anyLength is the limit of texts and lists on reading. The rules have tighter limits, and refuse longer texts with
// an answer; on reading, everything in the log must be readable.
const anyLength = shard.MaxBatchBytes

// appendRequest writes the origin and the request of a command.
func appendRequest(dst []byte, c *Command) ([]byte, error) {
	if c.Request == nil || c.Request.kind() != c.Kind {
		return dst, fmt.Errorf("unknown kind %d", c.Kind)
	}
	w := form.Writer(nil)
	c.code(w)
	if _, err := readRequest(c.Kind, w.Data()); err != nil {
		return dst, err
	}
	return append(dst, w.Data()...), nil
}

// readRequest reads the form of appendRequest.
func readRequest(kind CommandKind, src []byte) (c Command, err error) {
	c = Command{Kind: kind, Request: requests[kind]()}
	r := form.Reader(src)
	c.code(r)
	return c, r.Finish(kind.String())
}

func (c *Command) code(f *form.Coder) {
	f.Number(&c.Origin.Wall)
	f.Text(&c.Origin.By, anyLength)
	f.Text(&c.Origin.Why, anyLength)
	c.Request.code(f)
}

func (o *Origin) check() error {
	if !form.FitText(hosts.MaxText, o.By, o.Why) {
		return fmt.Errorf("who asks and why are texts of at most %d bytes", hosts.MaxText)
	}
	return nil
}

var errNotFounded = errors.New("the hosts of this cluster are not founded: it goes by the list of those that have " +
	"registered")

// request carries out a command on hosts, replicas and steps.
func (m *Machine) request(c *Command) {
	if err := c.Origin.check(); err != nil {
		m.refuse(protocol.StatusBadRequest, "%v", err)
		return
	}
	if m.topology == nil && c.Kind != CmdHostsFound {
		m.refuse(protocol.StatusPreconditionFailed, "%v", errNotFounded)
		return
	}
	before := m.topology.mark()
	a := c.Request.apply(m, hosts.At{Now: m.clock.Now, Term: m.clock.Term, Wall: c.Origin.Wall, Level: m.level,
		By: c.Origin.By, Why: c.Origin.Why})
	m.answerRequest(&a, before)
}

// answerRequest answers a command on the topology, and reports its changes.
func (m *Machine) answerRequest(a *hosts.Answer, before mark) {
	after := m.topology.mark()
	if a.Status != protocol.StatusSuccess {
		assert(after == before, "what is refused changes nothing")
		m.refuse(a.Status, "%s", form.Cut(a.Text, MaxMessage)).Host = a.Host
		return
	}
	assert(a.Existed == (after == before), "what succeeds changes something, or finds it as it is to be")
	if a.Existed {
		m.accept(FlagExisted).Host = a.Host
		return
	}
	m.topology.forgetSeen()
	m.change(0).Host = a.Host
	m.emit(EffectTopologyChanged)
	for _, h := range m.topology.records.Hosts() {
		if h.Changed > before.records {
			m.emit(EffectHostsChanged)
			break
		}
	}
	for _, e := range m.topology.records.Audit(before.audit+1, math.MaxInt) {
		m.emit(EffectAudited).Entry = e
	}
}
