package watch

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// past is what every semaphore and view was, by revision: what a view of that revision must show.
type past struct {
	mu      sync.Mutex
	moments map[shard.Ref][]moment
}

type moment struct {
	revision shard.Revision // of the shard, when it was read
	state    state
}

// note notes a state at its revision, or where there is nothing at that of the shard.
func (p *past) note(r shard.Ref, s state, revision, last shard.Revision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.exists {
		revision = last
	}
	moments := p.moments[r]
	if n := len(moments); n == 0 || moments[n-1].revision < revision && !(moments[n-1].state.equal(s) && !s.exists) {
		p.moments[r] = append(moments, moment{revision, s})
	}
}

// check holds a complete view against what the semaphore was at its revision.
func (p *past) check(v *view) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	moments := p.moments[v.ref()]
	at, found := slices.BinarySearchFunc(moments, shard.Revision(v.revision), func(m moment, r shard.Revision) int {
		return int(int64(m.revision) - int64(r))
	})
	if !found {
		at--
	}
	want := state{}
	if at >= 0 {
		want = moments[at].state.as(v.wants)
	}
	if !v.state.equal(want) {
		return fmt.Errorf("at revision %d the view is\n%v, there was\n%v", v.revision, v.state, want)
	}
	return nil
}

// halting is a machine of short pages, between which other things may happen.
type halting struct {
	Machine
	halts bool
}

func (h *halting) Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	o.Limit = 2
	if h.halts && o.After > 0 {
		time.Sleep(time.Microsecond)
	}
	return h.Machine.Describe(r, o, d)
}
