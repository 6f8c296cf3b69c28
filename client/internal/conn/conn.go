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
	"github.com/signalbox/signalbox/protocol"
)

// Handler gets what belongs to one request. It is called by the goroutine that reads the connection, with no lock of
// the connection held: it must not block.
type Handler interface {
	// Answered gets the answer to the request and every push with its id. It must copy what it keeps.
	Answered(from *Conn, a *protocol.Answer)
	// Lost says that the connection is down, with a *failure.Transport. Nothing comes after it.
	Lost(from *Conn, err error)
}

// Session gets what a host pushes about a session, from the goroutine that reads the connection.
type Session interface {
	// Detached: the session is no longer attached or bound over the connection, which is up.
	Detached(from *Conn, result *protocol.Result)
	Ended(reason protocol.EndReason)
	HoldingLost(push *protocol.HoldingLost)
	// Inbox gets what is good for the call only.
	Inbox(from *Conn, push *protocol.Inbox)
	// ConnectionLost says that the connection is down, with a *failure.Transport.
	ConnectionLost(from *Conn, err error)
}

// Owner made the connection, and gets what is about the host and not about a request or a session.
type Owner interface {
	// RoutingChanged gets what is good for the call only.
	RoutingChanged(from *Conn, push *protocol.RoutingChanged)
	GoingAway(from *Conn, why error)
	// TokenExpiring says after which time the host closes the connection, because the token of that name expires.
	TokenExpiring(from *Conn, token string, left time.Duration)
	// ConnectionLost says that the connection is down, before its requests and sessions hear of it.
	ConnectionLost(from *Conn, why error)
}

// Conn is one connection to a host, from its welcome to its end. It is never repaired; its owner makes another one.
//
// One goroutine reads it and one writes it. Requests are encoded by those who send them, into one buffer that is
// written in one go, so that many requests share a system call. A request that is alone is written by its sender,
// which saves the way over another goroutine, and its answer is read by the same (see readToken). Where the latest
// answers came together it is left to the writer: those who got them are about to send too.
type Conn struct {
	dialer  *Dialer
	owner   Owner
	welcome Welcome
	address string
	conn    net.Conn
	pinger  pinger
	wake    chan struct{} // there is something to write; holds one
	down    chan struct{} // closed when the connection is down
	// buffers: a small write does not wait for the host, if the host has read what was written before.
	buffers bool

	// For the holder of the read token, which comes with the lock.
	from    *frames
	decoder *protocol.AnswerDecoder
	brought int // how many messages the latest read has brought so far

	mu       sync.Mutex // guards what follows
	encoder  *protocol.Encoder
	out      *bytebufferpool.ByteBuffer // what is to be written next
	spare    *bytebufferpool.ByteBuffer // nil while it is being written
	lastID   uint64
	handlers map[uint64]Handler
	open     int           // requests that are not answered
	together bool          // the latest answer did not come by itself: other callers are about to send too
	held     []heldRequest // that the host would refuse, because too many are open
	sessions map[uint64]Session
	unhook   func() bool // from the end of the client
	err      error       // what brought the connection down
	token    readToken
}

// heldRequest is a request that is encoded and not sent yet.
type heldRequest struct {
	id    uint64
	frame []byte
}

// Address returns the address that was dialled.
func (c *Conn) Address() string { return c.address }

// Owner returns what Run was called with.
func (c *Conn) Owner() Owner { return c.owner }

// Send sends a request. The handler gets what comes of it, unless Send fails: with a *failure.Transport if the
// connection is down, with ErrUnsupported if the host does not know the request, with ErrBadRequest if the request is
// too large for it.
func (c *Conn) Send(h Handler, m protocol.RequestMessage) (id uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, err = c.post(h, m); err == nil {
		c.wakeWriter()
	}
	return id, err
}

// Work is what SendAwaited leaves to the caller that waits for the answer.
type Work struct{ write, read bool }

// SendAwaited is Send for a caller that waits for the answer, and calls Do before it does.
func (c *Conn) SendAwaited(h Handler, m protocol.RequestMessage) (id uint64, w Work, err error) {
	return c.sendAwaited("", h, m)
}

// sendAwaited is SendAwaited for a client at an address, where there is one.
func (c *Conn) sendAwaited(address string, h Handler, m protocol.RequestMessage) (id uint64, w Work, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if address != "" {
		c.introduce(address)
	}
	if id, err = c.post(h, m); err != nil {
		return 0, Work{}, err
	}
	// Everything before was answered, so the host has read it.
	if c.buffers && c.open == 1 && !c.together && len(c.held) == 0 && len(c.out.B) <= smallWrite {
		c.token.alone = id
		return id, Work{write: true, read: c.borrow()}, nil
	}
	c.wakeWriter()
	return id, Work{}, nil
}

// Do does what SendAwaited left to the caller, with no lock held. There is something in the channel when the caller
// need not wait any more.
func (c *Conn) Do(w Work, answered <-chan struct{}) {
	if w.write {
		c.flush()
	}
	if w.read {
		c.readFor(answered)
	}
}

// post puts a request into the buffer. The lock is held.
func (c *Conn) post(h Handler, m protocol.RequestMessage) (id uint64, err error) {
	if c.err != nil {
		return 0, c.err
	}
	if !c.welcome.requests.Allows(m.Kind()) {
		return 0, &protocol.Error{
			Status:  protocol.StatusUnsupported,
			Message: fmt.Sprintf("the host does not know the request %v", m.Kind()),
		}
	}
	id = c.lastID + 1
	start := len(c.out.B)
	c.encoder.Request(c.out, id, m)
	frame := c.out.B[start:]
	size, most := len(frame)-protocol.FrameHeaderBytes, c.welcome.limits.RequestFrameBytes
	if uint64(size) > most {
		c.out.B = c.out.B[:start]
		return 0, failure.BadRequest(fmt.Sprintf("%d bytes, at most %d are taken", size, most))
	}
	c.lastID = id
	c.handlers[id] = h
	if c.open >= c.room(m.Kind()) {
		c.held = append(c.held, heldRequest{id, slices.Clone(frame)})
		c.out.B = c.out.B[:start]
		return id, nil
	}
	c.open++
	return id, nil
}

// room is how many requests may be open before one of a kind is held back. What keeps sessions alive goes ahead of
// the rest.
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

// Forget lets what still comes for a request be dropped.
func (c *Conn) Forget(id uint64) {
	c.mu.Lock()
	delete(c.handlers, id)
	c.mu.Unlock()
}

// StopWatch ends a watch that has no reader any more. A WATCH that is still held back is never sent: a WATCH_STOP,
// which is not held back, would come before it and stop nothing.
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

// awaits reports whether something is still to come for a request.
func (c *Conn) awaits(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handlers[id] != nil
}

// AddSession lets pushes about a session reach it. It returns false where the connection is down.
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

// session returns the session of an id, nil where the connection does not have it.
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

// Fail brings the connection down and reports that to all that rely on it.
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

// Discard closes a connection that does not run, whatever the closing says.
func (c *Conn) Discard() { _ = c.conn.Close() }
