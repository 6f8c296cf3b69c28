package transport

import (
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Inside is a listener inside the process: the connections need no network. A connection belongs to the bubble of its
// Dial, so connections work inside the bubbles of testing/synctest.
type Inside struct {
	streams *streams
	pair    Pair

	mu      sync.Mutex
	dialled int
	closed  bool
	served  sync.WaitGroup
}

// Pair makes both ends of the connection of the given number, for an Inside; the first connection is number 1.
type Pair func(number int) (server, client net.Conn)

// NewInside makes a listener, ready for use.
func NewInside(handler Handler, pair Pair) *Inside {
	return &Inside{streams: newStreams(handler), pair: pair}
}

// Dial connects. The result is the client's end of the pair.
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

// Pipes are pairs of net.Pipe: a write waits until the far end has read all of it. The clients have the name, with the
// number of the connection, as their address.
func Pipes(clients string) Pair {
	return func(number int) (net.Conn, net.Conn) {
		server, client := net.Pipe()
		return pipeEnd{server, pipeAddr(fmt.Sprintf("%s-%d", clients, number))}, client
	}
}

// pipeEnd is the server's end of a pipe.
type pipeEnd struct {
	net.Conn
	client pipeAddr
}

func (p pipeEnd) RemoteAddr() net.Addr { return p.client }

// pipeAddr names an end of a connection inside the process.
type pipeAddr string

func (pipeAddr) Network() string  { return "memory" }
func (p pipeAddr) String() string { return string(p) }
