package lease_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
)

func TestAPongWaitsUntilTheClientKnowsWhatItLost(t *testing.T) {
	for name, lose := range map[string]func(st *stage){
		"because another connection took it": func(st *stage) {
			st.attaches(1, lease.NewHolder(st.now), 0, lease.Attached)
		},
		"because it was silent": func(st *stage) {
			st.pass(10 * second)
			st.due(1)
		},
		"because it ended":            func(st *stage) { st.Remove(id(1)) },
		"because the leader changed":  func(st *stage) { st.Unlead() },
		"and the leadership returned": func(st *stage) { st.Unlead(); st.lead(); st.refresh() },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			h := lease.NewHolder(st.now)
			st.started(1, 10*second, h)
			st.pong(h, true)
			lose(st)
			st.pong(h, false)
			h.Reported(1)
			st.pong(h, true)
		})
	}
}

func TestAPongNeedsEveryShardOfTheConnectionToBeFresh(t *testing.T) {
	a, b := newStage(t), newStage(t)
	h := lease.NewHolder(a.now)
	b.Rely(10 * second)
	a.started(1, 30*second, h)
	b.now = b.now.Add(time.Minute)
	a.now = b.now
	a.pong(h, true) // b has nothing attached
	b.refresh()
	b.started(2, 30*second, h)
	a.pong(h, true)
	b.pass(10 * second)
	b.pong(h, false)
	a.now = b.now
	if h2 := lease.NewHolder(a.now); !h2.MayPong(a.now) {
		t.Error("a connection without sessions gets no pong")
	}
	b.refresh()
	b.pong(h, true)
	b.Remove(id(2))
	h.Reported(1)
	b.pass(time.Hour)
	b.pong(h, true) // b has nothing attached any more
}

func TestACloseDetachesInEveryShard(t *testing.T) {
	a, b := newStage(t), newStage(t)
	h := lease.NewHolder(a.now)
	a.started(1, second, h)
	b.started(2, 2*second, h)
	h.Close(a.now)
	h.Close(a.now.Add(time.Hour))
	a.dueAt(second, 1)
	b.dueAt(2*second, 2)
	for _, st := range []*stage{a, b} {
		if c := st.Counts(); c.Holders != 0 || c.Attached != 0 {
			t.Errorf("%+v; want no holder", c)
		}
	}
}

// TestNoPongSpeaksOfASessionThatIsDue: a ping races with its session's expiry. Only one may happen: the pong, or the
// session becoming due.
func TestNoPongSpeaksOfASessionThatIsDue(t *testing.T) {
	const sessions = 64 // enough for a slow scan, during which the ping may arrive
	rounds := 10_000
	if testing.Short() {
		rounds = 1_000
	}
	st := newStage(t)
	var (
		h           *lease.Holder
		pong        bool
		begun, done atomic.Int64
		pongs, dues int
	)
	var loop sync.WaitGroup
	loop.Go(func() {
		for n := range int64(rounds) {
			for begun.Load() <= n {
				runtime.Gosched()
			}
			pong = h.MayPong(st.now)
			done.Store(n + 1)
		}
	})
	for n := range rounds {
		h = lease.NewHolder(st.now)
		for i := range sessions {
			st.started(uint64(n*sessions+i+1), second, h)
		}
		st.pass(second)
		begun.Store(int64(n + 1))
		for range rand.IntN(1000) {
			begun.Load() // let the two meet at all places
		}
		due, _ := st.Due(st.now, sessions, nil)
		for done.Load() <= int64(n) {
			runtime.Gosched()
		}
		if pong && len(due) > 0 {
			t.Fatalf("round %d: a pong for a session that is due", n)
		}
		if pong {
			pongs++
		}
		dues += len(due) / sessions
		for i := range sessions {
			st.Remove(id(uint64(n*sessions + i + 1)))
		}
	}
	loop.Wait()
	t.Logf("%d pongs, %d due, %d neither", pongs, dues, rounds-pongs-dues)
}

// TestAllMethodsMayBeCalledFromAnyGoroutine: everything concurrently, for the race detector; other tests check results.
func TestAllMethodsMayBeCalledFromAnyGoroutine(t *testing.T) {
	st := newStage(t)
	holders := make([]*lease.Holder, 4)
	for i := range holders {
		holders[i] = lease.NewHolder(st.now)
	}
	var all sync.WaitGroup
	for worker := range uint64(4) {
		all.Go(func() {
			h := holders[worker]
			for n := range uint64(2_000) {
				now := start.Add(time.Duration(n) * time.Millisecond)
				st.Start(id(worker*10_000+n+1), nodeOne, second, h, 0, now)
				if lost, v := st.Attach(id((worker+1)%4*10_000+n+1), h, 1, now); v == lease.Attached && lost != nil {
					lost.Reported(1)
				}
				h.MayPong(now)
				due, _ := st.Due(now, 3, nil)
				for _, e := range due {
					if e.Holder != nil {
						e.Holder.Reported(1)
					}
				}
				st.Succeeded(st.Begin(now), 1, 0)
				st.Next(now)
				st.Counts()
			}
			h.Close(start.Add(time.Hour))
		})
	}
	all.Wait()
	if c := st.Counts(); c.Attached != 0 || c.Holders != 0 || c.Detached+c.Expiring != 8_000 {
		t.Errorf("%+v; want 8000 sessions without a holder", c)
	}
}
