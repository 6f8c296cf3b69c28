//go:build linux

package survival_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/shard"
)

var (
	movedSlots = flag.Int("moved-slots", 0, "how many slots TestSlotsThatMoveUnderWrites moves; 0: it is skipped")
	movedRate  = flag.Int("moved-rate", 30_000, "writes a second to these slots")
	movedKiB   = flag.Int("moved-kib", 256, "content of the largest slots, in KiB")
	movedItems = flag.Int("moved-items", 5000, "semaphores in every hundredth slot")
)

const (
	moveShards  = 8
	moveWriters = 512
	moversAt    = 8 // moves that are ordered at a time
	lockers     = 64
)

// TestSlotsThatMoveUnderWrites moves slots of three hosts while writes hit exactly these slots, and reports the pauses
// that clients see. One client writes to a slot every millisecond while the slot moves; the pause is the longest time
// between two of its answers.
func TestSlotsThatMoveUnderWrites(t *testing.T) {
	if *movedSlots == 0 {
		t.Skip("make moves runs it")
	}
	dir, err := os.MkdirTemp(scratch, "moves-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	found, err := process.Places(program, dir, []string{"a", "b", "c"},
		append([]string{"--shards", fmt.Sprint(moveShards)}, roomForAll...)...)
	if err != nil {
		t.Fatal(err)
	}
	var places []*place
	for _, p := range found {
		places = append(places, &place{p})
	}
	hosts := serveAll(t, places)
	newNode(t, hosts, "/moves", protocol.NodeConfig{})
	r := &moveRun{t: t, endpoints: strings.Join(addresses(hosts), ","), ctx: t.Context()}
	c := r.open()
	node, err := c.DescribeNode(r.ctx, "/moves")
	if err != nil {
		t.Fatal(err)
	}
	r.chooseNames(shard.NodeID(node.ID))
	r.fill(c)
	r.measure(admin.New(c))
}

// moveRun is one measurement.
type moveRun struct {
	t         *testing.T
	ctx       context.Context
	endpoints string
	slots     []shard.Slot        // the moving slots
	names     map[shard.Slot]name // names by slot
	resting   []string            // names in slots that do not move
	retries   retryCount

	writes, failed atomic.Int64
}

type name struct{ first, others []string }

// retryCount counts the repeated requests of a client: redirects, and requests that came between two owners.
type retryCount struct {
	sdk.NoHooks
	requests, repeated, repeats, most atomic.Int64
}

func (r *retryCount) OperationEnded(_ context.Context, op sdk.Operation, end sdk.OperationEnd) {
	if op.Kind != sdk.OpUpdate {
		return
	}
	r.requests.Add(1)
	if n := int64(end.Retries); n > 0 {
		r.repeated.Add(1)
		r.repeats.Add(n)
		for most := r.most.Load(); n > most && !r.most.CompareAndSwap(most, n); most = r.most.Load() {
		}
	}
}

