package handle

import (
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
)

// Reply is what a handler returns without an error: an answer, which is a protocol.AnswerMessage, or Later, or Queued.
type Reply any

// Later starts a pending operation, which completes the ticket, perhaps at once.
type Later func(t Ticket)

// Queued is a replica whose pipeline has a command that completes the request. The pipeline is to be flushed.
type Queued struct{ *replica.Replica }

// Ticket completes a request, once. A ticket may be kept for as long as the operation is pending.
type Ticket struct {
	Conn Connection
	pipeline.Ticket
}

// Done answers the request, and has the answer sent.
func (t Ticket) Done(m protocol.AnswerMessage, err error) {
	t.Append(m, err)
	t.Conn.Flush(false)
}

// Append is Done for a caller that holds a lock, or that has many answers sent together: the caller flushes.
func (t Ticket) Append(m protocol.AnswerMessage, err error) { t.Conn.Complete(t.Ticket, m, err) }

// Fail is Done with an error.
func (t Ticket) Fail(err error) { t.Done(nil, err) }

// Complete completes the request as a handler would that returns so.
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

// Undecided is a refusal whose reason must be looked up first, perhaps at another host.
type Undecided struct {
	// decide calls done with the reason, perhaps at once, perhaps on another goroutine.
	decide func(done func(error))
}

// Error implements error.
func (*Undecided) Error() string { return "the request is refused, and the reason is being looked up" }

// Stop is a SESSION_STOP under way. Later requests of the session over the connection wait for the outcome of the
// stop: in another shard a request could take effect before the end does.
type Stop struct {
	mu      sync.Mutex // guards the fields below
	outcome error      // for the later requests; nil: not known yet
	held    []func(error)
}

// Wait is the refusal of a later request.
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
