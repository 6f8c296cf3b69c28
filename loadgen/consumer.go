package loadgen

import (
	"fmt"
	"maps"
	"sync"

	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/protocol"
)

// consumer follows the list of workers. It keeps no more of it than is needed to tell who came and went, so
// that thousands of them leave the machine to the hosts.
type consumer struct {
	load    *discoveries
	current chan<- struct{} // told once, when the list is whole

	mu       sync.Mutex // guards what follows: the check reads it too
	revision uint64
	workers  map[uint64]int // by order id
	draft    map[uint64]int // of a list that is being sent
	told     []uint64       // by caller: the change that its round was told of
	whole    bool
}

func newConsumer(w *discoveries, current chan<- struct{}) *consumer {
	return &consumer{
		load: w, current: current,
		workers: make(map[uint64]int, len(w.workers)), told: make([]uint64, len(w.churners)),
	}
}

func (x *consumer) snapshot(p *protocol.WatchSnapshot) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.First {
		x.draft = make(map[uint64]int, len(x.load.workers))
	}
	for o := range p.Owners.All() {
		x.draft[o.OrderID] = workerOf(o.Data)
	}
	if !p.Last {
		return
	}
	x.workers, x.draft, x.revision = x.draft, nil, p.Revision
	x.lookAtAll()
}

func (x *consumer) delta(d *protocol.WatchDelta) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case d.To <= x.revision:
		return
	case d.From > x.revision:
		x.load.run.broken.addf("a consumer with revision %d was sent the changes from %d to %d",
			x.revision, d.From, d.To)
		return
	}
	x.revision = d.To
	for order := range d.Gone.All() {
		if worker, ok := x.workers[uint64(order)]; ok {
			delete(x.workers, uint64(order))
			x.saw(worker, false)
		}
	}
	for o := range d.Joined.All() {
		worker := workerOf(o.Data)
		x.workers[o.OrderID] = worker
		x.saw(worker, true)
	}
	x.complete()
}

// set takes in what the recipe shows.
func (x *consumer) set(s *discovery.Set) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.revision = s.Revision
	for _, e := range s.Left {
		delete(x.workers, e.OrderID)
		x.saw(workerOf(e.Address), false)
	}
	for _, e := range s.Joined {
		worker := workerOf(e.Address)
		x.workers[e.OrderID] = worker
		x.saw(worker, true)
	}
	x.complete()
}

// complete tells when all workers are there for the first time.
func (x *consumer) complete() {
	if !x.whole && len(x.workers) == len(x.load.workers) {
		x.whole = true
		x.current <- struct{}{}
	}
}

// saw is called for a worker that has come or gone. The lock is held, here and below.
func (x *consumer) saw(worker int, came bool) {
	if worker < 0 || worker >= len(x.load.workers) {
		x.load.run.broken.addf("a consumer was shown an endpoint that nobody has registered")
		return
	}
	caller := worker % len(x.load.churners)
	r := x.load.churners[caller].round
	looked := r.change.Load()
	if looked == x.told[caller] || looked&(2*cameBit-1) != changeOf(0, worker, came) {
		return
	}
	x.told[caller] = looked
	r.saw()
}

// lookAtAll looks in a whole list for what is under way.
func (x *consumer) lookAtAll() {
	x.complete()
	present := make(map[int]bool, len(x.workers))
	for _, worker := range x.workers {
		present[worker] = true
	}
	for _, c := range x.load.churners {
		looked := c.round.change.Load()
		worker, came := int(looked&(cameBit-1)), looked&cameBit != 0
		if looked != 0 && present[worker] == came {
			x.saw(worker, came)
		}
	}
}

// compare holds the list against that of the hosts.
func (x *consumer) compare(want map[uint64]int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if maps.Equal(x.workers, want) {
		return nil
	}
	return fmt.Errorf("it has %d workers at revision %d, and the hosts have %d, or others",
		len(x.workers), x.revision, len(want))
}
