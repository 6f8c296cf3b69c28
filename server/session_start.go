package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// sessionStart makes a session at a shard that this host leads.
func (c *conn) sessionStart(r *protocol.Request) {
	m := &r.SessionStart
	path, ok := c.path(r, m.Path)
	if !ok {
		return
	}
	start := sessionStart{
		c: c, id: r.ID, kind: r.Kind, sequence: m.AttachSequence, started: c.started,
		command: shard.Command{
			Kind: shard.CmdSessionCreate, Timeout: m.TimeoutMillis,
			Data: slices.Clone(m.Description), Key: slices.Clone(m.Key), Client: c.clientRef(),
		},
	}
	// Behind a barrier, even if the node is known here: another host may have answered its drop a moment ago.
	c.confirmMeta(r, func() {
		if n, ok := c.host.meta.Machine.Node(path); ok {
			start.in(n)
		} else {
			c.Fail(start.id, start.kind, &protocol.Result{Status: protocol.StatusNotFound, Message: "no node " + path})
		}
	})
}

// sessionStart is a session in the making.
type sessionStart struct {
	c        *conn
	id       uint64
	kind     protocol.Kind
	sequence uint64
	started  int64
	command  shard.Command
	node     meta.Node
}

func (s *sessionStart) in(n meta.Node) {
	h := s.c.host
	s.node = n
	rp := h.set.SomeLed()
	slot, ok := shard.Slot(0), false
	if rp != nil {
		slot, ok = s.c.slotForSession(rp)
	}
	if !ok {
		result := h.set.Moved(h.replicas[rand.IntN(len(h.replicas))])
		s.c.Fail(s.id, s.kind, &result)
		return
	}
	if !h.admitsWrites(s.c, s.id, s.kind, rp) {
		return
	}
	s.command.Node = n.ID
	s.command.Slot = slot
	if rp.Grants(s.command.Timeout) {
		s.propose(rp)
		return
	}
	s.c.onceGranted(s.id, s.kind, rp, s.command.Timeout, func() { s.propose(rp) })
}

// onceGranted goes on once the leader of a home may grant a session timeout, on any goroutine, or answers the request
// with the reason why not.
func (c *conn) onceGranted(id uint64, k protocol.Kind, home *replica.Replica, timeout uint64, goOn func()) {
	refuse := func() {
		if !home.Leads() {
			c.moved(id, k, home)
			return
		}
		c.Fail(id, k, &protocol.Result{Status: protocol.StatusUnavailable, Message: notOnRecord(timeout),
			WaitMillis: uint64(replica.OverloadWait.Milliseconds())})
	}
	if !home.OnceGranted(timeout, func(granted bool) {
		if granted {
			goOn()
		} else {
			refuse()
		}
		c.flush()
	}) {
		refuse()
	}
}

// notOnRecord is why a session timeout is not granted.
func notOnRecord(timeout uint64) string {
	return fmt.Sprintf("a session timeout of %v is granted once the meta shard has it on record, as any above %v; "+
		"the meta shard did not answer in time", time.Duration(timeout)*time.Millisecond,
		time.Duration(shard.UnnotedTimeout)*time.Millisecond)
}

func (s *sessionStart) propose(rp *replica.Replica) {
	if !rp.Pipeline.Add(pipeline.Op{Source: s.c.source, Started: s.started,
		Done: func(e *shard.Effect, failed protocol.Status) { s.done(rp, e, failed) }}, &s.command) {
		s.c.overloaded(s.id, s.kind, "the shard's queue is full")
		return
	}
	rp.Pipeline.Flush()
}

// done runs where the creation is applied.
func (s *sessionStart) done(rp *replica.Replica, e *shard.Effect, failed protocol.Status) {
	c := s.c
	switch {
	case e == nil && failed == protocol.StatusMoved:
		c.moved(s.id, s.kind, rp)
		c.flush()
		return
	case e == nil:
		c.Fail(s.id, s.kind, pipeline.Why(failed))
		c.flush()
		return
	case e.Status == protocol.StatusQuotaExceeded:
		c.Fail(s.id, s.kind, rp.Exceeded(&s.command, e.Quota))
		rp.Mark(c)
		return
	case e.Status != protocol.StatusSuccess:
		c.Fail(s.id, s.kind, &protocol.Result{Status: e.Status})
		rp.Mark(c)
		return
	}
	id := e.Session
	if !rp.Grants(s.command.Timeout) { // the leader's term has changed since, or its bound
		rp.Adopt(id, s.node.ID, time.Duration(s.command.Timeout)*time.Millisecond)
		rp.EndSession(nil, id, 0, nil)
		c.Fail(s.id, s.kind, &protocol.Result{Status: protocol.StatusUnavailable,
			Message: notOnRecord(s.command.Timeout)})
		rp.Mark(c)
		return
	}
	answer := protocol.SessionStartAnswer{SessionID: uint64(id), Lease: c.host.lease(&s.node, s.command.Timeout)}
	rp.RelyOnGrace()
	verdict := c.attachAndAnswer(id, s.node.ID, rp, s.id, &answer, func() lease.Verdict {
		v := rp.Leases.Start(id, s.node.ID, time.Duration(s.command.Timeout)*time.Millisecond, c.holder, s.sequence,
			c.host.config.Clock())
		c.host.addLost(&answer.Lease)
		return v
	})
	switch verdict {
	case lease.Attached:
		c.Review(id, s.node.ID, rp) // the right may have been revoked meanwhile
	case lease.Closed:
		// The client is gone. The session would only be in the way until its timeout.
		rp.EndSession(nil, id, 0, nil)
		return
	default:
		c.Answer(s.id, &answer)
		c.Push(0, &protocol.SessionDetached{SessionID: uint64(id), Result: c.host.set.Moved(rp)})
	}
	c.host.metrics.Answered(s.kind, c.host.set.Clock()-s.started)
	rp.Mark(c)
}

// addLost adds to the lease of a session that was just attached what the session has lost. What a shard loses later is
// pushed to the attached sessions.
func (h *Host) addLost(l *protocol.Lease) {
	for _, fence := range h.set.Lost() {
		l.Lost.Append(protocol.OrderID(fence))
	}
}

// lease is the terms that a client may count on.
func (h *Host) lease(n *meta.Node, timeout uint64) protocol.Lease {
	return protocol.Lease{
		NodeID: uint64(n.ID), TimeoutMillis: timeout,
		GraceMillis: n.Config.Effective().SessionGracePeriodMillis, Config: protocol.NodeConfig(n.Config),
	}
}
