package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/clienttest"
)

const (
	path = clienttest.Path
	name = "rebalance"
	// never bounds a wait, on the bubble's clock, for an event that must come.
	never = 2 * time.Minute
)

func TestMain(m *testing.M) { clienttest.Main(m) }

var by = process.ChangeInfo{Author: "anna", Reason: "a test"}

// stage is a cluster with a client and a process's name, for one test.
type stage struct {
	*clienttest.Stage
	process *process.Process
}

// play runs a test on a cluster of this many hosts, in a bubble of time.
func play(t *testing.T, hosts int, f func(t *testing.T, g *stage)) {
	t.Helper()
	clienttest.Play(t, hosts, func(t *testing.T, st *clienttest.Stage) {
		f(t, &stage{st, process.New(st.Client, path, name)})
	})
}

// create makes the process by a spec.
func (st *stage) create(s process.Spec) {
	st.T.Helper()
	clienttest.Check(st.T, st.process.Create(st.T.Context(), s, by))
}

// actor is a member that records its events.
type actor struct {
	*process.Member
	t    testing.TB
	name string

	mu        sync.Mutex // guards what follows
	epochs    []uint64   // in the order of preparation
	events    []string
	completed uint64        // the last completed epoch
	more      chan struct{} // closed at the next event
}

// join lets a new session take part under a name.
func (st *stage) join(name string, h process.Handler, options ...process.JoinOption) *actor {
	st.T.Helper()
	return st.joinBy(st.Session(), name, h, options...)
}

// joinBy lets a session take part, with a handler that records all calls as events. Without a Coordinate function the
// round completes at once, with the epoch as its result.
func (st *stage) joinBy(s *client.Session, name string, h process.Handler, options ...process.JoinOption) *actor {
	st.T.Helper()
	a := &actor{t: st.T, name: name, more: make(chan struct{})}
	m, err := process.Join(st.T.Context(), s, rebalance, a.keep(h), append(options, process.WithName(name))...)
	clienttest.Check(st.T, err)
	a.Member = m
	return a
}

const rebalance = name

// keep wraps a handler. Events are words with the epoch's index among the actor's epochs.
func (a *actor) keep(h process.Handler) process.Handler {
	coordinate := h.Coordinate
	if coordinate == nil {
		coordinate = func(_ context.Context, r *process.Round) (any, error) { return r.Epoch(), nil }
	}
	return process.Handler{
		Prepare: func(ctx context.Context, r *process.Round) error {
			a.begin(r)
			a.event("prepare", r)
			if h.Prepare != nil {
				return h.Prepare(ctx, r)
			}
			return nil
		},
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			a.event("coordinate", r)
			return coordinate(ctx, r)
		},
		Request: func(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
			a.event("process", r)
			if h.Request == nil {
				return a.name, nil
			}
			return h.Request(ctx, r, q)
		},
		Complete: func(ctx context.Context, r *process.Round, result *process.Result) {
			a.mu.Lock()
			a.completed = r.Epoch()
			a.mu.Unlock()
			a.event("complete", r)
			if h.Complete != nil {
				h.Complete(ctx, r, result)
			}
		},
		Cancel: func(r *process.Round) {
			if r.Context().Err() == nil {
				a.t.Errorf("%s: the context of a cancelled round goes on", a.name)
			}
			a.event("cancel", r)
			if h.Cancel != nil {
				h.Cancel(r)
			}
		},
		Terminate: func() {
			a.add("terminate")
			if h.Terminate != nil {
				h.Terminate()
			}
		},
	}
}

// begin records a round's epoch, which must be above all earlier ones.
func (a *actor) begin(r *process.Round) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.epochs); n > 0 && a.epochs[n-1] >= r.Epoch() {
		a.t.Errorf("%s is prepared for epoch %d after %d", a.name, r.Epoch(), a.epochs[n-1])
	}
	a.epochs = append(a.epochs, r.Epoch())
}

func (a *actor) event(word string, r *process.Round) {
	a.mu.Lock()
	number := slices.Index(a.epochs, r.Epoch()) + 1
	a.mu.Unlock()
	a.add(fmt.Sprintf("%s %d", word, number))
}

func (a *actor) add(event string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, event)
	close(a.more)
	a.more = make(chan struct{})
}

// seen returns the events so far.
func (a *actor) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.events)
}

// count returns how many events begin with a word.
func (a *actor) count(word string) (n int) {
	for _, e := range a.seen() {
		if strings.HasPrefix(e, word) {
			n++
		}
	}
	return n
}

// await waits until an event has happened.
func (a *actor) await(event string) {
	a.t.Helper()
	a.until("it has seen "+event, func() bool { return slices.Contains(a.seen(), event) })
}

// until waits until a condition holds, checked after each event.
func (a *actor) until(what string, holds func() bool) {
	a.t.Helper()
	timeout := time.After(never)
	for {
		a.mu.Lock()
		more := a.more
		a.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-more:
		case <-timeout:
			a.t.Fatalf("%s waits until %s: %v", a.name, what, a.seen())
		}
	}
}

// checkSeen checks the events so far.
func (a *actor) checkSeen(want ...string) {
	a.t.Helper()
	if got := a.seen(); !slices.Equal(got, want) {
		a.t.Errorf("%s has seen %q, want %q", a.name, got, want)
	}
}

// awaitResult waits for the member's first round.
func (a *actor) awaitResult() *process.Result {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), never)
	defer cancel()
	r, err := a.Await(ctx)
	clienttest.Check(a.t, err)
	return r
}

// first returns the first epoch.
func (a *actor) first() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epochs[0]
}

// last returns the newest completed epoch, 0 for none.
func (a *actor) last() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.completed
}

// state returns the process's state.
func (st *stage) state() *process.State {
	st.T.Helper()
	s, err := st.process.Describe(st.T.Context(), process.Consistency(client.Strict), process.WithReasons())
	clienttest.Check(st.T, err)
	return s
}

// awaitState waits until the process is in a state.
func (st *stage) awaitState(what string, is func(s *process.State) bool) *process.State {
	st.T.Helper()
	ctx, cancel := context.WithTimeout(st.T.Context(), never)
	defer cancel()
	var last *process.State
	for s, err := range st.process.Watch(ctx, time.Second) {
		if err != nil {
			st.T.Fatalf("the process is not %s: %v; it was %+v", what, err, last)
		}
		if last = s; is(s) {
			return s
		}
	}
	return nil
}

// receive takes a value from a channel that must have one.
func receive[T any](t testing.TB, c <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-c:
	case <-time.After(never):
		t.Fatal("nothing comes")
	}
	return value
}

// network is a client's connections to hosts, which can be cut.
type network struct {
	mu    sync.Mutex // guards what follows
	down  bool
	conns []net.Conn
}

// client opens a separate client over a separate network.
func (st *stage) client() (*client.Client, *network) {
	st.T.Helper()
	n := &network{}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		c, err := st.Server.Dial(ctx, address)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.down {
			_ = c.Close()
			return nil, errors.New("the network is down")
		}
		n.conns = append(n.conns, c)
		return c, nil
	}
	c, err := client.Open(st.T.Context(), st.Server.Addresses(), client.WithDialer(dial))
	clienttest.Check(st.T, err)
	st.T.Cleanup(func() { _ = c.Close() })
	return c, n
}

// cut breaks the client's connections. While the network is down, the client makes no others.
func (n *network) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

func (n *network) up() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}

// clusterHost is one of three hosts, in turn.
func clusterHost(n uint64) shard.HostID { return shard.HostID(1 + n%3) }
