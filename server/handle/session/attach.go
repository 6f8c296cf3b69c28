package session

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// notServing is a newly elected leader's reason for not attaching sessions.
const notServing = "the shard's new leader is not ready yet"

// attach attaches a session over the request's connection.
func (h handlers) attach(r *handle.Request) (handle.Reply, error) {
	m := &r.SessionAttach
	id := shard.SessionID(m.SessionID)
	rp := h.Set.Home(id)
	owned, changes := rp.Machine.Owns(id.Slot())
	if !rp.Leads() || !owned {
		return h.awaitHome(r, rp)
	}
	by := r.Caller
	view, known := handle.Session(by, rp, id)
	switch {
	case known:
	case !rp.Serving():
		return nil, unavailable(notServing)
	default:
		return confirm(rp, func() (handle.Reply, error) {
			// A remote host may already have proposed and applied the session's creation, or the home has changed.
			if _, known := handle.Session(by, rp, id); known || !rp.HasSlot(id.Slot()) {
				return nil, unavailable("the host has just learned about the session")
			}
			return nil, over
		}), nil
	}
	if h.Unfilled(view.Node) {
		return nil, &handle.MetaUnfilled
	}
	if err := h.AuthorizeIn(r, view.Node, nil); err != nil {
		return nil, err
	}
	node, ok := h.Meta.Machine.NodeByID(view.Node)
	switch {
	case !ok && h.Unfilled(view.Node): // created since the lookup above
		return nil, &handle.MetaUnfilled
	case !ok:
		return nil, handle.Refuse(protocol.StatusSessionExpired, "the node was dropped")
	}
	a := &attaching{
		handlers: h, conn: r.Conn, rp: rp, id: id, node: node, sequence: m.AttachSequence, numbers: m.Sequences,
		key: slices.Clone(m.SessionSecret), change: m.Change, timeout: m.TimeoutMillis, details: record(&m.Details),
		client: handle.ClientRef(by),
	}
	moved := false // a shard whose slot has left no longer has the key
	err := h.checkKey(r.Conn, func() bool {
		matches := rp.Machine.KeyMatches(id, a.key)
		_, now := rp.Machine.Owns(id.Slot())
		moved = now != changes
		return matches || moved
	})
	switch {
	case moved:
		return nil, &replica.BetweenShards
	case err != nil:
		return nil, err
	}
	return handle.Later(func(t handle.Ticket) {
		if !rp.OnceServing(func(serving bool) { t.Complete(a.goOn(serving)) }) {
			t.Fail(unavailable(notServing))
		}
	}), nil
}

// awaitHome returns the reply to an attach at a replica that is not the session's home, or does not lead. Once the
// session has arrived here, the client attaches again.
func (h handlers) awaitHome(r *handle.Request, rp *replica.Replica) (handle.Reply, error) {
	slot := shard.SessionID(r.SessionAttach.SessionID).Slot()
	var again handle.Reader
	again = func() (handle.Reply, error) {
		if now := h.Set.Of(slot); !now.Leads() || !now.HasSlot(slot) {
			return h.Elsewhere(now, slot, 0, again)
		}
		return nil, &protocol.Result{Status: protocol.StatusUnavailable, Message: "the session has just arrived",
			WaitMillis: 1}
	}
	return h.Elsewhere(rp, slot, 0, again)
}

// checkKey refuses a request unless its key is the session's key.
func (h handlers) checkKey(c handle.Connection, matches func() bool) error {
	return h.Gate.CheckKey(c.AuthThrottle(), c.Source().Address(), matches)
}

// attaching is an attach in progress.
type attaching struct {
	handlers
	conn       handle.Connection
	rp         *replica.Replica
	id         shard.SessionID
	node       meta.Node
	sequence   uint64
	key        []byte
	change     bool
	timeout    uint64
	details    []byte
	client     shard.ClientRef
	numbers    bool
	numberBase uint64 // the first drawn number
}

// overtaken is the refusal for an attach that arrives after a later attach for the same session.
var overtaken error = &protocol.Result{Status: protocol.StatusBadSession, Message: "a later attach arrived first"}

// goOn performs a permitted attach after the shard's leader can serve, on any goroutine.
func (a *attaching) goOn(serving bool) (handle.Reply, error) {
	switch {
	case !serving:
		return nil, a.Moved(a.rp)
	case (a.change || a.numbers) && a.rp.Leases.Late(a.id, a.sequence):
		// The request was overtaken. It must not undo a later attach's changes, nor draw higher numbers than the
		// later attach.
		return nil, overtaken
	case a.change && a.differs():
		if err := a.AdmitsWrites(a.rp); err != nil {
			return nil, err
		}
		return a.onceGranted(a.rp, a.timeout, a.commit), nil
	case a.numbers:
		return a.drawNumbers(), nil // even if the disk is full: the client may want to release
	case a.node.Config.Effective().AttachConsistency == protocol.ConsistencyRelaxed && a.rp.Leases.Fresh(a.Clock()):
		return a.attach(), nil
	}
	return a.confirmed(), nil
}

// confirmed attaches after the host has confirmed its leadership.
func (a *attaching) confirmed() handle.Reply {
	return confirm(a.rp, func() (handle.Reply, error) { return a.attach(), nil })
}

