//go:build linux || darwin || freebsd

package transport

import (
	"io"
	"testing"
)

func TestWhatIsSentWhileTheLoopsAreSealedStillGoesOut(t *testing.T) {
	f := &fixture{T: t, setup: setups[0]}
	conns, inside, release := f.serveStalling()
	listener := f.listener.(*gnetListener)
	var clients []io.ReadWriter
	var servers []Conn
	for range 3 { // more than the number of loops, so that two share one
		clients = append(clients, f.connect())
		servers = append(servers, await(f, conns, "the connection"))
	}
	sharing := -1
	for i := range 2 {
		if servers[i].(*gnetConn).loop == servers[2].(*gnetConn).loop {
			sharing = i
		}
	}
	if _, err := clients[2].Write([]byte("wait")); err != nil {
		t.Fatal(err)
	}
	await(f, inside, "Data")
	closed := make(chan struct{})
	go func() {
		f.shut()
		close(closed)
	}()
	loop := servers[sharing].(*gnetConn).loop
	poll(f, "the loop to be sealed", func() bool {
		loop.mu.Lock()
		defer loop.mu.Unlock()
		return loop.sealed
	})
	servers[sharing].Send(pooled([]byte("bye")))
	close(release)
	await(f, closed, "Close")
	got, err := io.ReadAll(clients[sharing])
	if string(got) != "bye" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, loop := range listener.loops {
		if !loop.sealed {
			t.Error("a loop can still be woken after Close")
		}
	}
}
