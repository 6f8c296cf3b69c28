package raw

import (
	"context"
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Reply gets all messages for a request: the host's response, with any result, or the error from the handle's end.
// After the response to a queued acquire, a second message follows in the same form: GRANTED, TIMED_OUT or ABORTED, or
// an equivalent response, because an acquire that moved to another host is sent again. After a description that set a
// watch, CHANGED follows. Nothing follows these messages, not even an error.
//
// Reply is called in the goroutine that reads a connection and must not block. The response is only valid until Reply
// returns.
type Reply func(a *protocol.Answer, err error)

// Ask sends a request of the session about a semaphore, and sends the request again if the host has moved or cannot
// carry it out at the moment: so a mutation needs its number. The caller gives the number, and the acknowledged
// number. If numbers arrive out of order the host refuses the lower number with STALE, and has not carried the request
// out. The caller must not change the message until the last reply.
func (s *Session) Ask(m protocol.RequestMessage, reply Reply) { s.ask(m, reply) }

// ask is Ask. It returns nil if the reply has already arrived.
func (s *Session) ask(m protocol.RequestMessage, reply Reply) *request {
	o, ok := objectOf(m)
	if !ok || o.mutation != nil && o.mutation.Sequence == 0 {
		reply(nil, failure.BadRequest(fmt.Sprintf("%v is not a numbered session request", m.Kind())))
		return nil
	}
	*o.session, *o.node = s.id, s.node
	r := &request{session: s, message: m, slot: protocol.SemaphoreSlot(s.node, o.name), reply: reply}
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		reply(nil, s.over)
		return nil
	}
	if s.requests == nil {
		s.requests = make(map[*request]struct{})
	}
	s.requests[r] = struct{}{}
	sent := r.sendAtOnce()
	s.mu.Unlock()
	if !sent {
		r.sendLater(nil)
	}
	return r
}

// Do is Ask for a caller that waits for the response: read gets a success response. Further messages, for a queued
// acquire or a watch, go to later. If later is nil or the context ends, the handle forgets the request: it is not sent
// again, and further messages are dropped.
func (s *Session) Do(ctx context.Context, m protocol.RequestMessage, read func(a *protocol.Answer), later Reply) error {
	w := &waitedFor{read: read, later: later, done: make(chan error, 1)}
	r := s.ask(m, w.reply)
	var err error
	select {
	case err = <-w.done:
	case <-ctx.Done():
		err = context.Cause(ctx)
		w.leave()
		later = nil
	}
	if r != nil && later == nil {
		r.drop()
	}
	return err
}

// waitedFor is a request that a caller waits for.
type waitedFor struct {
	read  func(a *protocol.Answer)
	later Reply
	done  chan error // holds one

	mu   sync.Mutex // held while read runs
	over bool       // guarded by mu: the response was read, or the caller stopped waiting
}

func (w *waitedFor) reply(a *protocol.Answer, err error) {
	w.mu.Lock()
	if later := w.later; w.over {
		w.mu.Unlock()
		if later != nil {
			later(a, err)
		}
		return
	}
	defer w.mu.Unlock()
	w.over = true
	if err == nil {
		if err = a.Result.Err(); err == nil && w.read != nil {
			w.read(a)
		}
	}
	w.done <- err
}

// leave ensures that read is not called any more.
func (w *waitedFor) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.later = true, nil
}

// request is a session's request, with all attempts.
type request struct {
	session *Session
	message protocol.RequestMessage
	slot    uint16
	reply   Reply
	retries retry.Retries // for the current attempt

	// Guarded by the session's lock.
	conn  *conn.Conn // from the latest attempt
	id    uint64
	shown bool // the answer was handed on: more messages are to come
}

// sendAtOnce sends the request if a connection to the right host exists over which the session acts. The session's lock
// is held, so requests from one goroutine are sent in order.
func (r *request) sendAtOnce() bool {
	s := r.session
	h := s.client.cluster.Host(cluster.LeaderAt(r.slot))
	switch {
	case h == nil:
		return false
	case cluster.HostOf(s.home) == h:
		return r.send(s.home) == nil
	}
	for to, b := range s.bound {
		if cluster.HostOf(to) == h && b.isDone() {
			return r.send(to) == nil
		}
	}
	return false
}

