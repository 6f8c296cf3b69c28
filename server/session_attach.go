package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// sessionAttach attaches a session over this connection.
func (c *conn) sessionAttach(r *protocol.Request) {
	h, m := c.host, &r.SessionAttach
	id := shard.SessionID(m.SessionID)
	rp := h.set.Of(id.Slot())
	if !rp.Leads() {
		c.moved(r.ID, r.Kind, rp)
		return
	}
	a := &attach{
		c: c, rp: rp, request: r.ID, kind: r.Kind, id: id, sequence: m.AttachSequence,
		key: slices.Clone(m.Key), change: m.Change, timeout: m.TimeoutMillis, description: slices.Clone(m.Description),
		numbers: m.Numbers,
	}
	view, known := c.session(rp, id)
	switch {
	case known:
	case !rp.Serving():
		a.fail(protocol.StatusUnavailable, notServing)
		return
	default:
		a.confirm(func() {
			// Another host may have proposed the session's creation, and have applied it before this host.
			if _, known := c.session(rp, id); known {
				a.fail(protocol.StatusUnavailable, "this host has just come to know of the session")
				return
			}
			a.fail(protocol.StatusSessionExpired, "")
		})
		return
	}
	if h.unfilled(view.Node) {
		a.fail(protocol.StatusUnavailable, metaUnfilled.Message)
		return
	}
	if !c.authorizeIn(r, view.Node, nil) {
		return
	}
	node, ok := h.meta.Machine.NodeByID(view.Node)
	switch {
	case !ok && h.unfilled(view.Node): // since the look above
		a.fail(protocol.StatusUnavailable, metaUnfilled.Message)
		return
	case !ok:
		a.fail(protocol.StatusSessionExpired, "its node was dropped")
		return
	}
	a.node = node
	if !c.tried(func() bool { return rp.Machine.KeyMatches(id, a.key) }, r.ID, r.Kind) {
		return
	}
	if !rp.OnceServing(a.goOn) {
		a.fail(protocol.StatusUnavailable, notServing)
	}
}

// notServing is why a leader that has just been elected does not attach sessions.
const notServing = "the shard's new leader is not ready yet"

// goOn does the attach that is permitted, once the shard's leader serves, on any goroutine.
func (a *attach) goOn(serving bool) {
	c, rp := a.c, a.rp
	switch {
	case !serving:
		c.moved(a.request, a.kind, rp)
	case (a.change || a.numbers) && rp.Leases.Late(a.id, a.sequence):
		// The request was overtaken. It must not undo the changes of a later attach, nor draw numbers above the later
		// attach's.
		a.fail(protocol.StatusBadSession, "a later attach was here before")
	case a.change && a.differs():
		if c.host.admitsWrites(c, a.request, a.kind, rp) {
			a.onceGranted(a.timeout, a.commit)
		}
	case a.numbers:
		a.drawNumbers() // however full the disk is: the client may come to release
	case a.node.Config.Effective().AttachConsistency == protocol.ConsistencyRelaxed &&
		rp.Leases.Fresh(c.host.config.Clock()):
		a.attach()
	default:
		a.confirm(a.attach)
	}
	c.flush()
}

// differs reports whether the session has another timeout or description than the attach asks for.
func (a *attach) differs() bool {
	now, _ := a.rp.Machine.DescribeSession(a.id)
	return a.timeout != now.Timeout || string(a.description) != now.Description
}

// attach is an attach under way.
type attach struct {
	c           *conn
	rp          *replica.Replica
	request     uint64
	kind        protocol.Kind
	id          shard.SessionID
	node        meta.Node
	sequence    uint64
	key         []byte
	change      bool
	timeout     uint64
	description []byte
	numbers     bool
	numberBase  uint64 // the first of the numbers that were drawn
}

func (a *attach) fail(s protocol.Status, message string) {
	result := protocol.Result{Status: s, Message: message}
	if s == protocol.StatusUnavailable {
		result.WaitMillis = uint64(replica.OverloadWait.Milliseconds())
	}
	a.c.Fail(a.request, a.kind, &result)
	a.c.flush()
}

// confirm goes on when this host has made sure that it leads.
func (a *attach) confirm(then func()) {
	a.rp.Confirm(func(_, led bool) {
		if !led {
			a.fail(protocol.StatusUnavailable, "this host could not make sure that it leads the shard")
			return
		}
		then()
	})
}

