package session

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// start creates a session in a shard the host leads.
func (h handlers) start(r *handle.Request) (handle.Reply, error) {
	m := &r.SessionStart
	path, err := handle.Path(r, m.Path)
	if err != nil {
		return nil, err
	}
	s := &starting{
		handlers: h, conn: r.Conn, sequence: m.AttachSequence,
		command: shard.Command{
			Kind: shard.CmdSessionCreate, Timeout: m.TimeoutMillis,
			Data: record(&m.Details), Key: slices.Clone(m.SessionSecret), Client: handle.ClientRef(r.Caller),
		},
	}
	// No session starts in a node whose drop was acknowledged, even if the local host has not applied the drop. The
	// meta shard barrier and the creation take a round trip each; they run concurrently if the host knows the node. A
	// session with timeout 0 ends with its connection, so it is created only after the barrier.
	n, ok := h.Meta.Machine.Node(path)
	r.Node = n.ID
	if ok && m.TimeoutMillis > 0 {
		s.node = n
		h.Meta.Confirm(func(ok bool) { s.confirmed(ok, path) })
		return s.in()
	}
	return h.ConfirmMeta(func() (handle.Reply, error) {
		n, ok := h.Meta.Machine.Node(path)
		if !ok {
			return nil, noNode(path)
		}
		s.node, s.sure = n, true
		return s.in()
	}), nil
}

func noNode(path string) error { return handle.Refuse(protocol.StatusNotFound, "no node "+path) }

// starting is a session start in progress.
type starting struct {
	handlers
	conn     handle.Connection
	sequence uint64
	command  shard.Command
	node     meta.Node

	mu      sync.Mutex // guards the fields below
	sure    bool       // the meta shard barrier has ended
	refusal error      // why the session must not start, valid once sure
	early   func()     // continues a session created before the barrier ended
}

// confirmed is called when the meta shard barrier has ended.
func (s *starting) confirmed(ok bool, path string) {
	n, exists := s.Meta.Machine.Node(path)
	s.mu.Lock()
	s.sure = true
	switch {
	case !ok:
		s.refusal = &handle.MetaAway
	case !exists:
		s.refusal = noNode(path)
	case n.ID != s.node.ID:
		s.refusal = unavailable("the node was dropped and created again")
	}
	early := s.early
	s.mu.Unlock()
	if early != nil {
		early()
	}
}

func (s *starting) in() (handle.Reply, error) {
	rp := s.Set.SomeLed()
	slot, ok := shard.Slot(0), false
	if rp != nil {
		slot, ok = s.conn.SlotForSession(rp)
	}
	if !ok {
		return nil, s.Moved(s.Set.Some())
	}
	if err := s.AdmitsWrites(rp); err != nil {
		return nil, err
	}
	s.command.Node, s.command.Slot = s.node.ID, slot
	return s.onceGranted(rp, s.command.Timeout, func() handle.Reply { return s.propose(rp) }), nil
}

// onceGranted calls then after a home shard leader may grant a session timeout, on any goroutine.
func (h handlers) onceGranted(home *replica.Replica, timeout uint64, then func() handle.Reply) handle.Reply {
	if home.Grants(timeout) {
		return then()
	}
	return handle.Later(func(t handle.Ticket) {
		refuse := func() {
			if home.Leads() {
				t.Fail(unavailable(notOnRecord(timeout)))
			} else {
				t.Fail(h.Moved(home))
			}
		}
		if !home.OnceGranted(timeout, func(granted bool) {
			if granted {
				t.Complete(then(), nil)
			} else {
				refuse()
			}
		}) {
			refuse()
		}
	})
}

// notOnRecord explains why a session timeout is not granted.
func notOnRecord(timeout uint64) string {
	return fmt.Sprintf("the session timeout %v must be recorded in the meta shard, as any timeout above %v, but "+
		"the meta shard did not answer in time", millis(timeout), millis(shard.UnnotedTimeout))
}