// send sends the request over a connection. The session's lock is held.
func (r *request) send(to *conn.Conn) (err error) {
	r.conn = to
	r.session.client.cluster.Name(r.message)
	r.id, err = to.Send(r, r.message)
	return err
}

// sendLater sends the request once possible. failed is an earlier attempt's error, or nil.
func (r *request) sendLater(failed error) {
	s := r.session
	if !s.client.scope.Go(func() { r.sendUntilSent(failed) }) {
		s.finish(errLost)
	}
}

func (r *request) sendUntilSent(err error) {
	s := r.session
	var to *conn.Conn
	var h *cluster.Host
	var tried cluster.Tried
	if err != nil {
		s.mu.Lock()
		to = r.conn
		s.mu.Unlock()
		h = cluster.HostOf(to)
	}
	for s.ctx.Err() == nil {
		if err != nil && !r.pause(err, to, h) {
			return
		}
		r.retries.Leaders = s.client.cluster.Leaders()
		tried.Add(h)
		if to, h, err = s.connTo(r.slot, tried); err != nil {
			continue
		}
		s.mu.Lock()
		if _, open := s.requests[r]; open {
			err = r.send(to)
		}
		s.mu.Unlock()
		if err == nil {
			return
		}
	}
}

// pause waits before the next attempt. It returns false if there is none.
func (r *request) pause(err error, to *conn.Conn, h *cluster.Host) bool {
	s := r.session
	if why := s.refusal(err, to); why != nil {
		s.finish(why)
		return false
	}
	if failure.Refusal(err) == protocol.StatusBadSession {
		if s.unbind(to); r.retries.Unknown() {
			return true
		}
		s.finish(fmt.Errorf("%w: %w", protocol.ErrUnavailable, err))
		return false
	}
	if !failure.IsTransport(err) && failure.Status(err).Retry() == protocol.RetryNever {
		r.end(nil, err)
		return false
	}
	if s.client.cluster.Redirect(s.ctx, &r.retries, err, to, h) != nil {
		return false
	}
	return r.retries.Again(s.ctx, s.ctx, err) == nil
}

// Answered implements conn.Handler.
func (r *request) Answered(from *conn.Conn, a *protocol.Answer) {
	if err := r.again(from, a); err != nil {
		r.sendLater(err)
		return
	}
	s := r.session
	queued := a.Kind == protocol.KindAcquire.Answer() && a.Result.Status == protocol.StatusSuccess &&
		a.Acquire.Outcome == protocol.Queued
	watched := a.Kind == protocol.KindSemaphoreDescribe.Answer() && a.SemaphoreDescribe.WatchAdded
	if !queued && !watched {
		r.end(a, nil)
		return
	}
	s.mu.Lock()
	_, open := s.requests[r]
	repeated := r.shown
	r.shown = true
	s.mu.Unlock()
	if open && !repeated {
		r.reply(a, nil)
	}
}

// again returns why the request must be sent again, or nil.
func (r *request) again(from *conn.Conn, a *protocol.Answer) error {
	result := &a.Result
	if a.Kind == protocol.KindAborted && a.Aborted.Result.Status != protocol.StatusAborted {
		result = &a.Aborted.Result
	}
	switch status := result.Status; {
	case status == protocol.StatusSuccess, status == protocol.StatusStale:
		return nil
	case status.Retry() != protocol.RetryNever, status == protocol.StatusBadSession,
		status == protocol.StatusSessionExpired:
		return result.Err()
	}
	return nil
}

// Lost implements conn.Handler: the handle is over with the connection, and the request with the handle.
func (r *request) Lost(*conn.Conn, error) {}

// fail ends the request with its handle.
func (r *request) fail(why error) {
	r.forget()
	r.reply(nil, why)
}

// drop ends the request for a caller that wants no further message.
func (r *request) drop() {
	if r.close() {
		r.forget()
	}
}

// close marks the request as waiting for no more messages. It returns false if it was already marked.
func (r *request) close() bool {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.requests[r]
	delete(s.requests, r)
	return open
}

// forget makes further host messages about the request be dropped.
func (r *request) forget() {
	s := r.session
	s.mu.Lock()
	to, id := r.conn, r.id
	s.mu.Unlock()
	if to != nil {
		to.Forget(id)
	}
}

// end passes on the request's last message.
func (r *request) end(a *protocol.Answer, err error) {
	if r.close() {
		r.reply(a, err)
	}
}
