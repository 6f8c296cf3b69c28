package meta

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

var topologySeek = flag.Int("topology.seek", 0,
	"for each planted mistake, how many seeds to look through for one that notices it")

// fleet sends commands on hosts, replicas and steps, as sent by hosts, operators and governors in several terms: in any
// order, late, duplicated and numbered.
type fleet struct {
	*rand.Rand
	*cluster
	twin    *topologyTwin
	mistake topologyMistake
	sent    []Command
	tally   map[string]int
}

// topologyMistake is a deliberate bug: in a command before the machine receives the command, in the machine or its
// effects afterwards, or in a restored snapshot.
type topologyMistake struct {
	before   func(f *fleet, s *clock.Stamp, c *Command)
	after    func(f *fleet, c *Command, out *Effects)
	restored func(m *Machine)
}

func newFleet(t *testing.T, seed uint64, mistake topologyMistake) *fleet {
	c := registered(t, "a", "b", "c", "d")
	return &fleet{Rand: rand.New(rand.NewPCG(seed, 41)), cluster: c, twin: newTopologyTwin(c), mistake: mistake,
		tally: map[string]int{}}
}

func (f *fleet) host() *hosts.Host {
	list := f.topology.records.Hosts()
	return list[f.IntN(len(list))]
}

func (f *fleet) ref() string { return string(rune('a' + f.IntN(8))) }

// named returns an existing or former host's name, its id, or an unknown name.
func (f *fleet) named() string {
	switch h := f.host(); f.IntN(6) {
	case 0:
		return fmt.Sprint(h.ID)
	case 1:
		return f.ref()
	default:
		return h.Name
	}
}

// term is the current or previous term.
func (f *fleet) term() uint64 { return f.Clock().Term - uint64(f.IntN(8))/7 }

// phases are the phases of random backups. Few of them hold slot moves.
var phases = []SavePhase{0, SaveDone, SaveGivenUp, SaveDone, SaveGivenUp, SaveBegun, SaveDone, SaveGivenUp, 5,
	SaveGivenUp, SaveDone, SaveGivenUp, SaveGoesOn, SaveGivenUp, SaveDone, SaveGivenUp}

// request makes a request that concerns existing objects often enough to matter.
func (f *fleet) request() Request {
	if f.topology == nil {
		return f.founding()
	}
	h, id := f.host(), ShardID(f.IntN(4))
	switch f.IntN(34) {
	case 31, 32, 33:
		return f.slot(id)
	case 0:
		return &HostsBootstrap{}
	case 1:
		n := shard.HostID(10 + f.IntN(300))
		j := joinOf(f.ref(), n)
		j.Addresses = addressesOf(fmt.Sprint("h", n))
		j.Heard, j.Trusted, j.Token = f.IntN(4) == 0, f.IntN(3) > 0, f.ref()
		if f.IntN(3) == 0 {
			j.Replace = j.Name
		}
		return j
	case 2, 3:
		b := bootOf(h.ID, h.Name, h.Start.Number+uint64(f.IntN(3)))
		b.Incarnation, b.Addresses = h.Incarnation, h.Addresses
		return b
	case 4:
		return &HostReturn{Host: h.ID, Incarnation: h.Incarnation, Epoch: h.Target.Epoch}
	case 5:
		return &HostShutdown{Host: h.ID, Incarnation: h.Incarnation, Start: h.Start}
	case 6:
		return &HostRename{Host: h.ID, Incarnation: h.Incarnation, Start: h.Start, Addresses: addressesOf(f.ref())}
	case 7:
		return &HostFailed{Term: f.term(), Host: h.ID, Epoch: h.Target.Epoch, Reason: hosts.ReasonSilent,
			Text: "silence"}
	case 8:
		return &HostSlow{Term: f.term(), Host: h.ID, Slow: !h.IsSlow(), Text: "slow"}
	case 9:
		return &HostReach{Term: f.term(), Host: h.ID, Variant: h.Target.Variant, Epoch: h.Target.Epoch}
	case 10, 11, 12, 13:
		return f.membership(id)
	case 14, 15, 16:
		return f.begin(h, id)
	case 17, 18, 19:
		return f.report()
	case 20, 21, 22:
		return f.access()
	case 23:
		return &BackupNote{Host: h.ID, Incarnation: h.Incarnation, Shard: id, Phase: phases[f.IntN(len(phases))],
			Bytes: f.Uint64N(9)}
	case 24:
		return &ActNote{Host: h.ID, Incarnation: h.Incarnation, What: strings.Repeat("w", f.IntN(4)*100)}
	default:
		return f.operate(id)
	}
}

