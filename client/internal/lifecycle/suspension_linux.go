package lifecycle

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspension returns how long the machine has been suspended since boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC. It is 0
// if the system lacks the clocks.
func suspension() (found time.Duration) {
	read := func(clock int32) time.Duration {
		var t unix.Timespec
		if unix.ClockGettime(clock, &t) != nil {
			return 0
		}
		return time.Duration(t.Nano())
	}
	// The clocks are read one after the other. The difference is exact if the readings are close together.
	for least, n := time.Hour, 0; n < 10 && least > unlike/10; n++ {
		before, boot, after := read(unix.CLOCK_MONOTONIC), read(unix.CLOCK_BOOTTIME), read(unix.CLOCK_MONOTONIC)
		if took := after - before; took < least {
			least, found = took, boot-after
		}
	}
	return max(found, 0)
}
