package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// start makes a session at a shard under the lead of the host.
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
	// Behind a barrier, even if the node is known here: a remote host may have answered the drop a moment ago.
	return h.ConfirmMeta(func() (handle.Reply, error) {
		n, ok := h.Meta.Machine.Node(path)
		if !ok {
			return nil, handle.Refuse(protocol.StatusNotFound, "no node "+path)
		}
		return s.in(n)
	}), nil
}

// starting is a session in the making.
type starting struct {
	handlers
	conn     handle.Connection
	sequence uint64
	command  shard.Command
	node     meta.Node
}

func (s *starting) in(n meta.Node) (handle.Reply, error) {
	rp := s.Set.SomeLed()
	slot, ok := shard.Slot(0), false
	if rp != nil {
		slot, ok = s.conn.SlotForSession(rp)
	}
	if !ok {
		return nil, s.Moved(s.Replicas[rand.IntN(len(s.Replicas))])
	}
	if err := s.AdmitsWrites(rp); err != nil {
		return nil, err
	}
	s.node, s.command.Node, s.command.Slot = n, n.ID, slot
	return s.onceGranted(rp, s.command.Timeout, func() handle.Reply { return s.propose(rp) }), nil
}

// onceGranted goes on once the leader of a home may grant a session timeout, on an arbitrary goroutine.
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

// notOnRecord is why a session timeout is not granted.
func notOnRecord(timeout uint64) string {
	return fmt.Sprintf("a session timeout of %v is granted once the meta shard has it on record, as any above %v; "+
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
		t.Append(nil, &protocol.Result{Status: e.Status})
	case !rp.Grants(s.command.Timeout): // the leader's term has changed since, or its bound
		rp.Adopt(e.Session, s.node.ID, millis(s.command.Timeout))
		rp.EndSession(nil, e.Session, 0, nil)
		t.Append(nil, handle.Refuse(protocol.StatusUnavailable, notOnRecord(s.command.Timeout)))
	default:
		s.attach(t, rp, e.Session)
	}
	rp.Mark(t.Conn)
}

// lost is the error for a command with an unknown effect.
func (h handlers) lost(rp *replica.Replica, failed protocol.Status) error {
	if failed == protocol.StatusMoved {
		return h.Moved(rp)
	}
	return pipeline.Why(failed)
}

// attach attaches the session that was made, and answers.
func (s *starting) attach(t handle.Ticket, rp *replica.Replica, id shard.SessionID) {
	answer := &protocol.SessionStartAnswer{SessionID: uint64(id), Lease: leaseOf(&s.node, s.command.Timeout)}
	rp.RelyOnGrace()
	switch t.Conn.CompleteAttached(t.Ticket, answer, id, s.node.ID, rp, func() lease.Verdict {
		v := rp.Leases.Start(id, s.node.ID, millis(s.command.Timeout), t.Conn.Holder(), s.sequence, s.Clock())
		s.addLost(&answer.Lease)
		return v
	}) {
	case lease.Attached:
		t.Conn.Review(id, s.node.ID, rp) // the right may have been revoked meanwhile
	case lease.Closed:
		// The client is gone. The session would only be in the way until its timeout.
		rp.EndSession(nil, id, 0, nil)
	default:
		t.Append(answer, nil)
		t.Conn.Push(0, &protocol.SessionDetached{SessionID: uint64(id), Result: s.Set.Moved(rp)})
	}
}

func millis(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }
