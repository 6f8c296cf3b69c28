//go:build linux

package chaos

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox/signalbox/test/history"
)

// clock counts from a moment that all processes of a run share, by the machine's monotonic clock: it neither jumps
// nor stands still while a process does.
type clock struct {
	epoch time.Duration // of the machine's clock

	mu   sync.Mutex // guards what follows
	last history.Time
}

func newClock(epoch time.Duration) *clock { return &clock{epoch: epoch} }

// machineTime is what the machine's monotonic clock shows.
func machineTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic("chaos: the monotonic clock cannot be read: " + err.Error())
	}
	return time.Duration(t.Nano())
}

// Now is the present moment. A process sees no moment twice.
func (c *clock) Now() history.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(machineTime()-c.epoch, c.last+1)
	return c.last
}
