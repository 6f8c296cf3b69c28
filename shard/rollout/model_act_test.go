package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// Operator actions in the model.

func (m *model) act(a kind.Action) protocol.Status {
	status := m.perform(a)
	if status == protocol.StatusSuccess {
		m.acts++
	}
	return status
}

func (m *model) perform(a kind.Action) protocol.Status {
	var chosen []*modelLocation
	for _, name := range a.Locations {
		if _, l := m.find(name); l == nil {
			return protocol.StatusNotFound
		}
	}
	for _, l := range m.locations {
		if len(a.Locations) == 0 || slices.Contains(a.Locations, l.spec.Name) {
			chosen = append(chosen, l)
		}
	}
	v := m.version(a.Seq)
	switch a.Kind {
	case kind.Pause:
		m.paused = true
	case kind.Resume:
		if m.paused || m.halted != 0 {
			m.paused, m.halted, m.haltedIn, m.resumed = false, 0, "", m.moment()
			for _, l := range m.locations {
				l.reelections, l.stuck = 0, false
			}
		}
	case kind.Promote:
		return m.promote(a, v, chosen)
	case kind.Abort:
		for _, l := range m.locations {
			l.back = 0
			if t := l.target(); t != nil && t.Reached == 0 && t.Abandoned == 0 {
				m.abandon(l)
			}
		}
		m.halted, m.haltedIn = kind.HaltedAborted, ""
	case kind.Rollback:
		return m.rollBack(a, v, chosen)
	case kind.Bypass, kind.Unbypass:
		if len(a.Locations) == 0 {
			return protocol.StatusBadRequest
		}
		for _, l := range chosen {
			if l.bypassed != (a.Kind == kind.Bypass) {
				l.bypassed, l.stuck = !l.bypassed, false
			}
		}
	case kind.Withdraw:
		return m.withdraw(a, v)
	case kind.Retry:
		m.retry(chosen)
	}
	return protocol.StatusSuccess
}

func (m *model) promote(a kind.Action, v *modelVersion, chosen []*modelLocation) protocol.Status {
	if a.Seq != 0 {
		switch {
		case v == nil:
			return protocol.StatusNotFound
		case v.withdrawn, len(a.Locations) == 1 && chosen[0].present() > a.Seq:
			return protocol.StatusPreconditionFailed
		}
	}
	for _, l := range chosen {
		seq := a.Seq
		if seq == 0 {
			now := m.now
			m.now = 1 << 62
			seq = max(m.choice(l), l.present())
			m.now = now
		}
		v := m.version(seq)
		if v == nil || v.withdrawn || seq < l.present() || l.bypassed && len(a.Locations) == 0 {
			continue
		}
		if t := l.target(); seq > l.present() || t.Abandoned != 0 {
			m.assign(l, seq, kind.CausePromote)
		} else if t.Reached == 0 {
			t.Waived = true
			m.reach(l)
		}
	}
	return protocol.StatusSuccess
}

func (m *model) rollBack(a kind.Action, v *modelVersion, chosen []*modelLocation) protocol.Status {
	switch {
	case v == nil:
		return protocol.StatusNotFound
	case v.withdrawn:
		return protocol.StatusPreconditionFailed
	}
	slow := false
	for _, l := range chosen {
		l.back = 0
		if m.planted != bugBar {
			l.bar = bar{a.Seq, m.seq}
		}
		t := l.target()
		if t == nil || t.Seq <= a.Seq {
			continue
		}
		if t.Abandoned == 0 {
			m.abandon(l)
		}
		if slow {
			l.back = a.Seq
		} else {
			m.assign(l, a.Seq, kind.CauseRollback)
		}
		slow = !a.Fast
	}
	return protocol.StatusSuccess
}

func (m *model) withdraw(a kind.Action, v *modelVersion) protocol.Status {
	if v == nil {
		return protocol.StatusNotFound
	}
	if v.withdrawn {
		return protocol.StatusSuccess
	}
	v.withdrawn = true
	for _, l := range m.locations {
		if l.back == a.Seq {
			l.back = 0
		}
		if t := l.target(); t != nil && t.Seq == a.Seq && t.Reached == 0 && t.Abandoned == 0 {
			m.abandon(l)
		}
	}
	return protocol.StatusSuccess
}

func (m *model) retry(chosen []*modelLocation) {
	for _, l := range chosen {
		t := l.target()
		if t == nil || t.Reached != 0 || l.back != 0 {
			continue
		}
		failing := slices.ContainsFunc(m.instances, func(i *modelInstance) bool {
			return i.location == l.id && i.report.Generation == t.Generation && i.report.Status == kind.Failed
		})
		if v := m.version(t.Seq); v.withdrawn || t.Abandoned == 0 && !l.stuck && !failing {
			continue
		}
		l.reelections = 0
		m.assign(l, t.Seq, kind.CauseRetry)
	}
	if m.halted != 0 {
		m.halted, m.haltedIn, m.resumed = 0, "", m.moment()
		for _, l := range chosen {
			l.reelections = 0
		}
	}
}
