package conn

import (
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// source sends one push and then nothing. It records the next read.
type source struct {
	push []byte
	more bool
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (n int, err error) {
	if len(s.push) == 0 {
		s.more = true
		return 0, io.EOF
	}
	n = copy(p, s.push)
	s.push = s.push[n:]
	return n, nil
}

// follower is an owner that receives routing changes.
type follower struct{ Owner }

// RoutingChanged implements Owner.
func (follower) RoutingChanged(*Conn, *protocol.RoutingChanged) {}

// ConnectionLost implements Owner.
func (follower) ConnectionLost(*Conn, error) {}

// TestTheReaderLeavesALostConnectionToTheCallerThatReadsIt: a caller with the token reads until it sees the
// connection's loss, and nothing else may read at the same time.
func TestTheReaderLeavesALostConnectionToTheCallerThatReadsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		var push bytebufferpool.ByteBuffer
		protocol.NewEncoder().Push(&push, 0, &protocol.RoutingChanged{Version: 1})
		from := &source{push: push.B}
		c := &Conn{
			conn: near, from: newFrames(from), decoder: protocol.NewAnswerDecoder(), token: newReadToken(),
			owner: follower{}, down: make(chan struct{}), handlers: make(map[uint64]Handler), dialer: &Dialer{},
		}
		c.pinger.conn = c
		c.token.answeredAlone = true
		go c.read()
		synctest.Wait() // the reader has lent the token
		c.mu.Lock()
		borrowed := c.token.holder == noHolder
		c.token.holder = caller
		c.token.lent++
		c.mu.Unlock()
		if !borrowed {
			t.Fatal("the token is not free")
		}
		c.Fail(io.ErrClosedPipe)
		synctest.Wait()
		if from.more {
			t.Error("the reader has read while a caller had the token")
		}
	})
}
