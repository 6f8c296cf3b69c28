package rollout

import (
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
)

// Moment is when something happened.
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

// clock is the time of a shard at which something was read.
type clock uint64

// moment is one of the shard, and of the wall clock.
func (c clock) moment(at, wallMillis uint64) (m Moment) {
	if at == 0 {
		return Moment{}
	}
	m = Moment{Happened: true, Ago: conn.Millis(uint64(c) - min(uint64(c), at)), Time: conn.Millis(at)}
	if wallMillis != 0 {
		m.Wall = time.UnixMilli(int64(wallMillis))
	}
	return m
}

// until is how long it is to a time of the shard, 0 where that has come.
func (c clock) until(at uint64) time.Duration { return conn.Millis(at - min(at, uint64(c))) }
