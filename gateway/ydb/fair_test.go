package ydb_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// from connects to the gateway from a local address.
func (r *rig) from(address string) *grpc.ClientConn {
	r.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// starts makes a client at an address start a session over its own connection.
func (r *rig) starts(address string) *caller {
	r.t.Helper()
	rpc, err := Ydb_Coordination_V1.NewCoordinationServiceClient(r.from(address)).Session(r.context())
	if err != nil {
		r.t.Fatal(err)
	}
	c := (&caller{t: r.t, rpc: rpc, got: make(chan received, 100)}).listened()
	c.begin(start{})
	m, err := c.receive()
	if m.GetSessionStarted() == nil {
		r.t.Fatalf("a client at %s got %v, %v", address, m, err)
	}
	c.id = m.GetSessionStarted().SessionId
	return c
}

// TestSilentCallsShutNoClientOut: clients open as many Session calls as possible and send nothing. Other clients get
// their sessions meanwhile, the calls end after 5 seconds, and the metrics count these events.
func TestSilentCallsShutNoClientOut(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.sessions = 100
	r.serve()
	const connections, each = 3, 2000
	ctx, cancel := context.WithCancel(r.context())
	defer cancel()
	var calling sync.WaitGroup
	failed := make(chan error, connections*each)
	for i := range connections {
		over := Ydb_Coordination_V1.NewCoordinationServiceClient(r.from(fmt.Sprintf("127.0.0.%d", 2+i)))
		for range each {
			calling.Go(func() {
				rpc, err := over.Session(ctx)
				if err == nil {
					_, err = rpc.Recv()
				}
				failed <- err
			})
		}
	}
	r.await("calls arrive", func() bool { return r.counted("signalbox_ydb_calls_arriving") >= connections*1000 })
	if n := r.counted("signalbox_ydb_calls_arriving"); n > connections*1000 {
		t.Errorf("%v calls of %d connections arrive at once", n, connections)
	}
	for range 10 {
		r.session(start{}).stop()
	}
	for range connections * 1000 {
		if err := <-failed; status.Code(err) != codes.DeadlineExceeded {
			t.Fatalf("a call ended with %v", err)
		}
	}
	if n := r.counted(`signalbox_ydb_calls_rejected_total{reason="first_message"}`); n < connections*1000 {
		t.Errorf("%v are counted", n)
	}
	cancel()
	calling.Wait()
	r.await("none arrives", func() bool { return r.counted("signalbox_ydb_calls_arriving") == 0 })
}

// await waits until something holds.
func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	for until := time.Now().Add(limit); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			r.t.Fatal("it did not come to this: " + what)
		}
	}
}

// bare opens an HTTP/2 connection without calls, which answers pings.
func (r *rig) bare(address string) {
	r.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := dialer.DialContext(r.t.Context(), "tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	if _, err = c.Write([]byte(http2.ClientPreface)); err != nil {
		return // closed in favour of others
	}
	frames := http2.NewFramer(c, c)
	if frames.WriteSettings() != nil {
		return
	}
	go func() {
		for {
			f, err := frames.ReadFrame()
			if err != nil {
				return
			}
			if ping, is := f.(*http2.PingFrame); is && !ping.IsAck() && frames.WritePing(true, ping.Data) != nil {
				return
			}
		}
	}()
}

// TestBareConnectionsShutNoClientOut: there are more connections without calls than the limit, from one address and
// from many. Clients with a session keep the session, and newcomers get one, even from the same addresses.
func TestBareConnectionsShutNoClientOut(t *testing.T) {
	for what, address := range map[string]func(int) string{
		"one address":    func(int) string { return "127.5.1.1" },
		"many addresses": func(i int) string { return fmt.Sprintf("127.5.0.%d", i%250) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, 1)
			r.create()
			r.connections = 100
			r.serve()
			before := r.session(start{})
			for i := range 400 {
				r.bare(address(i))
			}
			if n := r.counted("signalbox_ydb_connections"); n > 150 {
				t.Errorf("%v connections are open", n)
			}
			for i := range 10 {
				r.starts(fmt.Sprintf("127.6.0.%d", i)).stop()
				r.starts(address(i)).stop()
			}
			before.createSemaphore("sem", 1, "", ok)
			if n := r.counted("signalbox_ydb_connections_closed_total"); n < 240 {
				t.Errorf("%v closed connections are counted", n)
			}
		})
	}
}

// TestHoldersOfATicketShutNoNewcomerOut: one ticket has all connections and all sessions, from one address and from
// many. A newcomer with a new ticket always gets a connection and a session, even from the same addresses, and the
// holders keep the rest.
func TestHoldersOfATicketShutNoNewcomerOut(t *testing.T) {
	for what, address := range map[string]func(int) string{
		"one address":    func(int) string { return "127.5.1.1" },
		"many addresses": func(i int) string { return fmt.Sprintf("127.5.0.%d", i) },
	} {
		t.Run(what, func(t *testing.T) {
			const most, newcomers = 40, 12
			r := newGatedRig(t, map[string]string{"least": "write"})
			r.connections, r.sessions = most, most
			r.serve()
			r.ticket = "least"
			var holders []*caller
			for i := range most {
				holders = append(holders, r.starts(address(i)))
			}
			r.ticket = "root"
			for i := range newcomers {
				from := address(i)
				if i%2 == 0 {
					from = "127.6.0.1"
				}
				r.starts(from).acquire(fmt.Sprint("lock", i), 1, 0, true)
			}
			left := 0
			for _, c := range holders {
				select {
				case <-c.got:
				default:
					left++
				}
			}
			if left < most-newcomers-1 {
				t.Errorf("%d of %d holders are left", left, most)
			}
		})
	}
}

// TestSessionsAreDividedAmongAddresses: one address has all sessions. A session from a second address replaces a
// session that owns nothing. The first address's next session is refused, and sessions with semaphores continue.
func TestSessionsAreDividedAmongAddresses(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.sessions = 4
	r.serve()
	owner := r.session(start{})
	owner.acquired(owner.acquire("lock", 1, 0, true), true, ok)
	idle := []*caller{r.session(start{}), r.session(start{}), r.session(start{})}
	c := r.call()
	c.begin(start{})
	if m, err := c.receive(); status.Code(err) != codes.Unavailable {
		t.Fatalf("a fifth one got %v, %v", m, err)
	}
	if n := r.counted(`signalbox_ydb_calls_rejected_total{reason="sessions"}`); n != 1 {
		t.Errorf("%v refusals are counted", n)
	}
	for i := range 2 {
		r.starts("127.0.0.9")
		idle[i].fails(Ydb.StatusIds_UNAVAILABLE)
	}
	owner.released(owner.release("lock"), true)
	idle[2].createSemaphore("sem", 1, "", ok)
	if n := r.counted("signalbox_ydb_sessions_displaced_total"); n != 2 {
		t.Errorf("%v displaced sessions are counted", n)
	}
}
