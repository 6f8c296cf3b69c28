package client

import "time"

// Moment is when something happened to an object, by the time of its shard.
type Moment struct {
	// Happened reports whether it has; where not, the rest is zero.
	Happened bool
	// Ago is how long ago it happened, by the time of the shard, which only goes on while a leader is there.
	Ago time.Duration
	// Time is when, by the time of the shard since it began: it orders moments of different answers.
	Time time.Duration
	// Wall is when, by the wall clock of a host, for people; the zero time where that is not known.
	Wall time.Time
}