// operate makes an operator's request.
func (f *fleet) operate(id ShardID) Request {
	policy := f.topology.records.Policy()
	switch f.IntN(18) {
	case 0:
		return &HostDrain{Host: f.named()}
	case 1, 2, 3:
		for _, h := range f.topology.records.Hosts() {
			if h.Target.Reason == hosts.ReasonDrained {
				return &HostUndrain{Host: h.Name}
			}
		}
		return &HostDrain{Host: f.named()}
	case 4:
		return &HostCordon{Host: f.named(), On: f.IntN(2) == 0}
	case 5:
		if f.IntN(2) == 0 {
			return &HostWeigh{Host: f.named(), Weight: f.Uint64N(hosts.MaxWeight + 2)}
		}
		d, _ := kind.ParseDomain("dc=" + f.ref())
		return &HostAlter{Host: f.named(), Domain: d}
	case 6, 7, 8:
		return &HostExpel{Host: f.named(), Force: f.IntN(2) == 0}
	case 9, 10:
		return &HostReplace{Old: f.named(), New: f.named(), Heard: f.IntN(4) == 0}
	case 11, 12:
		return &ShardTransfer{Shard: id, Host: f.named()}
	case 13:
		to := policy
		to.Copies = 1 + f.IntN(3)
		return &PolicySet{From: policy, To: to}
	case 14:
		return &TokenCreate{ID: f.ref(), Hash: [32]byte{byte(1 + f.IntN(2))}, Millis: f.Uint64N(3000)}
	case 15:
		return &TokenRevoke{ID: f.ref()}
	case 16:
		return &StepCancel{Step: plan.ID(f.Uint64N(uint64(f.topology.plan.Last()) + 2)), Hold: f.Uint64N(500)}
	}
	return &StepForget{Subject: plan.Subject(fmt.Sprintf("shard/%d", f.IntN(3)))}
}

// slot makes a request about one of a few slots: an order, its step, or the outcome.
func (f *fleet) slot(id ShardID) Request {
	slot := shard.Slot(f.IntN(3))
	r := f.topology.records
	from, o := r.SlotOwner(slot), r.SlotOrder(slot)
	switch {
	case f.IntN(5) == 0 || o == nil:
		return &SlotMove{Slot: slot, To: id, Large: f.IntN(2) == 0, Cancel: f.IntN(3) == 0}
	case o.Into == 0 || f.IntN(5) == 0:
		pr := plan.Proposal[governor.Action]{Kind: governor.KindMoveSlot,
			Subject: plan.Subject(fmt.Sprint("slot/", slot)), Payload: governor.Action{Shard: from, Into: o.To,
				Slot: slot, Number: r.MoveGeneration(slot, from, o.To)}}
		return &StepBegin{Term: f.term(), Revision: f.topology.plan.Revision(), Proposal: pr}
	case f.IntN(2) == 0:
		return &SlotAssign{Slot: slot, Shard: o.Into, Generation: r.Slots().Pending(slot) - uint64(f.IntN(6)/5)}
	}
	return &SlotAssign{Slot: slot, Shard: from, Generation: r.Slots().Pending(slot) + 1, Text: "too large"}
}

