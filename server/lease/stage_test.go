package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

const (
	grace   = 10 * time.Second
	nodeOne = shard.NodeID(1)
	second  = time.Second
)

// start is the start time of every stage.
var start = time.Now()

// stage is a table with a clock controlled by the test.
type stage struct {
	*lease.Table
	t       *testing.T
	now     time.Time
	term    uint64
	changes uint64
	grace   time.Duration
}

// newStage returns a stage whose table leads, knows all sessions and is fresh for a long time.
func newStage(t *testing.T) *stage {
	st := emptyStage(t, 24*time.Hour)
	st.lead()
	st.Restored()
	st.refresh()
	return st
}

// emptyStage returns a stage whose table does not lead.
func emptyStage(t *testing.T, stallAfter time.Duration) *stage {
	st := &stage{t: t, now: start, grace: grace}
	table, err := lease.NewTable(lease.Config{
		Grace:      func(shard.NodeID) time.Duration { return st.grace },
		StallAfter: stallAfter,
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Table = table
	st.Rely(24 * time.Hour)
	return st
}

func (st *stage) lead() {
	st.term++
	st.Lead(st.term, st.changes, st.now)
}

func (st *stage) refresh() {
	if !st.Succeeded(st.Begin(st.now), st.term, st.changes) {
		st.t.Fatal("the barrier does not count")
	}
}

// by is the basis that the table makes now.
func (st *stage) by() lease.Basis { return lease.Basis{Term: st.term, Changes: st.changes} }

func (st *stage) pass(d time.Duration) { st.now = st.now.Add(d) }

func id(n uint64) shard.SessionID { return shard.NewSessionID(7, n) }

// started puts a new session on record, attached over the holder.
func (st *stage) started(n uint64, timeout time.Duration, h *lease.Holder) {
	st.t.Helper()
	if v := st.Start(id(n), nodeOne, timeout, h, 0, st.now); v != lease.Attached {
		st.t.Fatalf("start of %v: %v", id(n), v)
	}
}

// attaches attaches a session and checks the verdict.
func (st *stage) attaches(n uint64, h *lease.Holder, seq uint64, want lease.Verdict) (lost *lease.Holder) {
	st.t.Helper()
	lost, v := st.Attach(id(n), h, seq, st.now)
	if v != want {
		st.t.Fatalf("attach of %v with sequence %d: %v; want %v", id(n), seq, v, want)
	}
	return lost
}

// due checks which sessions are due now, in any order.
func (st *stage) due(want ...uint64) []lease.Expiry {
	st.t.Helper()
	all, _ := st.Due(st.now, 1000, nil)
	var got []uint64
	for _, e := range all {
		got = append(got, e.Session.Counter())
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		st.t.Fatalf("due at %v: %v; want %v", st.now.Sub(start), got, want)
	}
	return all
}

// dueAt checks that sessions are due at a time and not a nanosecond sooner.
func (st *stage) dueAt(after time.Duration, want ...uint64) {
	st.t.Helper()
	st.now = start.Add(after - 1)
	st.due()
	st.now = start.Add(after)
	st.due(want...)
}

// pong checks whether a ping arriving now may be answered.
func (st *stage) pong(h *lease.Holder, want bool) {
	st.t.Helper()
	if got := h.MayPong(st.now); got != want {
		st.t.Fatalf("may pong: %v; want %v", got, want)
	}
}
