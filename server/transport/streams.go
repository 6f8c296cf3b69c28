package transport

import (
	"net"
	"sync"

	"crypto/tls"
)

// streams contains one listener's streams, to close them together.
type streams struct {
	handler Handler

	mu      sync.Mutex
	open    map[*stream]struct{}
	closed  bool
	running sync.WaitGroup
}

func newStreams(handler Handler) *streams {
	return &streams{handler: handler, open: make(map[*stream]struct{})}
}

// serve runs a stream over conn until the stream ends. After close, serve only closes conn.
func (s *streams) serve(conn, wire net.Conn, secure *tls.ConnectionState) {
	c := newStream(conn, wire, secure)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = wire.Close()
		return
	}
	s.open[c] = struct{}{}
	s.running.Add(1)
	s.mu.Unlock()

	defer s.running.Done()
	c.serve(s.handler)
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
}

// close closes all streams. When close returns, all streams have ended, and none will follow.
func (s *streams) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}
