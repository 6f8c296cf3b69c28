package transport

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// lineEcho is echoLines without the watch.
type lineEcho struct{ conn Conn }

func (e *lineEcho) Data(b []byte) int {
	end := bytes.LastIndexByte(b, '\n') + 1
	if end > 0 {
		e.conn.Send(pooled(b[:end]))
	}
	return end
}

func (e *lineEcho) Drained()     {}
func (e *lineEcho) Closed(error) {}

// listenWith starts a listener of the named kind with a limit and a Stats.
func listenWith(name string, h Handler, limit int, stats *Stats) (Listener, error) {
	switch name {
	case "gnet":
		return ListenGnet("127.0.0.1:0", h, NetOptions{MaxConnections: limit, Stats: stats, Logger: quiet})
	case "net":
		return ListenNet("127.0.0.1:0", h, NetOptions{MaxConnections: limit, Stats: stats, Logger: quiet})
	default:
		return ListenTLS("127.0.0.1:0", h, TLSOptions{
			Config: localhost.serverConfig(), MaxConnections: limit, Stats: stats, Logger: quiet,
		})
	}
}

func TestConnectionsBeyondTheLimitAreRefusedUntilOthersGo(t *testing.T) {
	const limit = 5
	for _, s := range setups {
		if !s.socket() {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			f := &fixture{T: t, setup: s}
			var stats Stats
			var err error
			f.listener, err = listenWith(s.name, handlerFunc(func(c Conn) Events { return &lineEcho{conn: c} }), limit,
				&stats)
			if err != nil {
				t.Fatal(err)
			}
			defer f.shut()
			echo := func(conn io.ReadWriter) error {
				if _, err := conn.Write([]byte("hello\n")); err != nil {
					return err
				}
				_, err := io.ReadFull(conn, make([]byte, 6))
				return err
			}
			var conns []io.ReadWriteCloser
			for range limit {
				conn := f.connect()
				conns = append(conns, conn)
				if err := echo(conn); err != nil {
					t.Fatal(err)
				}
			}
			for refused := int64(1); refused <= 3; refused++ {
				if conn, err := f.dial(f.listener); err == nil {
					_ = conn.SetDeadline(time.Now().Add(patience))
					if err := echo(conn); !ended(err) {
						t.Fatalf("one connection more than the limit works: %v", err)
					}
					_ = conn.Close()
				}
				poll(f, "the refusal to be counted", func() bool { return stats.Refused.Load() == refused })
			}
			for _, conn := range conns {
				if err := echo(conn); err != nil {
					t.Fatalf("a connection within the limit: %v", err)
				}
			}
			_ = conns[0].Close()
			poll(f, "room", func() bool { return stats.Open.Load() < limit })
			if err := echo(f.connect()); err != nil {
				t.Fatal(err)
			}
			if n := stats.Accepted.Load(); n != limit+1 {
				t.Errorf("%d accepted", n)
			}
			f.shut()
			if n := stats.Open.Load(); n != 0 {
				t.Errorf("%d open after the listener was closed", n)
			}
		})
	}
}

func TestTheDerivedLimitLeavesDescriptorsForTheRest(t *testing.T) {
	for descriptors, want := range map[int]int{1: 1, 256: 192, 1024: 768, 20_000: 15_904, 1 << 20: 1<<20 - 4096} {
		if got := connectionLimit(descriptors); got != want {
			t.Errorf("%d descriptors: %d connections, not %d", descriptors, got, want)
		}
	}
	if n, err := RaiseFileLimit(); err != nil || n < 64 {
		t.Errorf("RaiseFileLimit: %d, %v", n, err)
	}
}
