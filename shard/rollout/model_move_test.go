package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// move applies the consequences of every command, and of time: all locations in order, until nothing changes.
func (m *model) move() {
	for range 20 {
		changed := false
		for _, l := range m.locations {
			t := l.target()
			if t != nil && t.Reached == 0 && t.Abandoned == 0 && !m.failing(l) && m.enough(l) && m.passed(l) {
				m.reach(l)
				changed = true
			}
		}
		if m.halted != 0 || m.paused && m.planted != bugPause {
			return
		}
		for _, l := range m.locations {
			if m.halted == 0 && m.moveLocation(l) {
				changed = true
			}
		}
		if m.halted == 0 && m.wants() && (m.asked == 0 || m.now >= m.asked+field.MillisOf(m.spec.AskInterval)) {
			m.openTicket()
			changed = true
		}
		if !changed {
			return
		}
	}
	if m.planted == bugNone {
		panic("the model does not come to an end")
	}
}

func (m *model) moveLocation(l *modelLocation) (changed bool) {
	if l.bypassed {
		return false
	}
	if l.back != 0 {
		if m.mayGoBack(l) {
			m.assign(l, l.back, kind.CauseRollback)
			return true
		}
		return false
	}
	failing, t := m.failing(l), l.target()
	choice := m.choice(l)
	if failing {
		re := m.spec.Reelect
		again := l.reelected == 0 || m.now >= l.reelected+field.MillisOf(re.Interval) ||
			field.MillisOf(re.Interval) == 0
		if m.planted == bugInterval {
			again = true
		}
		askable := m.spec.Versions == kind.Asked && m.before(l) == nil
		switch {
		case !again || choice == 0 && !askable:
		case l.reelections >= uint64(re.Most) && m.planted != bugMax:
			m.halted, m.haltedIn = kind.HaltedReelections, l.spec.Name
			return true
		case choice != 0:
			l.reelections++
			l.reelected = m.moment()
			m.abandon(l)
			m.assign(l, choice, kind.CauseReelection)
			return true
		}
	} else if choice != 0 {
		switch {
		case t == nil && (m.count(l, nil) > 0 || m.planted == bugBirth):
			m.assign(l, choice, kind.CauseInitial)
			return true
		case t != nil && t.Abandoned != 0:
			m.assign(l, choice, kind.CauseReplaced)
			return true
		case t != nil && t.Reached != 0 && m.enough(l):
			m.assign(l, choice, kind.CauseNext)
			return true
		}
	}
	return m.deadlines(l)
}

func (m *model) deadlines(l *modelLocation) (changed bool) {
	t := l.target()
	if t == nil || t.Reached != 0 || t.Abandoned != 0 {
		return false
	}
	since := max(t.Assigned, m.resumed)
	if d := m.spec.ProgressDeadline; d > 0 && m.now >= since+field.MillisOf(d) && !l.stuck {
		l.stuck, changed = true, true
	}
	if d := m.spec.HaltDeadline; d > 0 && m.now >= since+field.MillisOf(d) {
		m.halted, m.haltedIn = kind.HaltedDeadline, l.spec.Name
		changed = true
	}
	return changed
}

// count counts the live instances of a location that satisfy a condition.
func (m *model) count(l *modelLocation, holds func(i *modelInstance) bool) (n int) {
	for _, i := range m.instances {
		if i.location == l.id && (holds == nil || holds(i)) {
			n++
		}
	}
	return n
}

func (m *model) reachedBy(l *modelLocation, i *modelInstance) bool {
	t := l.target()
	return t != nil && (i.report.Generation == t.Generation || m.planted == bugGeneration) &&
		i.report.Status == kind.OK && i.report.Current == t.Seq
}

func (m *model) leads(i *modelInstance) bool { return i.role == Leader || m.planted == bugFollowers }

// enough reports whether all leaders have reached the target, and there is one; or the required number have.
func (m *model) enough(l *modelLocation) bool {
	leaders := m.count(l, m.leads)
	reached := m.count(l, func(i *modelInstance) bool { return m.leads(i) && m.reachedBy(l, i) })
	if l.spec.Require > 0 {
		return reached >= int(l.spec.Require)
	}
	return reached == leaders && (leaders > 0 || m.planted == bugEmpty)
}

func (m *model) passed(l *modelLocation) bool {
	for _, g := range l.spec.Gates {
		if l.verdicts[g] != kind.GatePassed {
			return false
		}
	}
	return true
}

func (m *model) failing(l *modelLocation) bool {
	t := l.target()
	if t == nil || t.Abandoned != 0 {
		return false
	}
	healthy := m.count(l, func(i *modelInstance) bool { return i.role == Leader && m.reachedBy(l, i) }) > 0
	bad := m.count(l, func(i *modelInstance) bool {
		if i.report.Generation != t.Generation || i.role != Leader && healthy && m.planted != bugNewcomer {
			return false
		}
		return i.signal == signalCode || i.signal == signalTries &&
			m.now > i.received+field.MillisOf(m.spec.Reelect.After)
	})
	return bad > int(l.spec.MaxFailing)
}

// before is the preceding location.
func (m *model) before(l *modelLocation) *modelLocation {
	var before *modelLocation
	for _, other := range m.locations {
		if other == l {
			break
		}
		if !other.bypassed {
			before = other
		}
	}
	return before
}

