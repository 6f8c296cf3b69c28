package config_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/server/servertest"
)

// deaf is a connection that can stop receiving the host's data, but still sends.
type deaf struct {
	net.Conn
	gate *atomic.Pointer[chan struct{}]
}

func (d deaf) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if gate := d.gate.Load(); gate != nil {
		<-*gate
	}
	return n, err
}

func TestTheHostRefusesALeaseWhoseHolderHasNotHeardOfItsEnd(t *testing.T) {
	play(t, 1, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		var gate atomic.Pointer[chan struct{}]
		holder, err := client.Open(t.Context(), srv.Addresses(), client.WithDialer(
			func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := srv.Dial(ctx, address)
				return deaf{conn, &gate}, err
			}))
		check(t, err)
		t.Cleanup(func() { _ = holder.Close() })
		lease, err := session(t, holder).Semaphore(name, client.Limit(1)).Acquire(t.Context())
		check(t, err)

		hear := make(chan struct{})
		gate.Store(&hear)
		check(t, c.Node(path).Delete(t.Context(), name, client.Force()))
		next, err := session(t, c).Semaphore(name, client.Limit(1)).Acquire(t.Context())
		check(t, err)
		check(t, config.PutGuarded(t.Context(), next, []byte("new")))
		if lease.Err() != nil {
			t.Fatalf("the holder has heard: %v", lease.Err())
		}
		time.AfterFunc(10*time.Millisecond, func() {
			gate.Store(nil)
			close(hear)
		})
		if err := config.PutGuarded(t.Context(), lease, []byte("stale")); !errors.Is(err, client.ErrFenced) {
			t.Errorf("put with %v", err)
		}
		if got := value(t, c); got != "new" {
			t.Errorf("got %q", got)
		}
	})
}
