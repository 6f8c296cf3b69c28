//go:build linux

package survival_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

func frameOf(t *testing.T, m protocol.RequestMessage) []byte {
	t.Helper()
	var out bytebufferpool.ByteBuffer
	protocol.NewEncoder().Request(&out, 1, m)
	return out.B
}

func TestAHostBearsHostileClients(t *testing.T) {
	hosts := serveAll(t, newPlaces(t, "a"))
	h := hosts[0]
	newNode(t, hosts, "/victim", protocol.NodeConfig{})
	l := newLoad(t, hosts, "/victim", 30*time.Second, 2, 2)
	before := h.resident()
	began := time.Now()
	hello := frameOf(t, &protocol.Hello{VersionMin: 1, VersionMax: 1})

	dial := func(t *testing.T) net.Conn {
		t.Helper()
		conn, err := net.DialTimeout("tcp", h.Place.Client, patience)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		return conn
	}
	// closed reads until the host has closed the connection.
	closed := func(t *testing.T, conn net.Conn) {
		t.Helper()
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the host leaves the connection open")
		}
	}

	t.Run("garbage", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range 300 {
			conn := dial(t)
			var in []byte
			if n%2 == 0 {
				in = append(in, hello...)
			}
			garbage := make([]byte, 1+rng.IntN(4000))
			for i := range garbage {
				garbage[i] = byte(rng.Uint32())
			}
			if n%3 == 0 { // a valid frame, to get further
				garbage[0] = 0x90 | garbage[0]&15
				in = binary.BigEndian.AppendUint32(in, uint32(len(garbage)))
			}
			_, _ = conn.Write(append(in, garbage...))
			_ = conn.Close()
		}
	})
	t.Run("lengths that nobody means", func(t *testing.T) {
		for _, length := range []uint32{0, 1 << 20, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			for _, greeted := range []bool{false, true} {
				conn := dial(t)
				var in []byte
				if greeted {
					in = append(in, hello...)
				}
				in = binary.BigEndian.AppendUint32(in, length)
				_, _ = conn.Write(append(in, 0x92, 1, 1))
				closed(t, conn)
			}
		}
	})
	t.Run("arrays and texts that claim to be huge", func(t *testing.T) {
		for _, claim := range [][]byte{
			{0xdd, 0xff, 0xff, 0xff, 0xff}, {0x92, 0x02, 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
			{0x93, 0x08, 0x05, 0xdb, 0xff, 0xff, 0xff, 0xff}, {0x93, 0x08, 0x05, 0xc6, 0x7f, 0xff, 0xff, 0xff},
			{0x93, 0x02, 0x05, 0xdf, 0xff, 0xff, 0xff, 0xff},
		} {
			for range 20 {
				conn := dial(t)
				in := append([]byte(nil), hello...)
				in = binary.BigEndian.AppendUint32(in, uint32(len(claim)))
				_, _ = conn.Write(append(in, claim...))
				_, _ = conn.Read(make([]byte, 1024))
				_ = conn.Close()
			}
		}
	})
	t.Run("nesting without end", func(t *testing.T) {
		deep := make([]byte, 60_000)
		for i := range deep {
			deep[i] = 0x91
		}
		deep[0], deep[1], deep[2] = 0x93, 2, 5 // a PING with a field more
		for range 50 {
			conn := dial(t)
			in := binary.BigEndian.AppendUint32(append([]byte(nil), hello...), uint32(len(deep)))
			_, _ = conn.Write(append(in, deep...))
			_, _ = conn.Read(make([]byte, 1024))
			_ = conn.Close()
		}
	})
	t.Run("half a frame", func(t *testing.T) {
		for n := range 500 {
			conn := dial(t)
			_, _ = conn.Write(hello[:1+n%(len(hello)-1)])
		}
		// Each announces the longest frame and sends nearly all of it.
		long := make([]byte, 128<<10-100)
		for range 50 {
			conn := dial(t)
			in := binary.BigEndian.AppendUint32(append([]byte(nil), hello...), 128<<10)
			_, _ = conn.Write(append(in, long...))
		}
		l.progress(3)
	})
	t.Run("one byte at a time", func(t *testing.T) {
		conn := dial(t)
		in := append(append([]byte(nil), hello...), frameOf(t, &protocol.Ping{})...)
		go func() {
			for i := range in {
				_, _ = conn.Write(in[i : i+1])
				time.Sleep(5 * time.Millisecond)
			}
		}()
		var got []byte
		chunk := make([]byte, 1024)
		for frames := 0; frames < 2; {
			n, err := conn.Read(chunk)
			if err != nil {
				t.Fatalf("after %d answers: %v", frames, err)
			}
			got = append(got, chunk[:n]...)
			for payload, size, err := protocol.ScanFrame(got, 1<<20); payload != nil &&
				err == nil; payload, size, err = protocol.ScanFrame(got, 1<<20) {
				got = got[size:]
				frames++
			}
		}
	})
	t.Run("a reader that never reads", func(t *testing.T) {
		conn := dial(t)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4096)
		}
		in := append([]byte(nil), hello...)
		routing := frameOf(t, &protocol.Routing{})
		for len(in) < 64<<10 {
			in = append(in, routing...)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
		for range 200 {
			if _, err := conn.Write(in); err != nil {
				break
			}
			in = in[:64<<10]
		}
	})
	t.Run("come and vanish", func(t *testing.T) {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for n := range 500 {
					conn, err := net.DialTimeout("tcp", h.Place.Client, patience)
					if err != nil {
						t.Error(err)
						return
					}
					if n%2 == 0 {
						_, _ = conn.Write(hello)
					}
					if tcp, ok := conn.(*net.TCPConn); ok && n%3 == 0 {
						_ = tcp.SetLinger(0) // a reset
					}
					_ = conn.Close()
				}
			})
		}
		group.Wait()
	})

	l.progress(10)
	h.await("it has forgotten them", func() bool { return h.status().Connections.Open < 50 })
	after := h.resident()
	t.Logf("memory: %d MiB before, %d MiB after; %v",
		before>>20, after>>20, l.record.longestPause(began))
	if after-before > 256<<20 {
		t.Errorf("the host has grown by %d MiB", (after-before)>>20)
	}
	select {
	case <-h.Gone():
		t.Error("the host is gone")
	default:
	}
	l.check()
	l.record.checkNoSessionEnded()
}
