//go:build unix

package child

import "time"

// closeEnough is the maximum time between two clock readings that count as simultaneous. readings is the maximum
// number of attempts.
const (
	closeEnough = time.Millisecond
	readings    = 8
)

var epoch = time.Now()

// moment is a time on two clocks. The first clock stops while the machine sleeps, and a client times its leases with
// it. The second clock continues, as all other machines' clocks do. The two clocks cannot be read simultaneously, so
// the first is read before and after the second.
type moment struct{ before, all, after time.Duration }

func now() moment { return nowBy(func() time.Duration { return time.Since(epoch) }, sinceBoot) }

// nowBy reads the clocks. On a busy machine, signalbox may have to wait for a processor between two readings, for
// longer than a significant sleep; the clocks are then read again.
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

// slept returns the minimum time the machine slept between two moments: the time taken by reading the clocks does not
// count.
func (m moment) slept(until moment) time.Duration {
	return (until.all - m.all) - (until.after - m.before)
}
