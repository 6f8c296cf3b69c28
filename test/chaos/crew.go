//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// Orders are what a crew is told before it begins, also as JSON where it has a process of its own.
type Orders struct {
	Client   int               `json:"client"`
	Life     int               `json:"life"`
	Epoch    time.Duration     `json:"epoch"` // of the clock
	Seed     uint64            `json:"seed"`
	Node     string            `json:"node"`
	Routes   map[string]string `json:"routes"` // where to connect instead of to a host's address
	Timeouts []time.Duration   `json:"timeouts"`
	Watched  []string          `json:"watched"`
	Think    time.Duration     `json:"think"`
	Grace    time.Duration     `json:"grace"` // of the node
	// Watchers are numbered from here on.
	Watchers int `json:"watchers"`
}

// staleness is how old a RELAXED read may be: as old as the grace period, by a clock that is a little slow.
func (o *Orders) staleness() time.Duration { return o.Grace + o.Grace/10 }

// crew is what works in one client's process: programs with a session each, and watchers, which share a client.
type crew struct {
	orders Orders
	scribe *scribe

	ctx      context.Context // of the programs
	rests    context.CancelFunc
	watch    context.Context // of the watchers, which go on when the programs have ended
	unwatch  context.CancelFunc
	working  sync.WaitGroup // programs
	watching sync.WaitGroup // watchers
	client   *client.Client // nil where no host was found until the programs had to rest
	programs []*workload.Program
}

// muster starts a crew.
func muster(o Orders, to listener) *crew {
	x := &crew{orders: o, scribe: newScribe(newClock(o.Epoch), o, to)}
	x.ctx, x.rests = context.WithCancel(context.Background())
	x.watch, x.unwatch = context.WithCancel(context.Background())
	x.working.Go(x.run)
	return x
}

func (x *crew) run() {
	x.client = x.open()
	if x.client == nil {
		return
	}
	for i, timeout := range x.orders.Timeouts {
		q := &workload.Program{
			Client: x.client, Recorder: x.scribe, Habits: habits, Node: x.orders.Node, Timeout: timeout, Think: x.orders.Think,
			Staleness: x.orders.staleness(),
			Dice:      rand.New(rand.NewPCG(x.orders.Seed, uint64(x.orders.Client*1000+x.orders.Life*100+i))),
		}
		x.programs = append(x.programs, q)
		x.working.Go(func() { q.Run(x.ctx) })
	}
	for i, name := range x.orders.Watched {
		of := history.Semaphore{Node: x.orders.Node, Name: name}
		x.watching.Go(func() { workload.Watch(x.watch, x.client, of, x.orders.Watchers+i, x.scribe) })
	}
}

// open opens the client, however long that takes.
func (x *crew) open() *client.Client {
	var addresses []string
	for a := range x.orders.Routes {
		addresses = append(addresses, a)
	}
	slices.Sort(addresses)
	return workload.Open(x.ctx, strings.Join(addresses, ","), client.WithDialer(dialer(x.orders.Routes)),
		client.WithName(fmt.Sprintf("chaos-%d-%d", x.orders.Client, x.orders.Life)))
}

// dialer connects by routes.
func dialer(routes map[string]string) client.DialFunc {
	return func(ctx context.Context, address string) (net.Conn, error) {
		route, ok := routes[address]
		if !ok {
			return nil, fmt.Errorf("chaos: a host tells an address that none has: %s", address)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", route)
	}
}

// rest ends the programs. What they hold they keep, and watchers go on.
func (x *crew) rest() {
	x.rests()
	x.working.Wait()
}

// leave ends the client in peace, after rest.
func (x *crew) leave() {
	if x.client != nil {
		x.checkNotices()
	}
	x.scribe.letGo()
	x.unwatch()
	if x.client != nil {
		began := x.scribe.Now()
		err := x.client.Close()
		// A client tries for a second only, which a busy machine may not have for it.
		if _, slept := x.scribe.asleep(began - time.Second); err != nil && !slept && !errors.Is(err, client.ErrSessionExpired) {
			x.scribe.noteUnless(began-time.Second, "the client did not end in peace: %v", err)
		}
	}
	x.watching.Wait()
	x.scribe.close()
}
