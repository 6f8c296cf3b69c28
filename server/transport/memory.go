package transport

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Memory is a listener inside the process, for tests and simulation. The connections of a Memory need no network,
// obey the faults set by a test (see MemoryConn), and work inside the bubbles of testing/synctest: a connection
// belongs to the bubble of its Dial.
type Memory struct {
	streams *streams
	dialled atomic.Int64
	buffer  atomic.Int64
	clients string

	mu     sync.Mutex
	closed bool
	served sync.WaitGroup
}

// NewMemory makes a listener, ready for use.
func NewMemory(handler Handler) *Memory {
	m := &Memory{streams: newStreams(handler), clients: "client"}
	m.buffer.Store(MemoryBuffer)
	return m
}

// SetClients names the clients that dial from now on, in their addresses.
func (m *Memory) SetClients(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clients = name
}

// SetBuffer sets how many bytes wait in each direction before a write blocks, for connections dialled
// from now on; 0 or less means no limit. Without a limit Pending never stays above 0.
func (m *Memory) SetBuffer(bytes int) { m.buffer.Store(int64(bytes)) }

// Dial connects. The result is a *MemoryConn.
func (m *Memory) Dial() (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, &net.OpError{Op: "dial", Net: memoryServer.Network(), Addr: memoryServer, Err: syscall.ECONNREFUSED}
	}
	limit := int(max(m.buffer.Load(), 0))
	toServer, toClient := newMemoryPipe(limit), newMemoryPipe(limit)
	name := memoryAddr(fmt.Sprintf("%s-%d", m.clients, m.dialled.Add(1)))
	server := &memoryEnd{in: toServer, out: toClient, local: memoryServer, remote: name}
	m.served.Go(func() { m.streams.serve(server, server, nil) })
	return &MemoryConn{memoryEnd{in: toClient, out: toServer, local: name, remote: memoryServer}}, nil
}

const memoryServer = memoryAddr("server")

// Addr implements Listener.
func (m *Memory) Addr() net.Addr { return memoryServer }

// Close ends all connections.
func (m *Memory) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.streams.close()
	m.served.Wait()
	return nil
}
