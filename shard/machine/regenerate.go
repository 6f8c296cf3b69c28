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

// A new cluster may be made from the state of an old cluster: from a backup, or from the hosts that are left after
// the loss of a majority. The new cluster must give no number a second time, and numbers given after the state was
// written are unknown. So all counters jump over a range above the known numbers. Owners of the old cluster may be
// alive without knowing of the new cluster: sessions end, with all their links.

const (
	// jumpBase and jumpPerSecond are by how much revisions jump: more than a shard can have given in the time since.
	jumpBase      = 1 << 40
	jumpPerSecond = 1 << 24
	// orderJumpBase and orderJumpPerSecond are the same for order ids, of which a shard gives every 1024th. Order ids
	// jump so at all levels, as the level of the old cluster may have risen after the state was written.
	orderJumpBase      = jumpBase * (shard.MaxShard + 1)
	orderJumpPerSecond = 1 << 30
	// sessionJump is by how much the counter of sessions jumps. The counter has 52 bits.
	sessionJump = 1 << 36
	// lastJump is above every order id and revision: kinds keep some of them in fewer bits.
	lastJump = 1 << 60
)

// Jump is by how much the counters of a cluster grow: order ids, and all others but sessions.
type Jump struct{ Orders, Others uint64 }

// JumpOver is the jump for a state of an age. An age below zero counts as zero.
func JumpOver(age time.Duration) Jump {
	seconds := uint64(math.Ceil(max(age, 0).Seconds()))
	return Jump{orderJumpBase + orderJumpPerSecond*seconds, jumpBase + jumpPerSecond*seconds}
}

// Regeneration says how the machines of a new cluster are made.
type Regeneration struct {
	// Slots are the slots of each new machine: together all slots, and no slot twice.
	Slots []shard.SlotSet
	// Jump is by how much order ids, revisions and the counters of objects grow.
	Jump Jump
	// Counted are the highest counters of shards without a machine, zeros if there are no such shards.
	Counted shard.Counters
	// Keep reports whether the node of an id exists. The objects of missing nodes are left out.
	Keep func(shard.NodeID) bool
}

// StateRenewal has the numbers that kinds need for a regeneration.
type StateRenewal struct {
	Jump     uint64         // of the kind's own counters
	Revision shard.Revision // of the new object and of all its parts
	Now      uint64         // the shard time of the new machine
	Later    uint64         // the difference between the time of the new machine and of the old
}

// Regenerate makes the machines of a new cluster from all machines of an old cluster. The old machines stay as they
// are, and must not change meanwhile. All new machines begin with the highest counters and the latest time of any old
// machine, so that the old placement of the objects does not matter. The new machines have no sessions and no links.
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

// beginning is what new machines begin with.
type beginning struct {
	shard.Counters
	clock clock.Clock
	level level.Level
}

// over returns the highest of the counters and of those of all machines, after the jump. The term begins anew, as the
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

// beginWith gives an empty machine its counters, its time, its level and the quota of the shard.
func (co *Core) beginWith(b beginning, q quota) {
	co.lastOrder, co.lastRevision, co.Sessions.last = b.LastOrder, b.LastRevision, b.LastSession
	co.Clock, co.level, co.nextLevel, co.Nodes.quota = b.clock, b.level, b.level, q
}

// highestCounter is the highest number of a session that the machine knows. The home of a guest may be a shard of which
// only an older state is left.
func (se *Sessions) highestCounter() (last uint64) {
	for h := arena.Handle(1); h < se.End(); h++ {
		last = max(last, se.At(h).id.Counter())
	}
	return last
}

// renewInto puts the objects of the old machine, except the objects that end, into the new machine that serves their
// slot, and the quotas of nodes into all new machines.
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

// takeRenewed puts an object of an old machine into the new machine, unless the object ends with its sessions.
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
