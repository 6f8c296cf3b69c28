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

// tooLong is how long a client waits for an answer before it tries elsewhere.
const tooLong = time.Second

var errTooLong = errors.New("no answer in time")

// link is a connection to a host on which a hello was said. All methods may be called by many goroutines
// at once.
type link struct {
	address string
	conn    net.Conn
	// heard is called with every push that belongs to no request, in the order of the wire.
	heard func(*link, *protocol.Answer)
	gone  chan struct{} // closed when nothing more comes

	mu      sync.Mutex // guards what follows
	encoder *protocol.Encoder
	next    uint64
	pending map[uint64]chan *protocol.Answer
	bound   bool // the client's session is attached over it, or bound to it
	closed  bool
	leaving bool
	idle    chan struct{} // closed when it is leaving and nothing is pending
}

func connect(address string, heard func(*link, *protocol.Answer)) (*link, error) {
	conn, err := net.DialTimeout("tcp", address, tooLong)
	if err != nil {
		return nil, err
	}
	l := &link{
		address: address, conn: conn, heard: heard, gone: make(chan struct{}),
		encoder: protocol.NewEncoder(), pending: make(map[uint64]chan *protocol.Answer), idle: make(chan struct{}),
	}
	go l.read()
	a, err := l.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, ClientName: []byte("survival")}, tooLong)
	if err == nil {
		err = a.Result.Err()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *link) close() {
	_ = l.conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.gone)
	}
}

// leave closes the connection once what was asked over it is answered, or will not be for long.
func (l *link) leave() {
	l.mu.Lock()
	l.leaving = true
	l.lookIdle()
	l.mu.Unlock()
	select {
	case <-l.idle:
	case <-l.gone:
	case <-time.After(tooLong / 2):
	}
	l.close()
}

// lookIdle is called when the link begins to leave, and when something is pending no more. The lock is held.
func (l *link) lookIdle() {
	select {
	case <-l.idle:
	default:
		if l.leaving && len(l.pending) == 0 {
			close(l.idle)
		}
	}
}

func (l *link) read() {
	defer l.close()
	var in []byte
	chunk := make([]byte, 16<<10)
	for {
		payload, size, err := protocol.ScanFrame(in, 8<<20)
		if err != nil {
			return
		}
		if payload == nil {
			n, err := l.conn.Read(chunk)
			if err != nil {
				return
			}
			in = append(in, chunk[:n]...)
			continue
		}
		// The answer keeps its bytes, and belongs to whoever waits for it.
		a, err := protocol.NewAnswerDecoder().Decode(append([]byte(nil), payload...))
		if in = in[size:]; err != nil {
			return
		}
		l.deliver(a)
	}
}

func (l *link) deliver(a *protocol.Answer) {
	if a.ID == 0 && l.heard != nil {
		l.heard(l, a)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.ID != 0:
		if waits := l.pending[a.ID]; waits != nil {
			waits <- a
		}
	case a.Kind == protocol.KindSessionDetached:
		l.bound = false
		for _, waits := range l.pending {
			select {
			case waits <- a:
			default:
			}
		}
	}
}

// say sends a request; what comes for it comes through the channel until drop.
func (l *link) say(m protocol.RequestMessage) (id uint64, comes chan *protocol.Answer, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	id, comes = l.next, make(chan *protocol.Answer, 8)
	l.pending[id] = comes
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	l.encoder.Request(buf, id, m)
	_ = l.conn.SetWriteDeadline(time.Now().Add(tooLong))
	_, err = l.conn.Write(buf.B)
	return id, comes, err
}

func (l *link) drop(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
	l.lookIdle()
}

// ask sends a request and waits for its answer.
func (l *link) ask(m protocol.RequestMessage, within time.Duration) (*protocol.Answer, error) {
	id, comes, err := l.say(m)
	defer l.drop(id)
	if err != nil {
		return nil, err
	}
	return l.await(comes, m.Kind().Answer(), within)
}

// await waits for an answer of that kind.
func (l *link) await(comes chan *protocol.Answer, kind protocol.Kind, within time.Duration) (*protocol.Answer, error) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		select {
		case a := <-comes:
			if a.Kind == kind {
				return a, nil
			}
		case <-l.gone:
			return nil, net.ErrClosed
		case <-late.C:
			return nil, errTooLong
		}
	}
}

func (l *link) isBound() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bound
}

func (l *link) setBound(bound bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bound = bound
}

func (l *link) alive() bool {
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}
