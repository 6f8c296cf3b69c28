// Package conntest makes in-memory connections with faults set by a test, for a listener such as transport.NewInside.
// The connections work inside testing/synctest bubbles.
package conntest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Direction is the direction in which bytes flow.
type Direction uint8

const (
	// ToServer is the direction from client to server.
	ToServer Direction = 1 << iota
	// ToClient is the direction from server to client.
	ToClient
	// BothWays is both.
	BothWays = ToServer | ToClient
)

// Buffer is the byte count per direction before a write to a Pair's connection blocks.
const Buffer = 256 << 10

// Pair makes both ends of a connection; the client's end is a *Conn.
func Pair(number int) (server, client net.Conn) { return Buffered(Buffer)(number) }

// Buffered returns a Pair with a different buffer size, in bytes; 0 means no limit. Without a limit no write ever
// waits.
func Buffered(limit int) func(number int) (server, client net.Conn) {
	return func(number int) (net.Conn, net.Conn) {
		toServer, toClient := newPipe(limit), newPipe(limit)
		const host = address("server")
		name := address(fmt.Sprintf("client-%d", number))
		return &end{in: toServer, out: toClient, local: host, remote: name},
			&Conn{end{in: toClient, out: toServer, local: name, remote: host}}
	}
}

// end is the server's or the client's end of a connection.
type end struct {
	in, out       *pipe
	local, remote address
}

func (e *end) Read(b []byte) (int, error) {
	n, err := e.in.read(b)
	return n, e.explain("read", err)
}

func (e *end) Write(b []byte) (int, error) {
	n, err := e.out.write(b)
	return n, e.explain("write", err)
}

// Close closes this end. The opposite end reads the bytes in flight, then EOF; its writes fail.
func (e *end) Close() error {
	e.out.closeWrite()
	e.in.closeRead()
	return nil
}

// CloseWrite makes the opposite end read EOF after the bytes in flight; this end can still read.
func (e *end) CloseWrite() error {
	e.out.closeWrite()
	return nil
}

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.remote }

func (e *end) SetDeadline(t time.Time) error {
	e.in.setReadDeadline(t)
	e.out.setWriteDeadline(t)
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error {
	e.in.setReadDeadline(t)
	return nil
}

func (e *end) SetWriteDeadline(t time.Time) error {
	e.out.setWriteDeadline(t)
	return nil
}

// explain converts errors into the net package's form, so that callers' checks work.
func (e *end) explain(operation string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: operation, Net: e.local.Network(), Source: e.local, Addr: e.remote, Err: err}
}

// address names a connection's end.
type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

// Conn is the client's connection end, with faults for tests. Any goroutine may set faults at any time.
type Conn struct {
	end
}

// Cut breaks the connection: both ends get ErrCut at once, and bytes in flight are lost.
func (c *Conn) Cut() {
	for _, p := range c.pipes(BothWays) {
		p.set(func() { p.broken, p.chunks = ErrCut, nil })
	}
}

// Lose silently and permanently drops bytes in flight and future bytes: the end of the stream does not arrive either,
// and writes wait only when the buffer would be full.
func (c *Conn) Lose(way Direction) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.lost, p.chunks = true, nil })
	}
}

// Delay sets the delay of future bytes. Order is preserved.
func (c *Conn) Delay(way Direction, d time.Duration) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.delay = d })
	}
}

// Pause holds back arriving bytes until Resume, like a stopped reader.
func (c *Conn) Pause(way Direction) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.paused = true })
	}
}

// Resume ends Pause.
func (c *Conn) Resume(way Direction) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.paused = false })
	}
}

// Throttle limits reads to the given bytes per second: a slow reader. 0 removes the limit.
func (c *Conn) Throttle(way Direction, bytesPerSecond int) {
	for _, p := range c.pipes(way) {
		p.set(func() { p.rate, p.next = bytesPerSecond, time.Time{} })
	}
}

func (c *Conn) pipes(way Direction) []*pipe {
	var pipes []*pipe
	if way&ToServer != 0 {
		pipes = append(pipes, c.out)
	}
	if way&ToClient != 0 {
		pipes = append(pipes, c.in)
	}
	return pipes
}
