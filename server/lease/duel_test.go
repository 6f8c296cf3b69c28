package lease_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

var (
	twinEvents = flag.Int("twin.events", 400_000, "how many random events the tables and their twins get")
	twinSeed   = flag.Uint64("twin.seed", 0, "seed of the first run; 0 draws one")
)

// TestTablesAgreeWithTheirNaiveTwins: two tables share their holders. Tables and twins get the same random events and
// must give the same answers.
func TestTablesAgreeWithTheirNaiveTwins(t *testing.T) {
	events, seed := *twinEvents, *twinSeed
	if testing.Short() {
		events = min(events, 20_000)
	}
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("first seed: %d", seed)
	tally := map[string]int{}
	for done := 0; done < events; seed++ {
		d := newDuel(seed, tally)
		for range 2_000 {
			if err := d.event(); err != nil {
				t.Fatalf("seed %d, event %d, %v: %v", seed, d.events, d.now.Sub(start), err)
			}
		}
		done += d.events
	}
	t.Log(tally)
	for _, v := range []string{
		"attached", "not-leading", "restoring", "unknown", "out-of-sequence", "expiring", "not-fresh", "closed",
		"due while attached", "due while detached", "due in doubt", "stall", "pong", "no pong", "lost", "full",
		"slot left", "slot arrived", "lost with a slot", "outcome for an earlier record",
	} {
		if tally[v] == 0 && events >= 100_000 {
			t.Errorf("never seen: %s", v)
		}
	}
}

// proposal is a list of expiries in flight, with the twin's session records: the proposal's outcome does not concern
// later records of the same sessions.
type proposal struct {
	by      lease.Basis
	ids     []shard.SessionID
	records []*twinSession
}

// duelSlots is how many slots a contestant's sessions use.
const duelSlots = 3

// contestant is a table and its twin.
type contestant struct {
	table     *lease.Table
	twin      *twin
	base      uint64 // for session counters
	last      uint64
	over      map[shard.SessionID]bool // ended sessions, which never return
	away      [duelSlots]bool          // slots that have left
	proposals []proposal
}

type duel struct {
	*rand.Rand
	now     time.Time
	events  int
	tally   map[string]int
	holders []*twinHolder
	sides   [2]*contestant
}

func newDuel(seed uint64, tally map[string]int) *duel {
	d := &duel{Rand: rand.New(rand.NewPCG(seed, 1)), now: start, tally: tally}
	for range 6 {
		d.holders = append(d.holders, d.newHolder())
	}
	for i := range d.sides {
		w := newTwin()
		table, err := lease.NewTable(lease.Config{
			Grace:      func(n shard.NodeID) time.Duration { return w.grace[n] },
			StallAfter: twinStall,
		})
		if err != nil {
			panic(err)
		}
		d.sides[i] = &contestant{table: table, twin: w, base: uint64(i) * 1_000_000,
			over: map[shard.SessionID]bool{}}
		d.rely(d.sides[i])
		d.changeGrace(d.sides[i])
	}
	return d
}

func (d *duel) newHolder() *twinHolder {
	return &twinHolder{real: lease.NewHolder(d.now), heard: []time.Time{d.now}}
}

func (d *duel) event() error {
	d.events++
	c := d.sides[d.IntN(2)]
	if err := d.happen(c); err != nil {
		return err
	}
	if d.IntN(3) == 0 {
		if err := d.askDue(c); err != nil {
			return err
		}
	}
	if got, want := c.table.Counts(), c.twin.count(); got != want {
		return fmt.Errorf("counts %+v; the twin has %+v", got, want)
	}
	if got, want := c.table.Fresh(d.now), c.twin.fresh(d.now); got != want {
		return fmt.Errorf("fresh %v; the twin says %v", got, want)
	}
	return nil
}

// askDue compares due sessions. Sessions omitted for lack of space must be due next time.
func (d *duel) askDue(c *contestant) error {
	for {
		limit := 1 + d.IntN(20)
		stalls := c.twin.counts.Stalls
		want := c.twin.due(d.now)
		d.tally["stall"] += int(c.twin.counts.Stalls - stalls)
		got, by := c.table.Due(d.now, limit, nil)
		if want := (lease.Basis{Term: c.twin.term, Changes: c.twin.changes}); by != want {
			return fmt.Errorf("due by %+v; the twin is in %+v", by, want)
		}
		p := proposal{by: by}
		for _, e := range got {
			if !want[e.Session] {
				return fmt.Errorf("%v is due; the twin does not say so", e.Session)
			}
			delete(want, e.Session)
			s := c.twin.sessions[e.Session]
			switch {
			case s.doubt:
				d.tally["due in doubt"]++
			case s.holder != nil:
				d.tally["due while attached"]++
			default:
				d.tally["due while detached"]++
			}
			if from := c.twin.expire(e.Session); from != e.Holder {
				return fmt.Errorf("%v was held by %p; the twin says %p", e.Session, e.Holder, from)
			}
			p.ids, p.records = append(p.ids, e.Session), append(p.records, s)
		}
		if len(p.ids) > 0 {
			c.proposals = append(c.proposals, p)
		}
		if len(got) == limit {
			d.tally["full"]++
			continue
		}
		for id := range want {
			return fmt.Errorf("%v is not due; the twin says that it was at %v", id,
				c.twin.sessions[id].deadline().Sub(start))
		}
		return d.checkNext(c)
	}
}

// checkNext checks that a caller waiting until Next misses no deadline, and does not wait forever.
func (d *duel) checkNext(c *contestant) error {
	next := c.table.Next(d.now)
	if !c.twin.judges() {
		return nil
	}
	if next <= 0 || next > twinStall/4 {
		return fmt.Errorf("the next look is in %v, after all that is due was taken", next)
	}
	for id, s := range c.twin.sessions {
		if at := s.deadline(); !at.IsZero() && at.Before(d.now.Add(next)) {
			return fmt.Errorf("the next look is in %v, but %v is due in %v", next, id, at.Sub(d.now))
		}
	}
	return nil
}
