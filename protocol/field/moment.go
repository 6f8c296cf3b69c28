package field

import "time"

// Timestamp is when something happened, by the time of a shard.
type Timestamp struct {
	// Happened reports whether the event has happened; if not, the other fields are zero.
	Happened bool `name:"set"`
	// Ago is the time since the event, by the time of the shard. The time of a shard moves only while the shard has a
	// leader.
	Ago time.Duration `name:"age"`
	// Time is the time of the shard at the event, counted from the start of the shard: Time orders moments of different
	// answers.
	Time time.Duration `name:"shard_time"`
	// Wall is the time of the event by the wall clock of a host, for people; the zero time if it is not known.
	Wall time.Time `name:"wall_time"`
}

// At returns the moment of a shard time and a wall clock, both in milliseconds. A shard time of 0 stands for an event
// that has not happened, a wall clock of 0 for an unknown time.
func At(shard, wall uint64) (m Timestamp) {
	if shard == 0 {
		return Timestamp{}
	}
	m = Timestamp{Happened: true, Time: Duration(shard)}
	m.Wall = WallTime(wall)
	return m
}

// Seen returns the moment as it looks at a later time of the shard, in milliseconds.
func (t Timestamp) Seen(now uint64) Timestamp {
	if t.Happened {
		t.Ago = max(0, Duration(now)-t.Time)
	}
	return t
}

// Millis returns the shard time and the wall clock of the moment in milliseconds, 0 for an unknown time.
func (t Timestamp) Millis() (shard, wall uint64) {
	if t.Happened {
		shard = MillisOf(t.Time)
	}
	return shard, WallMillis(t.Wall)
}

// WallMillis is a time by a wall clock in milliseconds: 0 for the zero time, and for a time before 1970, which a wrong
// clock can give.
func WallMillis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

// WallTime is the time of WallMillis: the zero time for 0.
func WallTime(millis uint64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(millis))
}

// Time is a time by a wall clock, in milliseconds; 0 is the zero time.
func Time(c Coder, name string, v *time.Time) {
	n := WallMillis(*v)
	if c.Number(name, &n); c.Reading() {
		*v = WallTime(n)
	}
}
