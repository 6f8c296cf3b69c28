package watch

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/shard"
)

// plantedMachine is a machine with a bug in its answers about views.
type plantedMachine struct {
	Machine
	changes  func(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind
	page     bool // a page was read, and nothing was asked since
	question int
}

// Changes calls the machine, with the bug.
func (p *plantedMachine) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	p.question++
	defer func() { p.page = false }()
	return p.changes(r, since, d)
}

// Describe calls the machine.
func (p *plantedMachine) Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	p.page = true
	return p.Machine.Describe(r, o, d)
}

// planted are deliberate bugs. The story of its seed must detect each.
var planted = []struct {
	name string
	seed uint64
	make func(p *plantedMachine)
}{
	{"the revision of a view that changed is not raised", 1, func(p *plantedMachine) {
		p.changes = func(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
			kind := p.Machine.Changes(r, since, d)
			if kind == shard.DeltaChanges && r.View == "b0" {
				return shard.DeltaNone
			}
			return kind
		}
	}},
	{"a row that goes while pages are read stays", 1, func(p *plantedMachine) {
		p.changes = func(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
			kind := p.Machine.Changes(r, since, d)
			if p.page {
				d.Gone = d.Gone[:0]
			}
			return kind
		}
	}},
	{"a watch gets the changes of another view", 0, func(p *plantedMachine) {
		p.changes = func(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
			if r.View == "b1" && p.question%3 == 0 {
				r.View = ""
			}
			return p.Machine.Changes(r, since, d)
		}
	}},
	{"a view that went is said to be as it was", 0, func(p *plantedMachine) {
		p.changes = func(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
			kind := p.Machine.Changes(r, since, d)
			if kind == shard.DeltaAbsent && r.View == "b2" && since != 0 {
				return shard.DeltaNone
			}
			return kind
		}
	}},
	{"a view that came is described by its changes alone", 0, func(p *plantedMachine) {
		p.changes = func(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
			kind := p.Machine.Changes(r, since, d)
			if kind == shard.DeltaSnapshot && since != 0 {
				return shard.DeltaChanges
			}
			return kind
		}
	}},
}

// listening is a test that only records failures.
type listening struct {
	testing.TB
	mu    sync.Mutex
	found []string
}

// Errorf notes it.
func (l *listening) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, fmt.Sprintf(format, args...))
}

// Failed reports whether anything was noted.
func (l *listening) Failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.found) > 0
}

// Helper does nothing.
func (l *listening) Helper() {}

func TestPlantedMistakesInViewsAreNoticed(t *testing.T) {
	const tries = 5 // seeds do not fix when the worker runs
	for _, x := range planted {
		t.Run(x.name, func(t *testing.T) {
			for range tries {
				l := &listening{TB: t}
				synctest.Test(t, func(*testing.T) {
					newShelfStory(l, x.seed, func(m Machine) Machine {
						p := &plantedMachine{Machine: m}
						x.make(p)
						return p
					}).play(x.seed)
				})
				if l.Failed() {
					t.Logf("%.200s", l.found[0])
					return
				}
			}
			t.Errorf("the story of seed %d does not notice it", x.seed)
		})
	}
}
