package client_test

import "github.com/signalbox/signalbox/protocol"

// The rules for every client in every situation: the fake cluster checks the rules in all tests.

// openMutation is a mutation without an answer on its connection.
type openMutation struct {
	session, number uint64
	name            string
}

// mutationOf returns a mutation's numbers and its semaphore, or nil for other requests.
func mutationOf(r *protocol.Request) (*protocol.Mutation, string) {
	switch r.Kind {
	case protocol.KindSemaphoreCreate:
		return &r.SemaphoreCreate.Mutation, string(r.SemaphoreCreate.Name)
	case protocol.KindSemaphoreUpdate:
		return &r.SemaphoreUpdate.Mutation, string(r.SemaphoreUpdate.Name)
	case protocol.KindSemaphoreResize:
		return &r.SemaphoreResize.Mutation, string(r.SemaphoreResize.Name)
	case protocol.KindSemaphoreDelete:
		return &r.SemaphoreDelete.Mutation, string(r.SemaphoreDelete.Name)
	case protocol.KindAcquire:
		return &r.Acquire.Mutation, string(r.Acquire.Name)
	case protocol.KindRelease:
		return &r.Release.Mutation, string(r.Release.Name)
	}
	return nil, ""
}

func (c *fakeConn) checkOrder(r *protocol.Request) {
	f := c.host.cluster
	if hello := r.Kind == protocol.KindHello; hello != (c.lastID == 0) {
		f.t.Errorf("%v as request %d of a connection", r.Kind, r.ID)
	}
	if r.ID <= c.lastID {
		f.t.Errorf("the request id %d after %d", r.ID, c.lastID)
	}
	c.lastID = r.ID
	m, name := mutationOf(r)
	if m == nil || m.SessionID == 0 {
		return
	}
	if m.Sequence == 0 || m.AcknowledgedSequence >= m.Sequence {
		f.t.Errorf("%v number %d acknowledges %d", r.Kind, m.Sequence, m.AcknowledgedSequence)
	}
	for _, h := range f.hosts {
		for other := range h.conns {
			if other.left.Load() {
				continue
			}
			for _, o := range other.open {
				if o.session == m.SessionID && o.name == name {
					f.t.Errorf("%v number %d of session %d while %d is not answered", r.Kind, m.Sequence, m.SessionID,
						o.number)
				}
				if o.session == m.SessionID && o.number <= m.AcknowledgedSequence && !f.answered[o] {
					f.t.Errorf("session %d acknowledges %d, and was not answered %d", m.SessionID,
						m.AcknowledgedSequence, o.number)
				}
			}
		}
	}
	c.open[r.ID] = openMutation{session: m.SessionID, number: m.Sequence, name: name}
}
