package meta

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Request is the request in a command on hosts, replicas and steps: one type for each command kind. Package hosts or
// package plan executes the request; the rules are in that package's DESIGN.md.
type Request interface {
	// code writes or reads the fields.
	code(c *codec.Coder)
	// apply executes the request. The machine has a topology, except before HostsBootstrap.
	apply(m *Machine, at hosts.At) hosts.Answer
}

// Origin records who asks for a change to hosts, replicas or steps, and why.
type Origin struct {
	Wall uint64 // the proposing host's wall clock, in milliseconds; informational
	By   string // a principal, a host, or the governor
	Why  string
}

// NewCommand returns the command for a request.
func NewCommand(r Request, o Origin) Command { return Command{Kind: kindOf(r), Request: r, Origin: o} }

// requests creates an empty request for each kind.
var requests = map[CommandKind]func() Request{
	CmdHostsBootstrap:    requestOf[HostsBootstrap],
	CmdHostJoin:          requestOf[HostJoin],
	CmdHostBoot:          requestOf[HostBoot],
	CmdHostReturn:        requestOf[HostReturn],
	CmdHostShutdown:      requestOf[HostShutdown],
	CmdHostRename:        requestOf[HostRename],
	CmdHostDrain:         requestOf[HostDrain],
	CmdHostUndrain:       requestOf[HostUndrain],
	CmdHostCordon:        requestOf[HostCordon],
	CmdHostAlter:         requestOf[HostAlter],
	CmdHostExpel:         requestOf[HostExpel],
	CmdHostReplace:       requestOf[HostReplace],
	CmdShardTransfer:     requestOf[ShardTransfer],
	CmdPolicySet:         requestOf[PolicySet],
	CmdTokenCreate:       requestOf[TokenCreate],
	CmdTokenRevoke:       requestOf[TokenRevoke],
	CmdHostFailed:        requestOf[HostFailed],
	CmdHostReach:         requestOf[HostReach],
	CmdReplicasKnown:     requestOf[ReplicasKnown],
	CmdReplicaCleared:    requestOf[ReplicaCleared],
	CmdStepBegin:         requestOf[StepBegin],
	CmdStepReport:        requestOf[StepReport],
	CmdStepCancel:        requestOf[StepCancel],
	CmdStepForget:        requestOf[StepForget],
	CmdAccessGrant:       requestOf[AccessGrant],
	CmdAccessRevoke:      requestOf[AccessRevoke],
	CmdAccessRoleSet:     requestOf[AccessRoleSet],
	CmdAccessRoleDelete:  requestOf[AccessRoleDelete],
	CmdAccessTokenCreate: requestOf[AccessTokenCreate],
	CmdAccessTokenRevoke: requestOf[AccessTokenRevoke],
	CmdAccessImport:      requestOf[AccessImport],
	CmdBackupNote:        requestOf[BackupNote],
	CmdActNote:           requestOf[ActNote],
	CmdShardRecover:      requestOf[ShardRecover],
	CmdShardsCounted:     requestOf[ShardsCounted],
	CmdShardOverlap:      requestOf[ShardOverlap],
	CmdShardGrants:       requestOf[ShardGrants],
	CmdShardBound:        requestOf[ShardBound],
	CmdHostWeigh:         requestOf[HostWeigh],
	CmdHostSlow:          requestOf[HostSlow],
	CmdSlotMove:          requestOf[SlotMove],
	CmdSlotAssign:        requestOf[SlotAssign],
	CmdShardAdd:          requestOf[ShardAdd],
	CmdShardRemove:       requestOf[ShardRemove],
	CmdShardWeigh:        requestOf[ShardWeigh],
	CmdShardServe:        requestOf[ShardServe],
	CmdShardRetire:       requestOf[ShardRetire],
	CmdShardRestart:      requestOf[ShardRestart],
	CmdRebalance:         requestOf[Rebalance],
}

func requestOf[T any, P interface {
	*T
	Request
}]() Request {
	return P(new(T))
}

// requestKinds has the command kind for each request type.
var requestKinds = func() map[reflect.Type]CommandKind {
	kinds := make(map[reflect.Type]CommandKind)
	for kind, empty := range requests {
		kinds[reflect.TypeOf(empty())] = kind
	}
	return kinds
}()

