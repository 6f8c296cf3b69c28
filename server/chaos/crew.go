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
	"github.com/signalbox/signalbox/server/history"
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
	programs sync.WaitGroup
	watchers sync.WaitGroup
	client   *client.Client // nil where no host was found until the programs had to rest

	mu      sync.Mutex // guards what follows
	notices map[noticed]*notice
}

// muster starts a crew.
func muster(o Orders, to listener) *crew {
	x := &crew{orders: o, scribe: newScribe(newClock(o.Epoch), o.Client, o.Life, to), notices: make(map[noticed]*notice)}
	x.ctx, x.rests = context.WithCancel(context.Background())
	x.watch, x.unwatch = context.WithCancel(context.Background())
	x.programs.Go(x.run)
	return x
}

func (x *crew) run() {
	x.client = x.open()
	if x.client == nil {
		return
	}
	for i, timeout := range x.orders.Timeouts {
		q := &program{
			crew: x, client: x.client, timeout: timeout,
			dice: rand.New(rand.NewPCG(x.orders.Seed, uint64(x.orders.Client*1000+x.orders.Life*100+i))),
		}
		x.programs.Go(func() { q.run(x.ctx) })
	}
	for i, name := range x.orders.Watched {
		x.watchers.Go(func() { x.follow(x.orders.Watchers+i, name) })
	}
}

// open opens the client, however long that takes.
func (x *crew) open() *client.Client {
	var addresses []string
	for a := range x.orders.Routes {
		addresses = append(addresses, a)
	}
	slices.Sort(addresses)
	for {
		c, err := client.Open(x.ctx, strings.Join(addresses, ","), client.WithDialer(dialer(x.orders.Routes)),
			client.WithName(fmt.Sprintf("chaos-%d-%d", x.orders.Client, x.orders.Life)))
		if err == nil {
			return c
		}
		if !sleep(x.ctx, 100*time.Millisecond) {
			return nil
		}
	}
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
	x.programs.Wait()
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
	x.watchers.Wait()
	x.scribe.close()
}

// follow is a watcher.
func (x *crew) follow(id int, name string) {
	var before []history.Link
	for v, err := range x.client.Node(x.orders.Node).Watch(x.watch, name) {
		if err != nil {
			if x.watch.Err() == nil {
				x.scribe.note("watcher %d of %s ended: %v", id, name, err)
			}
			return
		}
		now := owners(v)
		x.scribe.view(history.View{
			Watcher: id, Semaphore: history.Semaphore{Node: x.orders.Node, Name: name}, Broken: broken(before, now, v.Changes()),
			State: history.State{Exists: v.Exists, Limit: v.Limit, Data: string(v.Data), Revision: v.Revision, Owners: now},
		})
		before = now
	}
}

func owners(v *client.View) (links []history.Link) {
	for o := range v.Owners() {
		links = append(links, linkOf(o))
	}
	return links
}

func linkOf(o client.Owner) history.Link {
	return history.Link{Session: o.SessionID, Order: o.OrderID, Count: o.Count}
}

// broken tells how changes do not lead from the owners before to those of now.
func broken(before, now []history.Link, c client.Changes) string {
	have := make(map[uint64]history.Link)
	if !c.First {
		for _, l := range before {
			have[l.Order] = l
		}
	}
	for _, o := range c.Gone {
		delete(have, o.OrderID)
	}
	for _, o := range slices.Concat(c.Joined, c.Changed) {
		have[o.OrderID] = linkOf(o)
	}
	for _, l := range now {
		if have[l.Order] != l {
			return fmt.Sprintf("%v owns, and by the changes %v", l, have[l.Order])
		}
	}
	if len(now) != len(have) {
		return fmt.Sprintf("%d own, and by the changes %d", len(now), len(have))
	}
	return ""
}

// sleep waits, and tells whether it could to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
