package machine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/slots"
)

// A data shard with a permanent quorum loss is rebuilt as a new replica group from the most advanced survivor's state,
// while the cluster's other shards go on. So remote sessions live on, with unchanged numbers. Sessions with a home
// here, and all holdings, end. Clients connected to the lost replicas may believe in holdings for a while, whether
// known to the survivor or not: a single wait covers all of them. DESIGN.md, section 14, has the argument.

// Renewal describes how to rebuild a shard.
type Renewal struct {
	// Group is the new replica group's number, above the numbers of all earlier groups of the shard.
	Group uint64
	// Jump is how far order ids, revisions and object counters grow.
	Jump Jump
	// Counted are the highest counters known to other hosts, zeros if unknown.
	Counted shard.Counters
	// Longest is the longest session timeout the meta shard has recorded for the shard.
	Longest shard.Longest
	// Fresh is set for a shard that was added to a running cluster and has not served yet. The new machine has no
	// content and no slots. It grants at once: no earlier group has granted anything, so no other field but Group
	// matters.
	Fresh bool
	// Slots are the meta shard's records of slots that have moved, or are moving. The survivor may lag behind them.
	Slots []SlotRecord
	// Empty is set if there is no survivor.
	Empty bool
}

// SlotRecord is the meta shard's record of a slot: the owner, and, for a move in progress, the target with the
// generation under which the target may have opened the slot.
type SlotRecord struct {
	Slot        shard.Slot
	Owner, Into slots.Owner
}

// lossJump is how far a remote session's loss count grows: the session's home may have heard of losses unknown to the
// survivor, and later losses must count above them.
const lossJump = 1 << 20

// Group returns the shard's replica group.
func (m *Machine) Group() shard.Group {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.group
}

// Renew makes the machine for a new replica group. The basis is a machine with all entries of the most advanced
// survivor, or an empty machine without a survivor. The machine may have applied entries that never reached a majority:
// a leader would commit such entries too. The machine is unchanged, and must not change meanwhile. The new machine has
// all objects that do not end with their holdings, and all remote sessions, without holdings.
func (m *Machine) Renew(r Renewal) (*Machine, error) {
	if r.Group <= m.core.group.Number {
		return nil, fmt.Errorf("shard: group %d does not follow group %d", r.Group, m.core.group.Number)
	}
	if r.Fresh {
		return m.begin(r.Group), nil
	}
	next, err := r.Jump.over(r.Counted, m)
	if err != nil {
		return nil, err
	}
	made := New(m.core.known, Options{Shard: uint64(m.core.class), History: m.core.History.limit,
		Bounds: m.core.bounds})
	made.core.slots = m.core.slots.Clone()
	made.core.beginWith(next, m.core.Nodes.quota)
	longest := r.Longest.Over(m.Longest())
	if m.core.group.Waits(m.core.Clock.Now) {
		longest = longest.Over(m.core.group.Longest)
	}
	group := shard.Group{Number: r.Group, Began: next.clock.Now, Before: next.LastSession, Longest: longest}
	n := StateRenewal{Jump: r.Jump.Others, Now: next.clock.Now}
	if err := m.core.renewInto([]*Core{made.core}, func(shard.NodeID) bool { return true }, &n); err != nil {
		return nil, err
	}
	made.core.Sessions.takeRemote(m.core)
	for _, id := range m.core.Nodes.dropping {
		if n := made.core.Nodes.byID[id]; n != nil {
			n.Dropping = true
			made.core.Nodes.dropping = append(made.core.Nodes.dropping, id)
		}
	}
	made.dropMovedSlots(&r)
	made.core.group = group // the group begins to wait: until then, slots may be sealed
	return made, nil
}

// begin makes an added shard's first machine. Its wait is over from the beginning.
func (m *Machine) begin(group uint64) *Machine {
	made := New(m.core.known, Options{Shard: uint64(m.core.class), NoSlots: true, Began: Bootstrap,
		History: m.core.History.limit, Bounds: m.core.bounds})
	made.core.group = shard.Group{Number: group, Began: Bootstrap, Until: Bootstrap}
	return made
}

