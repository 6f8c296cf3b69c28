package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// Shard time, and the work that is due by it. Time advances with the batch timestamps, as package clock describes. An
// object has an alarm while its kind waits for a time, and a waiter has an alarm while its wait has a deadline. CmdDue
// calls the kinds for both. Snapshots save waiter alarms with the waiters, but omit object alarms, because they follow
// from the kind's state. A shard without alarms pays nothing for them, in memory or in work.

// alarm is a time an object or one waiter waits for.
type alarm struct {
	at     uint64
	object arena.Handle
	waiter arena.Handle // a holding of the object, or zero for the object itself
}

// alarmOrder sorts alarms by time, then by order id, then by node and name, so all replicas agree. Objects and holdings
// store the heap positions of their alarms.
type alarmOrder struct{ core *Core }

// Before implements heap.Order.
func (ao alarmOrder) Before(a, b alarm) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if x, y := ao.order(a), ao.order(b); x != y {
		return x < y
	}
	return ao.core.Objects.stands(a.object, b.object)
}

// Placed implements heap.Order.
func (ao alarmOrder) Placed(a alarm, at int) { *ao.core.alarmPlace(a) = uint32(at + 1) }

func (ao alarmOrder) order(a alarm) shard.OrderID {
	if a.waiter == 0 {
		return 0
	}
	return ao.core.Holdings.At(a.waiter).Order
}

// alarmPlace returns the field in which an object or a waiter stores its alarm's heap position, plus one.
func (co *Core) alarmPlace(a alarm) *uint32 {
	if a.waiter == 0 {
		return &co.Objects.At(a.object).alarm
	}
	return &co.Holdings.At(a.waiter).alarm
}

// setAlarm replaces the alarm for an object or a waiter. Time 0 removes the alarm.
func (co *Core) setAlarm(a alarm) {
	if place := co.alarmPlace(a); *place != 0 {
		co.alarms.Remove(int(*place - 1))
		*place = 0
	}
	if a.at != 0 {
		co.alarms.Push(a)
	}
}

// SetAlarm replaces an object's alarm: the machine calls Due on the object's kind once shard time has reached the
// alarm. Zero removes the alarm. A delay that begins now ends at Clock.After.
func (ob *Objects) SetAlarm(object arena.Handle, at uint64) {
	ob.core.setAlarm(alarm{at: at, object: object})
}

// setDeadline replaces a waiter's alarm. Zero removes the alarm.
func (ho *Holdings) setDeadline(h arena.Handle, at uint64) {
	ho.core.setAlarm(alarm{at: at, object: ho.At(h).Object, waiter: h})
}

// deadline returns the time at which a holding stops waiting, or 0 for an owner and for an unlimited wait.
func (ho *Holdings) deadline(l *Holding) uint64 {
	if l.alarm == 0 {
		return 0
	}
	return ho.core.alarms.Items[l.alarm-1].at
}

// due calls the kinds of the objects with expired alarms, in alarm order. Each call is a piece of work.
func (co *Core) due(*shard.Command) Outcome {
	for co.Run.Left > 0 && co.isDue() {
		co.Run.Left--
		a := co.alarms.First()
		if a.waiter != 0 {
			co.Snapshots.TouchHolding(a.waiter)
		}
		co.setAlarm(alarm{object: a.object, waiter: a.waiter})
		if o := co.Objects.At(a.object); !o.Deleting {
			co.kinds[o.Kind].Due(co, a.object, a.waiter)
		}
	}
	return Partly(co.isDue())
}

// isDue reports whether an alarm has expired.
func (co *Core) isDue() bool { return len(co.alarms.Items) > 0 && co.alarms.First().at <= co.Clock.Now }

// Clock returns shard time according to the log. The leader's own estimate is ahead by the time since the latest batch
// was proposed; Clock.At gives the estimate.
func (m *Machine) Clock() clock.Clock {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.Clock
}

// Time returns shard time in milliseconds. It only grows, and only with the log.
func (m *Machine) Time() uint64 { return m.Clock().Now }

// NextAlarm returns the shard time at which the next alarm expires; ok is false if there is no alarm. The end of the
// wait after a shard rebuild counts as an alarm, so time advances until then.
func (m *Machine) NextAlarm() (at uint64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if ok = len(m.core.alarms.Items) > 0; ok {
		at = m.core.alarms.First().at
	}
	if until := m.core.group.Until; m.core.Clock.Now < until && (!ok || until < at) {
		return until, true
	}
	return at, ok
}

// Alarms returns how many objects and waiters wait for a time.
func (m *Machine) Alarms() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.core.alarms.Items)
}