// membership changes one shard member as the engine does, or reports a removed member's deletion.
func (f *fleet) membership(id ShardID) Request {
	s := f.topology.records.Shard(id)
	r := &ReplicasKnown{Term: f.term(), Shard: id}
	if s == nil || len(s.Replicas) == 0 {
		return r
	}
	r.Change = s.Change + 1
	chosen := &s.Replicas[f.IntN(len(s.Replicas))]
	if f.IntN(4) == 0 { // the same membership, with filled learners
		r.Change, chosen = s.Change, &hosts.Replica{}
	}
	if h := f.topology.records.Host(chosen.Host); chosen.Role == hosts.RoleRemoved && h != nil {
		return &ReplicaCleared{Shard: id, Replica: chosen.ID, Incarnation: h.Incarnation}
	}
	for i := range s.Replicas {
		p := &s.Replicas[i]
		role := p.Role
		if p == chosen {
			role = map[hosts.Role]hosts.Role{hosts.RoleNone: hosts.RoleLearner, hosts.RoleLearner: hosts.RoleVoter,
				hosts.RoleVoter: hosts.RoleRemoved}[role]
		}
		if role == hosts.RoleLearner || role == hosts.RoleVoter {
			r.Members = append(r.Members, hosts.Member{Replica: p.ID, Role: role,
				Filled: role == hosts.RoleLearner && f.IntN(2) == 0})
		}
	}
	return r
}

// begin makes a step that a governor could want, for its current or previous revision.
func (f *fleet) begin(h *hosts.Host, id ShardID) Request {
	r := &StepBegin{Term: f.term(), Revision: f.topology.plan.Revision() - uint64(f.IntN(6))/5}
	pr := &r.Proposal
	pr.Payload = governor.Action{Shard: id, Host: h.ID, Epoch: h.Target.Epoch, Variant: h.Target.Variant}
	pr.Subject = plan.Subject(fmt.Sprintf("shard/%d", id))
	switch f.IntN(3) {
	case 0:
		pr.Kind, pr.Payload.Replica = governor.KindAdd, f.topology.records.NextReplica()-uint64(f.IntN(4))/3
		pr.With = []plan.Subject{plan.Subject(fmt.Sprintf("copy/%d", h.ID))}
	case 1:
		pr.Kind, pr.Subject = governor.KindReach, plan.Subject(fmt.Sprintf("host/%d", h.ID))
	default:
		pr.Kind = governor.KindTransfer
	}
	return r
}

// report reports on an open or finished step.
func (f *fleet) report() Request {
	r := &StepReport{Report: Report(1 + f.IntN(5)), Phase: plan.Phase(f.IntN(4)), Text: "no answer"}
	if steps := f.topology.plan.Steps(); len(steps) > 0 && f.IntN(8) > 0 {
		r.Act = steps[f.IntN(len(steps))].Act(f.term())
		return r
	}
	r.Act = plan.Act{Step: plan.ID(f.Uint64N(uint64(f.topology.plan.Last()) + 2)), Term: f.term()}
	return r
}

// next is the next command, with its batch's stamp.
func (f *fleet) next() (clock.Stamp, Command) {
	s := f.stamp(f.Uint64N(400))
	switch n := f.IntN(100); {
	case n < 3:
		return clock.Stamp{}, Command{Kind: CmdLead, Term: f.Clock().Term + f.Uint64N(3) - 1}
	case n < 8 && f.topology != nil:
		return s, seen(f.host().ID, f.Version()-f.Uint64N(6)+1)
	case n < 9 && f.topology != nil:
		h := host(shard.HostID(1+f.IntN(9)), f.ref())
		h.Level = level.Newest
		return s, register(h)
	case n < 12:
		s = clock.Stamp{}
	case n < 15:
		s.Term += f.Uint64N(3) - 1
	}
	if len(f.sent) > 0 && f.IntN(6) == 0 { // an answer was lost
		return s, f.sent[max(0, len(f.sent)-1-f.IntN(40))]
	}
	c := NewCommand(f.request(), origin)
	if f.IntN(4) == 0 {
		c.Numbered = Numbered{Client: ClientID{1}, Number: uint64(len(f.sent) + 1), Since: f.NextAnswer()}
	}
	f.sent = append(f.sent, c)
	return s, c
}

