package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// keptFlags are the flags of a cached answer.
const keptFlags = shard.FlagAcquired | shard.FlagQueued | shard.FlagReleased

// mutation is a create, update, delete, resize, acquire or release that has passed the checks.
type mutation struct {
	*shard.Command
	twin    *Twin
	session *session // nil without a session
	sem     *semaphore
}

// mutate runs the checks of DESIGN.md section 2 in order, then the operation.
func (t *Twin) mutate(c *shard.Command) {
	// 1 and 2: form, slot, node.
	if !mutationFormIsGood(c) {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	if !t.slots.Has(shard.SlotOf(c.Node, c.Name)) {
		t.answer(shard.Effect{Status: protocol.StatusMoved})
		return
	}
	if t.dropping[c.Node] {
		t.answer(shard.Effect{Status: protocol.StatusNotFound})
		return
	}
	m := mutation{Command: c, twin: t}
	if c.Session != 0 {
		// 3: the session.
		s := t.sessions[c.Session]
		if s == nil && t.isHome(c.Session) {
			t.answer(shard.Effect{Status: protocol.StatusSessionExpired})
			return
		}
		if s != nil && t.hasEnded(s) {
			t.answer(shard.Effect{Status: protocol.StatusSessionExpired})
			return
		}
		if s != nil && s.node != c.Node {
			t.answer(shard.Effect{Status: protocol.StatusBadSession})
			return
		}
		if s == nil {
			s = t.admitRemote(c.Session, c.Node)
		}
		if c.Number > s.applied && t.nameIsHeld(c) {
			t.answer(shard.Effect{Status: protocol.StatusOverloaded})
			return
		}
		// 4, 5 and 6: acknowledged, number, room for the answer.
		s.acknowledge(c.Acked)
		if c.Number <= s.applied {
			t.note(s, c)
			t.repeat(s, c)
			return
		}
		if len(s.answers) >= shard.MaxUnacknowledged || t.lacksRoomForAnswer(s, c) {
			t.answer(shard.Effect{Status: protocol.StatusOverloaded})
			return
		}
		if c.Kind == shard.CmdAcquire && t.isQuiet(&m) {
			s.applied = max(s.applied, c.Acked)
			t.note(s, c)
			t.answer(shard.Effect{Status: protocol.StatusOverloaded, Timeout: t.waitLeft(),
				Body: shard.QuietReason})
			return
		}
		s.applied = c.Number
		m.session = s
	}
	if c.Session == 0 && t.nameIsHeld(c) {
		t.answer(shard.Effect{Status: protocol.StatusOverloaded})
		return
	}
	m.sem = t.semaphores[place{c.Node, string(c.Name)}]
	if m.sem != nil && m.sem.deleting {
		m.sem = nil
	}
	switch c.Kind {
	case shard.CmdSemaphoreCreate:
		m.create()
	case shard.CmdSemaphoreUpdate:
		m.update()
	case shard.CmdSemaphoreDelete:
		m.delete()
	case shard.CmdSemaphoreResize:
		m.resize()
	case CmdExchange:
		m.exchange()
	case shard.CmdAcquire:
		m.acquire()
	case shard.CmdRelease:
		m.release()
	}
}

// nameIsHeld reports whether the command would create a semaphore with the name of a deleted one that still has links.
func (t *Twin) nameIsHeld(c *shard.Command) bool {
	sem := t.semaphores[place{c.Node, string(c.Name)}]
	makes := c.Kind == shard.CmdSemaphoreCreate || c.Kind == shard.CmdAcquire && c.Flags&shard.FlagEphemeral != 0
	return makes && sem != nil && sem.deleting
}

func mutationFormIsGood(c *shard.Command) bool {
	if len(c.Name) < 1 || len(c.Name) > shard.MaxName || len(c.Data) > shard.MaxData {
		return false
	}
	if (c.Session == 0) != (c.Number == 0) {
		return false
	}
	if c.Number == 0 && c.Acked != 0 || c.Number != 0 && c.Acked >= c.Number {
		return false
	}
	switch c.Kind {
	case shard.CmdSemaphoreCreate, shard.CmdSemaphoreResize:
		return c.Count >= 1
	case CmdExchange:
		return len(c.Body) <= maxExchanged
	case shard.CmdAcquire:
		inTime := c.Timeout <= uint64(shard.MaxAcquireTimeout.Milliseconds()) || c.Timeout == shard.Forever
		return c.Session != 0 && c.Count >= 1 && inTime
	case shard.CmdRelease:
		return c.Session != 0
	}
	return true
}

// note records that a numbered command in the object's slot was answered.
func (t *Twin) note(s *session, c *shard.Command) {
	s.slots[shard.SlotOf(c.Node, c.Name)] = true
}

// repeat answers a number not above the highest applied. It changes nothing.
func (t *Twin) repeat(s *session, c *shard.Command) {
	if t.isAnother(s, c) {
		t.refuseAnother()
		return
	}
	if c.Kind == shard.CmdAcquire {
		sem := t.semaphores[place{c.Node, string(c.Name)}]
		if sem != nil {
			l := sem.linkOf(s.id)
			if l != nil && l.number == c.Number && t.knowsRequests() &&
				(l.count != c.Count || l.data != string(c.Data) ||
					sem.ephemeral != (c.Flags&shard.FlagEphemeral != 0)) {
				t.refuseAnother()
				return
			}
			if l != nil && sem.deleting {
				a := s.answers[c.Number]
				if l.number == c.Number || a.Flags == shard.FlagAcquired && a.Order == l.order {
					t.answer(shard.Effect{Status: protocol.StatusAborted, Abort: protocol.AbortDeleted})
					return
				}
			} else if l != nil && l.number == c.Number {
				if l.owner {
					t.answer(shard.Effect{Flags: shard.FlagAcquired, Order: l.order, Limit: sem.answeredLimit()})
				} else {
					t.answer(shard.Effect{Flags: shard.FlagQueued, Order: l.order, Limit: sem.answeredLimit()})
				}
				return
			}
		}
	}
	if a, kept := s.answers[c.Number]; kept {
		if sem := t.semaphores[place{c.Node, string(c.Name)}]; t.mistake == RepeatsNewerBodies && a.Body != "" &&
			sem != nil {
			a.Body = sem.data
		}
		t.answer(shard.Effect{
			Status:   a.Status,
			Flags:    a.Flags,
			Abort:    a.Abort,
			Order:    a.Order,
			Revision: a.Revision,
			Quota:    a.Quota,
			Body:     a.Body,
		})
		return
	}
	if c.Kind == shard.CmdAcquire && c.Number <= s.acked {
		t.answer(shard.Effect{})
		return
	}
	t.answer(shard.Effect{Status: protocol.StatusStale})
}

// answer yields R and records it under the mutation's number.
func (m *mutation) answer(e shard.Effect) {
	if m.twin.mistake == BoundsAfterTheEffect && e.Body != "" && m.session != nil &&
		m.session.bodies()+32+len(e.Body)+40*(len(m.session.answers)+1) > m.twin.bounds.AnswerBytes {
		e = shard.Effect{Status: protocol.StatusOverloaded}
	}
	m.twin.answer(e)
	if m.session == nil {
		return
	}
	if m.Kind != CmdExchange {
		e.Flags &= keptFlags
	}
	m.twin.note(m.session, m.Command)
	m.session.asked[m.Number] = requestOf(m.Command)
	m.session.answers[m.Number] = shard.AnswerState{
		Number:   m.Number,
		Status:   e.Status,
		Flags:    e.Flags,
		Abort:    e.Abort,
		Order:    e.Order,
		Revision: e.Revision,
		Quota:    e.Quota,
		Body:     e.Body,
		Slot:     uint16(shard.SlotOf(m.Node, m.Name)) + 1,
	}
}

func (m *mutation) refuse(status protocol.Status) { m.answer(shard.Effect{Status: status}) }

func (m *mutation) create() {
	t := m.twin
	if m.sem != nil && m.sem.ephemeral {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	if m.sem != nil {
		m.refuse(protocol.StatusAlreadyExists)
		return
	}
	if m.lacksRoom(1, 192+len(m.Name)+len(m.Data)) {
		return
	}
	t.seeNode(m.Node)
	sem := &semaphore{place: place{m.Node, string(m.Name)}, data: string(m.Data), limit: m.Count}
	t.semaphores[sem.place] = sem
	m.answer(shard.Effect{Revision: t.lastRevision + 1})
	t.changed(sem, shard.FlagCreated)
}

func (m *mutation) update() {
	if m.sem == nil {
		m.refuse(protocol.StatusNotFound)
		return
	}
	if m.Order != 0 {
		l := m.sem.linkOf(m.Session)
		if l == nil || !l.owner || l.order != m.Order {
			m.refuse(protocol.StatusFenced)
			return
		}
	}
	if m.Revision != 0 && m.Revision != m.sem.revision {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	if m.sem.data == string(m.Data) {
		m.answer(shard.Effect{Revision: m.sem.revision})
		return
	}
	if m.lacksRoom(0, len(m.Data)-len(m.sem.data)) {
		return
	}
	m.sem.data = string(m.Data)
	m.answer(shard.Effect{Revision: m.twin.lastRevision + 1})
	m.twin.changed(m.sem, shard.FlagData)
}

func (m *mutation) resize() {
	if m.sem == nil {
		m.refuse(protocol.StatusNotFound)
		return
	}
	if m.sem.ephemeral || m.Revision != 0 && m.Revision != m.sem.revision {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	if m.sem.limit == m.Count {
		m.answer(shard.Effect{Revision: m.sem.revision})
		return
	}
	m.sem.limit = m.Count
	m.answer(shard.Effect{Revision: m.twin.lastRevision + 1})
	if m.twin.runQueue(m.sem) {
		m.twin.changed(m.sem, shard.FlagData|shard.FlagLimit|shard.FlagOwners)
	} else {
		m.twin.changed(m.sem, shard.FlagData|shard.FlagLimit)
	}
}

func (m *mutation) delete() {
	if m.sem == nil {
		m.refuse(protocol.StatusNotFound)
		return
	}
	if m.sem.ephemeral {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	if len(m.sem.links) > 0 && m.Flags&shard.FlagForce == 0 {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	m.twin.destroy(m.sem)
	m.answer(shard.Effect{})
}
