package watch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// crowd is clients that open and stop watches, read or pause, connect and disconnect, all concurrently.
type crowd struct {
	*bed
	names []string
	over  atomic.Bool

	mu      sync.Mutex
	clients []*client
}

func (cr *crowd) connect() *client {
	c := newClient(cr.TB, cr.hub)
	cr.mu.Lock()
	defer cr.mu.Unlock()
	cr.clients = append(cr.clients, c)
	return c
}

func (cr *crowd) any(random *rand.Rand) *client {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	return cr.clients[random.IntN(len(cr.clients))]
}

// visit runs one client with sequential requests.
func (cr *crowd) visit(random *rand.Rand, steps int) {
	c := cr.connect()
	var open []*view
	for range steps {
		switch n := random.IntN(100); {
		case n < 50 || len(open) == 0:
			open = append(open, c.watch(cr.names[random.IntN(len(cr.names))], wants(random.IntN(wantKinds))))
		case n < 90:
			i := random.IntN(len(open))
			c.stop(open[i])
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		case n < 94:
			c.mu.Lock()
			c.slow = true
			c.mu.Unlock()
		case n < 98:
			c.hasten()
		default:
			c.close()
			c, open = cr.connect(), nil
		}
	}
	c.hasten()
}

// read reads for other clients, like their transports.
func (cr *crowd) read(random *rand.Rand) {
	for !cr.over.Load() {
		cr.any(random).take(random.IntN(5000))
		_ = cr.hub.Counters()
		time.Sleep(time.Microsecond)
	}
}

// churn applies changes.
func (cr *crowd) churn(random *rand.Rand) {
	for i := 0; !cr.over.Load(); i++ {
		for range 1 + random.IntN(20) {
			name := cr.names[random.IntN(len(cr.names))]
			switch random.IntN(9) {
			case 0:
				cr.add(shard.Command{Kind: shard.CmdSemaphoreDelete, Name: []byte(name), Flags: shard.FlagForce})
			case 1:
				cr.add(shard.Command{Kind: shard.CmdSemaphoreCreate, Name: []byte(name), Count: 20})
			case 2:
				cr.add(shard.Command{Kind: shard.CmdSemaphoreUpdate, Name: []byte(name), Data: fmt.Append(nil, i)})
			case 3:
				cr.add(shard.Command{Kind: shard.CmdSemaphoreResize, Name: []byte(name),
					Count: uint64(1 + random.IntN(20))})
			case 4, 5:
				cr.addAs(random.IntN(len(cr.ids)), shard.Command{Kind: shard.CmdRelease, Name: []byte(name)})
			default:
				cr.addAs(random.IntN(len(cr.ids)), acquire(name, fmt.Sprint(i)))
			}
		}
		cr.commit()
		switch i % 500 {
		case 200:
			cr.hub.Restored(time.Now())
		case 300:
			cr.hub.EndNode(2, protocol.Result{Status: protocol.StatusNotFound})
		case 400:
			cr.hub.End(protocol.Result{Status: protocol.StatusUnavailable})
		}
		if i%3 == 0 {
			time.Sleep(time.Microsecond)
		}
	}
}

func TestEverybodyMayCallAtOnce(t *testing.T) {
	const visitors, steps = 8, 400
	synctest.Test(t, func(t *testing.T) {
		w := &crowd{bed: newBed(t, 30, 1, Options{SlowBytes: 2 << 10, PageBytes: 200, InflightBytes: 8 << 10})}
		for i := range 10 {
			w.names = append(w.names, fmt.Sprint("sem", i))
		}
		w.connect()
		var visits, others sync.WaitGroup
		for i := range uint64(visitors) {
			visits.Go(func() { w.visit(rand.New(rand.NewPCG(i, 1)), steps) })
		}
		others.Go(func() { w.churn(rand.New(rand.NewPCG(1, 2))) })
		for i := range uint64(2) {
			others.Go(func() { w.read(rand.New(rand.NewPCG(i, 3))) })
		}
		visits.Wait()
		w.over.Store(true)
		others.Wait()
		for _, c := range w.clients {
			c.hasten()
		}
		rest()
		watches := 0
		for _, c := range w.clients {
			for _, v := range c.views {
				if !c.closed {
					watches++
					c.expect(v, w.machine)
				}
			}
		}
		if got := w.hub.Len(); got != watches || watches == 0 {
			t.Errorf("%d are open, clients know of %d", got, watches)
		}
		for _, c := range w.clients {
			c.close()
		}
		rest()
		w.quiet(w.hub)
	})
}

// TestOpeningOnAConnectionThatGoesMeanwhileLeavesNothing: a read barrier may come between a request and Open, on a
// goroutine other than the connection's.
func TestOpeningOnAConnectionThatGoesMeanwhileLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1, 1, Options{})
		b.create("sem", 1, "")
		gone := 0
		for i := range 500 {
			c := newClient(t, b.hub)
			c.views[1] = &view{node: 1, name: "sem", wants: all}
			var both sync.WaitGroup
			both.Go(func() {
				switch err := b.hub.Open(c, 1, &protocol.Watch{NodeID: 1, Name: []byte("sem"), Data: true,
					Owners: true}); {
				case errors.Is(err, ErrGone):
					gone++
				case err != nil:
					t.Error(err)
				}
			})
			both.Go(func() {
				for range i % 4 {
					runtime.Gosched()
				}
				c.close()
			})
			both.Wait()
		}
		rest()
		b.quiet(b.hub)
		t.Logf("%d connections were gone when the watch was opened", gone)
	})
}
