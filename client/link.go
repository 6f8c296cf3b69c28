package client

import (
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// handler takes what belongs to one request.
type handler interface {
	// answered gets the answer to the request and every push with its id. It runs on the goroutine that
	// reads the connection: it must not block, and must copy what it keeps.
	answered(from *link, a *protocol.Answer)
	// lost says that the connection is gone, with a *transportError. Nothing comes after it.
	lost(from *link, err error)
}

// link is one connection to a host, from its welcome to its end. It is never brought back; its host makes
// another one.
//
// One goroutine reads it and one writes it. Requests are encoded by those who send them, into one buffer
// that is written in one go, so that many requests share a system call. A request that is alone is written by
// who sends it, which saves the way over another goroutine, and its answer is read by the same (see turn).
//
// Locks are taken in this order: that of a life, then that of a link. Handlers are called with neither.
type link struct {
	client  *Client
	host    *host
	address string
	conn    net.Conn
	limits  protocol.Limits
	// requests are those of the second block of kinds that the host answers. It may close the connection over others.
	requests protocol.KindSet
	pulse    pulse
	wake     chan struct{} // there is something to write; holds one
	down     chan struct{} // closed when the link is
	// buffers: a small write does not wait for the host, if the host has taken what was written before.
	buffers bool

	// For who has the turn, which comes with the lock.
	from    *frames
	decoder *protocol.AnswerDecoder
	// For the reader.
	ticker   *time.Ticker  // looks after a turn that is lent
	returned chan struct{} // the reader has its turn again; holds one

	mu       sync.Mutex // guards what follows
	encoder  *protocol.Encoder
	out      *bytebufferpool.ByteBuffer // what is to be written next
	spare    *bytebufferpool.ByteBuffer // nil while it is being written
	lastID   uint64
	handlers map[uint64]handler
	open     int           // requests that are not answered
	held     []heldRequest // that the host would refuse, because too many are open
	lives    map[uint64]*life
	unhook   func() bool // from the end of the client
	err      error       // what brought the link down

	turn          turn
	alone         uint64 // the latest request that was alone when it was sent
	answeredAlone bool   // the latest answer was to that
	borrowed      uint64 // how often a caller has taken the turn
	seen          uint64 // borrowed when the reader looked after the turn
	recalled      bool   // a caller is to give it back
}

// heldRequest is a request that is encoded and not sent yet.
type heldRequest struct {
	id    uint64
	frame []byte
}

// send sends a request. The handler gets what comes of it, unless send fails: with a *transportError if the
// link is down, with ErrUnsupported if the host does not know the request, with ErrBadRequest if the request is too
// large for it.
func (l *link) send(h handler, m protocol.RequestMessage) (id uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, err = l.post(h, m); err == nil {
		l.nudge()
	}
	return id, err
}

// sendAwaited is send for who waits for the answer, and goes on to do its part.
func (l *link) sendAwaited(h handler, m protocol.RequestMessage) (id uint64, p part, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, err = l.post(h, m); err != nil {
		return 0, part{}, err
	}
	// Everything before was answered, so the host has taken it.
	if l.buffers && l.open == 1 && len(l.held) == 0 && len(l.out.B) <= smallWrite {
		l.alone = id
		return id, part{writes: true, reads: l.borrow()}, nil
	}
	l.nudge()
	return id, part{}, nil
}

// part is what the link leaves to who waits for an answer.
type part struct{ writes, reads bool }

// do does a caller's part, with no lock held. There is something in the channel when it need not wait any more.
func (l *link) do(p part, wake <-chan struct{}) {
	if p.writes {
		l.flush()
	}
	if p.reads {
		l.readFor(wake)
	}
}

// post puts a request into the buffer. The lock is held.
func (l *link) post(h handler, m protocol.RequestMessage) (id uint64, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if !l.requests.Allows(m.Kind()) {
		return 0, &protocol.Error{
			Status:  protocol.StatusUnsupported,
			Message: fmt.Sprintf("the host does not know the request %v", m.Kind()),
		}
	}
	id = l.lastID + 1
	start := len(l.out.B)
	l.encoder.Request(l.out, id, m)
	frame := l.out.B[start:]
	if size := len(frame) - protocol.FrameHeaderBytes; uint64(size) > l.limits.RequestFrameBytes {
		l.out.B = l.out.B[:start]
		return 0, &protocol.Error{
			Status:  protocol.StatusBadRequest,
			Message: fmt.Sprintf("%d bytes, at most %d are taken", size, l.limits.RequestFrameBytes),
		}
	}
	l.lastID = id
	l.handlers[id] = h
	if l.open >= l.room(m.Kind()) {
		l.held = append(l.held, heldRequest{id, slices.Clone(frame)})
		l.out.B = l.out.B[:start]
		return id, nil
	}
	l.open++
	return id, nil
}

// room is how many requests may be open before one of a kind is held back. What sessions live by goes ahead of
// the rest.
func (l *link) room(k protocol.Kind) int {
	limit := int(min(l.limits.RequestsInFlight, math.MaxInt32))
	switch k {
	case protocol.KindPing:
		return math.MaxInt
	case protocol.KindSessionAttach, protocol.KindSessionBind, protocol.KindSessionStop, protocol.KindRouting, protocol.KindWatchStop:
		return max(limit-1, 1)
	}
	return max(limit-limit/8-2, 1)
}

// nudge wakes the writer, and the reader if nobody would read what comes of it. The lock is held.
func (l *link) nudge() {
	if l.turn == turnFree {
		l.recall()
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// forget lets what still comes for a request be dropped.
func (l *link) forget(id uint64) {
	l.mu.Lock()
	delete(l.handlers, id)
	l.mu.Unlock()
}

// stopWatch ends a watch that has no reader any more. A WATCH that is still held back is never sent: a WATCH_STOP,
// which is not held back, would come before it and stop nothing.
func (l *link) stopWatch(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handlers, id)
	if i := slices.IndexFunc(l.held, func(r heldRequest) bool { return r.id == id }); i >= 0 {
		l.held = slices.Delete(l.held, i, i+1)
		return
	}
	if _, err := l.post(&call{done: make(chan struct{}, 1)}, &protocol.WatchStop{WatchID: id}); err == nil {
		l.nudge()
	}
}

// awaits tells whether something is still to come for a request.
func (l *link) awaits(id uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handlers[id] != nil
}

// carry lets pushes about a session find it. It returns false where the link is down.
func (l *link) carry(x *life) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false
	}
	l.lives[x.id] = x
	return true
}

// drop undoes carry.
func (l *link) drop(x *life) {
	l.mu.Lock()
	if l.lives[x.id] == x {
		delete(l.lives, x.id)
	}
	l.mu.Unlock()
}

func (l *link) isDown() bool {
	select {
	case <-l.down:
		return true
	default:
		return false
	}
}

// fail brings the link down and tells everybody who relies on it.
func (l *link) fail(why error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = &transportError{address: l.address, err: why}
	err, handlers, lives, unhook := l.err, l.handlers, l.lives, l.unhook
	l.handlers, l.lives, l.held = nil, nil, nil
	l.mu.Unlock()

	if unhook != nil {
		unhook()
	}
	l.pulse.stop()
	close(l.down)
	_ = l.conn.Close() // it is given up, whatever it says
	l.host.linkDown(l)
	for _, h := range handlers {
		h.lost(l, err)
	}
	for _, x := range lives {
		x.linkDown(l, err)
	}
}
