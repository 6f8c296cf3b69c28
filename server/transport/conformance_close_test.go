package transport

import (
	"bufio"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/bytebufferpool"
)

// gone reads until the connection ends and returns the bytes.
func (f *fixture) gone(conn net.Conn) []byte {
	f.Helper()
	got, err := io.ReadAll(conn)
	if err != nil && !ended(err) {
		f.Fatalf("the connection does not end: %v", err)
	}
	return got
}

func TestCloseInsideDataSendsWhatWasPutBefore(t *testing.T) {
	closings := map[string]func(c Conn) int{
		"Close":          func(c Conn) int { c.Close(); return 1 },
		"Close twice":    func(c Conn) int { c.Close(); c.Close(); return 1 },
		"below zero":     func(c Conn) int { return -1 },
		"both":           func(c Conn) int { c.Close(); return -1 },
		"all unconsumed": func(c Conn) int { c.Close(); return 0 },
	}
	conform(t, func(f *fixture) {
		causes := make(chan error, 1)
		f.serve(func(c Conn) *script {
			ended := false
			return &script{
				data: func(b []byte) int {
					if ended {
						f.Error("Data after it closed the connection")
					}
					ended = true
					c.Send(pooled([]byte("first ")))
					c.Send(pooled([]byte("second ")))
					c.Send(pooled([]byte("last")))
					consumed := closings[string(b)](c)
					if consumed >= 0 {
						c.Send(pooled([]byte("too late")))
					}
					return consumed
				},
				closed: func(err error) { causes <- err },
			}
		})
		for name := range closings {
			conn := f.connect()
			if _, err := conn.Write([]byte(name)); err != nil {
				f.Fatal(err)
			}
			if got := f.gone(conn); string(got) != "first second last" {
				f.Errorf("%s: got %q before the end", name, got)
			}
			if err := await(f, causes, "Closed"); err != nil {
				f.Errorf("%s: Closed says %v", name, err)
			}
		}
	})
}

func TestCloseInsideOpenedSendsWhatWasPutBefore(t *testing.T) {
	conform(t, func(f *fixture) {
		causes := make(chan error, 1)
		f.serve(func(c Conn) *script {
			c.Send(pooled([]byte("good")))
			c.Send(pooled([]byte("bye")))
			c.Close()
			return &script{closed: func(err error) { causes <- err }}
		})
		if got := f.gone(f.connect()); string(got) != "goodbye" {
			f.Errorf("got %q", got)
		}
		if err := await(f, causes, "Closed"); err != nil {
			f.Errorf("Closed says %v", err)
		}
	})
}

func TestARefusedConnectionIsClosedAfterTheReasonWasSent(t *testing.T) {
	conform(t, func(f *fixture) {
		refused := make(chan Conn, 1)
		f.serve(func(c Conn) *script {
			c.Send(pooled([]byte("go away")))
			refused <- c
			return nil
		})
		for range 10 {
			if got := f.gone(f.connect()); string(got) != "go away" {
				f.Errorf("got %q", got)
			}
			// It is useless, but harmless.
			c := await(f, refused, "the connection")
			c.Send(pooled([]byte("?")))
			c.Close()
			poll(f, "Pending to be 0", func() bool { return c.Pending() == 0 })
		}
	})
}

func TestCloseFromManyGoroutinesAtOnce(t *testing.T) {
	conform(t, func(f *fixture) {
		conns, causes := make(chan Conn, 1), make(chan error, 1)
		f.serve(func(c Conn) *script {
			conns <- c
			return &script{closed: func(err error) { causes <- err }}
		})
		for range 50 {
			client := f.connect()
			server := await(f, conns, "the connection")
			server.Send(pooled([]byte("bye")))
			var closers sync.WaitGroup
			for range 4 {
				closers.Go(server.Close)
			}
			closers.Wait()
			if got := f.gone(client); string(got) != "bye" {
				f.Fatalf("got %q before the end", got)
			}
			if err := await(f, causes, "Closed"); err != nil {
				f.Fatalf("Closed says %v", err)
			}
			server.Close()
		}
	})
}

func TestCloseDoesNotWaitForAPeerThatDoesNotRead(t *testing.T) {
	conform(t, func(f *fixture) {
		conns, causes := make(chan Conn, 1), make(chan error, 1)
		fill := func(c Conn) {
			for range 32 {
				c.Send(pooled(make([]byte, 1<<20)))
			}
		}
		f.serve(func(c Conn) *script {
			conns <- c
			return &script{
				data: func(b []byte) int {
					fill(c)
					return -1
				},
				closed: func(err error) { causes <- err },
			}
		})
		for name, close := range map[string]func(client net.Conn, server Conn){
			"outside": func(_ net.Conn, server Conn) { fill(server); server.Close() },
			"in Data": func(client net.Conn, _ Conn) { _, _ = client.Write([]byte("x")) },
		} {
			client := f.connect()
			server := await(f, conns, "the connection")
			close(client, server)
			if err := await(f, causes, "Closed"); err != nil {
				f.Errorf("%s: Closed says %v", name, err)
			}
			if n := server.Pending(); n != 0 {
				f.Errorf("%s: Pending is %d after Closed", name, n)
			}
		}
	})
}

