//go:build linux

package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
)

// scene is a semaphore that programs use, and what for.
type scene struct {
	name      string
	limit     uint64
	ephemeral bool
	doomed    bool // deleted now and then, by force too, and created again
	data      bool // its data is written
	config    bool // its data is written by who has read the revision that it replaces
}

var scenery = []scene{
	{name: "lock-0", limit: 1},
	{name: "lock-1", limit: 1, data: true},
	{name: "pool-0", limit: 3},
	{name: "pool-1", limit: 7, data: true},
	{name: "shared-0", limit: client.All, ephemeral: true},
	{name: "shared-1", limit: client.All, ephemeral: true, data: true},
	{name: "doomed", limit: 2, doomed: true, data: true},
	{name: "config", limit: 1, config: true},
}

// exclusive tells whether the scene has one owner at a time.
func (s scene) exclusive() bool { return s.limit == 1 }

// count draws how much of the semaphore is asked for.
func (s scene) count(dice *rand.Rand) uint64 {
	if s.ephemeral {
		return pick(dice, uint64(1), 1, client.All)
	}
	return 1 + dice.Uint64N(s.limit)
}

// pick draws one of the values.
func pick[T any](dice *rand.Rand, values ...T) T { return values[dice.IntN(len(values))] }

// upTo draws a time that is not zero.
func upTo(dice *rand.Rand, most time.Duration) time.Duration {
	return 1 + time.Duration(dice.Int64N(int64(most)))
}

// grace and selfCheck are those of the nodes in which acts play.
const (
	grace     = 2 * time.Second
	selfCheck = 500 * time.Millisecond
)

// timeouts are those of sessions in acts.
var timeouts = []time.Duration{2 * time.Second, 3 * time.Second, longestTimeout}

// longestTimeout is the longest of them.
const longestTimeout = 6 * time.Second

// longestLease is longer than anybody in an act may own what he is not heard of any more.
const longestLease = longestTimeout + grace + time.Second
