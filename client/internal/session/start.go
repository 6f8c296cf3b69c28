package session

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
)

// Params are a new session's parameters.
type Params struct {
	Path    string // of the node
	Details session.Details
	Timeout time.Duration
}

// Start starts a session at some host that leads a shard.
func (g *Group) Start(ctx context.Context, owner Owner, p Params) (in *Incarnation, err error) {
	stripe := g.cluster.NextStripe()
	err = g.cluster.RepeatOver(ctx, stripe, g.cluster.SessionHome, func(to *conn.Conn) (err error) {
		in, err = g.startOver(ctx, to, stripe, owner, p)
		return err
	})
	return in, err
}

// startOver starts a session over a connection. If no answer arrives, the caller starts another session; a session that
// was created without an answer ends by its own timeout.
func (g *Group) startOver(ctx context.Context, to *conn.Conn, stripe int, owner Owner, p Params) (*Incarnation, error) {
	key := make([]byte, protocol.MaxSecretBytes)
	_, _ = rand.Read(key) // never fails
	in := &Incarnation{
		group: g, owner: owner, key: key, timeout: p.Timeout, sequence: 1,
		stripe: stripe, startedAt: g.scope.Now(), queues: make(map[string]*keyQueue),
	}
	in.ctx, in.cancel = context.WithCancelCause(context.Background())
	s := &start{in: in, done: make(chan error, 1), sent: g.scope.Now()}
	_, err := to.Send(s, &protocol.SessionStart{
		Path: protocol.View(p.Path), TimeoutMillis: uint64(p.Timeout / time.Millisecond),
		Details: p.Details, SessionSecret: key, AttachSequence: in.sequence,
	})
	if err != nil {
		return nil, err
	}
	select {
	case err := <-s.done:
		if err != nil {
			return nil, err
		}
		return in, nil
	case <-ctx.Done():
		s.abandon(to)
		return nil, context.Cause(ctx)
	}
}

// start waits for the answer to a SESSION_START.
type start struct {
	in   *Incarnation
	sent lifecycle.Instant
	done chan error // holds one

	abandoned bool // guarded by the incarnation's lock
}

// Answered implements conn.Handler.
func (s *start) Answered(from *conn.Conn, a *protocol.Answer) {
	if err := a.Result.Err(); err != nil {
		s.done <- err
		return
	}
	in, m := s.in, &a.SessionStart
	in.mu.Lock()
	in.id, in.nodeID = m.SessionID, m.Lease.NodeID
	in.timeout, in.sent = conn.Millis(m.Lease.TimeoutMillis), s.sent
	in.trust = in.timeout - margin(in.timeout)
	abandoned := s.abandoned
	in.mu.Unlock()
	if abandoned {
		s.undo(from)
		return
	}
	in.attachedOver(from, in.sequence, s.sent, &m.Lease)
	s.done <- nil
}

// Lost implements conn.Handler.
func (s *start) Lost(_ *conn.Conn, err error) { s.done <- err }

// abandon ends the caller's wait. If the session turns out to have started, it is stopped.
func (s *start) abandon(to *conn.Conn) {
	s.in.mu.Lock()
	s.abandoned = true
	known := s.in.id != 0
	s.in.mu.Unlock()
	if known {
		s.undo(to)
	}
}

// undo stops the session, however long stopping takes: at its host the session lives as long as the connection.
func (s *start) undo(to *conn.Conn) {
	in := s.in
	in.End(Closed, "")
	to.RemoveSession(in.id, in)
	in.mu.Lock()
	in.last = to
	in.mu.Unlock()
	in.StopLater()
}
