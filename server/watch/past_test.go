package watch

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// past is the state of every semaphore and view by revision: the expected content of a view at that revision.
type past struct {
	mu      sync.Mutex
	moments map[shard.Ref][]moment
}

type moment struct {
	revision shard.Revision // shard revision at read time
	state    state
}

// note records a state at its revision, or, if nothing exists, at the shard's revision.
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

// check compares a complete view with the state at its revision.
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

// halting is a machine with short pages, between which other things may happen.
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
