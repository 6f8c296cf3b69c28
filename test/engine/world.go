package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// world is one run of a plan.
type world struct {
	plan    Plan
	oracle  *oracle
	network *raftlogtest.Network
	hosts   []*host
	random  *rand.Rand // of the faults
	began   time.Time

	value atomic.Uint64
	hung  atomic.Bool // a process has ended in a call of Config.Damaged
	// joined is how many replicas have been added since the bootstrap.
	joined uint64
	// secret is shared by the hosts, and refused counts the frames that they refuse.
	secret  []byte
	refused atomic.Int64
	// discarded, if set, is called when a host has discarded its replica, with the next replica.
	discarded func(on *run, next uint64)
	// changed, if set, is called after each completed membership change, with the condition that holds from then on.
	changed func(what string, held func(m *shard.Membership) bool)

	mu    sync.Mutex
	lines []string       // guarded by mu: trace lines
	did   map[string]int // guarded by mu: how often
}

// Result is the result of a world.
type Result struct {
	Plan         Plan
	Virtual      time.Duration
	Acknowledged int
	Did          map[string]int
	// History lists actions, applied values and acknowledged values, one per line.
	History  []string
	Findings []error
	// Hung is set if host goroutines remain that never end: those of an engine that could not continue.
	Hung bool
}

// String describes the result in a line.
func (r *Result) String() string {
	return fmt.Sprintf("%v virtual, %d acknowledged, %v, %d findings", r.Virtual.Round(time.Second), r.Acknowledged,
		r.Did, len(r.Findings))
}

// Run runs a plan in the caller's bubble.
func Run(p Plan) *Result {
	w := newWorld(p)
	defer w.close()
	if err := w.startAll(); err != nil {
		w.oracle.fail("%w", err)
		return w.result()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var users sync.WaitGroup
	for i := range p.Writers {
		users.Go(func() { w.write(ctx, rand.New(rand.NewPCG(p.Seed, uint64(10+i)))) })
	}
	users.Go(func() { w.readAround(ctx, rand.New(rand.NewPCG(p.Seed, 9))) })
	for until := time.Now().Add(p.Length); time.Now().Before(until) && !w.oracle.failed(); {
		time.Sleep(time.Duration(w.random.Int64N(int64(2 * p.Faults))))
		w.fault()
	}
	cancel()
	users.Wait()
	w.finish()
	return w.result()
}

func newWorld(p Plan) *world {
	w := &world{plan: p, oracle: newOracle(), network: raftlogtest.NewNetwork(), began: time.Now(),
		random: rand.New(rand.NewPCG(p.Seed, 2)), did: make(map[string]int)}
	w.network.Delay(func(string, string) time.Duration { return upTo(p.Delay) })
	for n := range p.Hosts {
		h := w.newHost(shard.HostID(n + 1))
		h.Disk().Slow(func() time.Duration { return upTo(p.Sync) })
		w.hosts = append(w.hosts, h)
	}
	return w
}

// talk completes a host's transport config: it answers every call.
func (w *world) talk(c *transport.Config) {
	c.Secret = w.secret
	c.Answer = func(context.Context, transport.Peer, []byte) ([]byte, error) { return []byte("heard"), nil }
	c.Refused = func(why transport.Refusal) {
		if why == transport.RefusedFrame {
			w.refused.Add(1)
		}
	}
}

func upTo(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }

// trace records an action.
func (w *world) trace(what, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did[what]++
	w.lines = append(w.lines, fmt.Sprintf("%v %s "+format, append([]any{time.Since(w.began), what}, args...)...))
}

func (w *world) result() *Result {
	_, count := w.oracle.acknowledged()
	w.mu.Lock()
	defer w.mu.Unlock()
	return &Result{Plan: w.plan, Virtual: time.Since(w.began), Acknowledged: count, Did: w.did,
		History:  append(w.lines, w.oracle.history()...),
		Findings: w.oracle.errs, Hung: w.hung.Load()}
}

func (w *world) startAll() error {
	for _, h := range w.hosts {
		if err := h.start(); err != nil {
			return err
		}
	}
	return nil
}

// leader returns the apparent leader, nil if there is none.
func (w *world) leader() (*host, *run) {
	for _, h := range w.hosts {
		if r := h.current(); r != nil && r.log != nil && r.log.Leadership().Leader == h.id {
			return h, r
		}
	}
	return nil, nil
}

// awaitLeader waits for a leader that confirms its leadership.
func (w *world) awaitLeader() (*host, *run) {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if h, r := w.leader(); r != nil && r.read(w.oracle) == nil {
			return h, r
		}
	}
	w.oracle.fail("no host leads, though all that is needed for that is there\n%s", w.describe())
	return nil, nil
}