// step sends one command to machine and twin, and returns a difference.
func (f *fleet) step() error {
	s, c := f.next()
	want := f.twin.apply(s, &c)
	if f.mistake.before != nil {
		f.mistake.before(f, &s, &c)
	}
	out := Effects{List: f.apply(s, c)}
	if f.mistake.after != nil {
		f.mistake.after(f, &c, &out)
	}
	f.tally[fmt.Sprint(c.Kind, " ", want.result.Status, " ", want.result.Flags)]++
	got := out.List[0]
	message := got.Message
	if got.Message = ""; got != want.result {
		return fmt.Errorf("%v: %+v (%s), foretold %+v", c.Kind, got, message, want.result)
	}
	if kinds(out.List) != want.kinds {
		return fmt.Errorf("%v: %s, foretold %s", c.Kind, kinds(out.List), want.kinds)
	}
	for i, e := range want.entries {
		if got := out.List[len(out.List)-len(want.entries)+i].Entry; got != e {
			return fmt.Errorf("%v: the entry %v, foretold %v", c.Kind, &got, &e)
		}
	}
	if f.IntN(12) == 0 {
		return f.twin.differs(f.Machine)
	}
	if f.IntN(40) == 0 { // a restart
		m := New()
		if err := m.Restore(bytes.NewReader(saved(f, f.Machine))); err != nil {
			return err
		}
		if f.Machine = m; f.mistake.restored != nil && f.topology != nil {
			f.mistake.restored(f.Machine)
		}
	}
	return nil
}

func playTopology(t *testing.T, seed uint64, mistake topologyMistake, tally map[string]int) error {
	t.Helper()
	f := newFleet(t, seed, mistake)
	for n := range 400 {
		if err := f.step(); err != nil {
			return fmt.Errorf("command %d: %w", n, err)
		}
	}
	for what, n := range f.tally {
		tally[what] += n
	}
	return f.twin.differs(f.Machine)
}

