package transport

import (
	"errors"
	"io"
	"net"
	"time"
)

// Direction says in which direction bytes go on an in-memory connection.
type Direction uint8

const (
	// ToServer is the direction of the client's bytes.
	ToServer Direction = 1 << iota
	// ToClient is the direction of the server's bytes.
	ToClient
	// BothWays is both.
	BothWays = ToServer | ToClient
)

// memoryEnd is the server's or the client's end of an in-memory connection.
type memoryEnd struct {
	in, out       *memoryPipe
	local, remote memoryAddr
}

func (e *memoryEnd) Read(b []byte) (int, error) {
	n, err := e.in.read(b)
	return n, e.explain("read", err)
}

func (e *memoryEnd) Write(b []byte) (int, error) {
	n, err := e.out.write(b)
	return n, e.explain("write", err)
}

// Close closes this end. The opposite end reads the bytes in flight, then EOF; writes of the opposite end fail.
func (e *memoryEnd) Close() error {
	e.out.closeWrite()
	e.in.closeRead()
	return nil
}

// CloseWrite lets the opposite end read EOF after the bytes in flight; this end can still read.
func (e *memoryEnd) CloseWrite() error {
	e.out.closeWrite()
	return nil
}

func (e *memoryEnd) LocalAddr() net.Addr  { return e.local }
func (e *memoryEnd) RemoteAddr() net.Addr { return e.remote }

func (e *memoryEnd) SetDeadline(t time.Time) error {
	e.in.setReadDeadline(t)
	e.out.setWriteDeadline(t)
	return nil
}

func (e *memoryEnd) SetReadDeadline(t time.Time) error {
	e.in.setReadDeadline(t)
	return nil
}

func (e *memoryEnd) SetWriteDeadline(t time.Time) error {
	e.out.setWriteDeadline(t)
	return nil
}

// explain makes errors look as errors of the net package do, so both pass the tests of callers.
func (e *memoryEnd) explain(operation string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: operation, Net: e.local.Network(), Source: e.local, Addr: e.remote, Err: err}
}

// memoryAddr names an end of an in-memory connection.
type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// MemoryConn is the client's end of an in-memory connection, with faults for tests. All goroutines may set faults, at
// all times.
type MemoryConn struct {
	memoryEnd
}

// Cut breaks the connection: both ends get ErrCut at once, and what is in flight is lost.
func (c *MemoryConn) Cut() {
	for _, p := range c.pipes(BothWays) {
		p.set(func() { p.broken, p.chunks = ErrCut, nil })
	}
}

// Lose makes what is in flight and what is written from now on vanish, for good, without notice: no
// end of the stream arrives either, and writes wait only when the buffer would be full.
func (c *MemoryConn) Lose(way Direction) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.lost, p.chunks = true, nil })
	}
}

// Delay sets how long what is written from now on is under way. Nothing overtakes.
func (c *MemoryConn) Delay(way Direction, d time.Duration) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.delay = d })
	}
}

// Pause holds back arriving bytes until Resume, as a reader does that does not read.
func (c *MemoryConn) Pause(way Direction) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.paused = true })
	}
}

// Resume ends Pause.
func (c *MemoryConn) Resume(way Direction) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.paused = false })
	}
}

// Throttle lets so many bytes a second be read: a slow reader. 0 ends it.
func (c *MemoryConn) Throttle(way Direction, bytesPerSecond int) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.rate, p.next = bytesPerSecond, time.Time{} })
	}
}

func (c *MemoryConn) pipes(way Direction) []*memoryPipe {
	var pipes []*memoryPipe
	if way&ToServer != 0 {
		pipes = append(pipes, c.out)
	}
	if way&ToClient != 0 {
		pipes = append(pipes, c.in)
	}
	return pipes
}
