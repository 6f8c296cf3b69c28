package machine

import (
	"sync"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Options are the settings for a new machine. They must be equal on all replicas.
type Options struct {
	// Shard is the shard id, at most MaxShard. Zero means 1, the id in a cluster with a single shard.
	Shard uint64
	// Slots are the slots the shard serves at its bootstrap. The zero value means all.
	Slots shard.SlotSet
	// NoSlots is set for a shard that was added to a running cluster: it begins without slots, and Slots is unused.
	NoSlots bool
	// Began is the shard time at the beginning of the log.
	Began uint64
	// History is how many owner changes the machine remembers for Changes, over all semaphores. It is rounded up to a
	// power of two. Zero means DefaultHistory.
	History int
	// Bounds limit commands and sessions. Tests make them smaller.
	Bounds Bounds
}

// Bounds are machine limits that tests make smaller. Zeros mean MaxWork, MaxLinksPerSession and MaxAnswerBytes.
type Bounds struct {
	Work         int
	SessionLinks int
	AnswerBytes  int // per session
}

// Bootstrap is the value for Options.Began in a cluster. A slot may arrive from a shard with a later time. So that the
// slot's timestamps keep their distances, they can lie before the beginning here. It is 199 days: a year is the longest
// duration in JSON.
const Bootstrap = 1 << 34

// DefaultHistory is how many owner changes a machine remembers by default. A full history takes 2.5 MiB.
const DefaultHistory = 1 << 16

// Machine is the state machine for a data shard: a Core behind a lock.
//
// The log calls Apply and Restore, never at the same time. Reads may be called from any goroutine; a read takes the
// machine's read lock for one page at most.
type Machine struct {
	mu   sync.RWMutex // guards everything below; Apply and Restore write
	core *Core
}

// New returns an empty machine for objects of the given kinds.
func New(kinds *Kinds, o Options) *Machine {
	switch {
	case o.NoSlots:
		o.Slots = shard.SlotSet{}
	case o.Slots == (shard.SlotSet{}):
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
	return &Machine{core: newCore(kinds, o)}
}

// RLock takes the machine's read lock for a kind's read, and returns the content. RUnlock releases the lock.
func (m *Machine) RLock() *Core {
	m.mu.RLock()
	return m.core
}

// RUnlock ends a read that RLock began.
func (m *Machine) RUnlock() { m.mu.RUnlock() }

// Apply applies the commands in a batch in order and appends their effects to out. The batch must come from
// DecodeBatch, or be like a decoded batch: the machine retains no reference to batch memory. After much work Apply lets
// readers in between two commands.
func (m *Machine) Apply(b *shard.Batch, out *shard.Effects) {
	m.mu.Lock()
	defer m.mu.Unlock()
	core, worked := m.core, 0
	run := &core.Run
	run.out, run.stamp = out, b.Stamp
	core.Clock.Advance(b.Stamp)
	for i := range b.Commands {
		if worked >= shard.MaxWork {
			m.mu.Unlock()
			m.mu.Lock()
			worked = 0
		}
		c := &b.Commands[i]
		run.op, run.result = int32(i), -1
		run.Touched, run.Left = 0, core.bounds.Work
		outcome := Outcome{}
		core.apply(c, &outcome)
		run.conclude(&outcome)
		assert.That(run.Touched <= core.bounds.Work+ownTouches, "a command touches no more links than it may")
		worked += run.Touched + 1
	}
	core.level = core.nextLevel
	run.out = nil
}
