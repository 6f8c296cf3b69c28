package transport

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/server/transport/conntest"
)

// patience is the time limit for events that must happen. Without a failure nothing takes this long.
const patience = time.Minute

// setup is one way to get connections to a Handler. Every conformance test runs over all of them.
type setup struct {
	name   string
	listen func(h Handler) (Listener, error)
	dial   func(l Listener) (net.Conn, error)
	// reset breaks a client's connection so that the server's side gets an error.
	reset func(conn net.Conn)
}

// socket reports whether the connections are operating system sockets.
func (s *setup) socket() bool { return s.name != "memory" && s.name != "inside" }

var quiet = slog.New(slog.DiscardHandler)

var setups = []setup{
	{
		name: "gnet",
		listen: func(h Handler) (Listener, error) {
			return ListenGnet("127.0.0.1:0", h, NetOptions{Loops: 2, Logger: quiet})
		},
		dial:  dialTCP,
		reset: resetTCP,
	},
	{
		name: "net",
		listen: func(h Handler) (Listener, error) {
			return ListenNet("127.0.0.1:0", h, NetOptions{Logger: quiet})
		},
		dial:  dialTCP,
		reset: resetTCP,
	},
	{
		name: "tls",
		listen: func(h Handler) (Listener, error) {
			return ListenTLS("127.0.0.1:0", h, TLSOptions{Config: localhost.serverConfig(), Logger: quiet})
		},
		dial: func(l Listener) (net.Conn, error) {
			return tls.Dial("tcp", l.Addr().String(), localhost.clientConfig())
		},
		reset: func(conn net.Conn) { resetTCP(conn.(*tls.Conn).NetConn()) },
	},
	{
		name:   "memory",
		listen: func(h Handler) (Listener, error) { return NewInside(h, conntest.Pair), nil },
		dial:   func(l Listener) (net.Conn, error) { return l.(*Inside).Dial() },
		reset:  func(conn net.Conn) { conn.(*conntest.Conn).Cut() },
	},
	{
		name:   "inside",
		listen: func(h Handler) (Listener, error) { return NewInside(h, Pipes("client")), nil },
		dial:   func(l Listener) (net.Conn, error) { return l.(*Inside).Dial() },
		reset:  func(conn net.Conn) { _ = conn.Close() },
	},
}

func dialTCP(l Listener) (net.Conn, error) {
	return net.DialTimeout("tcp", l.Addr().String(), patience)
}

func resetTCP(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// fixture is the environment of a conformance test.
type fixture struct {
	*testing.T
	setup
	listener Listener
	live     atomic.Int64 // connections without a Closed call
	over     atomic.Bool  // the listener was closed: further calls are forbidden
}

// conform runs test over every setup, and checks that it leaves nothing behind.
func conform(t *testing.T, test func(f *fixture)) {
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			f := &fixture{T: t, setup: s}
			test(f)
			f.shut()
			for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					stacks := make([]byte, 1<<20)
					t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(),
						stacks[:runtime.Stack(stacks, true)])
				}
			}
		})
	}
}

// serve starts the listener. accept returns a connection's Events script; nil refuses the connection.
func (f *fixture) serve(accept func(c Conn) *script) {
	f.Helper()
	listener, err := f.listen(handlerFunc(func(c Conn) Events {
		if f.over.Load() {
			f.Error("Opened after the listener was closed")
		}
		s := accept(c)
		if s == nil {
			return nil
		}
		f.live.Add(1)
		return &watched{fixture: f, script: s}
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.listener = listener
}

// shut closes the listener; by then every connection must have had its Closed call.
func (f *fixture) shut() {
	f.Helper()
	if f.listener == nil || f.over.Load() {
		return
	}
	if err := f.listener.Close(); err != nil {
		f.Errorf("Close: %v", err)
	}
	f.over.Store(true)
	if n := f.live.Load(); n != 0 {
		f.Errorf("%d connections have not had Closed when the listener was closed", n)
	}
}

// connect dials; the connection gives up on everything after a while.
func (f *fixture) connect() net.Conn {
	f.Helper()
	conn, err := f.dial(f.listener)
	if err != nil {
		f.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	f.Cleanup(func() { _ = conn.Close() })
	return conn
}

type handlerFunc func(c Conn) Events

func (h handlerFunc) Opened(c Conn) Events { return h(c) }

// script is the behavior of a connection's Events. A nil function accepts everything and does nothing.
type script struct {
	data    func(b []byte) int
	drained func()
	closed  func(err error)
}

// watched runs a script and checks that the transport follows the Events contract.
type watched struct {
	*fixture
	script *script
	inside atomic.Bool
	closed bool
}

func (w *watched) begin(call string) {
	if !w.inside.CompareAndSwap(false, true) {
		w.Errorf("%s while another call is under way", call)
	}
	if w.closed {
		w.Errorf("%s after Closed", call)
	}
	if w.over.Load() {
		w.Errorf("%s after the listener was closed", call)
	}
}

func (w *watched) Data(b []byte) int {
	w.begin("Data")
	defer w.inside.Store(false)
	if len(b) == 0 {
		w.Error("Data of nothing")
	}
	if w.script.data == nil {
		return len(b)
	}
	return w.script.data(b)
}

func (w *watched) Drained() {
	w.begin("Drained")
	defer w.inside.Store(false)
	if w.script.drained != nil {
		w.script.drained()
	}
}

func (w *watched) Closed(err error) {
	w.begin("Closed")
	defer w.inside.Store(false)
	w.closed = true
	w.live.Add(-1)
	if w.script.closed != nil {
		w.script.closed(err)
	}
}

// await takes the next value from a channel.
func await[T any](f *fixture, from <-chan T, what string) T {
	f.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		f.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// poll waits for a condition without an event.
func poll(f *fixture, what string, reached func() bool) {
	f.Helper()
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("waited in vain for %s", what)
		}
	}
}

// pooled is b in a buffer for Send.
func pooled(b []byte) *bytebufferpool.ByteBuffer {
	buf := Buffers.Get()
	buf.B = append(buf.B, b...)
	return buf
}

// queueAndFlush is Send on this goroutine.
func queueAndFlush(c Conn, buf *bytebufferpool.ByteBuffer) {
	if c.Queue(buf) {
		c.Flush()
	}
}

// echoLines answers every line with itself.
func echoLines(c Conn) *script {
	return &script{data: func(b []byte) int {
		consumed := 0
		for {
			end := bytes.IndexByte(b[consumed:], '\n')
			if end < 0 {
				return consumed
			}
			c.Send(pooled(b[consumed : consumed+end+1]))
			consumed += end + 1
		}
	}}
}

// ended reports whether err is a client's read error on a connection closed by the server.
func ended(err error) bool {
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}
