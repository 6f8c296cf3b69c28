package server

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// conn is one client connection. Its requests are decoded and dispatched on its event loop; answers
// and pushes come from there and from where batches are applied, in one stream.
type conn struct {
	host *Host
	peer transport.Conn
	// holder is the connection as the leases see it: sessions attached over it live as long as it speaks.
	holder *lease.Holder

	// Used on the event loop only.
	decoder    *protocol.RequestDecoder
	greeted    bool      // said, for the loop itself
	heardAt    time.Time // when the frames that are being dispatched were read
	started    int64     // the same, in the host's nanoseconds
	touched    []*replica.Replica
	opened     int64
	rights     Rights
	name       string
	client     shard.ClientState // set by HELLO; does not change where the connection has a session
	describing describe

	// reviewed is the version of the rights that what is open was last compared with. HELLO sets it, and the host's
	// loop from then on.
	reviewed uint64

	guesses  guesses
	inFlight atomic.Int64 // requests without an answer
	// bytes of a frame that has arrived in part; changed on the event loop, or where the connection is cut off
	partial  atomic.Int64
	marked   atomic.Bool  // some shard will flush it when its batch is through
	heard    atomic.Int64 // when frames last came
	welcomed atomic.Bool  // it has said its HELLO; its rights are known, and may be read from anywhere

	source *pipeline.Source // of its commands; set by HELLO

	mu       sync.Mutex // guards what follows
	encoder  *protocol.Encoder
	out      *bytebufferpool.ByteBuffer // what is to be sent with the next flush
	closed   bool
	cut      bool // the host has said that it ends it; it is being closed
	sessions map[shard.SessionID]*binding
	attached []attachedHome
	acts     map[uint64]*act // administrative ones, by request
	watches  int             // streaming and one-shot
	// watches that wait to be opened, with the WATCH_STOP that came for each; 0: none did
	opening        map[uint64]uint64
	pings          []uint64 // that wait for their answers
	answeringPings bool     // a goroutine answers them
}

// attachedHome counts the sessions of one home shard that are attached over a connection.
type attachedHome struct {
	home     *replica.Replica
	sessions int
}

// binding is a session that may act over a connection.
type binding struct {
	node     shard.NodeID
	home     *replica.Replica
	attached bool // over this connection; else only bound to it
	// silent: the host reported to its client that it was silent for too long. The session acts here no more, and only
	// hears of its end. The connection's lock guards this and stop.
	silent bool
	stop   *stop // the SESSION_STOP that is under way over this connection
}

func (h *Host) newConn(peer transport.Conn) *conn {
	c := &conn{
		host: h, peer: peer,
		decoder:  protocol.NewRequestDecoder(h.config.Limits.DataBytes),
		encoder:  protocol.NewEncoder(),
		sessions: make(map[shard.SessionID]*binding),
		opened:   h.clock(),
	}
	c.holder = lease.NewHolder(h.now())
	c.holder.Owner = c
	if on, ok := peer.(interface{ Rounds() *transport.Rounds }); ok {
		c.holder.Reader = on.Rounds()
	}
	c.heard.Store(c.opened)
	return c
}

// Data implements transport.Events.
func (c *conn) Data(b []byte) (consumed int) {
	h := c.host
	now := h.now()
	c.holder.Heard(now)
	c.heardAt, c.started = now, h.since(now)
	c.heard.Store(c.started)
	defer c.flushTouched() // whatever becomes of the connection: what is queued must not wait for others
	for consumed < len(b) {
		payload, size, err := protocol.ScanFrame(b[consumed:], c.frameLimit())
		if err != nil {
			c.closeWithReason(cutBadRequest, protocol.StatusBadRequest, err.Error())
			return -1
		}
		if payload == nil {
			break
		}
		consumed += size
		request, err := c.decoder.Decode(payload)
		if err != nil {
			if !c.refuseUndecodable(err) {
				return -1
			}
			continue
		}
		h.metrics.Requested(request.Kind)
		c.inFlight.Add(1)
		if !c.dispatch(request) {
			return -1
		}
	}
	c.flushTouched()
	if !c.flush() {
		return -1
	}
	h.holdPartial(c, len(b)-consumed)
	return consumed
}

