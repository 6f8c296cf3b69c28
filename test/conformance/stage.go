package conformance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Host states, as set by scripts.
const (
	hostUp   = "up"
	hostDown = "down" // connections are closed, new ones too
	hostMute = "mute" // connections are taken, and get no messages
	// hostLagging is up, and hears of no slot move from then on.
	hostLagging = "lagging"
)

// maxRequestBytes bounds a request's payload. WELCOME announces it.
const maxRequestBytes = 1 << 20

// host is one host in the play: a listener with connections. The address stays reserved for the whole script, even
// while the host is down, so that no other program gets the port meanwhile.
type host struct {
	play     *play
	id       uint64
	listener net.Listener
	state    string
	lags     *places // known while lagging
	conns    map[*conn]struct{}
}

// conn is a connection as seen by the host. The play's lock guards the fields, but for the socket.
type conn struct {
	host     *host
	socket   net.Conn
	number   int // for the record
	welcomed bool
	closed   bool
	closeAt  time.Time // time of the close, by client or host
	open     map[uint64]*request
	taken    map[uint64]bool // request ids of waiting acquires and watches, in use beyond the answer
	out      []byte
	last     bool          // out has the last bytes
	more     chan struct{} // wakes the writer
}

// request is a client request.
type request struct {
	kind   *message
	id     uint64
	values object
	conn   *conn
	at     time.Time
	answer object // answer fields, nil before the answer
	used   bool   // found by a step
}

func (p *play) listen(id uint64) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &host{play: p, id: id, listener: l, state: hostUp, conns: make(map[*conn]struct{})}
	p.hosts = append(p.hosts, h)
	go func() {
		for {
			socket, err := l.Accept()
			if err != nil {
				return
			}
			p.locked(func() { h.accept(socket) })
		}
	}()
	return nil
}

func (h *host) address() string { return h.listener.Addr().String() }

func (h *host) accept(socket net.Conn) {
	p := h.play
	if h.state == hostDown || p.over {
		_ = socket.Close()
		return
	}
	p.connections++
	c := &conn{
		host: h, socket: socket, number: p.connections, open: make(map[uint64]*request), taken: make(map[uint64]bool),
		more: make(chan struct{}, 1),
	}
	h.conns[c] = struct{}{}
	p.note("host %d takes connection %d", h.id, c.number)
	go c.read()
	go c.write()
}

// read reads frames until the connection ends.
func (c *conn) read() {
	p := c.host.play
	head := make([]byte, protocol.FrameHeaderBytes)
	for {
		payload, err := c.frame(head)
		if err != nil {
			p.locked(func() {
				if !errors.Is(err, io.EOF) && !c.closed && !errors.Is(err, net.ErrClosed) && !reset(err) {
					p.violate("connection %d: %v", c.number, err)
				}
				c.close("its client closed it")
			})
			return
		}
		p.locked(func() {
			if !c.closed {
				c.receive(payload)
			}
		})
	}
}

// reset reports whether an error comes from a connection broken by the client.
func reset(err error) bool {
	var broken *net.OpError
	return errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (c *conn) frame(head []byte) ([]byte, error) {
	if _, err := io.ReadFull(c.socket, head); err != nil {
		return nil, err
	}
	size := int(head[0])<<24 | int(head[1])<<16 | int(head[2])<<8 | int(head[3])
	if size == 0 || size > maxRequestBytes {
		return nil, fmt.Errorf("a frame of %d bytes: 1 to %d", size, maxRequestBytes)
	}
	payload := make([]byte, size)
	_, err := io.ReadFull(c.socket, payload)
	return payload, err
}

// write writes bytes from out as they arrive.
func (c *conn) write() {
	for range c.more {
		var b []byte
		last := false
		c.host.play.locked(func() { b, c.out, last = c.out, nil, c.last })
		_, err := c.socket.Write(b)
		if last || err != nil {
			c.host.play.locked(func() { c.close("the host closes it") })
			return
		}
	}
}

// send has a frame written. The lock is held, here and below.
func (c *conn) send(m *message, id uint64, values object) {
	if c.closed || c.last || c.host.state == hostMute {
		return
	}
	frame, err := theSchema().encode(m, id, values)
	if err != nil {
		c.host.play.fail(fmt.Errorf("the script cannot be played: %w", err))
		return
	}
	c.host.play.note("host %d, connection %d: %s %d %s", c.host.id, c.number, m.Name, id, show(values))
	c.raw(frame)
}

func (c *conn) raw(b []byte) {
	if c.closed || c.last {
		return
	}
	c.out = append(c.out, b...)
	c.wake()
}

func (c *conn) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// cut ends the connection behind the messages of before: the client reads all queued answers, and then the end. An
// answer before a cut has arrived, and a silent answer before a cut is lost, so scripts can distinguish the two.
func (c *conn) cut() {
	if !c.closed && !c.last {
		c.last = true
		c.wake()
	}
}

func (c *conn) close(why string) {
	if c.closed {
		return
	}
	p := c.host.play
	c.closed, c.closeAt = true, time.Now()
	p.note("connection %d is closed: %s", c.number, why)
	close(c.more)
	_ = c.socket.Close()
	delete(c.host.conns, c)
	p.model.forget(c)
	p.wake()
}

// set changes a host's state.
func (h *host) set(state string) {
	h.state, h.lags = state, nil
	switch state {
	case hostDown:
		h.cutAll()
	case hostLagging:
		known := h.play.places
		h.lags = &known
	}
}

func (h *host) cutAll() {
	for c := range h.conns {
		c.cut()
	}
}

// receive handles a client frame. A frame that is not a schema message breaks a rule, because nothing excuses a
// client's wrong frame; a mute host reads frames and ignores them.
func (c *conn) receive(payload []byte) {
	p := c.host.play
	kind, id, values, err := theSchema().decode(payload, "request")
	if err != nil {
		p.violate("connection %d: %v: %s", c.number, err, hex.EncodeToString(payload))
		return
	}
	r := &request{kind: kind, id: id, values: values, conn: c, at: time.Now()}
	if kind.Name != "PING" || p.verbose {
		p.note("host %d, connection %d: gets %s %d %s", c.host.id, c.number, kind.Name, id, show(values))
	}
	if c.host.state == hostMute {
		return
	}
	p.mustKeep(r)
	p.requests = append(p.requests, r)
	p.meet(r)
	p.wake()
}

// answer sends a request's answer, and closes the request unless more messages belong to the id.
func (c *conn) answer(r *request, values object) {
	r.answer = values
	if c.closed || c.last || c.host.state == hostMute {
		return
	}
	delete(c.open, r.id)
	p := c.host.play
	p.answered(r, values)
	s := theSchema()
	c.send(s.byKind[r.kind.Kind+s.AnswerOffset], r.id, values)
	status, _ := s.numberOf("Status", values["status"])
	outcome, _ := s.numberOf("AcquireOutcome", values["outcome"])
	switch {
	case status != 0:
	case r.kind.Name == "HELLO":
		c.welcomed = true
	case r.kind.Name == "WATCH", r.kind.Name == "ACQUIRE" && outcome == s.numbers["AcquireOutcome"]["QUEUED"],
		r.values["watch_data"] == true, r.values["watch_owners"] == true:
		c.taken[r.id] = true
	}
}

// push sends a push, and frees the request id with the last push.
func (c *conn) push(m *message, id uint64, values object) {
	switch m.Name {
	case "GRANTED", "TIMED_OUT", "ABORTED", "WATCH_CHANGED", "WATCH_END":
		delete(c.taken, id)
	}
	c.send(m, id, values)
}
