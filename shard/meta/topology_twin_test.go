package meta

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// topologyTwin is a second machine for commands on hosts, replicas and steps, written from DESIGN.md. The rules of
// records and plan are tested in their packages, so it uses them, and computes everything else from scratch.
type topologyTwin struct {
	registered []Host // until the founding
	routing    Routing
	records    *hosts.Records
	plan       *plan.Plan[governor.Action]
	rights     *access.Book
	seen       map[shard.HostID]uint64
	version    uint64
	clock      clock.Clock
	answered   map[Numbered]foretold
}

// foretold is the twin's prediction for a command: its result without the message, and further effects.
type foretold struct {
	result  Effect
	kinds   string
	entries []hosts.Entry
}

func newTopologyTwin(c *cluster) *topologyTwin {
	return &topologyTwin{registered: c.Hosts(), routing: c.Routing(), seen: map[shard.HostID]uint64{},
		version: c.Version(), rights: c.Rights(), clock: c.Clock(),
		answered: map[Numbered]foretold{}}
}

// apply executes a command from a batch with a stamp.
func (tt *topologyTwin) apply(s clock.Stamp, c *Command) foretold {
	if s.Term != 0 && s.Term == tt.clock.Term {
		tt.clock.Now = max(tt.clock.Now, tt.clock.Base+s.Elapsed)
	}
	switch {
	case s.Term != tt.clock.Term && c.Kind != CmdLead:
		return tt.answer(protocol.StatusUnavailable, 0, 0)
	case c.Kind == CmdLead:
		return tt.lead(c)
	case c.Kind == CmdHostObservation:
		return tt.hostSeen(c)
	case c.Kind == CmdHostRegister:
		return tt.answer(protocol.StatusPreconditionFailed, 0, 0)
	}
	if a, again := tt.answered[c.Numbered]; again {
		a.result.Flags = a.result.Flags&^FlagChanged | FlagRepeated
		a.result.Version = tt.version
		return foretold{result: a.result, kinds: "result "}
	}
	a := tt.request(c)
	if c.Numbered != (Numbered{}) && a.result.Status != protocol.StatusOverloaded {
		tt.answered[c.Numbered] = a
	}
	return a
}

func (tt *topologyTwin) answer(s protocol.Status, flags EffectFlags, host shard.HostID) foretold {
	if flags&FlagChanged != 0 {
		tt.version++
	}
	return foretold{kinds: "result ", result: Effect{Kind: EffectResult, Status: s, Flags: flags, Host: host,
		Version: tt.version}}
}

func (tt *topologyTwin) lead(c *Command) foretold {
	if c.Term < tt.clock.Term {
		return tt.answer(protocol.StatusStale, 0, 0)
	}
	if c.Term > tt.clock.Term {
		tt.clock = clock.Clock{Now: tt.clock.Now, Base: tt.clock.Now, Term: c.Term}
	}
	return tt.answer(0, 0, 0)
}

func (tt *topologyTwin) hostSeen(c *Command) foretold {
	h := tt.records.Host(c.Host.ID)
	switch {
	case h == nil || h.Current.Variant == protocol.HostExpelled:
		return tt.answer(protocol.StatusNotFound, 0, 0)
	case c.Expected > tt.version:
		return tt.answer(protocol.StatusPreconditionFailed, 0, 0)
	case c.Expected <= tt.seen[h.ID]:
		return tt.answer(0, 0, 0)
	}
	tt.seen[h.ID] = c.Expected
	a := tt.answer(0, FlagChanged, 0)
	a.kinds += "host-seen "
	return a
}

