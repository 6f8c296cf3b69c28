//go:build linux

package survival_test

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// answerTimeout is the maximum wait for an answer before a client tries another host.
const answerTimeout = time.Second

var errNoAnswer = errors.New("no answer in time")

// connection is a connection to a host after the handshake. All methods may be called by many goroutines
// at once.
type connection struct {
	address string
	conn    net.Conn
	// onPush is called with every push that belongs to no request, in order.
	onPush func(*connection, *protocol.Answer)
	gone   chan struct{} // closed when nothing more comes

	mu      sync.Mutex // guards what follows
	encoder *protocol.Encoder
	next    uint64
	pending map[uint64]chan *protocol.Answer
	bound   bool // the client's session is attached or bound
	closed  bool
	leaving bool
	idle    chan struct{} // closed when leaving with nothing pending
}

func connect(address string, onPush func(*connection, *protocol.Answer)) (*connection, error) {
	conn, err := net.DialTimeout("tcp", address, answerTimeout)
	if err != nil {
		return nil, err
	}
	l := &connection{
		address: address, conn: conn, onPush: onPush, gone: make(chan struct{}),
		encoder: protocol.NewEncoder(), pending: make(map[uint64]chan *protocol.Answer), idle: make(chan struct{}),
	}
	go l.read()
	a, err := l.call(&protocol.Hello{VersionMin: 1, VersionMax: 1, ClientName: []byte("survival")}, answerTimeout)
	if err == nil {
		err = a.Result.Err()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (c *connection) close() {
	_ = c.conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.gone)
	}
}

// closeWhenIdle closes the connection once pending requests are answered, or overdue.
func (c *connection) closeWhenIdle() {
	c.mu.Lock()
	c.leaving = true
	c.checkIdle()
	c.mu.Unlock()
	select {
	case <-c.idle:
	case <-c.gone:
	case <-time.After(answerTimeout / 2):
	}
	c.close()
}

// checkIdle is called when the connection is to be closed, and when something is pending no more. The lock is held.
func (c *connection) checkIdle() {
	select {
	case <-c.idle:
	default:
		if c.leaving && len(c.pending) == 0 {
			close(c.idle)
		}
	}
}

func (c *connection) read() {
	defer c.close()
	var in []byte
	chunk := make([]byte, 16<<10)
	for {
		payload, size, err := protocol.ScanFrame(in, 8<<20)
		if err != nil {
			return
		}
		if payload == nil {
			n, err := c.conn.Read(chunk)
			if err != nil {
				return
			}
			in = append(in, chunk[:n]...)
			continue
		}
		// The answer keeps its bytes, for the waiting goroutine.
		a, err := protocol.NewAnswerDecoder().Decode(append([]byte(nil), payload...))
		if in = in[size:]; err != nil {
			return
		}
		c.deliver(a)
	}
}

func (c *connection) deliver(a *protocol.Answer) {
	if a.ID == 0 && c.onPush != nil {
		c.onPush(c, a)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case a.ID != 0:
		if waits := c.pending[a.ID]; waits != nil {
			waits <- a
		}
	case a.Kind == protocol.KindSessionDetached:
		c.bound = false
		for _, waits := range c.pending {
			select {
			case waits <- a:
			default:
			}
		}
	}
}

// send sends a request; answers arrive through the channel until drop.
func (c *connection) send(m protocol.RequestMessage) (id uint64, answers chan *protocol.Answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id, answers = c.next, make(chan *protocol.Answer, 8)
	c.pending[id] = answers
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	c.encoder.Request(buf, id, m)
	_ = c.conn.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, err = c.conn.Write(buf.B)
	return id, answers, err
}

func (c *connection) drop(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
	c.checkIdle()
}

// call sends a request and waits for its answer.
func (c *connection) call(m protocol.RequestMessage, within time.Duration) (*protocol.Answer, error) {
	id, answers, err := c.send(m)
	defer c.drop(id)
	if err != nil {
		return nil, err
	}
	return c.await(answers, m.Kind().Answer(), within)
}

// await waits for an answer of the given kind.
func (c *connection) await(answers chan *protocol.Answer, kind protocol.Kind, within time.Duration) (*protocol.Answer,
	error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		select {
		case a := <-answers:
			if a.Kind == kind {
				return a, nil
			}
		case <-c.gone:
			return nil, net.ErrClosed
		case <-late.C:
			return nil, errNoAnswer
		}
	}
}

func (c *connection) isBound() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bound
}

func (c *connection) setBound(bound bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bound = bound
}

func (c *connection) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}
