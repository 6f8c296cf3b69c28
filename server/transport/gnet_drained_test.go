//go:build linux || darwin || freebsd

package transport

import (
	"io"
	"testing"
	"time"
)

// TestADirectWriteSwallowsNoDrained queues much data on a connection while a goroutine is about to write directly. The
// test holds the connection's lock for direct writes meanwhile, to force the race in every round.
func TestADirectWriteSwallowsNoDrained(t *testing.T) {
	f := gnetFixture(t)
	conns, drained := make(chan Conn, 1), make(chan struct{}, 100)
	f.serve(func(c Conn) *script {
		conns <- c
		return &script{drained: func() { drained <- struct{}{} }}
	})
	client := f.connect()
	go func() { _, _ = io.Copy(io.Discard, client) }()
	server := await(f, conns, "the connection").(*gnetConn)
	much := make([]byte, HighWater+1)
	for range 5 { // the operating system's buffers grow with use
		server.Send(pooled(much))
		await(f, drained, "Drained")
		poll(f, "Pending to be 0", func() bool { return server.Pending() == 0 })
	}
	for range 20 {
		for !server.Queue(pooled([]byte("little"))) { // the loop is still sending earlier data
			poll(f, "Pending to be 0", func() bool { return server.Pending() == 0 })
		}
		server.direct.Lock()
		flushed := make(chan struct{})
		go func() {
			server.Flush()
			close(flushed)
		}()
		time.Sleep(2 * time.Millisecond) // waiting for the lock is not observable
		server.Send(pooled(much))
		server.direct.Unlock()
		await(f, flushed, "Flush")
		await(f, drained, "Drained, after much was sent")
		poll(f, "Pending to be 0", func() bool { return server.Pending() == 0 })
	}
}