func (r *moveRun) open(options ...sdk.Option) *sdk.Client {
	r.t.Helper()
	c, err := sdk.Open(r.ctx, r.endpoints, options...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

func (r *moveRun) session(c *sdk.Client) *sdk.Session {
	r.t.Helper()
	s, err := c.Session(r.ctx, "/moves", sdk.SessionTimeout(30*time.Second))
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// chooseNames finds names for the content of each slot: every hundredth slot has many small semaphores, and of the rest
// a quarter each has 1 KiB, an eighth, a half and the whole of the largest content in semaphores of 16 KiB.
func (r *moveRun) chooseNames(node shard.NodeID) {
	r.names = make(map[shard.Slot]name)
	want := make(map[shard.Slot]int)
	for i := range *movedSlots {
		slot := shard.Slot(i * shard.Slots / *movedSlots)
		r.slots = append(r.slots, slot)
		want[slot] = []int{1, *movedKiB / 8, *movedKiB / 2, *movedKiB}[i%4]/16 + 1
		if i%100 == 50 {
			want[slot] = *movedItems
		}
	}
	left := len(want)
	for i := 0; left > 0 || len(r.resting) < 1000; i++ {
		text := fmt.Sprintf("n%d", i)
		slot := shard.SlotOf(node, []byte(text))
		n, moves := want[slot]
		x := r.names[slot]
		switch {
		case !moves && len(r.resting) < 1000:
			r.resting = append(r.resting, text)
		case !moves || len(x.first)+len(x.others) >= n:
		case len(x.first) == 0:
			r.names[slot] = name{first: []string{text}}
			left -= rank(n == 1)
		default:
			x.others = append(x.others, text)
			r.names[slot] = x
			left -= rank(1+len(x.others) == n)
		}
	}
}

func rank(is bool) int {
	if is {
		return 1
	}
	return 0
}

// fill creates all semaphores.
func (r *moveRun) fill(c *sdk.Client) {
	s, began := r.session(c), time.Now()
	var running sync.WaitGroup
	var created, bytes atomic.Int64
	for w := range 64 {
		running.Go(func() {
			for i := w; i < len(r.slots); i += 64 {
				x := r.names[r.slots[i]]
				size := 16 << 10
				if i%100 == 50 {
					size = 16
				}
				for k, text := range append(slices.Clone(x.first), x.others...) {
					data := make([]byte, 16)
					if k > 0 {
						data = make([]byte, size)
					}
					if err := s.Semaphore(text).Create(r.ctx, 1, data); err != nil {
						r.t.Error(err)
						return
					}
					created.Add(1)
					bytes.Add(int64(len(data)))
				}
			}
		})
	}
	running.Wait()
	if r.t.Failed() {
		r.t.FailNow()
	}
	r.t.Logf("%d slots have %d semaphores with %d MiB, created in %v", len(r.slots), created.Load(), bytes.Load()>>20,
		time.Since(began).Round(time.Second))
}

// measure writes at the rate, first while nothing moves, then while all slots move to another shard.
func (r *moveRun) measure(a *admin.Admin) {
	var stop atomic.Bool
	var running sync.WaitGroup
	every := time.Duration(int64(time.Second) * moveWriters / int64(*movedRate))
	for range moveWriters / 128 {
		s := r.session(r.open(sdk.WithHooks(&r.retries)))
		for range 128 {
			running.Go(func() { r.write(s, every, &stop) })
		}
	}
	locks := &latencies{}
	s := r.session(r.open())
	for w := range lockers {
		running.Go(func() { r.lock(s, w, locks, &stop) })
	}
	time.Sleep(2 * time.Second)
	const calm = 10 * time.Second
	locks.take()
	quiet := r.probeAll(moversAt, func(slot shard.Slot) { time.Sleep(calm / 10) })
	atRest := locks.take()
	r.writes.Store(0)
	r.t.Logf("at rest: longest time between two answers of a slot: %v; locks elsewhere: %v", quiet, atRest)
	began := time.Now()
	moved, failed := r.moveAll(a)
	took := time.Since(began)
	during, writes := locks.take(), r.writes.Load()
	stop.Store(true)
	running.Wait()
	n := &r.retries
	r.t.Logf("%d of %d slots moved in %v under %.0f writes/s; %d errors", len(moved), len(r.slots),
		took.Round(time.Millisecond), float64(writes)/took.Seconds(), r.failed.Load())
	r.t.Logf("pauses: %v; locks elsewhere: %v, p99 %.2f times", durations(moved), during,
		float64(during.at(0.99))/float64(atRest.at(0.99)))
	r.t.Logf("%d of %d writes were repeated, %.2f times each, at most %d times", n.repeated.Load(), n.requests.Load(),
		float64(n.repeats.Load())/float64(max(1, n.repeated.Load())), n.most.Load())
	if failed > 0 || r.failed.Load() > 0 {
		r.t.Errorf("%d slots did not move, %d writes failed", failed, r.failed.Load())
	}
}

// write writes to random moving slots, once per period.
func (r *moveRun) write(s *sdk.Session, every time.Duration, stop *atomic.Bool) {
	next := time.Now().Add(rand.N(every))
	for !stop.Load() {
		time.Sleep(time.Until(next))
		next = next.Add(every)
		if time.Since(next) > time.Second {
			next = time.Now() // the hosts do not keep up with the rate
		}
		r.update(s, r.slots[rand.IntN(len(r.slots))])
	}
}

func (r *moveRun) update(s *sdk.Session, slot shard.Slot) {
	data := fmt.Appendf(nil, "%016x", time.Now().UnixNano())
	if err := s.Semaphore(r.names[slot].first[0]).Update(r.ctx, data); err != nil {
		r.failed.Add(1)
		r.t.Logf("a write to slot %d: %v", slot, err)
		return
	}
	r.writes.Add(1)
}

// lock locks names in other slots, 32 times a second.
func (r *moveRun) lock(s *sdk.Session, w int, l *latencies, stop *atomic.Bool) {
	for !stop.Load() {
		began := time.Now()
		lock, err := s.Ephemeral(r.resting[rand.IntN(len(r.resting)/lockers)*lockers+w]).Acquire(r.ctx)
		l.add(time.Since(began))
		if err == nil {
			err = lock.Release(r.ctx)
		}
		if err != nil {
			r.failed.Add(1)
			r.t.Logf("a lock: %v", err)
			return
		}
		time.Sleep(time.Until(began.Add(time.Second / 32)))
	}
}

// probeAll probes some slots, and returns the longest times between two answers.
func (r *moveRun) probeAll(n int, during func(shard.Slot)) durations {
	var running sync.WaitGroup
	var mu sync.Mutex
	var gaps durations
	s := r.session(r.open())
	for i := range n {
		running.Go(func() {
			for k := range 10 {
				slot := r.slots[(i*10+k)%len(r.slots)]
				gap := r.probe(s, slot, func() { during(slot) })
				mu.Lock()
				gaps = append(gaps, gap)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return gaps
}

// probe writes to a slot every millisecond while `during` runs, and returns the longest time between two answers.
func (r *moveRun) probe(s *sdk.Session, slot shard.Slot, during func()) (gap time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(20 * time.Millisecond)
		during()
		time.Sleep(20 * time.Millisecond)
	}()
	last := time.Now()
	for {
		select {
		case <-done:
			return gap
		default:
		}
		r.update(s, slot)
		now := time.Now()
		gap, last = max(gap, now.Sub(last)), now
		time.Sleep(time.Millisecond)
	}
}

// moveAll moves every slot to another shard, and returns the pauses, and how many slots did not move.
func (r *moveRun) moveAll(a *admin.Admin) (pauses durations, failed int) {
	var running sync.WaitGroup
	var mu sync.Mutex
	var next atomic.Int64
	s := r.session(r.open())
	owners := r.owners(a)
	for range moversAt {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(r.slots); i = int(next.Add(1)) - 1 {
				slot := r.slots[i]
				to := 1 + (owners[slot]+uint64(i))%moveShards
				if to == owners[slot] {
					to = 1 + to%moveShards
				}
				var err error
				gap := r.probe(s, slot, func() { err = r.move(a, slot, to) })
				mu.Lock()
				if err != nil {
					failed++
					r.t.Logf("slot %d: %v", slot, err)
				} else {
					pauses = append(pauses, gap)
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return pauses, failed
}

// owners returns the owner of each slot.
func (r *moveRun) owners(a *admin.Admin) map[shard.Slot]uint64 {
	r.t.Helper()
	l, err := a.Slots(r.ctx, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	owners := make(map[shard.Slot]uint64)
	for _, g := range l.Ranges {
		for slot := g.First; slot <= g.Last; slot++ {
			owners[shard.Slot(slot)] = g.Shard
		}
	}
	return owners
}

// move orders a slot move, and waits until the move is over.
func (r *moveRun) move(a *admin.Admin, slot shard.Slot, to uint64) error {
	if _, err := a.MoveSlot(r.ctx, uint64(slot), to, false, admin.ChangeInfo{}); err != nil {
		return err
	}
	for late := time.Now().Add(time.Minute); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		l, err := a.Slots(r.ctx, to)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(l.Moves, func(m admin.SlotMove) bool { return m.Slot == uint64(slot) }) {
			return nil
		}
	}
	return fmt.Errorf("the slot has not moved within a minute")
}

// durations is a list of durations.
type durations []time.Duration

func (d durations) at(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

func (d durations) String() string {
	ms := func(q float64) float64 { return float64(d.at(q)) / float64(time.Millisecond) }
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, longest %.1f ms of %d", ms(0.5), ms(0.99), ms(1), len(d))
}

// latencies collects durations from many goroutines.
type latencies struct {
	mu   sync.Mutex
	list durations
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, d)
}

func (l *latencies) take() (list durations) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, l.list = l.list, nil
	return list
}