// onceGranted goes on once the leader may grant the session a timeout.
func (a *attach) onceGranted(timeout uint64, goOn func()) {
	if a.rp.Grants(timeout) {
		goOn()
		return
	}
	a.c.onceGranted(a.request, a.kind, a.rp, timeout, goOn)
}

// commit changes the session's timeout and description first.
func (a *attach) commit() {
	a.propose(&shard.Command{
		Kind: shard.CmdSessionUpdate, Session: a.id, Key: a.key, Timeout: a.timeout, Data: a.description,
		Client: a.c.clientRef(),
	}, func(*shard.Effect) {
		if a.numbers {
			a.drawNumbers()
			return
		}
		a.attachFresh()
	})
}

// firstNumberSpace is the space of a session's first draw. It is above the numbers of a clock that counts
// microseconds, and above the numbers of gateways that draw none.
const firstNumberSpace = 1 << 55 / protocol.NumberSpace

// drawNumbers draws numbers for the session first.
func (a *attach) drawNumbers() {
	a.propose(&shard.Command{Kind: shard.CmdSessionNumbers, Session: a.id, Key: a.key, Count: firstNumberSpace},
		func(e *shard.Effect) {
			a.numberBase = e.Number
			a.attachFresh()
		})
}

// attachFresh attaches after a command was applied, which is as good as a barrier. A leader that has just been elected
// may still lack the barrier by which it can vouch for clients.
func (a *attach) attachFresh() {
	if a.rp.Leases.Fresh(a.c.host.config.Clock()) {
		a.attach()
		return
	}
	a.confirm(a.attach)
}

// propose proposes a command of the session, and goes on if the command succeeds.
func (a *attach) propose(command *shard.Command, then func(e *shard.Effect)) {
	ok := a.rp.Pipeline.Add(pipeline.Op{Source: a.c.source, Done: func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e == nil && failed == protocol.StatusMoved:
			a.c.moved(a.request, a.kind, a.rp)
			a.c.flush()
		case e == nil:
			a.fail(failed, "")
		case e.Status == protocol.StatusQuotaExceeded:
			a.c.Fail(a.request, a.kind, a.rp.Exceeded(command, e.Quota))
			a.c.flush()
		case e.Status == protocol.StatusPreconditionFailed:
			a.fail(e.Status, "the session has drawn all the numbers that there are: start another session")
		case e.Status != protocol.StatusSuccess:
			a.fail(e.Status, "")
		default:
			then(e)
		}
	}}, command)
	if !ok {
		a.fail(protocol.StatusOverloaded, "the shard's queue is full")
		return
	}
	a.rp.Pipeline.Flush()
}

// attach attaches the session over this connection, and so detaches it from its earlier connection.
func (a *attach) attach() {
	c, rp := a.c, a.rp
	now := c.host.config.Clock()
	view, known := rp.Machine.Session(a.id)
	if !known {
		a.fail(protocol.StatusSessionExpired, "")
		return
	}
	if !rp.Machine.KeyMatches(a.id, a.key) {
		a.fail(protocol.StatusBadSession, "the session has another key")
		return
	}
	if !rp.Grants(view.Timeout) { // a new leader puts the sessions that it has found on record first
		a.c.onceGranted(a.request, a.kind, rp, view.Timeout, a.attach)
		return
	}
	rp.RelyOnGrace()
	answer := protocol.SessionAttachAnswer{
		Lease: c.host.lease(&a.node, view.Timeout), NumberBase: a.numberBase,
	}
	var lost *lease.Holder
	verdict := c.attachAndAnswer(a.id, view.Node, rp, a.request, &answer, func() (v lease.Verdict) {
		lost, v = rp.Leases.Attach(a.id, c.holder, a.sequence, now)
		c.host.addLost(&answer.Lease)
		return v
	})
	if lost != nil {
		rp.ReportLost(a.id, lost, protocol.Result{
			Status: protocol.StatusBadSession, Message: "the session was attached over another connection",
		})
	}
	switch verdict {
	case lease.Attached:
		c.Review(a.id, view.Node, rp) // the right may have been revoked meanwhile
		c.flush()
	case lease.OutOfSequence:
		a.fail(protocol.StatusBadSession, "a later attach was here before")
	case lease.Closed:
	default:
		a.fail(protocol.StatusUnavailable, "the shard's leader cannot say at the moment: "+verdict.String())
	}
}
