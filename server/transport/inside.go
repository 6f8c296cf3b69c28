package transport

import (
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Inside is a listener inside the process: its connections need no network. A connection belongs to the bubble in
// which it was dialled, so connections work inside testing/synctest bubbles.
type Inside struct {
	streams *streams
	pair    Pair

	mu      sync.Mutex
	dialled int
	closed  bool
	served  sync.WaitGroup
}

// Pair creates both ends of the connection with the given number, for an Inside. The first connection is number 1.
type Pair func(number int) (server, client net.Conn)

// NewInside creates a listener that is ready for use.
func NewInside(handler Handler, pair Pair) *Inside {
	return &Inside{streams: newStreams(handler), pair: pair}
}

// Dial connects, and returns the client's end.
func (i *Inside) Dial() (net.Conn, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil, &net.OpError{Op: "dial", Net: insideAddr.Network(), Addr: insideAddr, Err: syscall.ECONNREFUSED}
	}
	i.dialled++
	server, client := i.pair(i.dialled)
	i.served.Go(func() { i.streams.serve(server, server, nil) })
	return client, nil
}

const insideAddr = pipeAddr("server")

// Addr implements Listener.
func (i *Inside) Addr() net.Addr { return insideAddr }

// Close ends all connections.
func (i *Inside) Close() error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.streams.close()
	i.served.Wait()
	return nil
}

// Pipes creates net.Pipe pairs: a write waits until the far end has read all bytes. A client's address is the given
// name with the connection number.
func Pipes(clients string) Pair {
	return func(number int) (net.Conn, net.Conn) {
		server, client := net.Pipe()
		return pipeEnd{server, pipeAddr(fmt.Sprintf("%s-%d", clients, number))}, client
	}
}

// pipeEnd is a pipe's server end.
type pipeEnd struct {
	net.Conn
	client pipeAddr
}

func (p pipeEnd) RemoteAddr() net.Addr { return p.client }

// pipeAddr names one end of a connection inside the process.
type pipeAddr string

func (pipeAddr) Network() string  { return "memory" }
func (p pipeAddr) String() string { return string(p) }