// differs reports whether the attach asks for a new session timeout or new session details.
func (a *attaching) differs() bool {
	now, _ := a.rp.Machine.DescribeSession(a.id)
	return a.timeout != now.Timeout || string(a.details) != now.Details
}

// confirm calls then after the host has confirmed that it leads the shard.
func confirm(rp *replica.Replica, then handle.Reader) handle.Reply {
	return handle.Later(func(t handle.Ticket) {
		rp.Confirm(func(_, led bool) {
			if !led {
				t.Fail(unavailable("the host could not confirm that it leads the shard"))
				return
			}
			t.Complete(then())
		})
	})
}

// commit first changes the session's timeout and details.
func (a *attaching) commit() handle.Reply {
	return a.propose(&shard.Command{
		Kind: shard.CmdSessionUpdate, Session: a.id, Key: a.key, Timeout: a.timeout, Data: a.details,
		Client: a.client,
	}, func(*shard.Effect) handle.Reply {
		if a.numbers {
			return a.drawNumbers()
		}
		return a.attachFresh()
	})
}

// firstNumberSpace is the number space for a session's first draw: above the numbers from microsecond clocks, and
// above the numbers from gateways that do not draw.
const firstNumberSpace = 1 << 55 / protocol.SequencesPerAttach

// drawNumbers first draws numbers for the session.
func (a *attaching) drawNumbers() handle.Reply {
	return a.propose(&shard.Command{Kind: shard.CmdSessionNumbers, Session: a.id, Key: a.key, Count: firstNumberSpace},
		func(e *shard.Effect) handle.Reply {
			a.numberBase = e.Number
			return a.attachFresh()
		})
}

// attachFresh attaches after a command was applied, which is equivalent to a barrier. A newly elected leader may
// still lack the barrier that lets it vouch for clients.
func (a *attaching) attachFresh() handle.Reply {
	if a.rp.Leases.Fresh(a.Clock()) {
		return a.attach()
	}
	return a.confirmed()
}

// propose proposes a session command, and calls then if the command succeeds.
func (a *attaching) propose(command *shard.Command, then func(e *shard.Effect) handle.Reply) handle.Reply {
	return handle.Later(func(t handle.Ticket) {
		done := func(e *shard.Effect, failed protocol.Status) {
			switch {
			case e == nil && failed == protocol.StatusUnavailable:
				t.Fail(unavailable(""))
			case e == nil:
				t.Fail(a.lost(a.rp, failed))
			case e.Status == protocol.StatusQuotaExceeded:
				t.Fail(a.rp.Exceeded(command, e.Quota))
			case e.Status == protocol.StatusPreconditionFailed:
				t.Fail(handle.Refuse(e.Status,
					"the session has used up its attach numbers; start another session"))
			case e.Status != protocol.StatusSuccess:
				t.Fail(refused(e.Status))
			default:
				t.Complete(then(e), nil)
			}
		}
		if !a.rp.Pipeline.Add(pipeline.Op{Source: a.conn.Source(), Done: done}, command) {
			t.Fail(handle.Refuse(protocol.StatusOverloaded, "the shard's queue is full"))
			return
		}
		a.rp.Pipeline.Flush()
	})
}

// attach attaches the session over the connection, and thereby detaches it from its previous connection.
func (a *attaching) attach() handle.Reply {
	return handle.Later(func(t handle.Ticket) {
		owned, changes := a.rp.Machine.Owns(a.id.Slot())
		view, known := a.rp.Machine.Session(a.id)
		matches := a.rp.Machine.KeyMatches(a.id, a.key)
		_, now := a.rp.Machine.Owns(a.id.Slot())
		switch {
		case !owned || now != changes:
			t.Fail(&replica.BetweenShards)
		case !known:
			t.Fail(over)
		case !matches:
			t.Fail(handle.Refuse(protocol.StatusBadSession, "the session has another key"))
		case !a.rp.Grants(view.Timeout): // a new leader first records the sessions
			t.Complete(a.onceGranted(a.rp, view.Timeout, a.attach), nil)
		default:
			if err := a.attachNow(t, &view); err != nil {
				t.Append(nil, err)
			}
			t.Conn.Flush(false)
		}
	})
}

func (a *attaching) attachNow(t handle.Ticket, view *shard.SessionView) error {
	rp, now := a.rp, a.Clock()
	rp.RelyOnGrace()
	answer := &protocol.SessionAttachAnswer{Lease: leaseOf(&a.node, view.Timeout), SequenceBase: a.numberBase}
	var lost *lease.Holder
	verdict := a.conn.CompleteAttached(t.Ticket, answer, a.id, view.Node, func() (v lease.Verdict) {
		lost, v = rp.Leases.Attach(a.id, a.conn.Holder(), a.sequence, now)
		a.addLost(&answer.Lease)
		return v
	})
	if lost != nil {
		a.Set.Sessions.ReportLost(a.id, lost, protocol.Result{
			Status: protocol.StatusBadSession, Message: "the session was attached to another connection",
		})
	}
	switch verdict {
	case lease.Attached:
		a.conn.Review(a.id, view.Node) // the right may have been revoked meanwhile
	case lease.OutOfSequence:
		return overtaken
	case lease.Closed:
	default:
		return unavailable("the shard leader cannot answer at the moment: " + verdict.String())
	}
	return nil
}
