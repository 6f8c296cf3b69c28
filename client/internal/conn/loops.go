package conn

import (
	"errors"
	"runtime"

	"github.com/signalbox/signalbox/protocol"
)

// write sends the content of the buffer after every wake-up, until the connection is down.
func (c *Conn) write() {
	for {
		select {
		case <-c.wake:
			// Callers whose answers came together send their next requests together: let them, before one of the
			// requests is written alone. If no other goroutine is ready this costs next to nothing.
			runtime.Gosched()
			c.flush()
		case <-c.down:
			return
		}
	}
}

// flush writes the whole buffer, at once. If another goroutine is writing, flush leaves the buffer to the writer.
func (c *Conn) flush() {
	c.mu.Lock()
	full, next := c.out, c.spare
	if next == nil || len(full.B) == 0 || c.err != nil {
		c.mu.Unlock()
		return
	}
	c.out, c.spare = next, nil
	c.mu.Unlock()
	_, err := c.conn.Write(full.B)
	full.Reset()
	if cap(full.B) > keptBuffer {
		full.B = nil
	}
	c.mu.Lock()
	c.spare = full
	if len(c.out.B) > 0 {
		c.wakeWriter()
	}
	c.mu.Unlock()
	if err != nil {
		c.Fail(err)
	}
}

// read hands on the messages of the host, until the connection is down.
func (c *Conn) read() {
	for {
		if err := c.readNext(); err != nil {
			c.Fail(err)
			return
		}
		if !c.from.empty() {
			continue
		}
		if c.lend() {
			if !c.awaitToken() {
				return // a caller may still hold the token
			}
			continue
		}
		// Callers that were just answered go on before the connection is read again: by then their next requests may
		// be answered, and are not waited for.
		runtime.Gosched()
	}
}

// readNext hands on one message. It is for the holder of the read token.
func (c *Conn) readNext() error {
	if c.from.empty() {
		c.brought = 0
	}
	payload, err := c.from.next()
	if err != nil {
		return err
	}
	c.brought++
	a, err := c.decoder.Decode(payload)
	if err != nil {
		bad, ok := errors.AsType[*protocol.DecodeError](err)
		if ok && bad.UnknownKind && !(bad.Kind.IsAnswer() && c.awaits(bad.ID)) {
			return nil // a push of a later version of the protocol
		}
		return err
	}
	if a.ID == 0 {
		c.pushed(a)
	} else {
		c.deliver(a)
	}
	return nil
}

// deliver gives a message to the handler of its request.
func (c *Conn) deliver(a *protocol.Answer) {
	c.mu.Lock()
	c.together = c.brought > 1 || !c.from.empty()
	h := c.handlers[a.ID]
	if !moreFollows(a) {
		delete(c.handlers, a.ID)
	}
	if a.Kind.IsAnswer() {
		c.open--
		c.token.answeredAlone = a.ID == c.token.alone
		c.admit()
	}
	c.mu.Unlock()
	if h != nil {
		h.Answered(c, a)
	}
}

// admit sends the requests that were held back and fit now. The lock is held.
func (c *Conn) admit() {
	for len(c.held) > 0 && c.open < c.room(0) {
		c.out.B = append(c.out.B, c.held[0].frame...)
		c.held[0] = heldRequest{}
		c.held = c.held[1:]
		c.open++
		c.wakeWriter()
	}
}

// moreFollows reports whether the request id of a message stays in use after the message.
func moreFollows(a *protocol.Answer) bool {
	switch a.Kind {
	case protocol.KindAcquire.Answer():
		return a.Result.Status == protocol.StatusSuccess && a.Acquire.Outcome == protocol.Queued
	case protocol.KindSemaphoreDescribe.Answer():
		return a.Result.Status == protocol.StatusSuccess && a.SemaphoreDescribe.WatchAdded
	case protocol.KindWatch.Answer():
		return a.Result.Status == protocol.StatusSuccess
	case protocol.KindWatchSnapshot, protocol.KindWatchDelta, protocol.KindWatchResync:
		return true
	}
	return false
}

// pushed handles a push that belongs to no request.
func (c *Conn) pushed(a *protocol.Answer) {
	switch a.Kind {
	case protocol.KindSessionDetached:
		if s := c.session(a.SessionDetached.SessionID); s != nil {
			s.Detached(c, &a.SessionDetached.Result)
		}
	case protocol.KindSessionEnded:
		if s := c.session(a.SessionEnded.SessionID); s != nil {
			s.Ended(a.SessionEnded.Reason)
		}
	case protocol.KindHoldingLost:
		if s := c.session(a.HoldingLost.SessionID); s != nil {
			s.HoldingLost(&a.HoldingLost)
		}
	case protocol.KindInbox:
		if s := c.session(a.Inbox.SessionID); s != nil {
			s.Inbox(c, &a.Inbox)
		}
	case protocol.KindRoutingChanged:
		c.owner.RoutingChanged(c, &a.RoutingChanged)
	case protocol.KindExpiring:
		c.owner.TokenExpiring(c, string(a.Expiring.Token), Millis(a.Expiring.LeftMillis))
	case protocol.KindGoingAway:
		err := a.GoingAway.Result.Err()
		if err == nil {
			err = protocol.ErrUnavailable
		}
		c.owner.GoingAway(c, err)
		c.Fail(err)
	}
}
