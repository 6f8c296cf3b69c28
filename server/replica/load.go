package replica

import (
	"math/bits"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/executor"
)

// commitSpan is the minimum time for which a commit time counts. The maximum is twice as long.
const commitSpan = 5 * time.Second

// commitTimes counts recent commit times, in power-of-two buckets (microseconds).
type commitTimes struct {
	mu          sync.Mutex
	began       time.Time
	now, before [32]uint64 // before has the counts of the previous span
}

// note records a commit.
func (c *commitTimes) note(at time.Time, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(at)
	c.now[min(bits.Len64(uint64(max(took, 0).Microseconds())), len(c.now)-1)]++
}

// turn begins a new span if the current span is over. The lock is held.
func (c *commitTimes) turn(at time.Time) {
	switch over := at.Sub(c.began); {
	case over >= 2*commitSpan:
		c.before, c.now, c.began = [32]uint64{}, [32]uint64{}, at
	case over >= commitSpan:
		c.before, c.now, c.began = c.now, [32]uint64{}, at
	}
}

// p99 returns an upper bound of the 99th percentile, at most twice the percentile, or 0 without commits.
func (c *commitTimes) p99(at time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn(at)
	total := uint64(0)
	for i := range c.now {
		total += c.now[i] + c.before[i]
	}
	above := uint64(0)
	for i := len(c.now) - 1; i >= 0; i-- {
		if above += c.now[i] + c.before[i]; above > total/100 {
			return time.Duration(1<<i) * time.Microsecond
		}
	}
	return 0
}

// load returns how full and how busy the shard is.
func (r *Replica) load() executor.Load {
	share := r.Machine.Usage(0).Share()
	for _, n := range r.Machine.LimitedNodes(nil) {
		share = max(share, r.Machine.Usage(n.Node).Share())
	}
	return executor.Load{Quota: uint64(100 * min(share, 100)), Commit: r.commits.p99(r.set.Now())}
}
