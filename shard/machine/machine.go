package machine

import (
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Options are the settings of a new machine. They must be equal on all replicas of a shard.
type Options struct {
	// Shard is the id of the shard, at most MaxShard. Zero means 1, the id of a cluster's only shard.
	Shard uint64
	// Slots are the slots of the shard. The zero value means all.
	Slots shard.SlotSet
	// History is how many changes of owners the machine remembers for Changes, over all semaphores.
	// It is rounded up to a power of two. Zero means DefaultHistory.
	History int
	// Bounds are the limits of commands and sessions. Tests make them smaller.
	Bounds Bounds
}

// Bounds are limits of the machine that tests make smaller. Zeros mean MaxWork, MaxLinksPerSession and
// MaxAnswerBytes.
type Bounds struct {
	Work         int
	SessionLinks int
	AnswerBytes  int // of a session
}

// DefaultHistory is how many changes of owners a machine remembers where Options do not say. A full
// history takes 2.5 MiB.
const DefaultHistory = 1 << 16

// content is the whole state of a machine: the work of its commands, and everything derived from that work. Restore
// replaces the content as a whole.
type content struct {
	slots        shard.SlotSet
	lastOrder    shard.OrderID
	lastRevision shard.Revision
	lastSession  uint64
	clock        clock.Clock // with the highest term that began
	level        level.Level // commands above the level are refused
	nextLevel    level.Level // becomes the level at the end of the batch
	group        shard.Group // of the replicas
	quota        quota       // of the shard
	bytes        uint64      // the sum over all nodes

	nodes    map[shard.NodeID]*node
	listed   []*node            // all nodes, each at its place
	dropping []shard.NodeID     // the nodes that are being dropped
	limited  []shard.NodeLimits // the nodes with a quota of their own, by id
	sessions sessionStore
	bodies   arena.Slab[answerBodies] // of the answers kept for sessions
	objects  objectStore
	links    linkStore
	history  history
	pending  []pendingWork
	guests   int // sessions with another home
	waiters  int // links that do not own
	alarms   clock.Alarms[arena.Handle]

	// The kinds of objects, each with a store for its own state, and the number of objects of each kind.
	kinds  [shard.MaxKinds]kind
	ofKind [shard.MaxKinds]int
}

// Machine is the state machine of a data shard.
//
// The log calls Apply and Restore, never at the same time. Reads may be called from any goroutine; a read takes the
// machine's read lock for one page at most.
type Machine struct {
	mu sync.RWMutex // guards everything below; Apply and Restore write

	content

	// epoch is the number of the newest snapshot. A session, object or link with a stamp below the epoch may have to
	// be preserved before it changes. snapshots are the snapshots that are not discarded.
	epoch         uint32
	snapshots     []*snapshot
	arena.Speller // of names in effects

	bounds Bounds
	class  shard.OrderID // of the order ids that the shard gives: its id

	// The state of Apply.
	out  *shard.Effects
	op   int32
	left int // pieces of work left for the command; the last piece may take it below zero
	// touched is how often the command touched links, worked how much was done since the lock was taken.
	touched, worked int
	wall            uint64      // the Time of the command
	stamp           clock.Stamp // of the batch
	result          int         // index of the command's Result in out.List, -1 before there is a Result
	target          target
}

// New returns an empty machine.
func New(o Options) *Machine {
	if o.Slots == (shard.SlotSet{}) {
		o.Slots = shard.EverySlot()
	}
	if o.History <= 0 {
		o.History = DefaultHistory
	}
	if o.Bounds.Work <= 0 {
		o.Bounds.Work = shard.MaxWork
	}
	if o.Bounds.SessionLinks <= 0 {
		o.Bounds.SessionLinks = shard.MaxLinksPerSession
	}
	if o.Bounds.AnswerBytes <= 0 {
		o.Bounds.AnswerBytes = shard.MaxAnswerBytes
	}
	if o.Shard == 0 {
		o.Shard = 1
	}
	assert.That(o.Shard <= shard.MaxShard, "the id of a shard fits into an order id")
	m := &Machine{bounds: o.Bounds, class: shard.OrderID(o.Shard), epoch: 1}
	m.replaceContent(newContent(o.Slots, o.History))
	return m
}

// newContent returns the content of an empty machine.
func newContent(slots shard.SlotSet, historyLimit int) content {
	c := content{
		slots: slots, level: level.First, nextLevel: level.First, quota: newShardQuota(shard.Limits{}),
		nodes: make(map[shard.NodeID]*node), sessions: newSessionStore(), objects: newObjectStore(),
		links:   newLinkStore(),
		history: history{limit: historyLimit},
	}
	for i, row := range kindRows {
		if row.newStore != nil {
			c.kinds[i] = row.newStore()
		}
	}
	return c
}

// replaceContent gives the machine the content c; callers must not use c any more. The copy has the trees at new
// addresses, so the slabs get the new addresses, and the alarms get the order of the new object store.
func (m *Machine) replaceContent(c content) {
	m.content = c
	m.sessions.Trees = []*arena.Forest{&m.sessions.byID}
	m.objects.Trees = []*arena.Forest{&m.objects.byName}
	m.links.Trees = []*arena.Forest{&m.links.byObject, &m.links.bySession}
	m.alarms.Before = m.objects.stands
}

// Apply applies the commands of a batch in order and appends their effects to out. The batch must have come from
// DecodeBatch, or be like a decoded batch: the machine keeps nothing of its memory after returning. After much work
// Apply lets readers in between two commands.
func (m *Machine) Apply(b *shard.Batch, out *shard.Effects) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out, m.worked = out, 0
	m.stamp = b.Stamp
	m.clock.Advance(b.Stamp)
	for i := range b.Commands {
		if m.worked >= shard.MaxWork {
			m.mu.Unlock()
			m.mu.Lock()
			m.worked = 0
		}
		c := &b.Commands[i]
		m.op, m.result = int32(i), -1
		m.touched, m.left = 0, m.bounds.Work
		m.apply(c)
		assert.That(m.touched <= m.bounds.Work+ownTouches, "a command touches no more links than it may")
		m.worked += m.touched + 1
		if m.result < 0 {
			panic(fmt.Sprintf("shard: %v was not answered", c.Kind))
		}
	}
	m.level = m.nextLevel
	m.out = nil
}

