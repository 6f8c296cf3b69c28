package shard

import (
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
)

// Options say what a machine starts from. They must be the same on all replicas of a shard.
type Options struct {
	// Slots are the slots that the shard serves. The zero value means all.
	Slots SlotSet
	// History is how many changes of owners the machine remembers for Changes, over all semaphores.
	// It is rounded up to a power of two. Zero means DefaultHistory.
	History int
	// Bounds are what a command and a session may do. Tests make them smaller.
	Bounds Bounds
}

// Bounds are limits of the machine that tests make smaller. Zeros mean MaxWork, MaxLinksPerSession and
// MaxAnswerBytes.
type Bounds struct {
	Work         int
	SessionLinks int
	AnswerBytes  int // of one session
}

// DefaultHistory is how many changes of owners a machine remembers where Options do not say. A full
// history takes 2.5 MiB.
const DefaultHistory = 1 << 16

// content is all that a machine holds: what its commands made, and what follows from that. Restore replaces it as a
// whole.
type content struct {
	slots        SlotSet
	lastOrder    OrderID
	lastRevision Revision
	lastSession  uint64
	clock        clock.Clock // its term is the highest that began
	level        level.Level // commands above it are refused
	nextLevel    level.Level // takes its place when the batch is through
	quota        quota       // of the shard
	bytes        uint64      // what all of its nodes take together

	nodes    map[NodeID]*node
	listed   []*node      // the same nodes, each at its place
	dropping []NodeID     // those of them that are being dropped
	limited  []NodeLimits // those of them that have a quota of their own, by id
	sessions sessionStore
	bodies   slab[answerBodies] // of the answers that are kept for sessions
	objects  objectStore
	links    linkStore
	history  history
	pending  []pendingWork
	guests   int // sessions whose home is elsewhere
	waiters  int // links that do not own
	alarms   clock.Alarms[handle]

	// The kinds of objects, each with a store of its own for what only it has, and how many there are of each.
	kinds  [MaxKinds]kind
	ofKind [MaxKinds]int
}

// Machine is the state machine of a data shard.
//
// Apply and Restore are called by the log, never at the same time. The reads may be called from any
// goroutine; they take the machine's read lock for one page at most.
type Machine struct {
	mu sync.RWMutex // guards everything below; Apply and Restore write

	content

	// epoch is the number of the newest snapshot. A thing whose stamp is below it may have to be
	// preserved before it changes. snapshots are those whose Save is not over.
	epoch     uint32
	snapshots []*snapshot
	speller   // of names in effects

	bounds Bounds

	// What Apply is at.
	out  *Effects
	op   int32
	left int // how many pieces of work the command may still do; a last one may take it below zero
	// touched is how often the command touched links, worked how much was done since the lock was taken.
	touched, worked int
	rules           level.Level // of the command
	wall            uint64      // the Time of the command
	stamp           clock.Stamp // of the batch
	result          int         // place of the command's Result in out.List, -1 before there is one
	target          target
}

// New returns an empty machine.
func New(o Options) *Machine {
	if o.Slots == (SlotSet{}) {
		o.Slots = EverySlot()
	}
	if o.History <= 0 {
		o.History = DefaultHistory
	}
	if o.Bounds.Work <= 0 {
		o.Bounds.Work = MaxWork
	}
	if o.Bounds.SessionLinks <= 0 {
		o.Bounds.SessionLinks = MaxLinksPerSession
	}
	if o.Bounds.AnswerBytes <= 0 {
		o.Bounds.AnswerBytes = MaxAnswerBytes
	}
	m := &Machine{bounds: o.Bounds, epoch: 1}
	m.replaceContent(newContent(o.Slots, o.History))
	return m
}

// newContent returns that of an empty machine.
func newContent(slots SlotSet, historyLimit int) content {
	c := content{
		slots: slots, level: level.First, nextLevel: level.First, quota: newShardQuota(Limits{}),
		nodes: make(map[NodeID]*node), sessions: newSessionStore(), objects: newObjectStore(), links: newLinkStore(),
		history: history{limit: historyLimit},
	}
	for i, row := range kindRows {
		if row.newStore != nil {
			c.kinds[i] = row.newStore()
		}
	}
	return c
}

// replaceContent makes what the machine holds that of c, which must not be used any more. The trees are at another
// address then, where the slabs find them, and so are the objects that alarms are ordered by.
func (m *Machine) replaceContent(c content) {
	m.content = c
	m.sessions.trees = []*forest{&m.sessions.byID}
	m.objects.trees = []*forest{&m.objects.byName}
	m.links.trees = []*forest{&m.links.byObject, &m.links.bySession}
	m.alarms.Before = m.objects.stands
}

// Apply carries out the commands of a batch in order and appends what they bring about to out. The
// batch must have come from DecodeBatch, or be as if: nothing of it is kept after returning. Between two commands
// readers get in where much was done.
func (m *Machine) Apply(b *Batch, out *Effects) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out, m.worked = out, 0
	m.stamp = b.Stamp
	m.clock.Advance(b.Stamp)
	for i := range b.Commands {
		if m.worked >= MaxWork {
			m.mu.Unlock()
			m.mu.Lock()
			m.worked = 0
		}
		m.op = int32(i)
		m.result = -1
		m.apply(&b.Commands[i])
		m.endWork(&b.Commands[i])
		if m.result < 0 {
			panic(fmt.Sprintf("shard: %v was not answered", b.Commands[i].Kind))
		}
	}
	m.level = m.nextLevel
	m.out = nil
}

func (m *Machine) apply(c *Command) {
	m.beginWork(c)
	if c.Level > m.level {
		m.answer(protocol.StatusUnsupported)
		return
	}
	if c.Level >= batchesOfTheLeader && m.stamp.Term != m.clock.Term && c.Kind != CmdLead {
		m.answer(protocol.StatusUnavailable)
		return
	}
	m.rules, m.wall = c.Level, c.Time
	switch c.Kind {
	case CmdSessionCreate:
		m.sessionCreate(c)
	case CmdSessionUpdate:
		m.sessionUpdate(c)
	case CmdSessionNumbers:
		m.sessionNumbers(c)
	case CmdSessionEnd:
		m.sessionEnd(c)
	default:
		if mu := &mutations[c.Kind]; mu.run != nil {
			m.mutate(c, mu)
			return
		}
		u := &upkeeps[c.Kind]
		assert(u.run != nil, "only commands that this build knows are decoded")
		m.keepUp(c, u)
	}
}

// emit appends an effect of the current command. The pointer is good until the next emit.
func (m *Machine) emit(k EffectKind) *Effect {
	e := m.out.next()
	*e = Effect{Kind: k, Op: m.op} // in place: an append would copy it
	return e
}

// answer emits the current command's Result, the only one.
func (m *Machine) answer(s protocol.Status) *Effect {
	if m.result >= 0 {
		panic("shard: a command was answered twice")
	}
	m.result = len(m.out.List)
	e := m.emit(EffectResult)
	e.Status = s
	return e
}

// assert stops the replica rather than let it go on in a state that must not be.
func assert(ok bool, what string) {
	if !ok {
		panic("shard: broken invariant: " + what)
	}
}
