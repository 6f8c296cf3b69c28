//go:build unix

package child

import "time"

var epoch = time.Now()

// moment is a point in time by two clocks: one that stands still while the machine sleeps, by which a client
// counts its leases, and one that does not, by which the rest of the world does.
type moment struct{ awake, all time.Duration }

func now() moment {
	m := moment{awake: time.Since(epoch)}
	m.all = sinceBoot(m.awake)
	return m
}

// slept is for how long the machine slept between two moments.
func (m moment) slept(until moment) time.Duration {
	return (until.all - m.all) - (until.awake - m.awake)
}
