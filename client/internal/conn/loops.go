package conn

import (
	"errors"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// write sends the buffer after every wake-up, until the connection is down.
func (c *Conn) write() {
	for {
		select {
		case <-c.wake:
			// Callers whose responses came together send their next requests together. Yield to such callers before one
			// request is written alone. If no other goroutine is ready, yielding costs almost nothing.
			runtime.Gosched()
			c.flush()
		case <-c.down:
			return
		}
	}
}

// flush writes the whole buffer at once. If another goroutine is writing, flush leaves the buffer to it.
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

// read dispatches the host's messages until the connection is down.
func (c *Conn) read() {
	for {
		if err := c.readNext(); err != nil {
			c.Fail(err)
			return
		}
		if len(c.from.unread) > 0 {
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

// Do performs the work that SendAwaited left to the caller, with no lock held. answered has a token when the caller can
// stop waiting. A caller that holds the read token reads until then, or until the reader wants the token back.
func (c *Conn) Do(w Work, answered <-chan struct{}) {
	if w.write {
		c.flush()
	}
	if !w.read {
		return
	}
	for len(answered) == 0 {
		if err := c.readNext(); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			c.Fail(err)
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token.recalled {
		c.token.recalled = false
		_ = c.conn.SetReadDeadline(time.Time{}) // after a close the deadline does not matter
	} else if c.idle() {
		c.token.holder = noHolder
		return
	}
	c.recall()
}

// idle reports whether no response is pending and no data is unread. The token's holder calls idle with the lock held.
func (c *Conn) idle() bool {
	return len(c.handlers) == 0 && len(c.from.unread) == 0 && c.err == nil
}

// readNext dispatches one message: to its request's handler, or as a push without a request. Only the read token's
// holder may call readNext.
func (c *Conn) readNext() error {
	if len(c.from.unread) == 0 {
		c.brought = 0
	}
	payload, err := c.from.next()
	if err != nil {
		return err
	}
	c.brought++
	c.payload = len(payload)
	a, err := c.decoder.Decode(payload)
	if err != nil {
		bad, ok := errors.AsType[*protocol.DecodeError](err)
		if ok && bad.UnknownKind && !(bad.Kind.IsAnswer() && c.awaits(bad.ID)) {
			return nil // a push from a later protocol version
		}
		return err
	}
	if a.ID == 0 {
		c.pushed(a)
		return nil
	}
	c.mu.Lock()
	c.together = c.brought > 1 || len(c.from.unread) > 0
	h := c.handlers[a.ID]
	if !moreFollows(a) {
		delete(c.handlers, a.ID)
	}
	if a.Kind.IsAnswer() {
		c.open--
		c.answers++
		c.token.answeredAlone = a.ID == c.token.alone
		for len(c.held) > 0 && c.open < c.room(0) { // send held requests that now fit
			c.out.B = append(c.out.B, c.held[0].frame...)
			c.held[0] = heldRequest{}
			c.held = c.held[1:]
			c.open++
			c.wakeWriter()
		}
	}
	c.mu.Unlock()
	if h != nil {
		h.Answered(c, a)
	}
	return nil
}

// moreFollows reports whether a message's request id stays in use.
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

// pushed handles a push without a request.
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
	case protocol.KindTokenExpiring:
		c.owner.TokenExpiring(c, string(a.TokenExpiring.Token), Millis(a.TokenExpiring.LeftMillis))
	case protocol.KindGoingAway:
		err := a.GoingAway.Result.Err()
		if err == nil {
			err = protocol.ErrUnavailable
		}
		c.owner.GoingAway(c, err)
		c.Fail(err)
	}
}

// frames splits a connection's bytes into frames.
type frames struct {
	from   io.Reader
	limit  int // the longest payload
	buf    []byte
	unread []byte // bytes in buf that were read from the connection but not returned yet
}

const readBuffer = 16 << 10

func newFrames(from io.Reader) *frames {
	return &frames{
		from:  from,
		limit: int(protocol.FrameLimits(protocol.MaxDataBytes).AnswerFrameBytes),
		buf:   make([]byte, readBuffer),
	}
}

// next returns the next frame's payload, valid until the next call.
func (f *frames) next() ([]byte, error) {
	for {
		payload, size, err := protocol.ScanFrame(f.unread, f.limit)
		if err != nil {
			return nil, err
		}
		if payload != nil {
			f.unread = f.unread[size:]
			return payload, nil
		}
		if len(f.unread) == 0 || size > cap(f.unread) {
			// Move unread bytes to the front of the buffer to make space for the whole frame.
			buf := f.buf
			if size > len(buf) {
				buf = make([]byte, max(size, min(2*len(buf), f.limit)))
			} else if len(f.unread) == 0 && len(buf) > keptBuffer {
				buf = make([]byte, readBuffer)
			}
			f.buf, f.unread = buf, buf[:copy(buf, f.unread)]
		}
		rest := len(f.unread)
		n, err := f.from.Read(f.unread[rest:cap(f.unread)])
		f.unread = f.unread[:rest+n]
		if n == 0 && err != nil {
			return nil, err
		}
	}
}
