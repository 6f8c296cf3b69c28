//go:build linux || darwin || freebsd

package transport

import (
	"bufio"
	"fmt"
	"io"
	"testing"
	"time"
)

// gnetFixture serves connections on one event loop.
func gnetFixture(t *testing.T) *fixture {
	one := setups[0]
	one.listen = func(h Handler) (Listener, error) {
		return ListenGnet("127.0.0.1:0", h, NetOptions{Loops: 1, Logger: quiet})
	}
	f := &fixture{T: t, setup: one}
	t.Cleanup(f.shut)
	return f
}

// serveStalling serves connections. The first sender's connection keeps its loop inside Data until release is closed.
func (f *fixture) serveStalling() (conns chan Conn, inside, release chan struct{}) {
	f.Helper()
	conns, inside, release = make(chan Conn, 1), make(chan struct{}), make(chan struct{})
	f.serve(func(c Conn) *script {
		conns <- c
		return &script{data: func(b []byte) int {
			close(inside)
			<-release
			return len(b)
		}}
	})
	return conns, inside, release
}

// TestAFlushNeedsNoLoop flushes while the event loop stands still.
func TestAFlushNeedsNoLoop(t *testing.T) {
	f := gnetFixture(t)
	conns, inside, release := f.serveStalling()
	client := f.connect()
	server := await(f, conns, "the connection")
	if _, err := f.connect().Write([]byte("wait")); err != nil {
		t.Fatal(err)
	}
	await(f, conns, "the other connection")
	await(f, inside, "Data")
	defer close(release)
	for i := range 100 {
		want := fmt.Sprintf("line %d", i)
		queueAndFlush(server, pooled([]byte(want)))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(client, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if n := server.Pending(); n != 0 {
		t.Errorf("Pending is %d", n)
	}
}

// TestWhatAFlushCannotWriteIsWrittenByTheLoop flushes more than the operating system takes.
func TestWhatAFlushCannotWriteIsWrittenByTheLoop(t *testing.T) {
	f := gnetFixture(t)
	conns := make(chan Conn, 1)
	f.serve(func(c Conn) *script {
		conns <- c
		return &script{}
	})
	client := f.connect()
	server := await(f, conns, "the connection")
	for round := range 3 {
		lines := 0
		for refused := false; !refused || lines%100 != 0; lines++ {
			queueAndFlush(server, pooled(fmt.Appendf(nil, "%d %d %0*d\n", round, lines, 10_000-lines%7, 0)))
			refused = refused || server.Pending() > 0
		}
		reader := bufio.NewReader(client)
		for i := range lines {
			line, err := reader.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%d %d %0*d\n", round, i, 10_000-i%7, 0); line != want {
				t.Fatalf("line %d of %d is %.30q, want %.30q", i, lines, line, want)
			}
		}
		poll(f, "Pending to be 0", func() bool { return server.Pending() == 0 })
	}
}

// TestADescriptorIsNotClosedUnderAWrite has the peer close while a goroutine is about to write. The descriptor is
// closed after Closed.
func TestADescriptorIsNotClosedUnderAWrite(t *testing.T) {
	f := gnetFixture(t)
	conns, closed := make(chan Conn, 1), make(chan error, 1)
	f.serve(func(c Conn) *script {
		conns <- c
		return &script{closed: func(err error) { closed <- err }}
	})
	client := f.connect()
	server := await(f, conns, "the connection").(*gnetConn)
	server.direct.Lock()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-closed:
		t.Error("the session was closed")
	case <-time.After(50 * time.Millisecond): // that it does not happen cannot be waited for
	}
	server.direct.Unlock()
	await(f, closed, "Closed")
}

// TestWhatIsFlushedEarlyIsSentWhileDataRuns keeps the loop inside Data until the client has read an early flush. Later
// data, more than the operating system's buffers hold, arrives after it.
func TestWhatIsFlushedEarlyIsSentWhileDataRuns(t *testing.T) {
	f := gnetFixture(t)
	const many = 200
	read := make(chan struct{})
	late := func(i int) string { return fmt.Sprintf("late %d %0*d\n", i, 100_000, 0) }
	f.serve(func(c Conn) *script {
		return &script{data: func(b []byte) int {
			for i := range 3 {
				c.Queue(pooled(fmt.Appendf(nil, "early %d\n", i)))
				c.(EarlyFlusher).FlushEarly()
			}
			await(f, read, "the client to read")
			for i := range many {
				c.Queue(pooled([]byte(late(i))))
				c.(EarlyFlusher).FlushEarly()
			}
			return len(b)
		}}
	})
	client := f.connect()
	if _, err := client.Write([]byte("go")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(client)
	expect := func(want string) {
		t.Helper()
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("got %.20q, %v, want %.20q", got, err, want)
		}
	}
	for i := range 3 {
		expect(fmt.Sprintf("early %d\n", i))
	}
	close(read)
	for i := range many {
		expect(late(i))
	}
}

// TestAnEarlyFlushLeavesAClosedConnectionAlone: Data may have closed it before.
func TestAnEarlyFlushLeavesAClosedConnectionAlone(t *testing.T) {
	f := gnetFixture(t)
	closed := make(chan error, 1)
	f.serve(func(c Conn) *script {
		return &script{data: func(b []byte) int {
			c.Queue(pooled([]byte("last")))
			c.Close()
			c.Queue(pooled([]byte("too late")))
			c.(EarlyFlusher).FlushEarly()
			return len(b)
		}, closed: func(err error) { closed <- err }}
	})
	client := f.connect()
	if _, err := client.Write([]byte("go")); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "last" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := await(f, closed, "Closed"); err != nil {
		t.Error(err)
	}
}
