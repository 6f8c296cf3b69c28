package field

import "time"

// Timestamp is when something happened, in shard time.
type Timestamp struct {
	// Happened reports whether the event has happened; if not, the other fields are zero.
	Happened bool `name:"set"`
	// Ago is the time since the event, in shard time. Shard time advances only while the shard has a leader.
	Ago time.Duration `name:"age"`
	// Time is the event's shard time, counted from the shard's start: Time orders timestamps from different answers.
	Time time.Duration `name:"shard_time"`
	// Wall is the event's time by a host's wall clock, informational; the zero time if unknown.
	Wall time.Time `name:"wall_time"`
}

// At returns the timestamp for a shard time and a wall clock time, both in milliseconds. Shard time 0 means that the
// event has not happened, wall clock time 0 that the time is unknown.
func At(shard, wall uint64) (m Timestamp) {
	if shard == 0 {
		return Timestamp{}
	}
	m = Timestamp{Happened: true, Time: Duration(shard)}
	m.Wall = WallTime(wall)
	return m
}

// Seen returns the timestamp as seen at a later shard time, in milliseconds.
func (t Timestamp) Seen(now uint64) Timestamp {
	if t.Happened {
		t.Ago = max(0, Duration(now)-t.Time)
	}
	return t
}

// Millis returns the timestamp's shard time and wall clock time in milliseconds, 0 if unknown.
func (t Timestamp) Millis() (shard, wall uint64) {
	if t.Happened {
		shard = MillisOf(t.Time)
	}
	return shard, WallMillis(t.Wall)
}

// WallMillis converts a wall clock time to milliseconds: 0 for the zero time, and for a time before 1970, which a wrong
// clock can give.
func WallMillis(t time.Time) uint64 { return uint64(max(0, t.UnixMilli())) }

// WallTime reverses WallMillis: the zero time for 0.
func WallTime(millis uint64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(millis))
}

// Time is a wall clock time, in milliseconds; 0 is the zero time.
func Time(c Coder, name string, v *time.Time) {
	n := WallMillis(*v)
	if c.Number(name, &n); c.Reading() {
		*v = WallTime(n)
	}
}
