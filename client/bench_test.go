package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// quickHost answers at once over TCP, without any work: the benchmark measures only the client.
type quickHost struct {
	address string
	watched atomic.Pointer[quickConn] // the watched connection of a host in this process
}

type quickConn struct {
	conn    net.Conn
	request atomic.Uint64
}

// newQuickHost starts a quick host in its own process: as with real users, the client and the host share no processors'
// scheduler.
func newQuickHost(b *testing.B) *quickHost {
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	child := exec.Command(program)
	child.Env = append(os.Environ(), quickHostVariable+"=1")
	child.Stderr = os.Stderr
	stop, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stop.Close() // closing its input ends the process
		if err := child.Wait(); err != nil {
			b.Error(err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return &quickHost{address: strings.TrimSpace(address)}
}

// quickHostVariable makes the test program a quick host.
const quickHostVariable = "SIGNALBOX_TEST_QUICK_HOST"

// beQuickHost runs a quick host until its input ends.
func beQuickHost() error {
	h, l, err := listenQuick()
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println(h.address)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// newNearQuickHost starts a quick host in this process.
func newNearQuickHost(b *testing.B) *quickHost {
	h, l, err := listenQuick()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	return h
}

func listenQuick() (*quickHost, net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	h := &quickHost{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go h.serve(conn)
		}
	}()
	return h, l, nil
}

func (h *quickHost) serve(conn net.Conn) {
	defer conn.Close()
	c := &quickConn{conn: conn}
	decoder, encoder := protocol.NewRequestDecoder(protocol.DefaultDataBytes), protocol.NewEncoder()
	var out bytebufferpool.ByteBuffer
	buf := make([]byte, 64<<10)
	start, end := 0, 0
	acquired := &protocol.AcquireAnswer{Outcome: protocol.Acquired}
	released := &protocol.ReleaseAnswer{Released: true}
	described := &protocol.SemaphoreDescribeAnswer{Semaphore: protocol.Semaphore{Name: []byte("x"), Limit: 1}}
	for {
		payload, size, err := protocol.ScanFrame(buf[start:end], len(buf)-4)
		if err != nil {
			return
		}
		if payload == nil {
			if len(out.B) > 0 {
				if _, err := conn.Write(out.B); err != nil {
					return
				}
				out.Reset()
			}
			end = copy(buf, buf[start:end])
			start = 0
			n, err := conn.Read(buf[end:])
			if err != nil {
				return
			}
			end += n
			continue
		}
		start += size
		r, err := decoder.Decode(payload)
		if err != nil {
			return
		}
		switch r.Kind {
		case protocol.KindHello:
			encoder.Answer(&out, r.ID, &protocol.Welcome{Version: 1, HostID: 1, PingIntervalMillis: 10000,
				Limits: protocol.Limits{
					RequestFrameBytes: 1 << 17, AnswerFrameBytes: 1 << 22, DataBytes: 1 << 16,
					RequestsInFlight: 1 << 14,
				}})
		case protocol.KindRouting:
			encoder.Answer(&out, r.ID, h.routing())
		case protocol.KindNodeDescribe:
			encoder.Answer(&out, r.ID, &protocol.NodeDescribeAnswer{Node: protocol.Node{ID: 1}})
		case protocol.KindSessionStart:
			encoder.Answer(&out, r.ID, &protocol.SessionStartAnswer{SessionID: r.ID,
				Lease: protocol.Lease{NodeID: 1, TimeoutMillis: r.SessionStart.TimeoutMillis}})
		case protocol.KindAcquire:
			acquired.OrderID++
			encoder.Answer(&out, r.ID, acquired)
		case protocol.KindRelease:
			encoder.Answer(&out, r.ID, released)
		case protocol.KindSemaphoreDescribe:
			encoder.Answer(&out, r.ID, described)
		case protocol.KindWatch:
			encoder.Answer(&out, r.ID, &protocol.WatchAnswer{})
			c.request.Store(r.ID)
			h.watched.Store(c)
		case protocol.KindPing:
			encoder.Answer(&out, r.ID, &protocol.Pong{})
		default:
			encoder.Failure(&out, r.ID, r.Kind, &protocol.Result{})
		}
	}
}

func (h *quickHost) routing() *protocol.RoutingAnswer {
	a := &protocol.RoutingAnswer{Version: 1}
	a.Hosts.Append(protocol.Host{ID: 1, Address: []byte(h.address)})
	var ids protocol.HostIDs
	ids.Append(1)
	a.Shards.Append(protocol.Shard{ID: 0, LeaderHostID: 1, ReplicaHostIDs: ids})
	a.Shards.Append(protocol.Shard{ID: 1, LeaderHostID: 1, ReplicaHostIDs: ids})
	a.Slots.Append(protocol.SlotRange{First: 0, Last: protocol.Slots - 1, ShardID: 1})
	return a
}

func (h *quickHost) open(b *testing.B, options ...client.Option) *client.Client {
	c, err := client.Open(context.Background(), h.address, options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// BenchmarkBareEcho sends the same two requests, encoded once, on one goroutine: a lower bound for every client.
func BenchmarkBareEcho(b *testing.B) {
	h := newQuickHost(b)
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var acquire, release bytebufferpool.ByteBuffer
	e := protocol.NewEncoder()
	e.Request(&acquire, 1, &protocol.Acquire{Mutation: protocol.Mutation{SessionID: 1, Sequence: 1}, NodeID: 1,
		Name: []byte("slots"), Count: 1, WaitMillis: protocol.Forever})
	e.Request(&release, 1, &protocol.Release{Mutation: protocol.Mutation{SessionID: 1, Sequence: 1}, NodeID: 1,
		Name: []byte("slots"), OrderID: 1})
	buf := make([]byte, 4096)
	exchange := func(request []byte) {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		for n := 0; ; {
			m, err := conn.Read(buf[n:])
			if err != nil {
				b.Fatal(err)
			}
			n += m
			if payload, _, _ := protocol.ScanFrame(buf[:n], 4000); payload != nil {
				return
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		exchange(acquire.B)
		exchange(release.B)
	}
}

func benchSession(b *testing.B, c *client.Client) *client.Session {
	s, err := c.Session(context.Background(), path)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkAcquireRelease(b *testing.B) { benchAcquireRelease(b) }

// BenchmarkReadToken compares BenchmarkAcquireRelease with and without lending the read token: the gain justifies the
// token. Compare many short alternating rounds.
func BenchmarkReadToken(b *testing.B) {
	b.Run("lent", func(b *testing.B) { benchAcquireRelease(b) })
	b.Run("kept", func(b *testing.B) { benchAcquireRelease(b, client.KeepToken()) })
}

func benchAcquireRelease(b *testing.B, options ...client.Option) {
	sem := benchSession(b, newQuickHost(b).open(b, options...)).Semaphore("slots")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		lease, err := sem.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAcquireReleaseParallel: many goroutines share one connection.
func BenchmarkAcquireReleaseParallel(b *testing.B) {
	for _, callers := range []int{8, 64, 512} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			c := newQuickHost(b).open(b)
			s := benchSession(b, c)
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism((callers + 1) / 2)
			b.RunParallel(func(pb *testing.PB) {
				sem := s.Semaphore(fmt.Sprintf("slots-%d", n.Add(1)))
				for pb.Next() {
					lease, err := sem.Acquire(context.Background())
					if err == nil {
						err = lease.Release(context.Background())
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkDescribe describes into new memory and into reused memory.
func BenchmarkDescribe(b *testing.B) {
	for name, options := range map[string][]client.DescribeOption{
		"new": nil, "into": {client.ReuseDetails(&client.SemaphoreDetails{})},
	} {
		b.Run(name, func(b *testing.B) {
			n := newQuickHost(b).open(b).Node(path)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.Describe(context.Background(), "slots", options...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWatchDelta measures one owner's change among many owners, from the host's bytes to the view in a loop.
func BenchmarkWatchDelta(b *testing.B) {
	for _, owners := range []int{100, 20_000} {
		b.Run(fmt.Sprint(owners), func(b *testing.B) {
			h := newNearQuickHost(b)
			c := h.open(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			views := make(chan *client.View)
			failed := make(chan error, 1)
			go func() {
				for v, err := range c.Node(path).Watch(ctx, "slots") {
					if err != nil {
						failed <- err
						return
					}
					views <- v
				}
			}()
			for h.watched.Load() == nil {
			}
			conn := h.watched.Load()
			e := protocol.NewEncoder()
			var out bytebufferpool.ByteBuffer
			data := make([]byte, 32)
			for i := 0; i < owners; i += 1000 {
				p := &protocol.WatchSnapshot{Revision: 1, First: i == 0, Last: i+1000 >= owners, Exists: true,
					Limit: 1 << 40}
				for j := range min(1000, owners-i) {
					p.Owners.Append(protocol.Owner{OrderID: uint64(i + j + 1), SessionID: 1, Count: 1, Data: data})
				}
				e.Push(&out, conn.request.Load(), p)
			}
			send := func() {
				if _, err := conn.conn.Write(out.B); err != nil && !errors.Is(err, io.ErrClosedPipe) {
					b.Error(err)
				}
				out.Reset()
			}
			send()
			if v := <-views; v.Len() != owners {
				b.Fatalf("%d owners", v.Len())
			}
			revision := uint64(1)
			delta := &protocol.WatchDelta{}
			b.ReportAllocs()
			for b.Loop() {
				delta.From, delta.To = revision, revision+1
				delta.Joined.Reset()
				delta.Joined.Append(protocol.Owner{OrderID: revision*7919%uint64(owners) + 1, SessionID: 1,
					Count: revision + 1, Data: data})
				e.Push(&out, conn.request.Load(), delta)
				revision++
				send()
				if v := <-views; len(v.Changes().Changed) != 1 {
					b.Fatalf("%+v", v.Changes())
				}
			}
			cancel()
			<-failed
		})
	}
}
