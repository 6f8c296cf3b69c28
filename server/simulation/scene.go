package simulation

import (
	"math/rand/v2"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// scene is a semaphore that programs use, and what for.
type scene struct {
	name      string
	limit     uint64
	ephemeral bool
	doomed    bool // deleted now and then, by force too, and created again
	data      bool // its data is written
}

var scenery = []scene{
	{name: "lock-0", limit: 1},
	{name: "lock-1", limit: 1, data: true},
	{name: "pool-0", limit: 3},
	{name: "pool-1", limit: 7, data: true},
	{name: "shared-0", limit: endless, ephemeral: true},
	{name: "shared-1", limit: endless, ephemeral: true, data: true},
	{name: "doomed-0", limit: 2, doomed: true, data: true},
	{name: "config-0", limit: 1, doomed: true, data: true},
}

// endless is the limit of an ephemeral semaphore.
const endless = client.All

// Semaphores is how many semaphores a world has.
var Semaphores = int64(len(scenery))

// count draws how much of the semaphore is asked for.
func (s scene) count(dice *rand.Rand) uint64 {
	if s.ephemeral {
		return pick(dice, uint64(1), 1, endless)
	}
	return 1 + dice.Uint64N(s.limit)
}

// exclusive tells whether the scene has one owner at a time.
func (s scene) exclusive() bool { return s.limit == 1 }

// store is what the locks guard: it takes no token below one that it has seen.
type store struct {
	mu      sync.Mutex // guards what follows
	highest map[history.Semaphore]uint64
}

func (s *store) write(of history.Semaphore, token uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.highest[of] {
		return false
	}
	s.highest[of] = token
	return true
}