// patience is the time limit for events that must happen.
const patience = 2 * time.Minute

// propose proposes a value at the apparent leader, and reports whether it was acknowledged.
func (w *world) propose() bool {
	_, r := w.leader()
	if r == nil {
		time.Sleep(50 * time.Millisecond)
		return false
	}
	return w.proposeAt(r) == shard.OutcomeApplied
}

func (w *world) proposeAt(r *run) shard.Outcome {
	value := w.value.Add(1)
	batch := append(binary.BigEndian.AppendUint64(nil, value), make([]byte, w.plan.Bytes)...)
	done := make(chan shard.Outcome, 1)
	err := r.log.Propose(batch, func(o shard.Outcome) {
		if o == shard.OutcomeApplied && !r.Ended() {
			w.oracle.acknowledge(value)
		}
		done <- o
	})
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return shard.OutcomeDropped
	}
	o := <-done
	if o == shard.OutcomeDropped {
		time.Sleep(10 * time.Millisecond)
	}
	return o
}

// proposeMany proposes until so many values are acknowledged.
func (w *world) proposeMany(n int) {
	for until := time.Now().Add(patience); n > 0; {
		if w.propose() {
			n--
		} else if time.Now().After(until) {
			w.oracle.fail("%d values are not acknowledged\n%s", n, w.describe())
			return
		}
	}
}

// write proposes values until the context ends.
func (w *world) write(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		w.propose()
		time.Sleep(time.Duration(random.Int64N(int64(2*w.plan.Think + 1))))
	}
}

// readAround reads on any host until the context ends.
func (w *world) readAround(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		if r := w.hosts[random.IntN(len(w.hosts))].current(); r != nil {
			_ = r.read(w.oracle)
		}
		time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
	}
}

// finish ends all faults, and compares the hosts' values with the acknowledged values.
func (w *world) finish() {
	w.network.Heal()
	for _, h := range w.hosts {
		h.Disk().Full(false)
		h.Disk().Trap(nil)
		if h.current() == nil {
			if err := h.start(); err != nil {
				w.oracle.fail("in the end: %w", err)
				return
			}
		}
	}
	for _, h := range w.hosts {
		if err := w.catchUp(h); err != nil {
			w.oracle.fail("in the end host %d does not answer: %w\n%s", h.id, err, w.describe())
			return
		}
	}
	for _, h := range w.hosts {
		values, _ := h.current().machine.state()
		w.oracle.check(h.id, values)
	}
}

// close ends all processes, and waits for those that ended abruptly.
func (w *world) close() {
	for _, h := range w.hosts {
		h.stop()
	}
	for _, h := range w.hosts {
		h.Await()
	}
}

// catchUp waits until a host has confirmed that it is up to date.
func (w *world) catchUp(h *host) error {
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		r := h.current()
		err := errors.New("it does not run")
		if r != nil {
			err = r.read(w.oracle)
		}
		if err == nil || time.Now().After(until) {
			return err
		}
	}
}

// describe describes each host's belief.
func (w *world) describe() string {
	var b strings.Builder
	for _, h := range w.hosts {
		r := h.current()
		if r == nil || r.log == nil {
			h.mu.Lock()
			fmt.Fprintf(&b, "host %d does not run: %v\n", h.id, h.full)
			h.mu.Unlock()
			continue
		}
		_, last := r.machine.state()
		fmt.Fprintf(&b, "host %d: %+v, at %d\n", h.id, r.log.Leadership(), last)
	}
	return b.String()
}