func (s *starting) propose(rp *replica.Replica) handle.Reply {
	return handle.Later(func(t handle.Ticket) {
		if !rp.Pipeline.Add(pipeline.Op{
			Source: s.conn.Source(), Ticket: pipeline.Ticket{Started: t.Started},
			Done: func(e *shard.Effect, failed protocol.Status) { s.done(t, rp, e, failed) },
		}, &s.command) {
			t.Fail(handle.QueueFull())
			return
		}
		rp.Pipeline.Flush()
	})
}

// done runs on the goroutine that applies the creation.
func (s *starting) done(t handle.Ticket, rp *replica.Replica, e *shard.Effect, failed protocol.Status) {
	switch {
	case e == nil:
		t.Fail(s.lost(rp, failed))
		return
	case e.Status == protocol.StatusQuotaExceeded:
		t.Append(nil, rp.Exceeded(&s.command, e.Quota))
	case e.Status != protocol.StatusSuccess:
		t.Append(nil, refused(e.Status))
	case !rp.Grants(s.command.Timeout): // the leader's term or timeout bound has changed since
		s.refuse(t, rp, e.Session, unavailable(notOnRecord(s.command.Timeout)))
	default:
		s.created(t, rp, e.Session)
	}
	rp.Mark(t.Conn)
}

// refused is the answer to a command that the machine refused. If the slot has left the shard, the client tries again.
func refused(status protocol.Status) error {
	if status == protocol.StatusMoved {
		return &replica.BetweenShards
	}
	return &protocol.Result{Status: status}
}

// refuse ends a created session that must not start.
func (s *starting) refuse(t handle.Ticket, rp *replica.Replica, id shard.SessionID, why error) {
	rp.Adopt(id, s.node.ID, millis(s.command.Timeout))
	s.endRefused(t, rp, id, why)
}

// endRefused ends a created session with a known lease.
func (s *starting) endRefused(t handle.Ticket, rp *replica.Replica, id shard.SessionID, why error) {
	rp.EndSession(nil, id, 0, nil)
	t.Append(nil, why)
}

// created continues after a session was created, on the goroutine that applies the creation.
func (s *starting) created(t handle.Ticket, rp *replica.Replica, id shard.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.sure:
		s.begin(rp, id, nil)
		s.early = func() {
			if s.refusal != nil {
				s.endRefused(t, rp, id, s.refusal)
			} else {
				s.attach(t, rp, id, func() lease.Verdict {
					return rp.Leases.Join(id, t.Conn.Holder(), s.sequence, s.Clock())
				})
			}
			t.Conn.Flush(false)
		}
	case s.refusal != nil:
		s.refuse(t, rp, id, s.refusal)
	default:
		s.attach(t, rp, id, func() lease.Verdict { return s.begin(rp, id, t.Conn.Holder()) })
	}
}

// begin starts the session's lease for a client at the holder. A nil holder means that the client is not attached
// yet, and will join.
func (s *starting) begin(rp *replica.Replica, id shard.SessionID, at *lease.Holder) lease.Verdict {
	return rp.Leases.Start(id, s.node.ID, millis(s.command.Timeout), at, s.sequence, s.Clock())
}

// lost returns the error for a command whose effect is unknown.
func (h handlers) lost(rp *replica.Replica, failed protocol.Status) error {
	if failed == protocol.StatusMoved {
		return h.Moved(rp)
	}
	return pipeline.Why(failed)
}

// attach attaches the new session by a call to the leases, and answers.
func (s *starting) attach(t handle.Ticket, rp *replica.Replica, id shard.SessionID, call func() lease.Verdict) {
	answer := &protocol.SessionStartAnswer{SessionID: uint64(id), Lease: leaseOf(&s.node, s.command.Timeout)}
	rp.RelyOnGrace()
	switch t.Conn.CompleteAttached(t.Ticket, answer, id, s.node.ID, func() lease.Verdict {
		v := call()
		s.addLost(&answer.Lease)
		return v
	}) {
	case lease.Attached:
		t.Conn.Review(id, s.node.ID) // the right may have been revoked meanwhile
	case lease.Closed:
		// The client has disconnected. The session would only linger until its timeout.
		rp.EndSession(nil, id, 0, nil)
	default:
		t.Append(answer, nil)
		t.Conn.Push(0, &protocol.SessionDetached{SessionID: uint64(id), Result: s.Set.Moved(rp)})
	}
}

func millis(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }
