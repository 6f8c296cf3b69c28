package machine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// A new cluster may be created from an old cluster's state: from a backup, or from the hosts that survive the loss of a
// majority. The new cluster must not issue any number twice, and numbers issued after the state was written are
// unknown. So all counters jump over a range above the known numbers. Owners in the old cluster may still be running,
// unaware of the new cluster; so all sessions end, with their holdings.

const (
	// jumpBase and jumpPerSecond define how far revisions jump: further than a shard can have counted in the time
	// since.
	jumpBase      = 1 << 40
	jumpPerSecond = 1 << 24
	// orderJumpBase and orderJumpPerSecond define the jump for order ids; a shard issues every 1024th order id. Order
	// ids jump this far at all levels, because the old cluster's level may have risen after the state was written.
	orderJumpBase      = jumpBase * (shard.MaxShard + 1)
	orderJumpPerSecond = 1 << 30
	// sessionJump is how far the session counter jumps. The counter has 52 bits.
	sessionJump = 1 << 36
	// lastJump is above every order id and revision: kinds store some in fewer bits.
	lastJump = 1 << 60
)

// Jump has the amounts added to a cluster's counters: one for order ids, one for all others except the session counter.
type Jump struct{ Orders, Others uint64 }

// JumpOver is the jump for a state with the given age. A negative age counts as zero.
func JumpOver(age time.Duration) Jump {
	seconds := uint64(math.Ceil(max(age, 0).Seconds()))
	return Jump{orderJumpBase + orderJumpPerSecond*seconds, jumpBase + jumpPerSecond*seconds}
}

// Regeneration describes how to make the machines for a new cluster.
type Regeneration struct {
	// Slots are the slots for each new machine: together all slots, each slot exactly once.
	Slots []shard.SlotSet
	// Jump is how far order ids, revisions and object counters grow.
	Jump Jump
	// Counted are the highest counters among shards without a machine, zeros if there are no such shards.
	Counted shard.Counters
	// Keep reports whether the node with the id exists. Objects in missing nodes are left out.
	Keep func(shard.NodeID) bool
}

// StateRenewal has the numbers that kinds need for a regeneration.
type StateRenewal struct {
	Jump     uint64         // for the kind's own counters
	Revision shard.Revision // for the new object and all its parts
	Now      uint64         // shard time in the new machine
	Later    uint64         // new machine's time minus old machine's time
}

// Regenerate makes the machines for a new cluster from all machines of an old cluster. The old machines are unchanged,
// and must not change meanwhile. All new machines begin with the highest counters and the latest time found in any old
// machine, so the old object placement does not matter. The new machines have no sessions and no holdings.
func Regenerate(from []*Machine, r Regeneration) ([]*Machine, error) {
	next, err := r.Jump.over(r.Counted, from...)
	if err != nil {
		return nil, err
	}
	var made []*Machine
	var cores []*Core
	for _, slots := range r.Slots {
		m := New(from[0].core.known, Options{Slots: slots})
		m.core.beginWith(next, from[0].core.Nodes.quota)
		made, cores = append(made, m), append(cores, m.core)
	}
	for _, old := range from {
		n := StateRenewal{Jump: r.Jump.Others, Now: next.clock.Now, Later: next.clock.Now - old.core.Clock.Now}
		if err := old.core.renewInto(cores, r.Keep, &n); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// beginning is the state that new machines begin with.
type beginning struct {
	shard.Counters
	clock clock.Clock
	level level.Level
}

// over returns the highest counters, from counted and from all machines, after the jump. The term restarts, as the
// engine's term does.
func (j Jump) over(counted shard.Counters, from ...*Machine) (b beginning, err error) {
	b.Counters = counted
	for _, m := range from {
		b.LastOrder, b.LastRevision = max(b.LastOrder, m.core.lastOrder), max(b.LastRevision, m.core.lastRevision)
		b.LastSession = max(b.LastSession, m.core.Sessions.last, m.core.Sessions.highestCounter())
		b.clock.Now = max(b.clock.Now, m.core.Clock.Now)
		b.level = max(b.level, m.core.level)
	}
	b.clock.Base = b.clock.Now
	b.LastOrder += shard.OrderID(j.Orders)
	b.LastRevision += shard.Revision(j.Others)
	b.LastSession += sessionJump
	if uint64(max(b.LastOrder, shard.OrderID(b.LastRevision))) >= lastJump || b.LastSession > shard.MaxSessionCounter {
		return b, fmt.Errorf("shard: the counters have no room for another jump: order id %d, revision %d, session %d",
			b.LastOrder, b.LastRevision, b.LastSession)
	}
	return b, nil
}

// beginWith gives an empty machine its counters, its time, its level and the shard quota.
func (co *Core) beginWith(b beginning, q quota) {
	co.lastOrder, co.lastRevision, co.Sessions.last = b.LastOrder, b.LastRevision, b.LastSession
	co.Clock, co.level, co.nextLevel, co.Nodes.quota = b.clock, b.level, b.level, q
}

// highestCounter is the highest session number the machine knows. A remote session's home may be a shard for which only
// an older state is left.
func (se *Sessions) highestCounter() (last uint64) {
	for h := arena.Handle(1); h < se.End(); h++ {
		last = max(last, se.At(h).id.Counter())
	}
	return last
}

// renewInto copies the old machine's objects, except those that end, into the new machines that serve their slots, and
// node quotas into all new machines.
func (co *Core) renewInto(made []*Core, keep func(shard.NodeID) bool, n *StateRenewal) error {
	for _, l := range co.Nodes.limited {
		for _, to := range made {
			if keep(l.Node) {
				to.Nodes.limit(to.Nodes.restored(l.Node), l.Limits)
			}
		}
	}
	byID := func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) }
	for _, at := range slices.SortedFunc(slices.Values(co.Nodes.listed), byID) {
		if at.Dropping || !keep(at.ID) {
			continue
		}
		for h := co.Objects.byName.First(at.names); h != 0; h = co.Objects.byName.Next(h) {
			to := slices.IndexFunc(made, func(to *Core) bool { return to.slots.Has(co.Objects.At(h).slot) })
			if to < 0 {
				return fmt.Errorf("shard: no new shard serves slot %d", co.Objects.At(h).slot)
			}
			if err := made[to].takeRenewed(co, h, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeRenewed copies an object from an old machine, unless the object ends with its sessions.
func (co *Core) takeRenewed(from *Core, h arena.Handle, n *StateRenewal) error {
	old := from.Objects.At(h)
	if old.Deleting {
		return nil
	}
	n.Revision = co.lastRevision + 1
	saved, stays := from.kinds[old.Kind].Renew(old.State, n)
	if !stays {
		return nil
	}
	co.lastRevision = n.Revision
	body, sound := co.kinds[old.Kind].Load(saved)
	assert.That(sound, "what is renewed can be loaded")
	name, node := from.Objects.names.Bytes(old.name), from.Objects.Node(old).ID
	hash := shard.ObjectHash(node, name)
	if co.Objects.find(hash, node, name) != 0 {
		return fmt.Errorf("shard: two shards have object %q of node %d", name, node)
	}
	t := Target{hash: hash, slot: shard.Slot(hash % shard.Slots), Node: co.Nodes.restored(node)}
	renewed := co.Objects.Add(old.Kind, &t, node, name, body)
	o := co.Objects.At(renewed)
	o.Revision, o.base = n.Revision, n.Revision
	return co.kinds[o.Kind].Linked(co, renewed)
}
