package client_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// requestCounts counts a client's requests, by kind.
type requestCounts struct {
	mu    sync.Mutex
	count map[protocol.Kind]int
}

func (rc *requestCounts) of(k protocol.Kind) int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.count[k]
}

// countingConn counts a connection's requests.
type countingConn struct {
	net.Conn
	counts  *requestCounts
	decoder *protocol.RequestDecoder
	rest    []byte // a frame's first bytes
}

func (cc *countingConn) Write(b []byte) (int, error) {
	cc.counts.mu.Lock()
	cc.rest = append(cc.rest, b...)
	for {
		payload, size, err := protocol.ScanFrame(cc.rest, 8<<20)
		if err != nil || payload == nil {
			break
		}
		if r, err := cc.decoder.Decode(payload); err == nil {
			cc.counts.count[r.Kind]++
		}
		cc.rest = cc.rest[size:]
	}
	cc.counts.mu.Unlock()
	return cc.Conn.Write(b)
}

// TestAClientAtRestAsksForNoRouting while the routing stays unchanged, in spite of work in the cluster.
func TestAClientAtRestAsksForNoRouting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newServerStage(t, 3, 2)
		defer st.close()
		counts := &requestCounts{count: make(map[protocol.Kind]int)}
		busy := open(t, st)
		defer busy.Close()
		resting, err := client.Open(t.Context(), st.addresses(),
			client.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := st.dial(ctx, address)
				if err != nil {
					return nil, err
				}
				decoder := protocol.NewRequestDecoder(protocol.MaxDataBytes)
				return &countingConn{Conn: conn, counts: counts, decoder: decoder}, nil
			}))
		check(t, err)
		defer resting.Close()
		_, err = busy.CreateNode(t.Context(), path, client.NodeConfig{})
		check(t, err)
		held, working := session(t, resting), session(t, busy)
		acquire(t, held.Semaphore("held", client.Limit(1)))
		use := func() {
			for i := range 4 {
				lease := acquire(t, working.Semaphore(string(rune('a'+i)), client.Limit(1)))
				check(t, lease.Release(t.Context()))
			}
		}
		use()
		time.Sleep(2 * time.Minute) // hosts come online, and the counters are noted for the first time
		before, pings := counts.of(protocol.KindRouting), counts.of(protocol.KindPing)
		for range 10 {
			use()
			time.Sleep(time.Minute)
		}
		if n := counts.of(protocol.KindRouting) - before; n != 0 {
			t.Errorf("in ten minutes it asked for the routing %d times", n)
		}
		if counts.of(protocol.KindPing) == pings {
			t.Error("no ping was counted")
		}
		acquire(t, held.Semaphore("another", client.Limit(1)))
		check(t, held.Close(t.Context()))
		check(t, working.Close(t.Context()))
	})
}