// request executes a request on records and plan, and derives the changes from both.
func (tt *topologyTwin) request(c *Command) foretold {
	at := hosts.At{Now: tt.clock.Now, Term: tt.clock.Term, Wall: c.Origin.Wall, Level: level.Newest, By: c.Origin.By,
		Why: c.Origin.Why}
	before, seen, owners, newest := tt.form(), tt.clientsSee(), tt.owners(), uint64(0)
	if tt.records != nil {
		newest = tt.records.LastAudit()
	}
	a := tt.call(at, c.Request)
	if a.Status != protocol.StatusSuccess {
		return tt.answer(a.Status, 0, a.Host)
	}
	if bytes.Equal(before, tt.form()) {
		return tt.answer(0, FlagExisted, a.Host)
	}
	for id := range tt.seen {
		if h := tt.records.Host(id); h == nil || h.Current.Variant == protocol.HostExpelled {
			delete(tt.seen, id)
		}
	}
	got := tt.answer(0, FlagChanged, a.Host)
	got.kinds += "topology-changed "
	if now := tt.owners(); now != owners && owners != noOwners {
		got.kinds += "routing-changed "
		tt.routing.Version++
	}
	if tt.clientsSee() != seen {
		got.kinds += "hosts-changed "
	}
	got.entries = tt.records.Audit(newest+1, 1000)
	for range got.entries {
		got.kinds += "audited "
	}
	return got
}

// clientsSee is the client-visible state: hosts, the hosts with a replica of each shard, and whether it is read from.
func (tt *topologyTwin) clientsSee() string {
	if tt.records == nil {
		return ""
	}
	var b strings.Builder
	for _, h := range tt.records.Hosts() {
		fmt.Fprintln(&b, h.ID, h.Name, h.Addresses.Client, h.Current.Variant)
	}
	for _, s := range tt.records.Shards() {
		var on []string
		for _, p := range s.Replicas {
			if p.Role == hosts.RoleLearner || p.Role == hosts.RoleVoter {
				on = append(on, fmt.Sprint(p.Host, p.Role == hosts.RoleVoter || p.Filled))
			}
		}
		slices.Sort(on)
		fmt.Fprintln(&b, s.ID, on)
	}
	return b.String()
}

var noOwners [shard.Slots]ShardID

// owners are the shards of all slots.
func (tt *topologyTwin) owners() (list [shard.Slots]ShardID) {
	for slot := range list {
		if tt.records != nil {
			list[slot] = tt.records.SlotOwner(shard.Slot(slot))
		}
	}
	return list
}

// form is the saved form of records and plan.
func (tt *topologyTwin) form() []byte {
	if tt.records == nil {
		return nil
	}
	return tt.rights.Save(tt.plan.Append(tt.records.Save(nil)))
}

// call is DESIGN.md's table from requests to commands on records or plan.
func (tt *topologyTwin) call(at hosts.At, r Request) hosts.Answer {
	const grace = 30_000
	if tt.records == nil {
		if r, is := r.(*HostsBootstrap); is {
			return tt.bootstrap(at, r)
		}
		return hosts.Answer{Status: protocol.StatusPreconditionFailed}
	}
	switch r := r.(type) {
	case *HostJoin:
		j := r.Join
		j.Grace = grace
		a := tt.records.Join(at, j)
		if a.Status == 0 && !a.Existed {
			tt.seen[a.Host] = tt.version
		}
		return a
	case *HostBoot:
		return tt.records.Boot(at, r.Boot)
	case *HostReturn:
		return tt.records.Return(at, r.Host, r.Incarnation, r.Epoch)
	case *HostShutdown:
		return tt.records.Shutdown(at, r.Host, r.Incarnation, r.Start)
	case *HostRename:
		return tt.records.Rename(at, r.Host, r.Incarnation, r.Start, r.Addresses)
	case *HostDrain:
		return tt.records.Drain(at, r.Host)
	case *HostUndrain:
		return tt.records.Undrain(at, r.Host)
	case *HostCordon:
		return tt.records.Cordon(at, r.Host, r.On)
	case *HostAlter:
		return tt.records.Alter(at, r.Host, r.Domain)
	case *HostWeigh:
		return tt.records.Weigh(at, r.Host, r.Weight)
	case *HostExpel:
		return tt.records.Expel(at, r.Host, r.Force, grace)
	case *HostReplace:
		return tt.records.Replace(at, r.Old, r.New, r.Heard, grace)
	case *ShardTransfer:
		return tt.records.Transfer(at, r.Shard, r.Host)
	case *PolicySet:
		return tt.records.SetPolicy(at, r.From, r.To)
	case *SlotMove:
		if r.Cancel {
			return tt.records.CancelMove(at, r.Slot)
		}
		return tt.records.MoveSlot(at, r.Slot, r.To, r.Large)
	case *SlotAssign:
		return tt.records.AssignSlot(at, r.Slot, slots.Owner{Shard: uint64(r.Shard), Generation: r.Generation}, r.Text)
	case *TokenCreate:
		return tt.records.CreateToken(at, r.ID, r.Hash, r.Millis)
	case *TokenRevoke:
		return tt.records.RevokeToken(at, r.ID)
	case *HostFailed:
		return tt.records.Failed(at, r.Term, r.Host, r.Epoch, r.Reason, r.Text)
	case *HostReach:
		return tt.records.Reach(at, r.Term, r.Host, r.Variant, r.Epoch)
	case *HostSlow:
		return tt.records.SetSlow(at, r.Term, r.Host, r.Slow, r.Text)
	case *ReplicasKnown:
		return tt.records.Known(at, r.Term, r.Shard, r.Change, r.Members)
	case *BackupNote:
		return tt.noteBackup(at, r)
	case *ActNote:
		if r.What == "" || at.Why == "" || len(r.What) > 256 {
			return hosts.Answer{Status: protocol.StatusBadRequest}
		}
		return tt.records.NoteOf(at, hosts.EventAct, r.Host, r.Incarnation, r.What)
	case *ReplicaCleared:
		return tt.records.Cleared(at, r.Shard, r.Replica, r.Incarnation)
	}
	if tt.asksForRights(r) {
		return tt.access(at, r)
	}
	return tt.step(at, r)
}