// frameLimit is how long the next frame may be.
func (c *conn) frameLimit() int {
	if !c.greeted {
		return protocol.HelloFrameBytes
	}
	return int(c.host.config.Limits.RequestFrameBytes)
}

// refuseUndecodable deals with a request that could not be decoded, and reports whether the connection may live.
func (c *conn) refuseUndecodable(err error) bool {
	var bad *protocol.DecodeError
	if !errors.As(err, &bad) || !bad.Answerable() || !c.greeted {
		c.closeWithReason(cutBadRequest, protocol.StatusBadRequest, err.Error())
		return false
	}
	c.inFlight.Add(1)
	result := bad.Result()
	c.Fail(bad.ID, bad.Kind, &result)
	return true
}

// flushTouched proposes what the frames of this round asked of the shards.
func (c *conn) flushTouched() {
	for i, r := range c.touched {
		r.Pipeline.Flush()
		c.touched[i] = nil
	}
	c.touched = c.touched[:0]
}

// touch remembers to flush the replica's pipeline at the end of the round.
func (c *conn) touch(r *replica.Replica) {
	for _, t := range c.touched {
		if t == r {
			return
		}
	}
	c.touched = append(c.touched, r)
}

// Drained implements transport.Events.
func (c *conn) Drained() { c.host.drained(c) }

// Closed implements transport.Events.
func (c *conn) Closed(err error) {
	c.mu.Lock()
	c.closed = true
	sessions := c.sessions
	c.sessions = nil
	if c.out != nil {
		transport.Buffers.Put(c.out)
		c.out = nil
	}
	c.mu.Unlock()
	c.host.dropPartial(c)
	c.host.connClosed(c, sessions)
}

// Answer appends the answer to a request that was carried out.
func (c *conn) Answer(id uint64, m protocol.AnswerMessage) {
	c.inFlight.Add(-1)
	c.mu.Lock()
	if !c.closed {
		c.encoder.Answer(c.buffer(), id, m)
		c.sendIfLong()
	}
	a := c.takeAct(id)
	c.mu.Unlock()
	c.audit(a, &succeeded)
}

var succeeded protocol.Result

// AnswerBound is Answer while the session acts over this connection, so that what follows reaches its client. It
// returns false, and answers nothing, where the session does not act over this connection any more.
func (c *conn) AnswerBound(session shard.SessionID, id uint64, m protocol.AnswerMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.acting(session) == nil {
		return false
	}
	c.inFlight.Add(-1)
	if !c.closed {
		c.encoder.Answer(c.buffer(), id, m)
		c.sendIfLong()
	}
	return true
}

// Fail implements pipeline.Caller: it appends the answer to a request that was not.
func (c *conn) Fail(id uint64, kind protocol.Kind, r *protocol.Result) {
	c.host.metrics.Failed(kind, r.Status)
	c.inFlight.Add(-1)
	c.mu.Lock()
	if !c.closed {
		c.encoder.Failure(c.buffer(), id, kind, r)
	}
	a := c.takeAct(id)
	c.mu.Unlock()
	c.audit(a, r)
}

// Push appends a push.
func (c *conn) Push(id uint64, m protocol.PushMessage) {
	c.mu.Lock()
	if !c.closed {
		c.encoder.Push(c.buffer(), id, m)
		c.sendIfLong()
	}
	c.mu.Unlock()
}

// buffer returns the buffer for the next flush. The lock is held.
func (c *conn) buffer() *bytebufferpool.ByteBuffer {
	if c.out == nil {
		c.out = transport.Buffers.Get()
	}
	return c.out
}

// sendIfLong hands what was appended over early where it is much, so that what waits for a client shows in
// Pending however many answers one round of frames or one batch brings. The lock is held.
func (c *conn) sendIfLong() {
	if len(c.out.B) >= spillBytes {
		c.send()
	}
}

// send hands over what was appended. The lock is held.
func (c *conn) send() { c.peer.Send(c.takeOutput()) }

