package hub

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// past is what every semaphore was, by revision: what a view of that revision must show.
type past struct {
	mu      sync.Mutex
	moments map[string][]moment // by name
}

type moment struct {
	revision shard.Revision // of the shard, when it was read
	state    state
}

func (p *past) note(m *shard.Machine, name string, last shard.Revision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, revision := stateOf(m, 1, name)
	if !s.exists {
		revision = last
	}
	moments := p.moments[name]
	if n := len(moments); n == 0 || moments[n-1].revision < revision && !(moments[n-1].state.equal(s) && !s.exists) {
		p.moments[name] = append(moments, moment{revision, s})
	}
}

// check holds a complete view against what the semaphore was at its revision.
func (p *past) check(v *view) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	moments := p.moments[v.name]
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
		return fmt.Errorf("at revision %d the view is\n%v, the semaphore was\n%v", v.revision, v.state, want)
	}
	return nil
}

// halting is a machine of short pages, between which other things may happen.
type halting struct {
	*shard.Machine
	halts bool
}

func (h *halting) Describe(n shard.NodeID, name []byte, o shard.DescribeOptions, d *shard.Description) bool {
	o.Limit = 2
	if h.halts && o.After > 0 {
		time.Sleep(time.Microsecond)
	}
	return h.Machine.Describe(n, name, o, d)
}