// noteBackup is one audit entry about a recorded host, whatever happened to the saved state, and holds slot moves or
// releases them.
func (tt *topologyTwin) noteBackup(at hosts.At, r *BackupNote) hosts.Answer {
	text := map[SavePhase]string{
		1: fmt.Sprintf("the state of shard %d is being saved", r.Shard),
		2: fmt.Sprintf("the state of shard %d was saved, %d bytes", r.Shard, r.Bytes),
		3: fmt.Sprintf("saving the state of shard %d was given up after %d bytes", r.Shard, r.Bytes),
	}[r.Phase]
	switch {
	case r.Phase == 4:
		return tt.records.HoldMoves(at, r.Host, r.Incarnation)
	case text == "":
		return hosts.Answer{Status: protocol.StatusBadRequest}
	}
	a := tt.records.NoteOf(at, hosts.EventBackup, r.Host, r.Incarnation, text)
	switch {
	case a.Text != "":
	case r.Phase == 1:
		tt.records.HoldMoves(at, r.Host, r.Incarnation)
	case r.Phase == 3, r.Shard == 0:
		tt.records.ReleaseMoves(at)
	}
	return a
}

func (tt *topologyTwin) bootstrap(at hosts.At, r *HostsBootstrap) hosts.Answer {
	var initialMembers []hosts.InitialMember
	for _, h := range tt.registered {
		for _, f := range r.InitialMembers {
			if f.ID == h.ID {
				initialMembers = append(initialMembers, hosts.InitialMember{ID: h.ID, Name: h.Name,
					Incarnation: f.Incarnation, Addresses: hosts.Addresses{Raft: h.RaftAddress, Client: h.ClientAddress,
						Admin: h.AdminAddress}, Version: h.Version, Level: h.Level})
			}
		}
	}
	if len(initialMembers) != len(tt.registered) || len(initialMembers) != len(r.InitialMembers) {
		return hosts.Answer{Status: protocol.StatusPreconditionFailed}
	}
	records := hosts.New(tt.routing.Cluster, tt.routing.Shards)
	records.ContinueFrom(tt.version)
	records.BeginGeneration(r.Generation)
	a := records.Bootstrap(at, initialMembers)
	if a.Status == 0 {
		tt.records, tt.plan, tt.registered = records, plan.New(planConfig), nil
	}
	return a
}

