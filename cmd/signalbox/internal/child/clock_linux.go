package child

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot also counts the time the machine sleeps.
func sinceBoot(otherwise time.Duration) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return otherwise
	}
	return time.Duration(t.Nano())
}
