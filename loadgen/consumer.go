package loadgen

import (
	"fmt"
	"maps"
	"sync"

	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/protocol"
)

// consumer follows the worker list. A consumer only stores which workers are present, so that thousands of consumers
// leave the machine to the hosts.
type consumer struct {
	load    *discoveries
	current chan<- struct{} // receives once, when the list is complete

	mu       sync.Mutex // guards the fields below, which check reads too
	revision uint64
	workers  map[uint64]int // by order id
	draft    map[uint64]int // a list that is still arriving
	counted  []uint64       // by caller: the change for which the round has counted this consumer
	whole    bool
}

func newConsumer(w *discoveries, current chan<- struct{}) *consumer {
	return &consumer{
		load: w, current: current,
		workers: make(map[uint64]int, len(w.workers)), counted: make([]uint64, len(w.churners)),
	}
}

// snapshot adds a page of a whole list. Pages before the last one are added to the draft, and the last page makes the
// draft the list.
func (c *consumer) snapshot(p *protocol.WatchSnapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.First {
		c.draft = make(map[uint64]int, len(c.load.workers))
	}
	for o := range p.Owners.All() {
		c.draft[o.OrderID] = workerOf(o.Data)
	}
	if !p.Last {
		return
	}
	c.workers, c.draft, c.revision = c.draft, nil, p.Revision
	c.checkAll()
}

// delta applies a change to the list. Changes already seen are dropped, and a gap before a change is a violation.
func (c *consumer) delta(d *protocol.WatchDelta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case d.To <= c.revision:
		return
	case d.From > c.revision:
		c.load.run.broken.addf("a consumer with revision %d was sent the changes from %d to %d",
			c.revision, d.From, d.To)
		return
	}
	c.revision = d.To
	for order := range d.Gone.All() {
		if worker, ok := c.workers[uint64(order)]; ok {
			delete(c.workers, uint64(order))
			c.saw(worker, false)
		}
	}
	for o := range d.Joined.All() {
		worker := workerOf(o.Data)
		c.workers[o.OrderID] = worker
		c.saw(worker, true)
	}
	c.complete()
}

// set applies a set from the recipe.
func (c *consumer) set(s *discovery.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = s.Revision
	for _, e := range s.Left {
		delete(c.workers, e.OrderID)
		c.saw(workerOf(e.Address), false)
	}
	for _, e := range s.Joined {
		worker := workerOf(e.Address)
		c.workers[e.OrderID] = worker
		c.saw(worker, true)
	}
	c.complete()
}

// complete announces the first time all workers are present.
func (c *consumer) complete() {
	if !c.whole && len(c.workers) == len(c.load.workers) {
		c.whole = true
		c.current <- struct{}{}
	}
}

// saw is called for a worker that has joined or left. The lock is held, here and below.
func (c *consumer) saw(worker int, came bool) {
	if worker < 0 || worker >= len(c.load.workers) {
		c.load.run.broken.addf("a consumer was shown an endpoint that no worker has registered")
		return
	}
	caller := worker % len(c.load.churners)
	r := c.load.churners[caller].round
	change := r.change.Load()
	if change == c.counted[caller] || change&(2*cameBit-1) != changeOf(0, worker, came) {
		return
	}
	c.counted[caller] = change
	r.saw()
}

// checkAll checks a whole list for the changes in progress.
func (co *consumer) checkAll() {
	co.complete()
	present := make(map[int]bool, len(co.workers))
	for _, worker := range co.workers {
		present[worker] = true
	}
	for _, c := range co.load.churners {
		change := c.round.change.Load()
		worker, came := int(change&(cameBit-1)), change&cameBit != 0
		if change != 0 && present[worker] == came {
			co.saw(worker, came)
		}
	}
}

// compare compares the list with the hosts' list.
func (c *consumer) compare(want map[uint64]int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if maps.Equal(c.workers, want) {
		return nil
	}
	return fmt.Errorf("it has %d workers at revision %d, and the hosts have %d, or others",
		len(c.workers), c.revision, len(want))
}
