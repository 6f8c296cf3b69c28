package trace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/client"
)

// node and lock name the callers' objects.
const node, lock = "/trace", "lock"

// Callers are a trace's callers, with one client whose sockets are stamped.
type Callers struct {
	to         *Recorder
	client     *client.Client
	semaphores []*client.Semaphore // one per caller
}

// Connect creates the callers for a cluster, with stamp capacity for the given number of cycles.
func Connect(ctx context.Context, addresses string, callers, cycles int) (_ *Callers, err error) {
	c := &Callers{}
	const each = 2 * 4 // two operations, with the client's stamps for each
	if c.to, err = NewRecorder(each*cycles + hostRoom); err != nil {
		return nil, err
	}
	if c.client, err = client.Open(ctx, addresses, client.WithDialer(c.dial)); err != nil {
		return nil, err
	}
	if _, err := c.client.CreateNode(ctx, node, client.NodeConfig{}); err != nil {
		return nil, err
	}
	if err := c.client.Node(node).Create(ctx, lock, 1, nil); err != nil {
		return nil, err
	}
	for range callers {
		session, err := c.client.Session(ctx, node)
		if err != nil {
			return nil, err
		}
		c.semaphores = append(c.semaphores, session.Semaphore(lock))
	}
	return c, nil
}

// Close ends the client.
func (c *Callers) Close() error { return c.client.Close() }

// dial makes a connection as a client does by itself.
func (c *Callers) dial(ctx context.Context, address string) (net.Conn, error) {
	made, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return socket{made.(*net.TCPConn), c.to}, nil
}

// socket stamps the client's writes and reads. The client still sees a TCP socket, and so writes small messages at
// once.
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

// Span is one operation's time span.
type Span struct{ From, To int64 }

// span measures do.
func (c *Callers) span(do func() error) (s Span, err error) {
	began := time.Since(c.to.began)
	err = do()
	ended := time.Since(c.to.began)
	return Span{c.to.offset + int64(began), c.to.offset + int64(ended)}, err
}

// Do runs a work n times after a warm-up, and returns the spans for each operation.
func (c *Callers) Do(ctx context.Context, w Work, warmup, n int) (spans [][]Span, err error) {
	if w.Callers > 1 {
		spans, err := c.handOffs(ctx, warmup+n)
		if err != nil {
			return nil, err
		}
		return [][]Span{spans[warmup:]}, nil
	}
	spans = make([][]Span, len(w.operations))
	for i := range warmup + n {
		once, err := c.once(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("%s %d of %d: %w", w.Name, i+1, warmup+n, err)
		}
		for j, s := range once {
			if i >= warmup {
				spans[j] = append(spans[j], s)
			}
		}
	}
	return spans, nil
}

// once runs a single-caller work's operations.
func (c *Callers) once(ctx context.Context, w Work) (spans []Span, err error) {
	var lease *client.Lease
	does := map[string][]func() error{
		"lock": {
			func() (err error) { lease, err = c.semaphores[0].Acquire(ctx); return err },
			func() error { return lease.Release(ctx) },
		},
		"read": {func() error {
			_, err := c.client.Node(node).Describe(ctx, lock, client.WithConsistency(client.Relaxed))
			return err
		}},
		"echo": {func() error { return c.client.Ping(ctx) }},
	}
	for _, do := range does[w.Name] {
		s, err := c.span(do)
		if err != nil {
			return nil, err
		}
		spans = append(spans, s)
	}
	return spans, nil
}

// handOffs lets all callers contend for one lock until the lock was handed over n times. Each span is from one owner's
// acquire to the next owner's acquire.
func (c *Callers) handOffs(ctx context.Context, n int) (spans []Span, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	enough := errors.New("enough")
	var mu sync.Mutex // the race detector does not know the lock
	var owned []int64
	var callers sync.WaitGroup
	for _, semaphore := range c.semaphores {
		callers.Go(func() {
			for {
				lease, err := semaphore.Acquire(ctx)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				owned = append(owned, c.to.offset+int64(time.Since(c.to.began)))
				if len(owned) > n {
					cancel(enough)
				}
				mu.Unlock()
				if err := lease.Release(ctx); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	callers.Wait()
	if err := context.Cause(ctx); err != enough {
		return nil, err
	}
	for i := range n {
		spans = append(spans, Span{owned[i], owned[i+1]})
	}
	return spans, nil
}

// Of traces a work on the hosts at the given addresses. stop ends the hosts, and returns their stamp files.
func Of(ctx context.Context, addresses string, w Work, warmup, cycles int, stop func() (files []string, err error)) (
	operations []*Operation, err error) {
	c, err := Connect(ctx, addresses, w.Callers, warmup+cycles)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	spans, err := c.Do(ctx, w, warmup, cycles)
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	files, err := stop()
	if err != nil {
		return nil, err
	}
	stamps, err := together(files)
	if err != nil {
		return nil, err
	}
	stamps = append(stamps, c.to.Stamps()...)
	for i, name := range w.operations {
		operations = append(operations, Follow(name, w.hops(len(files) > 1), spans[i], stamps))
	}
	return operations, nil
}

// together merges all hosts' stamps. Store stamps from a host that does not propose count as another host's.
func together(files []string) (all []Stamp, err error) {
	var of [][]Stamp
	leader, most := 0, -1
	for i, file := range files {
		stamps, err := read(file)
		if err != nil {
			return nil, err
		}
		proposed := 0
		for _, s := range stamps {
			if s.Point == Proposed {
				proposed++
			}
		}
		if proposed > most {
			leader, most = i, proposed
		}
		of = append(of, stamps)
	}
	for i, stamps := range of {
		for _, s := range stamps {
			switch {
			case i == leader:
			case s.Point == Writing:
				s.Point = OthersWriting
			case s.Point == Synced:
				s.Point = OthersSynced
			default:
				continue
			}
			all = append(all, s)
		}
	}
	return all, nil
}
