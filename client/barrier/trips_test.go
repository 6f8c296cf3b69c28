package barrier_test

import (
	"context"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/clienttest"
)

// trip is the delay of a client's bytes to a host. Answers, pushes and the log take no time, so a round's time counts
// the round's successive trips.
const trip = 100 * time.Millisecond

// TestARoundTakesFewTripsOneAfterTheOther: five trips: joins; inbox openings; prepare confirmations, with the
// coordinator's member read; completion; leaving, with the first look at the other parties.
func TestARoundTakesFewTripsOneAfterTheOther(t *testing.T) {
	const parties, rounds, trips = 3, 5, 5
	play(t, 1, func(t *testing.T, g *stage) {
		var sent requests
		var all []*barrier.Barrier
		for range parties {
			c, err := client.Open(t.Context(), g.Server.Addresses(),
				client.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
					to, err := g.Server.Dial(ctx, address)
					if err != nil {
						return nil, err
					}
					return newFarConn(to, &sent), nil
				}))
			clienttest.Check(t, err)
			defer c.Close()
			all = append(all, barrier.New(clienttest.Session(t, c), name, parties))
		}
		pass := func() {
			passed := make(chan error, parties)
			for _, b := range all {
				go func() {
					passed <- b.Do(t.Context(), func(context.Context, *barrier.Entry) error { return nil })
				}()
			}
			haveLeft(t, passed, parties)
		}
		pass() // the first round opens connections, and checks the party count
		time.Sleep(10 * trip)
		before := sent.all()
		began := time.Now()
		for range rounds {
			pass()
		}
		if took := time.Since(began) / rounds; took >= (trips+1)*trip {
			t.Errorf("a round takes %v, and a trip %v", took, trip)
		}
		for k, n := range sent.all() {
			most := 0
			switch k {
			case protocol.KindProcessJoin, protocol.KindInboxOpen, protocol.KindProcessPrepareAck,
				protocol.KindProcessLeave, protocol.KindWatch, protocol.KindWatchStop:
				most = parties
			case protocol.KindProcessDescribe, protocol.KindProcessComplete:
				most = 1
			case protocol.KindPing, protocol.KindNodeDescribe: // as time passes
				continue
			}
			if n -= before[k]; n > most*rounds {
				t.Errorf("%v is sent %d times in %d rounds, and at most %d in each are needed", k, n, rounds, most)
			}
		}
	})
}

// requests counts the clients' requests, by kind.
type requests struct {
	mu    sync.Mutex
	kinds map[protocol.Kind]int
}

// count counts the requests in one write. Clients write only complete frames.
func (r *requests) count(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := protocol.NewRequestDecoder(protocol.MaxDataBytes)
	for len(b) > 0 {
		payload, size, err := protocol.ScanFrame(b, len(b))
		if err != nil || payload == nil {
			panic("a client writes a part of a frame")
		}
		request, err := d.Decode(payload)
		if err != nil {
			panic(err)
		}
		if r.kinds == nil {
			r.kinds = make(map[protocol.Kind]int)
		}
		r.kinds[request.Kind]++
		b = b[size:]
	}
}

func (r *requests) all() map[protocol.Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.kinds)
}

// farConn is a connection to a distant host: written bytes arrive later.
type farConn struct {
	net.Conn
	sent   *requests
	out    chan flight
	closed context.Context
	close  context.CancelFunc
}

// flight are bytes on their way.
type flight struct {
	bytes []byte
	lands time.Time
}

func newFarConn(to net.Conn, sent *requests) *farConn {
	c := &farConn{Conn: to, sent: sent, out: make(chan flight, 1000)}
	c.closed, c.close = context.WithCancel(context.Background())
	go c.write()
	return c
}

// write writes the arrived bytes.
func (c *farConn) write() {
	for {
		select {
		case f := <-c.out:
			select {
			case <-time.After(time.Until(f.lands)):
			case <-c.closed.Done():
				return
			}
			if _, err := c.Conn.Write(f.bytes); err != nil {
				return
			}
		case <-c.closed.Done():
			return
		}
	}
}

func (c *farConn) Write(b []byte) (int, error) {
	c.sent.count(b)
	select {
	case c.out <- flight{append([]byte(nil), b...), time.Now().Add(trip)}:
		return len(b), nil
	case <-c.closed.Done():
		return 0, net.ErrClosed
	}
}

func (c *farConn) Close() error {
	c.close()
	return c.Conn.Close()
}
