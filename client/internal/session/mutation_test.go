package session

import "testing"

// TestOnlyForgottenMutationsAreReused: a mutation's memory returns to the pool only after no connection can know the
// mutation. A connection passes on pushes about a waiting acquire without a lock, perhaps after the acquire's end.
func TestOnlyForgottenMutationsAreReused(t *testing.T) {
	for what, x := range map[string]struct {
		m      mutation
		reused bool
	}{
		"answered at the first try":      {mutation{tries: 1, phase: answered}, true},
		"an acquire that owns at once":   {mutation{tries: 1, phase: owned}, true},
		"an acquire that did not wait":   {mutation{tries: 1, phase: ended}, true},
		"never sent":                     {mutation{phase: idle}, false},
		"sent twice":                     {mutation{tries: 2, phase: answered}, false},
		"sent, and not answered":         {mutation{tries: 1, phase: sent}, false},
		"lost with its connection":       {mutation{tries: 1, phase: broken}, false},
		"an acquire that waits":          {mutation{tries: 1, phase: queued, waited: true}, false},
		"an acquire that owns later":     {mutation{tries: 1, phase: owned, waited: true}, false},
		"an acquire that waited in vain": {mutation{tries: 1, phase: ended, waited: true}, false},
	} {
		in := &Incarnation{group: &Group{}}
		m := x.m
		m.in, m.wake = in, make(chan struct{}, 1)
		m.wakeUp()
		m.recycle()
		if reused := m.in == nil; reused != x.reused {
			t.Errorf("%s: the memory is reused: %v, want %v", what, reused, x.reused)
		}
		if x.reused && len(m.wake) != 0 {
			t.Errorf("%s: the next mutation would begin with a token of this one", what)
		}
	}
}
