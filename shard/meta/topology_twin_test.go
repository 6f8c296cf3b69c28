package meta

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// topologyTwin is a second machine for the commands on hosts, replicas and steps, written from DESIGN.md. The rules of
// records and plan are tested in their packages, so it has those, and works out everything around them anew.
type topologyTwin struct {
	registered []Host // until the founding
	routing    Routing
	records    *hosts.Records
	plan       *plan.Plan[governor.Action]
	seen       map[shard.HostID]uint64
	version    uint64
	clock      clock.Clock
	answered   map[Numbered]foretold
}

// foretold is what the twin says of a command: its result without the message, and what comes behind it.
type foretold struct {
	result  Effect
	kinds   string
	entries []hosts.Entry
}

func newTopologyTwin(c *cluster) *topologyTwin {
	return &topologyTwin{registered: c.Hosts(), routing: c.Routing(), seen: map[shard.HostID]uint64{},
		version: c.Version(), clock: c.Clock(), answered: map[Numbered]foretold{}}
}

// apply carries a command out that came in a batch with a stamp.
func (w *topologyTwin) apply(s clock.Stamp, c *Command) foretold {
	if s.Term != 0 && s.Term == w.clock.Term {
		w.clock.Now = max(w.clock.Now, w.clock.Base+s.Elapsed)
	}
	switch {
	case c.Kind >= 40 && s.Term == 0, s.Term != 0 && s.Term != w.clock.Term && c.Kind != CmdLead:
		return w.answer(protocol.StatusUnavailable, 0, 0)
	case c.Kind == CmdLead:
		return w.lead(c)
	case c.Kind == CmdHostSeen:
		return w.hostSeen(c)
	case c.Kind == CmdHostRegister:
		return w.answer(protocol.StatusPreconditionFailed, 0, 0)
	}
	if a, again := w.answered[c.Numbered]; again {
		a.result.Flags = a.result.Flags&^FlagChanged | FlagRepeated
		a.result.Version = w.version
		return foretold{result: a.result, kinds: "result "}
	}
	a := w.request(c)
	if c.Numbered != (Numbered{}) && a.result.Status != protocol.StatusOverloaded {
		w.answered[c.Numbered] = a
	}
	return a
}

func (w *topologyTwin) answer(s protocol.Status, flags EffectFlags, host shard.HostID) foretold {
	if flags&FlagChanged != 0 {
		w.version++
	}
	return foretold{kinds: "result ", result: Effect{Kind: EffectResult, Status: s, Flags: flags, Host: host,
		Version: w.version}}
}

func (w *topologyTwin) lead(c *Command) foretold {
	if c.Term < w.clock.Term {
		return w.answer(protocol.StatusStale, 0, 0)
	}
	if c.Term > w.clock.Term {
		w.clock = clock.Clock{Now: w.clock.Now, Base: w.clock.Now, Term: c.Term}
	}
	return w.answer(0, 0, 0)
}

func (w *topologyTwin) hostSeen(c *Command) foretold {
	h := w.records.Host(c.Host.ID)
	switch {
	case h == nil || h.Current.Variant == protocol.HostExpelled:
		return w.answer(protocol.StatusNotFound, 0, 0)
	case c.Expected > w.version:
		return w.answer(protocol.StatusPreconditionFailed, 0, 0)
	case c.Expected <= w.seen[h.ID]:
		return w.answer(0, 0, 0)
	}
	w.seen[h.ID] = c.Expected
	a := w.answer(0, FlagChanged, 0)
	a.kinds += "host-seen "
	return a
}