func kindOf(r Request) CommandKind { return requestKinds[reflect.TypeOf(r)] }

// anyLength is the length limit for texts and lists on reading. The rules have tighter limits, and answer a longer text
// with a refusal; on reading, everything in the log must be readable.
const anyLength = shard.MaxBatchBytes

// appendRequest writes a command's origin and request.
func appendRequest(dst []byte, c *Command) ([]byte, error) {
	if c.Request == nil || kindOf(c.Request) != c.Kind {
		return dst, fmt.Errorf("unknown kind %d", c.Kind)
	}
	w := codec.Writer(nil)
	c.code(w)
	if _, err := readRequest(c.Kind, w.Data()); err != nil {
		return dst, err
	}
	return append(dst, w.Data()...), nil
}

// readRequest reads the result of appendRequest.
func readRequest(kind CommandKind, src []byte) (c Command, err error) {
	c = Command{Kind: kind, Request: requests[kind]()}
	r := codec.Reader(src)
	c.code(r)
	return c, r.Finish(kind.String())
}

func (c *Command) code(f *codec.Coder) {
	codeAll(f, &c.Origin.Wall, &c.Origin.By, &c.Origin.Why)
	c.Request.code(f)
}

// codeAll writes or reads fields, in order.
func codeAll(c *codec.Coder, fields ...any) {
	for _, f := range fields {
		switch f := f.(type) {
		case *uint64:
			c.Number(f)
		case *Checked:
			c.Number((*uint64)(f))
		case *shard.HostID:
			c.Number((*uint64)(f))
		case *ShardID:
			c.Number((*uint64)(f))
		case *level.Level:
			codec.Small(c, f)
		case *bool:
			c.Flag(f)
		case *shard.Slot:
			codec.Small(c, f)
		case *string:
			c.Text(f, anyLength)
		case *hosts.Incarnation:
			c.Fixed(f[:])
		case *[32]byte:
			c.Fixed(f[:])
		case *hosts.Start:
			c.Numbers(&f.Number, &f.Draw)
		case *hosts.Addresses:
			codeAll(c, &f.Raft, &f.Client, &f.Admin)
		case field.Value:
			c.Fields(f.Fields)
		default:
			panic(fmt.Sprintf("meta: a request has a field of type %T", f))
		}
	}
}

func (o *Origin) check() error {
	if !codec.FitText(hosts.MaxText, o.By, o.Why) {
		return fmt.Errorf("who asks and why are texts of at most %d bytes", hosts.MaxText)
	}
	return nil
}

var errNotBootstrapped = errors.New(
	"the hosts of this cluster are not bootstrapped: it goes by the list of those that have " +
		"registered")

// request executes a command on hosts, replicas and steps.
func (m *Machine) request(c *Command) {
	if err := c.Origin.check(); err != nil {
		m.refuse(protocol.StatusBadRequest, "%v", err)
		return
	}
	if m.topology == nil && c.Kind != CmdHostsBootstrap {
		m.refuse(protocol.StatusPreconditionFailed, "%v", errNotBootstrapped)
		return
	}
	before := m.mark()
	a := c.Request.apply(m, hosts.At{Now: m.clock.Now, Term: m.clock.Term, Wall: c.Origin.Wall, Version: m.version + 1,
		Level: m.level, By: c.Origin.By, Why: c.Origin.Why})
	m.answerRequest(&a, before)
}

// answerRequest answers a command on the topology, and reports its changes.
func (m *Machine) answerRequest(a *hosts.Answer, before mark) {
	after := m.mark()
	if a.Status != protocol.StatusSuccess {
		assert(after == before, "what is refused changes nothing")
		m.refuse(a.Status, "%s", codec.Cut(a.Text, MaxMessage)).Host = a.Host
		return
	}
	assert(a.Existed == (after == before), "what succeeds changes something, or finds it as it is to be")
	if a.Existed {
		m.accept(FlagExisted).Host = a.Host
		return
	}
	m.topology.forgetSeen()
	e := m.change(0)
	e.Host, e.Shard = a.Host, a.Shard
	m.emit(EffectTopologyChanged)
	if after.routing > before.routing {
		m.emit(EffectRoutingChanged).Routing = after.routing
	}
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