func (m *Machine) apply(c *shard.Command) {
	if c.Level > m.level {
		m.answer(protocol.StatusUnsupported)
		return
	}
	if m.stamp.Term != m.clock.Term && c.Kind != shard.CmdLead {
		m.answer(protocol.StatusUnavailable)
		return
	}
	m.wall = c.Time
	switch c.Kind {
	case shard.CmdSessionCreate:
		m.sessionCreate(c)
	case shard.CmdSessionUpdate:
		m.sessionUpdate(c)
	case shard.CmdSessionNumbers:
		m.sessionNumbers(c)
	case shard.CmdSessionEnd:
		m.sessionEnd(c)
	default:
		if mu := &mutations[c.Kind]; mu.run != nil {
			m.mutate(c, mu)
			return
		}
		u := &upkeeps[c.Kind]
		assert.That(u.run != nil, "only commands that this build knows are decoded")
		m.keepUp(c, u)
	}
}

// nextOrder is the order id that the shard gives next.
func (m *Machine) nextOrder() shard.OrderID {
	next := m.lastOrder&^shard.MaxShard | m.class
	if next <= m.lastOrder {
		next += shard.MaxShard + 1
	}
	return next
}

// emit appends an effect of the current command. The pointer is good until the next emit.
func (m *Machine) emit(k shard.EffectKind) *shard.Effect {
	list, n := m.out.List, len(m.out.List)
	if n == cap(list) {
		list = append(list, shard.Effect{})
	}
	m.out.List = list[:n+1]
	e := &m.out.List[n]
	*e = shard.Effect{Kind: k, Op: m.op} // in place: an append would copy the effect
	return e
}

// answer emits the current command's Result, exactly one.
func (m *Machine) answer(s protocol.Status) *shard.Effect {
	if m.result >= 0 {
		panic("shard: a command was answered twice")
	}
	m.result = len(m.out.List)
	e := m.emit(shard.EffectResult)
	e.Status = s
	return e
}