// request carries out what is asked of records and plan, and works out from both what has changed.
func (w *topologyTwin) request(c *Command) foretold {
	at := hosts.At{Now: w.clock.Now, Term: w.clock.Term, Wall: c.Origin.Wall, Level: level.Newest, By: c.Origin.By,
		Why: c.Origin.Why}
	before, newest := w.form(), uint64(0)
	var list []*hosts.Host
	if w.records != nil {
		list, newest = slices.Clone(w.records.Hosts()), w.records.LastAudit()
	}
	a := w.call(at, c.Request)
	if a.Status != protocol.StatusSuccess {
		return w.answer(a.Status, 0, a.Host)
	}
	if bytes.Equal(before, w.form()) {
		return w.answer(0, FlagExisted, a.Host)
	}
	for id := range w.seen {
		if h := w.records.Host(id); h == nil || h.Current.Variant == protocol.HostExpelled {
			delete(w.seen, id)
		}
	}
	got := w.answer(0, FlagChanged, a.Host)
	got.kinds += "topology-changed "
	if !slices.EqualFunc(list, w.records.Hosts(), func(a, b *hosts.Host) bool { return reflect.DeepEqual(a, b) }) {
		got.kinds += "hosts-changed "
	}
	got.entries = w.records.Audit(newest+1, 1000)
	for range got.entries {
		got.kinds += "audited "
	}
	return got
}

// form is what records and plan are saved as.
func (w *topologyTwin) form() []byte {
	if w.records == nil {
		return nil
	}
	return w.plan.Append(w.records.Save(nil))
}

// call is the table of the page: which request is which command of records or plan.
func (w *topologyTwin) call(at hosts.At, r Request) hosts.Answer {
	const grace = 30_000
	if w.records == nil {
		if r, is := r.(*HostsFound); is {
			return w.found(at, r)
		}
		return hosts.Answer{Status: protocol.StatusPreconditionFailed}
	}
	switch r := r.(type) {
	case *HostJoin:
		j := r.Join
		j.Grace = grace
		a := w.records.Join(at, j)
		if a.Status == 0 && !a.Existed {
			w.seen[a.Host] = w.version
		}
		return a
	case *HostBoot:
		return w.records.Boot(at, r.Boot)
	case *HostReturn:
		return w.records.Return(at, r.Host, r.Incarnation, r.Epoch)
	case *HostShutdown:
		return w.records.Shutdown(at, r.Host, r.Incarnation, r.Start)
	case *HostRename:
		return w.records.Rename(at, r.Host, r.Incarnation, r.Start, r.Addresses)
	case *HostDrain:
		return w.records.Drain(at, r.Host)
	case *HostUndrain:
		return w.records.Undrain(at, r.Host)
	case *HostCordon:
		return w.records.Cordon(at, r.Host, r.On)
	case *HostAlter:
		return w.records.Alter(at, r.Host, r.Domain)
	case *HostExpel:
		return w.records.Expel(at, r.Host, r.Force, grace)
	case *HostReplace:
		return w.records.Replace(at, r.Old, r.New, r.Heard, grace)
	case *ShardTransfer:
		return w.records.Transfer(at, r.Shard, r.Host)
	case *PolicySet:
		return w.records.SetPolicy(at, r.From, r.To)
	case *TokenCreate:
		return w.records.CreateToken(at, r.ID, r.Hash, r.Millis)
	case *TokenRevoke:
		return w.records.RevokeToken(at, r.ID)
	case *HostFailed:
		return w.records.Failed(at, r.Term, r.Host, r.Epoch, r.Reason, r.Text)
	case *HostReach:
		return w.records.Reach(at, r.Term, r.Host, r.Variant, r.Epoch)
	case *ReplicasKnown:
		return w.records.Known(at, r.Term, r.Shard, r.Change, r.Members)
	case *ReplicaCleared:
		return w.records.Cleared(at, r.Shard, r.Replica, r.Incarnation)
	}
	return w.step(at, r)
}

func (w *topologyTwin) found(at hosts.At, r *HostsFound) hosts.Answer {
	var founders []hosts.Founder
	for _, h := range w.registered {
		for _, f := range r.Founders {
			if f.ID == h.ID {
				founders = append(founders, hosts.Founder{ID: h.ID, Name: h.Name, Incarnation: f.Incarnation,
					Addresses: hosts.Addresses{Raft: h.RaftAddress, Client: h.ClientAddress, Admin: h.AdminAddress},
					Version:   h.Version, Level: h.Level})
			}
		}
	}
	if len(founders) != len(w.registered) || len(founders) != len(r.Founders) {
		return hosts.Answer{Status: protocol.StatusPreconditionFailed}
	}
	records := hosts.New(w.routing.Cluster, w.routing.Shards)
	records.ContinueFrom(w.version)
	records.BeginGeneration(r.Generation)
	a := records.Found(at, founders)
	if a.Status == 0 {
		w.records, w.plan, w.registered = records, plan.New(planConfig), nil
	}
	return a
}

