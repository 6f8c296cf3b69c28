package handle

import (
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
)

// Reply is a handler's result without an error: an answer (protocol.AnswerMessage), Later, or Queued.
type Reply any

// Later starts a pending operation that completes the ticket, possibly at once.
type Later func(t Ticket)

// Queued is a replica whose pipeline contains the command that completes the request. The pipeline must be flushed.
type Queued struct{ *replica.Replica }

// Ticket completes a request, once. A ticket may be kept as long as the operation is pending.
type Ticket struct {
	Conn Connection
	pipeline.Ticket
}

// Done answers the request and flushes the answer.
func (t Ticket) Done(m protocol.AnswerMessage, err error) {
	t.Append(m, err)
	t.Conn.Flush(false)
}

// Append is Done for a caller that holds a lock, or that sends many answers together: the caller flushes.
func (t Ticket) Append(m protocol.AnswerMessage, err error) { t.Conn.Complete(t.Ticket, m, err) }

// Fail is Done with an error.
func (t Ticket) Fail(err error) { t.Done(nil, err) }

// Complete completes the request as if a handler had returned r and err.
func (t Ticket) Complete(r Reply, err error) {
	switch err := err.(type) {
	case *Undecided:
		err.decide(t.Fail)
		return
	case error:
		t.Fail(err)
		return
	}
	switch r := r.(type) {
	case Later:
		r(t)
	case Queued:
		r.Pipeline.Flush()
	case protocol.AnswerMessage:
		t.Done(r, nil)
	}
}

// Undecided is a refusal whose reason must be looked up first, possibly on a remote host.
type Undecided struct {
	// decide calls done with the reason, possibly at once or on another goroutine.
	decide func(done func(error))
}

// Error implements error.
func (*Undecided) Error() string { return "the request is rejected, and the reason is not known yet" }

// Stop is a SESSION_STOP in progress. The session's later requests over the connection wait for its outcome, because
// a request in another shard could take effect before the session ends.
type Stop struct {
	mu      sync.Mutex // guards the fields below
	outcome error      // for the later requests; nil until known
	held    []func(error)
}

// Wait returns the refusal for a later request.
func (s *Stop) Wait() error {
	return &Undecided{func(done func(error)) {
		s.mu.Lock()
		outcome := s.outcome
		if outcome == nil {
			s.held = append(s.held, done)
		}
		s.mu.Unlock()
		if outcome != nil {
			done(outcome)
		}
	}}
}

// Over ends the wait of later requests.
func (s *Stop) Over(outcome error) {
	s.mu.Lock()
	s.outcome = outcome
	held := s.held
	s.held = nil
	s.mu.Unlock()
	for _, done := range held {
		done(outcome)
	}
}
