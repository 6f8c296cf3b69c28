package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// reusedNames is the reuser's semaphore count: enough for some in each shard.
	reusedNames = 8
	// reusedNumbers is how many recent sequence numbers the reuser may reuse; none was acknowledged before.
	reusedNumbers = 20
	// reuserTimeout is the reuser's session timeout, reuserThink the longest pause.
	reuserTimeout = 15 * time.Second
	reuserThink   = time.Second
)

// reuser is a program that chooses its own sequence numbers, and reuses numbers for different requests. No other
// program uses its semaphores.
type reuser struct {
	*world
	client  *client.Client
	raw     *raw.Client
	random  *rand.Rand
	session *raw.Session
	last    uint64                     // of its numbers
	asked   map[uint64]map[string]bool // under each number
}

// reuseNumbers runs a reuser until the context ends.
func (w *world) reuseNumbers(ctx context.Context, random *rand.Rand) {
	dial := func(ctx context.Context, address string) (net.Conn, error) { return w.network.dial(ctx, -1, address) }
	c, err := client.Open(ctx, w.addresses(), client.WithDialer(w.bug.dialer(dial)))
	if err != nil {
		return // no host answered until the context ended
	}
	defer c.Close()
	r := &reuser{world: w, client: c, raw: raw.New(c, raw.Options{PingEvery: time.Second}), random: random}
	for ctx.Err() == nil {
		s, err := r.raw.Start(ctx, raw.Params{Path: path, Timeout: reuserTimeout, OnEnd: func(error) {}})
		if err != nil {
			workload.Sleep(ctx, workload.UpTo(random, reuserThink))
			continue
		}
		r.session, r.last, r.asked = s, 0, make(map[uint64]map[string]bool)
		for known := r.untilKnown(ctx); known && s.Err() == nil && r.step(ctx) == nil; {
			workload.Sleep(ctx, workload.UpTo(random, reuserThink))
		}
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), reuserTimeout)
		_ = s.Stop(leave)
		cancel()
		workload.Sleep(ctx, workload.UpTo(random, reuserThink)) // even if each session ends at its first request
	}
}

// untilKnown waits until every shard has reached the level that binds a number to one request: then a release with an
// acquire's number is refused. It returns false if the session ends first.
func (r *reuser) untilKnown(ctx context.Context) bool {
	for i := range reusedNames {
		for {
			r.last++
			m := protocol.Mutation{Sequence: r.last}
			_, err := r.acquire(ctx, m, nameOf(i))
			if err == nil {
				_, err = r.release(ctx, m, nameOf(i))
			}
			if statusOf(err) == protocol.StatusSequenceReused {
				break
			}
			if statusOf(err) == protocol.StatusSuccess && err != nil || !workload.Sleep(ctx, reuserThink) {
				return false
			}
		}
	}
	r.last += reusedNumbers // so that no number used below the level is reused
	return true
}

func nameOf(i int) string { return fmt.Sprintf("reused-%d", i) }

// step sends a request. Half the requests reuse a number from a different request. An error means an unknown outcome.
func (r *reuser) step(ctx context.Context) error {
	name, kind := nameOf(r.random.IntN(reusedNames)), workload.Pick(r.random, history.Acquire, history.Release)
	number := r.last + 1
	if r.random.IntN(2) == 0 {
		number = r.last - r.random.Uint64N(min(r.last, reusedNumbers/2))
	}
	if request := string(kind) + name; r.asked[number][request] {
		return nil // a repetition
	} else if r.asked[number] == nil {
		r.asked[number] = map[string]bool{request: true}
	} else {
		r.asked[number][request] = true
	}
	r.last = max(r.last, number)
	m := protocol.Mutation{Sequence: number, AcknowledgedSequence: r.last - min(r.last, reusedNumbers)}
	x := history.Numbered{Semaphore: of(name), Session: r.session.ID(), Number: number, Kind: kind,
		From: r.record.Now()}
	var err error
	if kind == history.Acquire {
		x.Order, err = r.acquire(ctx, m, name)
		x.At = r.record.Now()
		if err == nil && x.Order != 0 {
			x.Owns, err = r.owns(ctx, name)
		}
	} else if x.Held, err = r.owns(ctx, name); err == nil {
		var released bool
		if released, err = r.release(ctx, m, name); released {
			x.Held = 0
		}
		x.At = r.record.Now()
	}
	switch {
	case err == nil && r.session.Err() == nil && r.session.LeaseLeft() > 0:
		x.To = r.record.Now()
		r.record.Add(history.Entry{Client: -1, Numbered: &x})
	case statusOf(err) != protocol.StatusSuccess:
		return nil // refused
	}
	return err
}

// statusOf is a final refusal's status, otherwise success.
func statusOf(err error) protocol.Status {
	for _, status := range []protocol.Status{protocol.StatusSequenceReused, protocol.StatusStale} {
		if errors.Is(err, &protocol.Error{Status: status}) {
			return status
		}
	}
	return protocol.StatusSuccess
}

func (r *reuser) acquire(ctx context.Context, m protocol.Mutation, name string) (order uint64, err error) {
	err = r.session.Do(ctx, &protocol.Acquire{
		Mutation: m, Name: []byte(name), Count: protocol.Exclusive, Ephemeral: true,
	}, func(a *protocol.Answer) {
		if a.Acquire.Outcome == protocol.Acquired {
			order = a.Acquire.OrderID
		}
	}, nil)
	return order, err
}

func (r *reuser) release(ctx context.Context, m protocol.Mutation, name string) (released bool, err error) {
	err = r.session.Do(ctx, &protocol.Release{Mutation: m, Name: []byte(name)},
		func(a *protocol.Answer) { released = a.Release.Released }, nil)
	return released, err
}

// owns returns the order id under which the session owns a semaphore, by a STRICT read, 0 for none.
func (r *reuser) owns(ctx context.Context, name string) (order uint64, err error) {
	d, err := r.client.Node(path).Describe(ctx, name, client.WithOwners(), client.WithConsistency(client.Strict))
	if err != nil {
		if errors.Is(err, client.ErrSemaphoreNotFound) {
			return 0, nil
		}
		return 0, err
	}
	for _, o := range d.Owners {
		if o.SessionID == r.session.ID() {
			order = o.OrderID
		}
	}
	return order, nil
}