// step is what the plan makes of a request, by the table of outcomes.
func (w *topologyTwin) step(at hosts.At, r Request) hosts.Answer {
	now, out := plan.Moment{Now: at.Now, Term: at.Term}, plan.Unfit
	switch r := r.(type) {
	case *HostsFound:
		return hosts.Answer{Existed: true}
	case *StepBegin:
		_, out = governor.Begin(at, w.records, w.plan, r.Term, r.Revision, r.Proposal)
	case *StepCancel:
		if out = w.plan.Cancel(at.Now, r.Step, at.Why, r.Hold); out == plan.Applied {
			w.records.NoteStep(at, fmt.Sprintf("step %d was cancelled", r.Step))
		} else if out == plan.Over {
			return hosts.Answer{Existed: true}
		}
	case *StepForget:
		if out = w.plan.Forget(r.Subject); out == plan.Applied {
			w.records.NoteStep(at, string(r.Subject)+" waits no longer")
		}
	case *StepReport:
		out = []func() plan.Outcome{
			func() plan.Outcome { return plan.Unfit },
			func() plan.Outcome { return w.plan.Progress(now, r.Act, r.Phase) },
			func() plan.Outcome { return w.plan.Retry(now, r.Act, r.Text) },
			func() plan.Outcome { return w.plan.Fail(now, r.Act, r.Text) },
			func() plan.Outcome { return w.plan.Done(now, r.Act) },
			func() plan.Outcome { return w.plan.Drop(now, r.Act) },
		}[r.Report]()
	}
	return hosts.Answer{Status: map[plan.Outcome]protocol.Status{plan.Applied: protocol.StatusSuccess,
		plan.OtherTerm: protocol.StatusStale, plan.Over: protocol.StatusStale, plan.Moved: protocol.StatusStale,
		plan.Replanned: protocol.StatusFenced, plan.Unknown: protocol.StatusNotFound,
		plan.Occupied: protocol.StatusPreconditionFailed, plan.Waits: protocol.StatusPreconditionFailed,
		plan.Unfit: protocol.StatusBadRequest}[out]}
}

// differs holds what a machine has against what it should have.
func (w *topologyTwin) differs(m *Machine) error {
	s := m.State()
	if s.Version != w.version || m.Clock() != w.clock {
		return fmt.Errorf("version %d at %+v, foretold %d at %+v", s.Version, m.Clock(), w.version, w.clock)
	}
	if w.records == nil {
		return nil
	}
	var form []byte
	if s.Records != nil {
		form = s.Plan.Append(s.Records.Save(nil))
	}
	if !bytes.Equal(form, w.form()) {
		return fmt.Errorf("records and plan differ: %d bytes, foretold %d", len(form), len(w.form()))
	}
	var seen []HostSeen
	for _, id := range slices.Sorted(maps.Keys(w.seen)) {
		seen = append(seen, HostSeen{id, w.seen[id]})
	}
	if !slices.Equal(s.Seen, seen) || len(s.Hosts) != 0 {
		return fmt.Errorf("seen %v, foretold %v; %d hosts beside the records", s.Seen, seen, len(s.Hosts))
	}
	var shown []Host
	for _, h := range w.records.Hosts() {
		shown = append(shown, Host{ID: h.ID, Name: h.Name, RaftAddress: h.Addresses.Raft,
			ClientAddress: h.Addresses.Client, AdminAddress: h.Addresses.Admin, Version: h.Version, Level: h.Level,
			Current: h.Current.Variant,
			Target:  h.Target.Variant, Changed: h.Changed, Seen: w.seen[h.ID]})
	}
	if got := m.Hosts(); !slices.Equal(got, shown) {
		return fmt.Errorf("readers see\n%+v, foretold\n%+v", got, shown)
	}
	return nil
}