func (m *model) delay(l *modelLocation) (sum uint64) {
	for k := m.place(l); k >= 0; k-- {
		other := m.locations[k]
		if other != l && !other.bypassed {
			break
		}
		if other == l || m.planted != bugBypass {
			sum += field.MillisOf(other.spec.Delay) + other.inherited
		}
	}
	return sum
}

func (m *model) may(l *modelLocation, seq uint64) bool {
	v := m.version(seq)
	if v == nil || v.withdrawn && m.planted != bugWithdrawn ||
		seq <= l.present() && (m.planted != bugBack || seq == l.present()) ||
		seq > l.bar.Above && seq <= l.bar.UpTo && m.planted != bugAgain {
		return false
	}
	if m.planted == bugAbandoned || m.planted == bugAgain {
		return true
	}
	for _, other := range m.locations[:m.place(l)+1] {
		if v.abandoned[other.id] {
			return false
		}
	}
	return true
}

func (m *model) begun(row *Row) uint64 {
	if m.spec.DelayFrom == kind.FromAssigned || m.planted == bugAssigned {
		return row.Assigned
	}
	return row.Reached
}

// flowing returns the newest row that is old enough for a location, and the oldest that is not yet.
func (m *model) flowing(before, l *modelLocation) (ripe, next *Row) {
	for k := range before.rows {
		row := &before.rows[k]
		begun := m.begun(row)
		last := k == len(before.rows)-1
		if begun == 0 || row.Abandoned != 0 && m.planted != bugAbandoned || !m.may(l, row.Seq) ||
			m.spec.DelayFrom == kind.FromAssigned && last && m.failing(before) {
			continue
		}
		delay := m.delay(l)
		if delay == 0 || m.now >= begun+delay {
			if ripe == nil || m.planted != bugOldest {
				ripe = row
			}
		} else if next == nil || begun < m.begun(next) {
			next = row
		}
	}
	return ripe, next
}

// choice is the version that a location would get now.
func (m *model) choice(l *modelLocation) (seq uint64) {
	before := m.before(l)
	if before == nil {
		for _, v := range m.versions {
			if m.may(l, v.seq) && (seq == 0 || m.planted != bugOldest) {
				seq = v.seq
			}
		}
		return seq
	}
	if ripe, _ := m.flowing(before, l); ripe != nil {
		return ripe.Seq
	}
	return 0
}

func (m *model) mayGoBack(l *modelLocation) bool {
	before := m.before(l)
	if before == nil {
		return true
	}
	if before.back != 0 {
		return false
	}
	t := before.target()
	if t == nil || t.Seq != l.back {
		return true
	}
	return t.Reached != 0 && (m.delay(l) == 0 || m.now >= t.Reached+m.delay(l))
}

func (m *model) assign(l *modelLocation, seq uint64, cause kind.Cause) {
	if v := m.version(seq); v != nil &&
		(cause == kind.CausePromote || cause == kind.CauseRollback || cause == kind.CauseRetry) {
		delete(v.abandoned, l.id)
	}
	m.generation++
	m.forget(l, int(m.spec.KeepVersions)-1)
	l.rows = append(l.rows, Row{
		Seq: seq, Generation: m.generation, Assigned: m.moment(), AssignedWall: wallAt(m.now), Cause: cause,
	})
	l.stuck, l.back = false, 0
	if m.planted != bugGates {
		l.verdicts = map[string]kind.Result{}
	}
}

// forget drops the oldest rows that the next location does not wait for.
func (m *model) forget(l *modelLocation, keep int) {
	for len(l.rows) > keep {
		var ripe, next *Row
		for _, other := range m.locations[m.place(l)+1:] {
			if !other.bypassed {
				if m.before(other) == l {
					ripe, next = m.flowing(l, other)
				}
				break
			}
		}
		for k := range l.rows {
			if &l.rows[k] != ripe && &l.rows[k] != next {
				l.rows = append(l.rows[:k:k], l.rows[k+1:]...)
				break
			}
		}
	}
}

func (m *model) abandon(l *modelLocation) {
	t := l.target()
	t.Abandoned, t.AbandonedWall = m.moment(), wallAt(m.now)
	if v := m.version(t.Seq); v != nil {
		v.abandoned[l.id] = true
	}
}

func (m *model) reach(l *modelLocation) {
	l.target().Reached, l.target().ReachedWall = m.moment(), wallAt(m.now)
	l.reelections, l.stuck = 0, false
}

func (m *model) wants() bool {
	if m.spec.Versions != kind.Asked || m.paused || m.halted != 0 || len(m.sources) == 0 ||
		m.ticket[0] != 0 && m.planted != bugTickets {
		return false
	}
	for _, l := range m.locations {
		if l.bypassed {
			continue
		}
		t, failing := l.target(), m.failing(l)
		ready := t == nil && m.count(l, nil) > 0 || t != nil && (t.Abandoned != 0 || t.Reached != 0 && m.enough(l))
		if failing {
			re := m.spec.Reelect
			again := l.reelected == 0 || re.Interval == 0 || m.now >= l.reelected+field.MillisOf(re.Interval)
			ready = again && l.reelections < uint64(re.Most)
		}
		return l.back == 0 && ready && m.choice(l) == 0
	}
	return false
}

func (m *model) openTicket() {
	m.tickets++
	m.ticket = [2]uint64{m.tickets, m.sources[0]}
	m.asked = m.moment()
}
