package connection

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// answer appends the only answer to a request: a message or a refusal. All answers take this path, except those
// appended by the hub. The lock is held. answer returns the request's administrative action, which the caller records
// after it releases the lock.
func (c *Conn) answer(t pipeline.Ticket, m protocol.AnswerMessage, refusal *protocol.Result) *audit.Entry {
	c.inFlight.Add(-1)
	if t.Kind == protocol.KindAccessChange {
		c.changing.Add(-1)
	}
	switch {
	case refusal != nil:
		c.set.Metrics.Failed(t.Kind, refusal.Status)
		if !c.closed {
			c.out.encoder.Failure(c.out.buffer(), t.Request, t.Kind, refusal)
		}
	default:
		if c.set.timed[t.Kind] {
			c.set.Metrics.Answered(t.Kind, c.set.since(c.set.Clock())-t.Started)
		}
		if !c.closed {
			c.out.encoder.Answer(c.out.buffer(), t.Request, m)
			c.sendIfLong()
		}
	}
	e := c.actions[t.Request]
	if e != nil {
		delete(c.actions, t.Request)
	}
	return e
}

// keep stores an administrative action until its request is answered.
func (c *Conn) keep(request uint64, e *audit.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.actions == nil {
		c.actions = make(map[uint64]*audit.Entry)
	}
	c.actions[request] = e
}

// Answer implements replica.Conn.
func (c *Conn) Answer(t pipeline.Ticket, m protocol.AnswerMessage) {
	c.mu.Lock()
	e := c.answer(t, m, nil)
	c.mu.Unlock()
	if e != nil {
		c.set.Audit.Record(e, c.Caller().Name, m, &protocol.Result{})
	}
}

// Fail implements pipeline.Caller.
func (c *Conn) Fail(t pipeline.Ticket, refusal *protocol.Result) {
	if len(refusal.Message) > protocol.MaxMessageBytes {
		clipped := *refusal
		clipped.Message = clip(refusal.Message)
		refusal = &clipped
	}
	c.mu.Lock()
	e := c.answer(t, nil, refusal)
	c.mu.Unlock()
	if e != nil {
		c.set.Audit.Record(e, c.Caller().Name, nil, refusal)
	}
}

// AnswerBound implements replica.Conn.
func (c *Conn) AnswerBound(session shard.SessionID, t pipeline.Ticket, m protocol.AnswerMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.sessions.acting(session) == nil {
		return false
	}
	c.answer(t, m, nil) // no request answered by AnswerBound is administrative
	return true
}

// Complete implements handle.Connection.
func (c *Conn) Complete(t pipeline.Ticket, m protocol.AnswerMessage, err error) {
	if err != nil {
		c.Fail(t, handle.ResultOf(err))
		return
	}
	c.Answer(t, m)
}

// CompleteElsewhere implements handle.Connection.
func (c *Conn) CompleteElsewhere(pipeline.Ticket) { c.inFlight.Add(-1) }

// CompleteAttached implements handle.Connection.
func (c *Conn) CompleteAttached(t pipeline.Ticket, m protocol.AnswerMessage, id shard.SessionID, node shard.NodeID,
	attach func() lease.Verdict) lease.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch v := attach(); {
	case v != lease.Attached:
		return v
	case c.closed:
		return lease.Closed // the holder is about to be closed
	}
	c.sessions.attach(id, node)
	c.answer(t, m, nil)
	return lease.Attached
}

// clip truncates a message to the maximum result message length.
func clip(message string) string { return message[:min(len(message), protocol.MaxMessageBytes)] }
