package slots

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// state is a state in an explored world.
type state interface {
	// key is unique per state.
	key() []byte
	// violation describes a violated rule, empty if there is none.
	violation() string
	// next calls its argument with each successor state.
	next(func(by step, to state))
}

// step is a state transition: action, shard, and generation or number.
type step struct {
	what string
	at   int
	of   uint64
}

func (s step) String() string { return fmt.Sprintf("%s(%d) at %d", s.what, s.of, s.at) }

// explored is an exploration's outcome.
type explored struct {
	states int
	whole  bool   // no state is left
	bad    string // the first violation
	path   []step
}

func (e explored) String() string {
	text := fmt.Sprintf("%d states", e.states)
	if !e.whole && e.bad == "" {
		text += ", not whole"
	}
	if e.bad != "" {
		text += ": " + e.bad + " by " + fmt.Sprint(e.path)
	}
	return text
}

// explore visits every reachable state, breadth first, until a state is invalid. It stores a 128 bit hash per key:
// among ten million states, a collision has a probability of about 10^-25.
func explore(start state, limit int) (e explored) {
	type node struct {
		at     state
		parent int32
		by     step
	}
	known := make(map[[2]uint64]struct{})
	list := []node{}
	add := func(at state, parent int, by step) {
		k := at.key()
		d := xxhash.NewWithSeed(1)
		_, _ = d.Write(k)
		id := [2]uint64{xxhash.Sum64(k), d.Sum64()}
		if _, twice := known[id]; !twice {
			known[id] = struct{}{}
			list = append(list, node{at, int32(parent), by})
		}
	}
	add(start, -1, step{what: "start"})
	for i := 0; i < len(list); i++ {
		e.states++
		at := list[i].at
		list[i].at = nil
		if e.bad = at.violation(); e.bad != "" {
			for k := i; k >= 0; k = int(list[k].parent) {
				e.path = append([]step{list[k].by}, e.path...)
			}
			return e
		}
		at.next(func(by step, to state) { add(to, i, by) })
		if len(list) > limit {
			return e
		}
	}
	e.whole = true
	return e
}