// dropMovedSlots makes sure that a rebuilt shard serves no slot that another shard has, or may have. It drops each slot
// with another owner. A slot whose move to another shard is in progress is sealed, because only that shard knows the
// outcome. A shard without a survivor has its slots under the generations on record.
func (m *Machine) dropMovedSlots(r *Renewal) {
	own := uint64(m.core.class)
	for i := range r.Slots {
		x, c := &r.Slots[i], shard.Command{Level: m.core.level, Slot: r.Slots[i].Slot}
		if r.Empty && x.Owner.Shard == own && x.Owner.Generation > 0 {
			m.core.slots.Adopt(x.Slot, x.Owner.Generation)
		}
		switch {
		case m.core.slots.Of(x.Slot).State == slots.None:
			continue
		case x.Owner.Shard != own:
			c.Kind, c.Count, c.Number = shard.CmdSlotSupersede, x.Owner.Generation, x.Owner.Shard
		case x.Into.Shard != 0:
			c.Kind, c.Count, c.Number, c.Flags = shard.CmdSlotSeal, x.Into.Generation, x.Into.Shard, shard.FlagForce
		default:
			continue
		}
		m.applySlot(c)
	}
}

// applySlot applies a slot command. A seal has no effect if the survivor knows more, or if the slot could not have
// moved.
func (m *Machine) applySlot(c shard.Command) {
	var effects shard.Effects
	m.Apply(&shard.Batch{Commands: []shard.Command{c}}, &effects)
}

// Longest returns the longest session timeout at this home, with its session.
func (m *Machine) Longest() (longest shard.Longest) {
	for at, over := shard.Cursor(0), false; !over; {
		at, over = m.WalkSessions(at, func(v shard.SessionView) {
			if v.Home {
				longest = longest.Over(shard.Longest{Timeout: v.Timeout, Session: v.ID})
			}
		})
	}
	return longest
}

// takeRemote records an earlier machine's remote sessions, without holdings. Answers that granted or promised a remote
// session a part in an object become Aborted.
func (se *Sessions) takeRemote(from *Core) {
	for h := arena.Handle(1); h < from.Sessions.End(); h++ {
		if s := from.Sessions.At(h); s.id != 0 && !s.home && !s.ending {
			se.takeOne(from, h)
		}
	}
}

func (se *Sessions) takeOne(from *Core, old arena.Handle) {
	was := from.Sessions.At(old)
	h := se.add(was.id, se.core.Nodes.restored(from.Sessions.Node(was).ID))
	s := se.At(h)
	s.applied, s.acked, s.losses = was.applied, was.acked, was.losses+lossJump
	answers := slices.Clone(from.Sessions.answersOf(was))
	se.setAnswers(s, answers)
	for i := range answers {
		a := &answers[i]
		if a.flags&(shard.FlagAcquired|shard.FlagQueued) != 0 {
			a.become(answer{status: protocol.StatusAborted})
		} else if body := from.Answers.body(was, a.number); body != "" {
			se.core.Answers.keepBody(s, a.number, body)
		}
	}
	se.sets.set(h, from.Sessions.sets.appendTo(nil, old))
	se.core.Nodes.Charge(se.Node(s), se.sizeOf(h)-shard.SessionBytes)
}

// groupWait begins the group's wait: no host acts for an earlier group any more. An operator can end the wait.
func (co *Core) groupWait(c *shard.Command) Outcome {
	g := &co.group
	if c.Count != g.Number || c.Count == 0 {
		return Outcome{Status: protocol.StatusStale}
	}
	switch {
	case c.Flags&shard.FlagOperator != 0 && g.Waits(co.Clock.Now):
		g.Until = max(co.Clock.Now, 1)
	case g.Until == 0:
		g.Until = co.Clock.Now + max(c.Timeout, g.Longest.Timeout, 1)
	}
	return Outcome{}
}

func appendGroup(dst []byte, g *shard.Group) []byte {
	for _, n := range [...]uint64{
		g.Number, g.Began, g.Until, g.Before, g.Longest.Timeout, uint64(g.Longest.Session),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// readGroup reads the group for a shard that has issued sessions up to a counter.
func readGroup(r *codec.Input, lastSession uint64) (g shard.Group) {
	for _, to := range []*uint64{
		&g.Number, &g.Began, &g.Until, &g.Before, &g.Longest.Timeout, (*uint64)(&g.Longest.Session),
	} {
		*to = r.Number()
	}
	r.Must(g.Before <= lastSession && (g.Number != 0 || g == shard.Group{}), "a group of replicas that is not sound")
	return g
}

// Follower is a state machine that applies a shard's log to an unserved machine.
type Follower struct {
	*Machine
	batch   shard.Batch
	effects shard.Effects
}

// Apply implements StateMachine.
func (f *Follower) Apply(entries []shard.Entry) error {
	for i := range entries {
		if err := shard.DecodeBatch(entries[i].Data, &f.batch, f.Level()); err != nil {
			return fmt.Errorf("entry %d: %w", entries[i].Index, err)
		}
		f.effects.Reset()
		f.Machine.Apply(&f.batch, &f.effects)
	}
	return nil
}

// LeadershipChanged implements StateMachine.
func (*Follower) LeadershipChanged(shard.Leadership) {}
