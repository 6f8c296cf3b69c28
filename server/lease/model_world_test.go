package lease_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	modelLength  = 60 * second
	modelHosts   = 3
	modelClients = 12
	// modelDrift is how much faster or slower than real time a clock may run.
	modelDrift = 0.005
)

// world is one run: real time, shown by none of its clocks, and everything in progress.
type world struct {
	*rand.Rand
	bug       bug
	tally     map[string]int
	now       time.Duration
	slow      int // percentage of slow messages
	queue     modelQueue
	order     int
	shards    []*modelShard
	hosts     []*modelHost
	clients   []*modelClient
	moving    map[shard.Slot]bool // slots with a move in progress
	violation string

	// The node's grace periods in the meta shard, one per config version.
	graces    []time.Duration
	confirmed int
}

// newWorld returns a world with one shard, or with two shards between which slots move.
func newWorld(seed uint64, b bug, moves bool, tally map[string]int) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 2)), bug: b, tally: tally, moving: map[shard.Slot]bool{},
		graces: []time.Duration{4 * second},
	}
	w.slow = w.IntN(4)
	w.shards = []*modelShard{newModelShard(w, 0, id(1).Slot())}
	if moves {
		w.shards = []*modelShard{newModelShard(w, 0, movingSlots...), newModelShard(w, 1)}
	}
	for range modelHosts {
		w.hosts = append(w.hosts, newModelHost(w))
	}
	for i := range modelClients {
		w.clients = append(w.clients, newModelClient(w, i))
	}
	for _, s := range w.shards {
		s.elect()
		w.every(6*second, s.elect)
	}
	if moves {
		w.every(time.Duration(1+w.IntN(8))*second, w.move)
	}
	w.every(3*second, func() { w.pick().pause() })
	w.every(3*second, func() { w.pick().cut() })
	w.every(3*second, w.alterGrace)
	w.every(300*time.Millisecond, w.dropOldGraces)
	return w
}

// play returns the first violation; empty if there is none.
func (w *world) play() string {
	for w.violation == "" && w.now < modelLength {
		e := heap.Pop(&w.queue).(modelEvent)
		w.now = e.at
		e.happen()
	}
	return w.violation
}

func (w *world) after(d time.Duration, happen func()) {
	w.order++
	heap.Push(&w.queue, modelEvent{w.now + d, w.order, happen})
}

// every repeats something at random distances around a mean.
func (w *world) every(mean time.Duration, happen func()) {
	w.after(w.upTo(2*mean), func() {
		happen()
		w.every(mean, happen)
	})
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.Int64N(int64(d)) + 1) }
func (w *world) chance(percent int) bool            { return w.IntN(100) < percent }

// pick draws a host, leaders with a higher probability.
func (w *world) pick() *modelHost {
	if w.chance(40) {
		return w.someShard().leader.modelHost
	}
	return w.hosts[w.IntN(len(w.hosts))]
}

func (w *world) someShard() *modelShard {
	if len(w.shards) == 1 {
		return w.shards[0]
	}
	return w.shards[w.IntN(len(w.shards))]
}

// exists reports whether a session exists: in a shard, or in a slot on its way.
func (w *world) exists(id shard.SessionID) bool {
	for _, s := range w.shards {
		if _, in := s.truth.sessions[id]; in {
			return true
		}
		if sealed := s.truth.sealed[id.Slot()]; sealed != nil {
			if _, in := sealed.sessions[id]; in {
				return true
			}
		}
	}
	return false
}

// delay is how long a message takes.
func (w *world) delay() time.Duration {
	if w.chance(w.slow) {
		return w.upTo(3 * second)
	}
	return w.upTo(20 * time.Millisecond)
}

func (w *world) violate(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf("after %v: %s", w.now, fmt.Sprintf(format, args...))
	}
}

// modelEntry is a command in the log.
type modelEntry struct {
	kind    shard.CommandKind
	term    uint64              // lead, expire
	changes uint64              // expire
	ids     []shard.SessionID   // expire
	id      shard.SessionID     // create (given on appending), update
	timeout time.Duration       // create, update
	slot    shard.Slot          // seal, open, cancel
	content *modelContent       // open
	by      *modelReplica       // who proposed it
	applied func(e *modelEntry) // action of replica `by` after applying it
}

// modelMachine is the relevant part of the state machine.
type modelMachine struct {
	term     uint64
	last     uint64
	sessions map[shard.SessionID]time.Duration
	changes  uint64
	slots    []shard.Slot // owned, in order
	sealed   map[shard.Slot]*modelContent
}

func newModelMachine(slots []shard.Slot) modelMachine {
	return modelMachine{sessions: map[shard.SessionID]time.Duration{}, slots: slices.Clone(slots),
		sealed: map[shard.Slot]*modelContent{}}
}

func (m *modelMachine) apply(e *modelEntry, b bug) {
	switch e.kind {
	case modelSeal:
		m.seal(e.slot)
	case modelOpen:
		m.take(e.slot, e.content)
	case modelCancel:
		m.take(e.slot, m.sealed[e.slot])
	case shard.CmdLead:
		m.term = max(m.term, e.term)
	case shard.CmdSessionCreate:
		m.last = e.id.Counter()
		m.sessions[e.id] = e.timeout
	case shard.CmdSessionUpdate:
		if _, alive := m.sessions[e.id]; alive {
			m.sessions[e.id] = e.timeout
		}
	case shard.CmdSessionsExpire:
		if m.expires(e, b) {
			for _, id := range e.ids {
				delete(m.sessions, id)
			}
		}
	}
}

// mustNotBelieve checks that no client believes in a session.
func (w *world) mustNotBelieve(id shard.SessionID, because string) {
	for i, c := range w.clients {
		if c.session == id && c.believes() {
			w.violate("client %d believes in %v for another %v, though %s", i, id, c.lease-c.clock.read(w.now), because)
		}
	}
}

func (w *world) alterGrace() {
	w.graces = append(w.graces, []time.Duration{500 * time.Millisecond, 8 * second}[w.IntN(2)])
	for _, h := range w.hosts {
		w.after(w.delay(), h.learnGrace)
	}
}

// dropOldGraces drops the older grace periods once every host goes by the newest.
func (w *world) dropOldGraces() {
	newest := len(w.graces) - 1
	for _, h := range w.hosts {
		if h.confirmed < newest {
			return
		}
	}
	if w.confirmed != newest {
		w.confirmed = newest
		w.tally["confirmed"]++
	}
	for _, h := range w.hosts {
		w.after(w.delay(), h.learnGrace)
	}
}

// modelClock is a clock with its own offset and speed.
type modelClock struct {
	offset time.Duration
	rate   float64
}

func (w *world) newClock() modelClock {
	return modelClock{w.upTo(time.Hour), 1 + modelDrift*(2*w.Float64()-1)}
}

func (c modelClock) read(real time.Duration) time.Duration {
	return c.offset + time.Duration(float64(real)*c.rate)
}

type modelEvent struct {
	at     time.Duration
	order  int
	happen func()
}

type modelQueue []modelEvent

func (q modelQueue) Len() int { return len(q) }
func (q modelQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q modelQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *modelQueue) Push(x any)   { *q = append(*q, x.(modelEvent)) }
func (q *modelQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}
