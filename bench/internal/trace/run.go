package trace

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/client"
)

// node and lock are what the caller works with.
const node, lock = "/trace", "lock"

// Caller is the one caller, with a client whose socket it watches.
type Caller struct {
	to        *Recorder
	client    *client.Client
	semaphore *client.Semaphore
}

// Connect makes a caller at a host, with room for the stamps of so many cycles.
func Connect(ctx context.Context, address string, cycles int) (_ *Caller, err error) {
	c := &Caller{}
	const each = 2 * 4 // two operations, and four points of the client in each
	if c.to, err = NewRecorder(each*cycles + hostRoom); err != nil {
		return nil, err
	}
	if c.client, err = client.Open(ctx, address, client.WithDialer(c.dial)); err != nil {
		return nil, err
	}
	if _, err := c.client.CreateNode(ctx, node, client.NodeConfig{}); err != nil {
		return nil, err
	}
	if err := c.client.Node(node).Create(ctx, lock, 1, nil); err != nil {
		return nil, err
	}
	session, err := c.client.Session(ctx, node)
	if err != nil {
		return nil, err
	}
	c.semaphore = session.Semaphore(lock)
	return c, nil
}

// Close ends the client.
func (c *Caller) Close() error { return c.client.Close() }

// dial makes a connection as a client does by itself.
func (c *Caller) dial(ctx context.Context, address string) (net.Conn, error) {
	made, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return socket{made.(*net.TCPConn), c.to}, nil
}

// socket stamps what the client writes and reads. It is a socket to the client, which writes what is small at once.
type socket struct {
	*net.TCPConn
	to *Recorder
}

var _ syscall.Conn = socket{}

func (s socket) Write(b []byte) (int, error) {
	s.to.Now(Sending)
	return s.TCPConn.Write(b)
}

func (s socket) Read(b []byte) (int, error) {
	n, err := s.TCPConn.Read(b)
	s.to.Now(Read)
	return n, err
}

// Cycles locks and unlocks so many times after some that only warm up, and returns what the acquires and the releases
// began and ended with.
func (c *Caller) Cycles(ctx context.Context, warmup, n int) (acquires, releases []Span, err error) {
	for i := range warmup + n {
		a, r, err := c.cycle(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("cycle %d of %d: %w", i+1, warmup+n, err)
		}
		if i >= warmup {
			acquires, releases = append(acquires, a), append(releases, r)
		}
	}
	return acquires, releases, nil
}

func (c *Caller) cycle(ctx context.Context) (acquire, release Span, err error) {
	var lease *client.Lease
	acquire, err = c.span(func() (err error) {
		lease, err = c.semaphore.Acquire(ctx)
		return err
	})
	if err != nil {
		return acquire, release, err
	}
	release, err = c.span(func() error { return lease.Release(ctx) })
	return acquire, release, err
}

// Span is the time of one operation at its caller.
type Span struct{ From, To int64 }

func (c *Caller) span(do func() error) (s Span, err error) {
	began := time.Since(c.to.began)
	err = do()
	ended := time.Since(c.to.began)
	return Span{c.to.offset + int64(began), c.to.offset + int64(ended)}, err
}

// Of follows the cycles of one caller at the host at an address. stop ends the host, and returns the file that it has
// written its stamps to.
func Of(ctx context.Context, address string, warmup, cycles int, stop func() (file string, err error)) (acquires,
	releases *Operation, err error) {
	c, err := Connect(ctx, address, warmup+cycles)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	locked, unlocked, err := c.Cycles(ctx, warmup, cycles)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Close(); err != nil {
		return nil, nil, err
	}
	file, err := stop()
	if err != nil {
		return nil, nil, err
	}
	stamps, err := read(file)
	if err != nil {
		return nil, nil, err
	}
	stamps = append(stamps, c.to.Stamps()...)
	return Follow("acquire", locked, stamps), Follow("release", unlocked, stamps), nil
}
