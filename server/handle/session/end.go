package session

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// stop ends a client's session. The session's later requests over the connection wait for the outcome.
func (h handlers) stop(r *handle.Request) (handle.Reply, error) {
	id, conn := shard.SessionID(r.SessionStop.SessionID), r.Conn
	if b, acts := conn.Binding(id); !acts || !b.Attached {
		return nil, h.RefuseSession(r, id, "the session is not attached to the connection")
	}
	return h.stopAtHome(id, conn)
}

func (h handlers) stopAtHome(id shard.SessionID, conn handle.Connection) (handle.Reply, error) {
	rp := h.Set.Home(id)
	if !rp.Leads() || !rp.HasSlot(id.Slot()) {
		return h.Elsewhere(rp, id.Slot(), 0, func() (handle.Reply, error) { return h.stopAtHome(id, conn) })
	}
	s := &handle.Stop{}
	conn.SwapStop(id, nil, s)
	return h.end(rp, id, 0, &protocol.SessionStopAnswer{}, func(ended bool) {
		conn.SwapStop(id, s, nil)
		if ended {
			s.Over(handle.Refuse(protocol.StatusSessionExpired, "the session was stopped"))
		} else {
			s.Over(unavailable("an earlier stop of the session has an unknown outcome"))
		}
	}), nil
}

// destroy ends a session for an operator.
func (h handlers) destroy(r *handle.Request) (handle.Reply, error) {
	id, by := shard.SessionID(r.SessionDestroy.SessionID), r.Caller
	rp := h.Set.Home(id)
	if !rp.Leads() {
		return nil, h.Moved(rp) // only the home shard leader knows the node, and so the required right
	}
	if !rp.HasSlot(id.Slot()) {
		return nil, &replica.BetweenShards
	}
	if view, known := handle.Session(by, rp, id); known {
		if err := h.AuthorizeIn(r, view.Node, nil); err != nil {
			return nil, err
		}
		return h.end(rp, id, shard.FlagOperator, &protocol.SessionDestroyAnswer{}, func(bool) {}), nil
	}
	if err := handle.Authorize(r, handle.Somewhere, ""); err != nil {
		return nil, err
	}
	// Nothing is proposed for a session with an unknown node, because the client's right may not cover the node.
	return handle.Later(func(t handle.Ticket) {
		rp.Confirm(func(_, led bool) {
			status := protocol.StatusSessionExpired
			if _, known := handle.Session(by, rp, id); known || !led || !rp.HasSlot(id.Slot()) {
				status = protocol.StatusUnavailable
			}
			t.Fail(&protocol.Result{Status: status})
		})
	}), nil
}

// end proposes a session's end, and answers when the session is over or the outcome is unknown. over is called after
// the answer.
func (h handlers) end(rp *replica.Replica, id shard.SessionID, flags shard.CommandFlags, answer protocol.AnswerMessage,
	over func(ended bool)) handle.Reply {
	return handle.Later(func(t handle.Ticket) {
		rp.EndSession(t.Conn.Source(), id, flags, func(e *shard.Effect, failed protocol.Status) {
			switch {
			case e == nil:
				t.Append(nil, h.lost(rp, failed))
			case e.Status != protocol.StatusSuccess:
				t.Append(nil, refused(e.Status))
			default:
				t.Append(answer, nil)
			}
			over(e != nil && (e.Status == protocol.StatusSuccess || e.Status == protocol.StatusSessionExpired))
			t.Conn.Flush(false)
		})
	})
}
