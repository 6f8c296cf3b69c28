//go:build unix

package child

import "time"

// closeEnough is how far apart two clocks may be read to count as read at once, and readings how often that is tried.
const (
	closeEnough = time.Millisecond
	readings    = 8
)

var epoch = time.Now()

// moment is a point in time by two clocks. The first clock stands still while the machine sleeps, and a client counts
// its leases by the first clock. The second clock goes on, as the clocks of the rest of the world do. The two clocks
// cannot be read at once, so the first is read before and after the second.
type moment struct{ before, all, after time.Duration }

func now() moment { return nowBy(func() time.Duration { return time.Since(epoch) }, sinceBoot) }

// nowBy reads the clocks. On a busy machine this process may have to wait for a processor between two readings, for
// longer than a sleep that matters; then they are read again.
func nowBy(awake func() time.Duration, all func(otherwise time.Duration) time.Duration) moment {
	m := moment{after: awake()}
	for range readings {
		m.before = m.after
		m.all = all(m.before)
		m.after = awake()
		if m.after-m.before <= closeEnough {
			break
		}
	}
	return m
}

// slept is for how long the machine slept between two moments, at the least: what the reading of the clocks took does
// not count.
func (m moment) slept(until moment) time.Duration {
	return (until.all - m.all) - (until.after - m.before)
}
