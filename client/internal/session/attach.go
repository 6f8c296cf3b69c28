package session

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

var errSlow = errors.New("the host is slow to answer")

// ErrGone is why a session is detached if the connection was lost before the session was used.
var ErrGone = errors.New("the connection was lost")

// tryTimeout bounds one attempt to attach or bind, so a host that does not answer leaves time for other hosts.
func (in *Incarnation) tryTimeout() time.Duration { return max(in.timeout/8, minTryTimeout) }

// haste is how urgently a detached session needs a connection. The remaining lease time allows many attempts, so the
// session attaches again even if hosts become reachable shortly before the lease ends. A pause ends once there is a
// connection.
func (in *Incarnation) haste() cluster.Haste {
	in.mu.Lock()
	defer in.mu.Unlock()
	left := in.base().Add(in.trust).Sub(in.group.scope.Now())
	return cluster.Haste{Patience: max(left/16, minTryTimeout), Connected: in.group.cluster.Connected()}
}

// reattach starts to attach the session again. The lock is held.
func (in *Incarnation) reattach() {
	if !in.attaching && in.cause == nil {
		in.attaching = in.group.scope.Go(in.attachUntilDone)
	}
}

// attachUntilDone runs until the session is attached, or over.
func (in *Incarnation) attachUntilDone() {
	var r retry.Retries
	var tried cluster.Tried
	for {
		in.mu.Lock()
		if in.home != nil || !in.alive() {
			in.attaching = false
			in.mu.Unlock()
			return
		}
		in.mu.Unlock()
		haste := in.haste()
		r.Leaders, r.Connected, r.Patience = in.group.cluster.Leaders(), haste.Connected, 0
		ctx, cancel := context.WithTimeoutCause(in.ctx, in.tryTimeout(), errSlow)
		to, h, err := in.attach(ctx, haste, tried)
		cancel()
		if err == nil {
			continue
		}
		if to == nil {
			r.Patience = haste.Patience
		}
		err = slowly(err, h)
		if reason, final := attachFailure(err); final {
			in.End(reason, failure.Message(err))
			return
		}
		tried.Add(h)
		in.owner.AttachFailed(in, err)
		if !in.pauseAfter(&r, err, to, h) {
			return
		}
	}
}

// pauseAfter waits before the next attempt at an action that the session needs. It returns false if the session or the
// client has ended.
func (in *Incarnation) pauseAfter(r *retry.Retries, err error, to *conn.Conn, h *cluster.Host) bool {
	ctx, cancel := in.ctx, context.CancelFunc(func() {})
	if r.Patience > 0 {
		ctx, cancel = context.WithTimeout(in.ctx, r.Patience)
	}
	end := in.group.cluster.Redirect(ctx, r, err, to, h)
	cancel()
	if end != nil {
		return false
	}
	if failure.Status(err).Retry() == protocol.RetryNever {
		// The host may accept later what it rejects now, before the session ends: a token can be restored.
		err = &failure.Transport{Address: addressOf(h), Err: err}
	}
	return r.Again(in.ctx, in.group.scope.Context(), err) == nil
}

// repeat calls try until it succeeds, the error is final, or the context or the session ends.
func (in *Incarnation) repeat(
	ctx context.Context, try func(tried cluster.Tried) (*conn.Conn, *cluster.Host, error),
) error {
	var r retry.Retries
	var tried cluster.Tried
	for {
		r.Leaders = in.group.cluster.Leaders()
		to, h, err := try(tried)
		if err == nil {
			return nil
		}
		tried.Add(h)
		if cause := context.Cause(in.ctx); cause != nil {
			return cause
		}
		if failure.Refusal(err) == protocol.StatusBadSession {
			if to == nil || !in.unknownAt(to, &r) {
				return err
			}
			continue
		}
		if err := in.group.cluster.Redirect(ctx, &r, err, to, h); err != nil {
			return err
		}
		if err := r.Again(ctx, in.ctx, err); err != nil {
			return err
		}
	}
}

// slowly converts the error from an attempt that timed out at a host.
func slowly(err error, h *cluster.Host) error {
	if errors.Is(err, errSlow) {
		return &failure.Transport{Address: addressOf(h), Err: errSlow}
	}
	return err
}

func addressOf(h *cluster.Host) string {
	if h == nil {
		return "of the cluster"
	}
	return h.Address()
}

