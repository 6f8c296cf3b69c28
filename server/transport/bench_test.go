package transport

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// benchFrame is the size of a small request or answer on the wire.
const benchFrame = 60

// echoFrames answers every complete frame with itself, each in its own buffer, like a server.
func echoFrames(c Conn) Events { return &frameEcho{conn: c} }

type frameEcho struct{ conn Conn }

func (e *frameEcho) Data(b []byte) int {
	consumed := 0
	for ; consumed+benchFrame <= len(b); consumed += benchFrame {
		e.conn.Send(pooled(b[consumed : consumed+benchFrame]))
	}
	return consumed
}

func (e *frameEcho) Drained()     {}
func (e *frameEcho) Closed(error) {}

// applier answers frames from one goroutine, all pending frames at once, like a shard whose operations commit together.
type applier struct {
	mu    sync.Mutex
	due   []answerDue
	kick  chan struct{}
	ended chan struct{}
}

type answerDue struct {
	conn Conn
	id   [4]byte
}

func newApplier() *applier {
	a := &applier{kick: make(chan struct{}, 1), ended: make(chan struct{})}
	go a.run()
	return a
}

func (a *applier) Opened(c Conn) Events { return &appliedEvents{applier: a, conn: c} }

func (a *applier) run() {
	defer close(a.ended)
	var batch []answerDue
	var frame [benchFrame]byte
	for range a.kick {
		a.mu.Lock()
		batch, a.due = a.due, batch[:0]
		a.mu.Unlock()
		for _, answer := range batch {
			copy(frame[:], answer.id[:])
			answer.conn.Send(pooled(frame[:]))
		}
	}
}

func (a *applier) close() {
	close(a.kick)
	<-a.ended
}

type appliedEvents struct {
	applier *applier
	conn    Conn
}

func (e *appliedEvents) Data(b []byte) int {
	consumed := 0
	e.applier.mu.Lock()
	for ; consumed+benchFrame <= len(b); consumed += benchFrame {
		e.applier.due = append(e.applier.due, answerDue{e.conn, [4]byte(b[consumed:])})
	}
	e.applier.mu.Unlock()
	select {
	case e.applier.kick <- struct{}{}:
	default:
	}
	return consumed
}

func (e *appliedEvents) Drained()     {}
func (e *appliedEvents) Closed(error) {}

// BenchmarkAnswer is BenchmarkEcho with the answers sent by one other goroutine.
func BenchmarkAnswer(b *testing.B) {
	for _, load := range []struct{ callers, conns int }{{1, 1}, {512, 8}, {512, 64}} {
		for _, l := range benchListeners {
			b.Run(fmt.Sprintf("callers=%d/conns=%d/%s", load.callers, load.conns, l.name), func(b *testing.B) {
				a := newApplier()
				listener, err := l.listen(a)
				if err != nil {
					b.Fatal(err)
				}
				benchEcho(b, listener, load.callers, load.conns)
				_ = listener.Close()
				a.close()
			})
		}
	}
}

// benchClient is a connection shared by many callers.
type benchClient struct {
	conn    net.Conn
	mu      sync.Mutex
	out     []byte
	kick    chan struct{}
	answers []chan struct{}
}

func newBenchClient(b *testing.B, addr string, callers int) *benchClient {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	c := &benchClient{conn: conn, kick: make(chan struct{}, 1)}
	for range callers {
		c.answers = append(c.answers, make(chan struct{}, 1))
	}
	go c.write()
	go c.read()
	return c
}

func (c *benchClient) write() {
	var batch []byte
	for range c.kick {
		c.mu.Lock()
		batch, c.out = c.out, batch[:0]
		c.mu.Unlock()
		if _, err := c.conn.Write(batch); err != nil {
			return
		}
	}
}

func (c *benchClient) read() {
	reader := bufio.NewReaderSize(c.conn, 64<<10)
	var frame [benchFrame]byte
	for {
		if _, err := io.ReadFull(reader, frame[:]); err != nil {
			return
		}
		c.answers[binary.BigEndian.Uint32(frame[:])] <- struct{}{}
	}
}

func (c *benchClient) call(caller int) {
	var frame [benchFrame]byte
	binary.BigEndian.PutUint32(frame[:], uint32(caller))
	c.mu.Lock()
	c.out = append(c.out, frame[:]...)
	c.mu.Unlock()
	select {
	case c.kick <- struct{}{}:
	default:
	}
	<-c.answers[caller]
}

func (c *benchClient) close() {
	_ = c.conn.Close()
	close(c.kick)
}

var benchListeners = []struct {
	name   string
	listen func(h Handler) (Listener, error)
}{
	{"gnet1", func(h Handler) (Listener, error) {
		return ListenGnet("127.0.0.1:0", h, NetOptions{Loops: 1, Logger: quiet})
	}},
	{"gnet2", func(h Handler) (Listener, error) {
		return ListenGnet("127.0.0.1:0", h, NetOptions{Loops: 2, Logger: quiet})
	}},
	{"net", func(h Handler) (Listener, error) {
		return ListenNet("127.0.0.1:0", h, NetOptions{Logger: quiet})
	}},
}

func BenchmarkEcho(b *testing.B) {
	for _, load := range []struct{ callers, conns int }{{1, 1}, {512, 8}} {
		for _, l := range benchListeners {
			b.Run(fmt.Sprintf("callers=%d/%s", load.callers, l.name), func(b *testing.B) {
				listener, err := l.listen(handlerFunc(echoFrames))
				if err != nil {
					b.Fatal(err)
				}
				defer listener.Close()
				benchEcho(b, listener, load.callers, load.conns)
			})
		}
	}
}

func benchEcho(b *testing.B, listener Listener, callers, conns int) {
	var clients []*benchClient
	for range conns {
		c := newBenchClient(b, listener.Addr().String(), callers/conns)
		defer c.close()
		clients = append(clients, c)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				clients[i%conns].call(i / conns)
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "echoes/s")
}

// BenchmarkSendFanOut sends a buffer of 100 bytes to each of 1,000 connections and waits until all have arrived: a
// change watched by many.
func BenchmarkSendFanOut(b *testing.B) {
	const conns, size = 1000, 100
	payload := make([]byte, size)
	for _, l := range benchListeners {
		b.Run(l.name, func(b *testing.B) {
			opened := make(chan Conn, conns)
			listener, err := l.listen(handlerFunc(func(c Conn) Events {
				opened <- c
				return &frameEcho{conn: c}
			}))
			if err != nil {
				b.Fatal(err)
			}
			defer listener.Close()
			var servers []Conn
			var came atomic.Int64
			all := make(chan struct{}, 1)
			for range conns {
				conn, err := net.Dial("tcp", listener.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				servers = append(servers, <-opened)
				go func() {
					room := make([]byte, 4096)
					for {
						n, err := conn.Read(room)
						if err != nil {
							return
						}
						if came.Add(int64(n))%(conns*size) == 0 {
							all <- struct{}{}
						}
					}
				}()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for _, c := range servers {
					c.Send(pooled(payload))
				}
				<-all
			}
			b.ReportMetric(float64(b.N*conns)/b.Elapsed().Seconds(), "sends/s")
		})
	}
}