func TestCloseDuringAFloodOfSendsGivesEveryBufferBackOnce(t *testing.T) {
	const senders, most = 4, 20_000
	conform(t, func(f *fixture) {
		conns, closed := make(chan Conn, 1), make(chan error, 1)
		f.serve(func(c Conn) *script {
			conns <- c
			return &script{closed: func(err error) { closed <- err }}
		})
		client := f.connect()
		server := await(f, conns, "the connection")
		var given [senders][]*bytebufferpool.ByteBuffer
		var stop atomic.Bool
		var flood sync.WaitGroup
		for i := range senders {
			flood.Go(func() {
				for n := 0; n < most && !stop.Load(); n++ {
					// Not from the pool, so that each is a distinct buffer, and small: the pool does not empty buffers
					// too large to keep.
					buf := &bytebufferpool.ByteBuffer{B: make([]byte, 1+n%64)}
					given[i] = append(given[i], buf)
					if i%2 == 0 {
						queueAndFlush(server, buf)
					} else {
						server.Send(buf)
					}
				}
			})
		}
		if _, err := io.CopyN(io.Discard, client, 10_000); err != nil {
			f.Fatal(err)
		}
		server.Close()
		if err := await(f, closed, "Closed"); err != nil {
			f.Errorf("Closed says %v", err)
		}
		stop.Store(true)
		flood.Wait()
		f.shut()
		ours := make(map[*bytebufferpool.ByteBuffer]bool)
		for _, buf := range slices.Concat(given[:]...) {
			ours[buf] = true
			if len(buf.B) != 0 {
				f.Fatalf("a buffer of %d bytes was not put back", len(buf.B))
			}
		}
		for range 2 * len(ours) {
			buf := Buffers.Get()
			if met, known := ours[buf]; known && !met {
				f.Fatal("a buffer was put back twice")
			}
			if _, known := ours[buf]; known {
				ours[buf] = false
			}
		}
	})
}

func TestAResetByThePeerIsTheCauseOfClosed(t *testing.T) {
	conform(t, func(f *fixture) {
		causes := make(chan error, 1)
		f.serve(func(c Conn) *script {
			s := echoLines(c)
			s.closed = func(err error) { causes <- err }
			return s
		})
		conn := f.connect()
		if _, err := conn.Write([]byte("hello\n")); err != nil {
			f.Fatal(err)
		}
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			f.Fatal(err)
		}
		f.reset(conn)
		if err := await(f, causes, "Closed"); err == nil {
			f.Error("Closed says that this side closed the connection")
		}
	})
}

func TestTheCauseOfAnOwnCloseIsNilWhateverThePeerDoesThen(t *testing.T) {
	conform(t, func(f *fixture) {
		causes := make(chan error, 1)
		inside, reset := make(chan struct{}), make(chan struct{})
		f.serve(func(c Conn) *script {
			return &script{
				data: func(b []byte) int {
					c.Send(pooled([]byte("nobody reads this")))
					c.Close()
					inside <- struct{}{}
					<-reset
					return len(b)
				},
				closed: func(err error) { causes <- err },
			}
		})
		conn := f.connect()
		if _, err := conn.Write([]byte("hello")); err != nil {
			f.Fatal(err)
		}
		await(f, inside, "Data")
		f.reset(conn)
		reset <- struct{}{}
		if err := await(f, causes, "Closed"); err != nil {
			f.Errorf("Closed says %v", err)
		}
	})
}

func TestAPeerThatStopsSendingGetsWhatWaitsAndIsClosed(t *testing.T) {
	conform(t, func(f *fixture) {
		causes := make(chan error, 1)
		f.serve(func(c Conn) *script {
			s := echoLines(c)
			s.closed = func(err error) { causes <- err }
			return s
		})
		conn := f.connect()
		half, ok := conn.(interface{ CloseWrite() error })
		if !ok {
			f.Skip("a pipe ends both ways at once")
		}
		if _, err := conn.Write([]byte("one\ntwo\nthree")); err != nil {
			f.Fatal(err)
		}
		if err := half.CloseWrite(); err != nil {
			f.Fatal(err)
		}
		if got := f.gone(conn); string(got) != "one\ntwo\n" {
			f.Errorf("got %q", got)
		}
		if err := await(f, causes, "Closed"); err == nil {
			f.Error("Closed says that this side closed the connection")
		}
	})
}