// takeOutput takes what was appended, to hand it over. The lock is held.
func (c *conn) takeOutput() *bytebufferpool.ByteBuffer {
	out := c.out
	c.out = nil
	if c.host.pending.add(len(out.B)) {
		c.host.set.Wake()
	}
	return out
}

// flush hands what was appended over to be sent. It cuts off a client for which too much waits: answers
// and pushes come from many places, and one that sends nothing must be bounded too. False: it did.
func (c *conn) flush() bool {
	c.mu.Lock()
	if c.out != nil {
		c.send()
	}
	return c.unlockBounded()
}

// flushHere is flush on this goroutine, where that can be: it takes a system call, and no event loop has to be woken.
func (c *conn) flushHere() {
	c.mu.Lock()
	ours := c.out != nil && c.peer.Queue(c.takeOutput())
	c.unlockBounded()
	if ours {
		c.peer.Flush()
	}
}

// unlockBounded lets go of the lock, and cuts off a client for which too much waits.
func (c *conn) unlockBounded() (open bool) {
	slow := !c.closed && !c.cut && c.peer.Pending() > maxPending
	cut := c.cut
	c.mu.Unlock()
	if slow {
		c.cutOff(cutSlow, protocol.StatusOverloaded, "the client reads too slowly")
	}
	return !cut && !slow
}

// Append implements hub.Sink.
func (c *conn) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	write(c.encoder, c.buffer())
	return true
}

// Ended implements hub.Sink.
func (c *conn) Ended(uint64) {
	c.mu.Lock()
	c.watches--
	c.mu.Unlock()
}

// Flush implements hub.Sink.
func (c *conn) Flush(few bool) {
	if few {
		c.flushHere()
	} else {
		c.flush()
	}
}

// Pending implements hub.Sink.
func (c *conn) Pending() int { return c.peer.Pending() }

// Mark implements replica.Conn.
func (c *conn) Mark() bool { return c.marked.CompareAndSwap(false, true) }

// Unmark implements replica.Conn.
func (c *conn) Unmark() { c.marked.Store(false) }

func clip(message string) string {
	if len(message) > protocol.MaxMessageBytes {
		return message[:protocol.MaxMessageBytes]
	}
	return message
}

// binding returns the session if it may act over this connection.
func (c *conn) binding(id shard.SessionID) *binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acting(id)
}

// acting is binding with the lock held.
func (c *conn) acting(id shard.SessionID) *binding {
	if b := c.sessions[id]; b != nil && !b.silent {
		return b
	}
	return nil
}

// Acts implements replica.Conn.
func (c *conn) Acts(id shard.SessionID) bool { return c.binding(id) != nil }

// Bind implements replica.Conn. A silent binding takes the place of what is there.
func (c *conn) Bind(id shard.SessionID, node shard.NodeID, home *replica.Replica, silent bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if before := c.sessions[id]; before == nil || before.silent {
		c.sessions[id] = &binding{node: node, home: home, silent: silent}
	}
	return true
}

// Unbind implements replica.Conn.
func (c *conn) Unbind(id shard.SessionID) (node shard.NodeID, bound bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.remove(id)
	if b == nil {
		return 0, false
	}
	return b.node, true
}

// Detach implements replica.Conn. A session that came back over this connection meanwhile stays: its client has been
// answered so, and what is said here would contradict it.
func (c *conn) Detach(id shard.SessionID, home *replica.Replica, why protocol.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[id] == nil || home.Leases.Holder(id) == c.holder {
		return false
	}
	c.remove(id)
	c.encoder.Push(c.buffer(), 0, &protocol.SessionDetached{SessionID: uint64(id), Result: why})
	return true
}

// remove is Unbind with the lock held.
func (c *conn) remove(id shard.SessionID) *binding {
	b := c.sessions[id]
	delete(c.sessions, id)
	if b != nil && b.attached {
		for i := range c.attached {
			if c.attached[i].home == b.home {
				c.attached[i].sessions--
			}
		}
	}
	return b
}
