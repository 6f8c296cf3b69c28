package conn

import (
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

// Handler gets the messages for one request. It is called by the goroutine that reads the connection, with no
// connection lock held, and must not block.
type Handler interface {
	// Answered gets the response and every push with the request id. It must copy everything it keeps.
	Answered(from *Conn, a *protocol.Answer)
	// Lost reports that the connection is down, with a *failure.Transport. No message follows.
	Lost(from *Conn, err error)
}

// Session gets a host's pushes about a session, from the goroutine that reads the connection.
type Session interface {
	// Detached: the session is no longer attached or bound over the connection, and the connection is up.
	Detached(from *Conn, result *protocol.Result)
	Ended(reason protocol.EndReason)
	HoldingLost(push *protocol.HoldingLost)
	// Inbox gets a push, which is only valid during the call.
	Inbox(from *Conn, push *protocol.Inbox)
	// Resumed reports that the machine was suspended, so deadline timers were stopped meanwhile.
	Resumed()
	// ConnectionLost reports that the connection is down, with a *failure.Transport.
	ConnectionLost(from *Conn, err error)
}

// Owner created the connection and gets pushes about the host, which belong to no request or session.
type Owner interface {
	// RoutingChanged gets a push, which is only valid during the call.
	RoutingChanged(from *Conn, push *protocol.RoutingChanged)
	GoingAway(from *Conn, why error)
	// Silent reports that the host answers neither requests nor a ping. The connection may recover.
	Silent(from *Conn)
	// TokenExpiring reports the time left until the host closes the connection because the named token expires.
	TokenExpiring(from *Conn, token string, left time.Duration)
	// ConnectionLost reports that the connection is down, before requests and sessions are notified.
	ConnectionLost(from *Conn, why error)
}

// Conn is one connection to a host, from the welcome to the end. A connection is never repaired; the owner creates a
// new one.
//
// One goroutine reads and one goroutine writes. Senders encode their requests into a shared buffer that is written at
// once, so many requests share a system call. If a request is alone, its sender writes the request, which avoids a
// switch to another goroutine, and also reads the response (see readToken). If the latest responses came together, the
// writer sends the request, because the callers with these responses are about to send too.
type Conn struct {
	dialer  *Dialer
	owner   Owner
	welcome Welcome
	address string
	conn    net.Conn
	pinger  pinger
	wake    chan struct{} // gets a token when there is something to write; capacity 1
	down    chan struct{} // closed when the connection is down
	// buffers: a small write does not wait for the host, if the host has read all earlier writes.
	buffers bool

	// Only for the read token's holder. The token changes holders under the lock, so the fields need no lock.
	from    *frames
	decoder *protocol.AnswerDecoder
	brought int // how many messages the latest read has brought so far
	payload int // length of the latest message

	mu       sync.Mutex // guards the fields below
	encoder  *protocol.Encoder
	out      *bytebufferpool.ByteBuffer // the next write
	spare    *bytebufferpool.ByteBuffer // nil while a buffer is being written
	lastID   uint64
	handlers map[uint64]Handler
	open     int           // requests without an answer
	answers  uint64        // so far
	together bool          // the latest responses came together: other callers are about to send too
	held     []heldRequest // too many requests are open, so the host would reject these
	sessions map[uint64]Session
	unhook   func() bool // from the client's end
	err      error       // why the connection is down
	token    readToken
}

// heldRequest is an encoded request that is not sent yet.
type heldRequest struct {
	id    uint64
	frame []byte
}

// Address returns the dialed address.
func (c *Conn) Address() string { return c.address }

// Owner returns the owner passed to Run.
func (c *Conn) Owner() Owner { return c.owner }

// LastVouched returns the time at which the latest answered ping was sent.
func (c *Conn) LastVouched() lifecycle.Instant { return lifecycle.Instant(c.pinger.vouched.Load()) }

// Send sends a request. The handler gets the answer and the pushes, unless Send fails: with a *failure.Transport if
// the connection is down, with ErrUnsupported if the host does not know the request, with ErrBadRequest if the request
// is too large for the host.
func (c *Conn) Send(h Handler, m protocol.RequestMessage) (id uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, err = c.post(h, m); err == nil {
		c.wakeWriter()
	}
	return id, err
}

// Work is what SendAwaited leaves to the caller that waits for the response.
type Work struct{ write, read bool }

// SendAwaited is Send for a caller that waits for the response and calls Do before waiting. address is the client
// address if a gateway sends for a client, and empty otherwise.
func (c *Conn) SendAwaited(address string, h Handler, m protocol.RequestMessage) (id uint64, w Work, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if address != "" {
		c.introduce(address)
	}
	if id, err = c.post(h, m); err != nil {
		return 0, Work{}, err
	}
	// Every earlier request was answered, so the host has read all earlier writes.
	if c.buffers && c.open == 1 && !c.together && len(c.held) == 0 && len(c.out.B) <= smallWrite {
		c.token.alone = id
		w = Work{write: true, read: c.token.holder == noHolder}
		if w.read {
			c.token.holder = caller
			c.token.lent++
		}
		return id, w, nil
	}
	c.wakeWriter()
	return id, Work{}, nil
}

// post puts a request into the buffer. The lock is held.
func (c *Conn) post(h Handler, m protocol.RequestMessage) (id uint64, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if !c.welcome.requests.Allows(m.Kind()) {
		return 0, &protocol.Error{
			Status:  protocol.StatusUnsupported,
			Message: fmt.Sprintf("the host does not support the request %v", m.Kind()),
		}
	}
	id = c.lastID + 1
	start := len(c.out.B)
	c.encoder.Request(c.out, id, m)
	frame := c.out.B[start:]
	size, most := len(frame)-protocol.FrameHeaderBytes, c.welcome.limits.RequestFrameBytes
	if uint64(size) > most {
		c.out.B = c.out.B[:start]
		return 0, failure.BadRequest(fmt.Sprintf("%d bytes are more than the limit of %d", size, most))
	}
	c.lastID = id
	c.handlers[id] = h
	if c.open >= c.room(m.Kind()) {
		c.held = append(c.held, heldRequest{id, slices.Clone(frame)})
		c.out.B = c.out.B[:start]
		return id, nil
	}
	c.open++
	c.pinger.watch()
	return id, nil
}

// room returns how many requests may be open before a request with kind k is held back. Requests that keep sessions
// alive have priority.
func (c *Conn) room(k protocol.Kind) int {
	limit := int(min(c.welcome.limits.RequestsInFlight, math.MaxInt32))
	switch k {
	case protocol.KindPing:
		return math.MaxInt
	case protocol.KindSessionAttach, protocol.KindSessionBind, protocol.KindSessionStop, protocol.KindSessionDetach,
		protocol.KindRouting, protocol.KindWatchStop:
		return max(limit-1, 1)
	}
	return max(limit-limit/8-2, 1)
}

// wakeWriter wakes the writer, and the reader if no caller would read the answer. The lock is held.
func (c *Conn) wakeWriter() {
	if c.token.holder == noHolder {
		c.recall()
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Forget lets further messages for a request be dropped.
func (c *Conn) Forget(id uint64) {
	c.mu.Lock()
	delete(c.handlers, id)
	c.mu.Unlock()
}

// StopWatch ends a watch that has no reader left. If the WATCH is still held back, it is never sent: a WATCH_STOP is
// not held back, so it would arrive before the WATCH and stop nothing.
func (c *Conn) StopWatch(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.handlers, id)
	if i := slices.IndexFunc(c.held, func(r heldRequest) bool { return r.id == id }); i >= 0 {
		c.held = slices.Delete(c.held, i, i+1)
		return
	}
	if _, err := c.post(&call{done: make(chan struct{}, 1)}, &protocol.WatchStop{WatchID: id}); err == nil {
		c.wakeWriter()
	}
}

// awaits reports whether a message is still to come for a request.
func (c *Conn) awaits(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handlers[id] != nil
}

// AddSession routes pushes about a session to s. It returns false if the connection is down.
func (c *Conn) AddSession(id uint64, s Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.sessions[id] = s
	return true
}

// RemoveSession undoes AddSession.
func (c *Conn) RemoveSession(id uint64, s Session) {
	c.mu.Lock()
	if c.sessions[id] == s {
		delete(c.sessions, id)
	}
	c.mu.Unlock()
}

// session returns the session with the given id, or nil.
func (c *Conn) session(id uint64) Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// IsDown reports whether the connection has failed.
func (c *Conn) IsDown() bool {
	select {
	case <-c.down:
		return true
	default:
		return false
	}
}

// Fail closes the connection and reports the loss to everything that relies on the connection.
func (c *Conn) Fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = &failure.Transport{Address: c.address, Err: why}
	err, handlers, sessions, unhook := c.err, c.handlers, c.sessions, c.unhook
	c.handlers, c.sessions, c.held = nil, nil, nil
	c.mu.Unlock()

	if unhook != nil {
		unhook()
	}
	c.pinger.stop()
	close(c.down)
	c.Discard()
	c.owner.ConnectionLost(c, err)
	for _, h := range handlers {
		h.Lost(c, err)
	}
	for _, s := range sessions {
		s.ConnectionLost(c, err)
	}
}

// Discard closes a connection that does not run. Errors are ignored.
func (c *Conn) Discard() { _ = c.conn.Close() }
