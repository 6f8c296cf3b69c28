package handletest

import (
	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Complete implements handle.Connection.
func (c *Client) Complete(t pipeline.Ticket, m protocol.AnswerMessage, err error) {
	c.mu.Lock()
	came := c.outcomes[t.Request]
	delete(c.outcomes, t.Request)
	c.mu.Unlock()
	if came == nil {
		c.t.Errorf("%v is answered twice", t.Kind)
		return
	}
	came <- outcome{m, err}
}

// CompleteAttached implements handle.Connection.
func (c *Client) CompleteAttached(t pipeline.Ticket, m protocol.AnswerMessage, id shard.SessionID, node shard.NodeID,
	attach func() lease.Verdict) lease.Verdict {
	v := attach()
	if v == lease.Attached {
		c.mu.Lock()
		c.sessions[id] = handle.Binding{Node: node, Attached: true}
		c.mu.Unlock()
		c.Complete(t, m, nil)
	}
	return v
}

// Answer implements replica.Conn.
func (c *Client) Answer(t pipeline.Ticket, m protocol.AnswerMessage) { c.Complete(t, m, nil) }

// AnswerBound implements replica.Conn.
func (c *Client) AnswerBound(id shard.SessionID, t pipeline.Ticket, m protocol.AnswerMessage) bool {
	if !c.Acts(id) {
		return false
	}
	c.Complete(t, m, nil)
	return true
}

// Fail implements pipeline.Caller.
func (c *Client) Fail(t pipeline.Ticket, why *protocol.Result) { c.Complete(t, nil, why) }

// Push implements replica.Conn.
func (c *Client) Push(_ uint64, m protocol.PushMessage) { c.pushes <- m }

// Flush implements watch.Sink.
func (c *Client) Flush(bool) {}

// Mark implements replica.Conn.
func (c *Client) Mark() bool { return false }

// Caller implements handle.Connection.
func (c *Client) Caller() *caller.Caller { return c.by }

// Source implements handle.Connection.
func (c *Client) Source() *pipeline.Source { return c.source }

// Holder implements handle.Connection.
func (c *Client) Holder() *lease.Holder { return c.holder }

// AuthThrottle implements handle.Connection.
func (c *Client) AuthThrottle() *caller.AuthThrottle { return &caller.AuthThrottle{} }

// Gone implements handle.Connection.
func (c *Client) Gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// Binding implements handle.Connection.
func (c *Client) Binding(id shard.SessionID) (handle.Binding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, acts := c.sessions[id]
	return b, acts
}

// SwapStop implements handle.Connection.
func (c *Client) SwapStop(id shard.SessionID, from, to *handle.Stop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, acts := c.sessions[id]; acts && b.Stop == from {
		b.Stop = to
		c.sessions[id] = b
	}
}

// SlotForSession implements handle.Connection.
func (c *Client) SlotForSession(home *replica.Replica) (shard.Slot, bool) { return home.SomeSlot() }

// Watch implements handle.Connection: a client has at most one watch.
func (c *Client) Watch() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches > 0 {
		return false
	}
	c.watches++
	return true
}

// WatchOf implements handle.Connection.
func (c *Client) WatchOf(id shard.SessionID) (counted, acts bool) {
	acts = c.Acts(id)
	return acts && c.Watch(), acts
}

// Ended implements watch.Sink.
func (c *Client) Ended(uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches--
}

// Acts implements replica.Conn.
func (c *Client) Acts(id shard.SessionID) bool {
	_, acts := c.Binding(id)
	return acts
}

// Bind implements replica.Conn.
func (c *Client) Bind(id shard.SessionID, node shard.NodeID, _ bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[id] = handle.Binding{Node: node}
	return true
}

// Unbind implements replica.Conn.
func (c *Client) Unbind(id shard.SessionID) (node shard.NodeID, bound bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, bound := c.sessions[id]
	delete(c.sessions, id)
	return b.Node, bound
}

// Detach implements replica.Conn.
func (c *Client) Detach(id shard.SessionID, why protocol.Result) bool {
	_, bound := c.Unbind(id)
	if bound {
		c.Push(0, &protocol.SessionDetached{SessionID: uint64(id), Result: why})
	}
	return bound
}

// May implements replica.Conn.
func (c *Client) May(k protocol.Kind, of shard.ObjectName) bool {
	return c.by.PermitsIn(k, of.Node, of.Name)
}

// Review implements replica.Conn.
func (*Client) Review(shard.SessionID, shard.NodeID) {}

// Understands implements handle.Connection.
func (*Client) Understands(protocol.Kind) bool { return true }

// Append implements watch.Sink: the message kinds go to Appended.
func (c *Client) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	var buf bytebufferpool.ByteBuffer
	write(protocol.NewEncoder(), &buf)
	decoder := protocol.NewAnswerDecoder()
	for b := buf.B; len(b) > 0; {
		payload, size, err := protocol.ScanFrame(b, 1<<20)
		if err != nil {
			c.t.Error(err)
			return false
		}
		a, err := decoder.Decode(payload)
		if err != nil {
			c.t.Error(err)
			return false
		}
		c.Appended <- a.Kind
		b = b[size:]
	}
	return true
}

// CompleteElsewhere implements handle.Connection: the outcome is no answer and no error.
func (c *Client) CompleteElsewhere(t pipeline.Ticket) { c.Complete(t, nil, nil) }

// Pending implements watch.Sink.
func (*Client) Pending() int { return 0 }
