package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
)

// The time of the shard, and the work that is due by it. Time moves with the stamps of batches, as package clock
// says. An object has an alarm while its kind waits for a time. Alarms are not part of a snapshot, because they
// follow from the state of the kind. CmdDue calls the kind. Objects without an alarm pay nothing, in memory or in
// work.

// setAlarm replaces the alarm of an object: due of the object's kind is called after the time of the shard has
// reached the alarm. Zero removes the alarm. A delay that begins now is over at m.clock.After.
func (m *Machine) setAlarm(object handle, at uint64) {
	if at != 0 || m.alarms.Len() > 0 {
		m.alarms.Set(object, at)
	}
}

// due calls the kinds of the objects whose alarms are over, in the order of the alarms. Each call is a piece of work.
func (m *Machine) due() {
	for m.left > 0 {
		object, at, ok := m.alarms.First()
		if !ok || at > m.clock.Now {
			m.answer(protocol.StatusSuccess)
			return
		}
		m.left--
		m.setAlarm(object, 0)
		if o := m.objects.at(object); !o.deleting {
			m.kinds[o.kind].due(m, object)
		}
	}
	_, at, ok := m.alarms.First()
	m.answerMore(ok && at <= m.clock.Now)
}

// Clock returns the time of the shard by its log. The leader's own estimate is ahead by the time since the proposal
// of the latest batch: Clock.At gives the estimate.
func (m *Machine) Clock() clock.Clock {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.clock
}

// Time returns the time of the shard in milliseconds. It only grows, and only with the log.
func (m *Machine) Time() uint64 { return m.Clock().Now }

// NextAlarm returns the time of the shard at the next alarm; ok is false if there is no alarm. The end of the time
// during which sessions are unknown after a renewal counts as an alarm, so that the time goes on until then.
func (m *Machine) NextAlarm() (at uint64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, at, ok = m.alarms.First()
	if until := m.group.UnknownUntil; m.clock.Now < until && (!ok || until < at) {
		return until, true
	}
	return at, ok
}

// Alarms returns how many objects wait for a time.
func (m *Machine) Alarms() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.alarms.Len()
}