// TestRequestsDoWhatTheTwinForetells: hosts, operators and governors from several terms act concurrently.
func TestRequestsDoWhatTheTwinForetells(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	tally := map[string]int{}
	for seed := range uint64(90) {
		if err := playTopology(t, seed, topologyMistake{}, tally); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Log(tally)
	for kind := CmdHostsBootstrap; kind <= CmdSlotAssign; kind++ {
		if kind > CmdActNote && kind < CmdSlotMove {
			continue
		}
		if tally[fmt.Sprint(kind, " SUCCESS ", FlagChanged)] < 12 {
			t.Errorf("%v changed something %d times: the commands show too little of it", kind,
				tally[fmt.Sprint(kind, " SUCCESS ", FlagChanged)])
		}
	}
	for _, what := range []string{"host-reach STALE 0", "replicas-known STALE 0", "step-begin STALE 0",
		"step-begin FENCED 0", "step-begin PRECONDITION_FAILED 0", "step-report STALE 0", "host-drain UNAVAILABLE 0",
		"host-join SUCCESS 4", "access-grant OVERLOADED 0", "access-role-delete PRECONDITION_FAILED 0",
		"access-token-revoke SUCCESS 1", "backup-note BAD_REQUEST 0", "act-note BAD_REQUEST 0",
		"host-seen SUCCESS 2", "host-seen NOT_FOUND 0", "host-register PRECONDITION_FAILED 0",
		"lead SUCCESS 0", "lead STALE 0", "host-expel SUCCESS 1", "host-join UNAUTHORIZED 0"} {
		if tally[what] == 0 {
			t.Errorf("no command ended as %q: the test shows less than it should", what)
		}
	}
}

// ifDone applies a bug after an effective command with the given kind.
func ifDone(kind CommandKind, do func(f *fleet, c *Command, e *Effect)) topologyMistake {
	return topologyMistake{after: func(f *fleet, c *Command, out *Effects) {
		if e := &out.List[0]; c.Kind == kind && e.Flags&FlagChanged != 0 {
			do(f, c, e)
		}
	}}
}

// topologyMistakes are bugs that the twin must detect, each with a seed that detects the bug.
var topologyMistakes = []struct {
	name    string
	seed    uint64
	mistake topologyMistake
	says    string
}{
	{"a batch without a stamp is Success", 0, topologyMistake{before: func(f *fleet, s *clock.Stamp, _ *Command) {
		if s.Term == 0 {
			*s = f.stamp(0)
		}
	}}, "UNAVAILABLE"},
	{"a governor of before is obeyed", 0, topologyMistake{before: func(f *fleet, _ *clock.Stamp, c *Command) {
		switch r := c.Request.(type) {
		case *HostReach:
			c.Request = &HostReach{Term: f.Clock().Term, Host: r.Host, Variant: r.Variant, Epoch: r.Epoch}
		case *StepBegin:
			again := *r
			again.Term = f.Clock().Term
			c.Request = &again
		}
	}}, "foretold {Kind:result Flags:0 Status:STALE"},
	{"a newcomer has seen nothing", 0, ifDone(CmdHostJoin, func(f *fleet, _ *Command, e *Effect) {
		f.topology.seen.remove(e.Host)
	}), "seen"},
	{"what an expelled host has seen is kept", 0, ifDone(CmdHostReach, func(f *fleet, c *Command, _ *Effect) {
		if r := c.Request.(*HostReach); r.Variant == protocol.HostExpelled {
			f.topology.seen.put(&HostObservation{ID: r.Host, Version: 1})
		}
	}), "does not count"},
	{"what a host has seen goes back", 4, topologyMistake{after: func(f *fleet, c *Command, out *Effects) {
		if c.Kind == CmdHostObservation && out.List[0].Status == protocol.StatusSuccess {
			f.topology.seen.put(&HostObservation{ID: c.Host.ID, Version: c.Expected})
		}
	}}, "seen"},
	{"a host registers beside the records", 1, topologyMistake{after: func(f *fleet, c *Command, _ *Effects) {
		if c.Kind == CmdHostRegister {
			f.hosts.put(&c.Host)
		}
	}}, "beside the records"},
	{"the list of those that registered stays", 0, ifDone(CmdHostsBootstrap, func(f *fleet, _ *Command, _ *Effect) {
		h := host(1, "a")
		h.Current, h.Target, h.Changed = protocol.HostOnline, protocol.HostOnline, 1
		f.hosts.put(&h)
	}), "hosts beside"},
	{"an expelled host is trusted to forget soon", 1, ifDone(CmdHostExpel, func(f *fleet, _ *Command, e *Effect) {
		f.topology.records.Host(e.Host).Grace = DefaultSessionGracePeriodMillis
	}), "records and plan differ"},
	{"changes are written down and not delivered", 0, topologyMistake{after: func(_ *fleet, _ *Command, out *Effects) {
		out.List = slices.DeleteFunc(out.List, func(e Effect) bool { return e.Kind == EffectAudited })
	}}, "foretold result topology-changed"},
	{"a moved slot is not routed to its owner", 0, ifDone(CmdSlotAssign, func(f *fleet, _ *Command, _ *Effect) {
		f.routing.Ranges = InitialRanges(f.routing.Shards)
	}), "is routed to"},
	{"a moved slot is not announced", 1, topologyMistake{after: func(_ *fleet, _ *Command, out *Effects) {
		out.List = slices.DeleteFunc(out.List, func(e Effect) bool { return e.Kind == EffectRoutingChanged })
	}}, "routing-changed"},
	{"steps are not in snapshots", 0, topologyMistake{restored: func(m *Machine) {
		m.topology.plan = plan.New(planConfig)
	}}, ""},
	{"what hosts have seen is not in snapshots", 0, topologyMistake{restored: func(m *Machine) {
		m.topology.seen = newSeen()
	}}, ""},
	{"rights are changed that were others when it was allowed", 0, topologyMistake{
		before: func(_ *fleet, _ *clock.Stamp, c *Command) {
			if r, is := c.Request.(*AccessGrant); is {
				c.Request = &AccessGrant{Principal: r.Principal, Grant: r.Grant}
			}
		}}, "OVERLOADED"},
	{"rights are not in snapshots", 0, topologyMistake{restored: func(m *Machine) {
		m.rights = access.Empty()
	}}, "differ"},
	{"a refusal counts as a change", 0, topologyMistake{after: func(f *fleet, _ *Command, out *Effects) {
		if out.List[0].Status != protocol.StatusSuccess {
			f.version++
		}
	}}, ""},
	{"numbers are ignored", 0, topologyMistake{before: func(_ *fleet, _ *clock.Stamp, c *Command) {
		c.Numbered = Numbered{}
	}}, ""},
}

func TestMistakesInRequestsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	for _, x := range topologyMistakes {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			for seed := range uint64(*topologySeek) {
				t.Logf("seed %d: %v", seed, playTopology(t, seed, x.mistake, map[string]int{}))
			}
			err := playTopology(t, x.seed, x.mistake, map[string]int{})
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("seed %d finds %v", x.seed, err)
			}
		})
	}
}
