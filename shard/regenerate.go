package shard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
)

// A cluster that is made of the state of another one, of a backup or of what a lost majority has left, gives no number
// a second time: those that were given after that state was written down are not known. So all counters jump over them.
// Who owned something may be alive, and does not know of the new cluster: sessions end, with all that they had.

const (
	// jumpBase and jumpPerSecond are by how much order ids and revisions jump: more than a shard can have given in the
	// time since.
	jumpBase      = 1 << 40
	jumpPerSecond = 1 << 24
	// sessionJump is by how much the counter of sessions jumps, which has 52 bits.
	sessionJump = 1 << 36
	// lastJump is above every order id and revision: kinds keep some of them in fewer bits.
	lastJump = 1 << 60
)

// JumpOver is by how much order ids and revisions jump where the state is so old. An age below zero counts as none.
func JumpOver(age time.Duration) uint64 {
	return jumpBase + jumpPerSecond*uint64(math.Ceil(max(age, 0).Seconds()))
}

// Regeneration says how the machines of a new cluster are made.
type Regeneration struct {
	// Slots are what each of the new machines serves: together all slots, and none twice.
	Slots []SlotSet
	// Jump is by how much order ids and revisions grow: JumpOver.
	Jump uint64
	// Keep reports whether there is a node of that id. What there is of others is left out.
	Keep func(NodeID) bool
}

// renewal is what kinds need to know of a regeneration.
type renewal struct {
	jump     uint64   // of the counters that a kind has of its own
	revision Revision // that the object gets, and all parts of it
	now      uint64   // the shard time of the new machine
	later    uint64   // by how much that is later than the time of the old one
}

// Regenerate makes the machines of a new cluster from all of those of another one, which nothing may change meanwhile
// and which stay as they are. All new machines begin with the highest counters and the latest time of any of the old
// ones, so that it does not matter how the objects were placed. There are no sessions in them, and no links.
func Regenerate(from []*Machine, r Regeneration) ([]*Machine, error) {
	next, err := r.highest(from)
	if err != nil {
		return nil, err
	}
	var made []*Machine
	for _, slots := range r.Slots {
		m := New(Options{Slots: slots})
		m.lastOrder, m.lastRevision, m.lastSession = next.lastOrder, next.lastRevision, next.lastSession
		m.clock, m.level, m.nextLevel, m.quota = next.clock, next.level, next.level, from[0].quota
		made = append(made, m)
	}
	for _, old := range from {
		n := renewal{jump: r.Jump, now: next.clock.Now, later: next.clock.Now - old.clock.Now}
		if err := old.renewInto(made, r.Keep, &n); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// counters are what all machines of a regeneration begin with.
type counters struct {
	lastOrder    OrderID
	lastRevision Revision
	lastSession  uint64
	clock        clock.Clock
	level        level.Level
}

// highest returns the highest counters of all machines, after the jump. The term begins anew: that of the engine does.
func (r *Regeneration) highest(from []*Machine) (c counters, err error) {
	for _, m := range from {
		c.lastOrder, c.lastRevision = max(c.lastOrder, m.lastOrder), max(c.lastRevision, m.lastRevision)
		c.lastSession = max(c.lastSession, m.lastSession, m.lastGuest())
		c.clock.Now = max(c.clock.Now, m.clock.Now)
		c.level = max(c.level, m.level)
	}
	c.clock.Base = c.clock.Now
	c.lastOrder += OrderID(r.Jump)
	c.lastRevision += Revision(r.Jump)
	c.lastSession += sessionJump
	if uint64(max(c.lastOrder, OrderID(c.lastRevision))) >= lastJump || c.lastSession >= 1<<counterBits {
		return c, fmt.Errorf("shard: the counters have no room for another jump: order id %d, revision %d, session %d",
			c.lastOrder, c.lastRevision, c.lastSession)
	}
	return c, nil
}

// lastGuest is the highest number of a session that the machine knows. Its home may be another shard, of which an older
// state may be all there is.
func (m *Machine) lastGuest() (last uint64) {
	for h := handle(1); h < m.sessions.used; h++ {
		last = max(last, m.sessions.at(h).id.Counter())
	}
	return last
}

// renewInto puts the objects of the machine that stay into that of the new machines which serves their slot, and the
// quotas of nodes into all of them.
func (m *Machine) renewInto(made []*Machine, keep func(NodeID) bool, n *renewal) error {
	for _, l := range m.limited {
		for _, to := range made {
			if keep(l.Node) {
				to.limit(to.restoredNode(l.Node), l.Limits)
			}
		}
	}
	for _, at := range m.listed {
		if at.dropping || !keep(at.id) {
			continue
		}
		for h := m.objects.byName.first(at.names); h != 0; h = m.objects.byName.next(h) {
			to := slices.IndexFunc(made, func(to *Machine) bool { return to.slots.Has(m.objects.at(h).slot) })
			if to < 0 {
				return fmt.Errorf("shard: no new shard serves slot %d", m.objects.at(h).slot)
			}
			if err := made[to].takeRenewed(m, h, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeRenewed puts an object of another machine into this one, unless it ends with its sessions.
func (m *Machine) takeRenewed(from *Machine, h handle, n *renewal) error {
	old := from.objects.at(h)
	if old.deleting {
		return nil
	}
	n.revision = m.lastRevision + 1
	saved, stays := from.kinds[old.kind].renew(old.body, n)
	if !stays {
		return nil
	}
	m.lastRevision = n.revision
	body, sound := m.kinds[old.kind].load(saved, m.level)
	assert(sound, "what is renewed can be loaded")
	name, node := from.objects.bytes(old), from.objects.node(old).id
	hash := ObjectHash(node, name)
	if m.objects.find(hash, node, name) != 0 {
		return fmt.Errorf("shard: two shards have object %q of node %d", name, node)
	}
	t := target{hash: hash, slot: Slot(hash % Slots), node: m.restoredNode(node)}
	renewed := m.addObject(old.kind, &t, node, name, body)
	o := m.objects.at(renewed)
	o.revision, o.base = n.revision, n.revision
	return m.kinds[o.kind].linked(m, renewed)
}