// step is the plan's result for a request, by the table of outcomes.
func (tt *topologyTwin) step(at hosts.At, r Request) hosts.Answer {
	now, out := plan.Moment{Now: at.Now, Term: at.Term}, plan.Unfit
	switch r := r.(type) {
	case *HostsBootstrap:
		return hosts.Answer{Existed: true}
	case *StepBegin:
		_, out = governor.Begin(at, tt.records, tt.plan, r.Term, r.Revision, r.Proposal)
	case *StepCancel:
		if out = tt.plan.Cancel(at.Now, r.Step, at.Why, r.Hold); out == plan.Applied {
			tt.records.Note(at, hosts.EventStep, fmt.Sprintf("step %d was cancelled", r.Step))
		} else if out == plan.Over {
			return hosts.Answer{Existed: true}
		}
	case *StepForget:
		if out = tt.plan.Forget(r.Subject); out == plan.Applied {
			tt.records.Note(at, hosts.EventStep, string(r.Subject)+" waits no longer")
		}
	case *StepReport:
		out = []func() plan.Outcome{
			func() plan.Outcome { return plan.Unfit },
			func() plan.Outcome { return tt.plan.Progress(now, r.Act, r.Phase) },
			func() plan.Outcome { return tt.plan.Retry(now, r.Act, r.Text) },
			func() plan.Outcome { return tt.plan.Fail(now, r.Act, r.Text) },
			func() plan.Outcome { return tt.plan.Done(now, r.Act) },
			func() plan.Outcome { return tt.plan.Drop(now, r.Act) },
		}[r.Report]()
	}
	return hosts.Answer{Status: map[plan.Outcome]protocol.Status{plan.Applied: protocol.StatusSuccess,
		plan.OtherTerm: protocol.StatusStale, plan.Over: protocol.StatusStale, plan.Moved: protocol.StatusStale,
		plan.Replanned: protocol.StatusFenced, plan.Unknown: protocol.StatusNotFound,
		plan.Occupied: protocol.StatusPreconditionFailed, plan.Waits: protocol.StatusPreconditionFailed,
		plan.Unfit: protocol.StatusBadRequest}[out]}
}

// differs compares a machine's state with its expected state.
func (tt *topologyTwin) differs(m *Machine) error {
	s := m.State()
	if s.Version != tt.version || m.Clock() != tt.clock {
		return fmt.Errorf("version %d at %+v, foretold %d at %+v", s.Version, m.Clock(), tt.version, tt.clock)
	}
	if tt.records == nil {
		return nil
	}
	var form []byte
	if s.Records != nil {
		form = m.Rights().Save(s.Plan.Append(s.Records.Save(nil)))
	}
	if !bytes.Equal(form, tt.form()) {
		return fmt.Errorf("records and plan differ: %d bytes, foretold %d", len(form), len(tt.form()))
	}
	if s.Routing.Version != tt.routing.Version {
		return fmt.Errorf("the slot table has version %d, foretold %d", s.Routing.Version, tt.routing.Version)
	}
	for _, g := range s.Routing.Ranges {
		for slot := g.First; slot <= g.Last; slot++ {
			want := tt.records.Slots().Of(slot).Owner
			if got := (slots.Owner{Shard: uint64(g.Shard), Generation: g.Generation}); got != want {
				return fmt.Errorf("slot %d is routed to %+v, foretold %+v", slot, got, want)
			}
		}
	}
	var seen []HostObservation
	for _, id := range slices.Sorted(maps.Keys(tt.seen)) {
		seen = append(seen, HostObservation{id, tt.seen[id]})
	}
	if !slices.Equal(s.Seen, seen) || len(s.Hosts) != 0 {
		return fmt.Errorf("seen %v, foretold %v; %d hosts beside the records", s.Seen, seen, len(s.Hosts))
	}
	var shown []Host
	for _, h := range tt.records.Hosts() {
		shown = append(shown, Host{ID: h.ID, Name: h.Name, RaftAddress: h.Addresses.Raft,
			ClientAddress: h.Addresses.Client, AdminAddress: h.Addresses.Admin, Version: h.Version, Level: h.Level,
			Current: h.Current.Variant,
			Target:  h.Target.Variant, Changed: h.Changed, Seen: tt.seen[h.ID]})
	}
	if got := m.Hosts(); !slices.Equal(got, shown) {
		return fmt.Errorf("readers see\n%+v, foretold\n%+v", got, shown)
	}
	return nil
}