// attach attaches the session over a connection to its home shard's leader.
func (in *Incarnation) attach(
	ctx context.Context, haste cluster.Haste, tried cluster.Tried,
) (*conn.Conn, *cluster.Host, error) {
	home := cluster.LeaderAt(protocol.SessionSlot(in.id))
	to, h, err := in.group.cluster.Connect(ctx, haste, home, in.stripe, tried)
	if err != nil {
		return nil, h, err
	}
	in.mu.Lock()
	in.sequence++
	sequence := in.sequence
	in.mu.Unlock()
	sentAt := in.group.scope.Now()
	m := &protocol.SessionAttach{SessionID: in.id, SessionSecret: in.key, AttachSequence: sequence}
	err = to.RoundTrip(ctx, m, func(a *protocol.Answer) {
		in.attachedOver(to, sequence, sentAt, &a.SessionAttach.Lease)
	})
	return to, h, err
}

// attachFailure reports whether a failed attach ends the session, and why.
func attachFailure(err error) (reason Reason, final bool) {
	switch failure.Refusal(err) {
	case protocol.StatusSessionExpired:
		return Expired, true
	case protocol.StatusBadSession:
		return Taken, true
	case protocol.StatusNotFound:
		return NodeDropped, true
	}
	return Unknown, false
}

// binding lets a session act over a connection away from home. Concurrent callers for the connection share one
// SESSION_BIND.
type binding struct {
	done chan struct{}
	err  error
}

// connTo returns a connection to the leader of a semaphore's shard over which the session may act.
func (in *Incarnation) connTo(
	ctx context.Context, name string, tried cluster.Tried,
) (*conn.Conn, *cluster.Host, error) {
	leader := cluster.LeaderAt(protocol.SemaphoreSlot(in.nodeID, protocol.View(name)))
	to, h, err := in.group.cluster.Connect(ctx, cluster.Leisure, leader, in.stripe, tried)
	if err != nil {
		return nil, h, err
	}
	return to, h, in.bind(ctx, to)
}

// bind ensures that the session may act over a connection. A detached session binds to no new connection, because a
// host that serves the session proves nothing about the lease; attaching comes first.
func (in *Incarnation) bind(ctx context.Context, to *conn.Conn) error {
	in.mu.Lock()
	for in.cause == nil && in.home == nil && in.bound[to] == nil {
		if in.returned == nil {
			in.returned = make(chan struct{})
		}
		returned := in.returned
		in.mu.Unlock()
		select {
		case <-returned:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-in.ctx.Done():
			return context.Cause(in.ctx)
		}
		in.mu.Lock()
	}
	if in.cause != nil {
		defer in.mu.Unlock()
		return in.cause
	}
	if to == in.home {
		in.mu.Unlock()
		return nil
	}
	b := in.bound[to]
	if b == nil {
		b = &binding{done: make(chan struct{})}
		if !to.AddSession(in.id, in) {
			in.mu.Unlock()
			return &failure.Transport{Address: to.Address(), Err: ErrGone}
		}
		if in.bound == nil {
			in.bound = make(map[*conn.Conn]*binding)
		}
		in.bound[to] = b
		if !in.group.scope.Go(func() { in.askToBind(to, b) }) {
			in.mu.Unlock()
			return lifecycle.ErrClosed
		}
	}
	in.mu.Unlock()
	select {
	case <-b.done:
		return b.err
	default:
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-in.ctx.Done():
		return context.Cause(in.ctx)
	}
}

// askToBind asks the host. A failed binding is removed, so the next caller tries again.
func (in *Incarnation) askToBind(to *conn.Conn, b *binding) {
	ctx, cancel := context.WithTimeoutCause(in.ctx, in.tryTimeout(), errSlow)
	defer cancel()
	b.err = to.RoundTrip(ctx, &protocol.SessionBind{SessionID: in.id, SessionSecret: in.key}, nil)
	if errors.Is(b.err, errSlow) {
		b.err = &failure.Transport{Address: to.Address(), Err: errSlow}
	}
	in.mu.Lock()
	if b.err != nil && in.bound[to] == b {
		delete(in.bound, to)
		if to != in.home {
			to.RemoveSession(in.id, in)
		}
	}
	in.mu.Unlock()
	close(b.done)
}
