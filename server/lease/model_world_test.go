package lease_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
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
	hosts     []*modelHost
	clients   []*modelClient
	violation string

	// The replicated log, as committed by a majority.
	log    []modelEntry
	truth  modelMachine
	term   uint64
	leader *modelHost

	// The node's grace periods in the meta shard, one per config version.
	graces    []time.Duration
	confirmed int
}

func newWorld(seed uint64, b bug, tally map[string]int) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 2)), bug: b, tally: tally, truth: newModelMachine(),
		graces: []time.Duration{4 * second},
	}
	w.slow = w.IntN(4)
	for range modelHosts {
		w.hosts = append(w.hosts, newModelHost(w))
	}
	for i := range modelClients {
		w.clients = append(w.clients, newModelClient(w, i))
	}
	w.elect()
	w.every(6*second, w.elect)
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

// pick draws a host, the leader with a higher probability.
func (w *world) pick() *modelHost {
	if w.chance(40) {
		return w.leader
	}
	return w.hosts[w.IntN(len(w.hosts))]
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

func (w *world) elect() {
	w.term++
	w.leader = w.hosts[w.IntN(len(w.hosts))]
	term, h := w.term, w.leader
	w.after(w.delay(), func() { h.run(func() { h.wasElected(term) }) })
}

// modelEntry is a command in the log.
type modelEntry struct {
	kind    shard.CommandKind
	term    uint64              // lead, expire
	ids     []shard.SessionID   // expire
	id      shard.SessionID     // create (given on appending), update
	timeout time.Duration       // create, update
	by      *modelHost          // who proposed it
	applied func(e *modelEntry) // action of host `by` after applying it
}

// modelMachine is the relevant part of the state machine.
type modelMachine struct {
	term     uint64
	last     uint64
	sessions map[shard.SessionID]time.Duration
}

func newModelMachine() modelMachine {
	return modelMachine{sessions: map[shard.SessionID]time.Duration{}}
}

func (m *modelMachine) apply(e *modelEntry) {
	switch e.kind {
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
		if e.term == m.term {
			for _, id := range e.ids {
				delete(m.sessions, id)
			}
		}
	}
}

// append commits an entry.
func (w *world) append(e modelEntry) {
	if e.kind == shard.CmdSessionCreate {
		e.id = id(w.truth.last + 1)
	}
	if e.kind == shard.CmdSessionsExpire && e.term != w.truth.term {
		w.tally["expire void"]++
	} else if e.kind == shard.CmdSessionsExpire {
		for _, id := range e.ids {
			if _, alive := w.truth.sessions[id]; alive {
				w.tally["expired"]++
				w.mustNotBelieve(id, "its end is committed")
			}
		}
	}
	w.truth.apply(&e)
	w.log = append(w.log, e)
	for _, h := range w.hosts {
		upTo := len(w.log)
		w.after(w.delay(), func() { h.hear(func() { h.applyTo(upTo) }) })
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
