package lease_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
)

const stallTick = 50 * time.Millisecond // check interval on a host without stalls

// stalling returns a stage whose host detects a stall if its checks are more than a second apart.
func stalling(t *testing.T) *stage {
	st := emptyStage(t, second)
	st.lead()
	st.Restored()
	st.refresh()
	return st
}

// TestAStallPutsEveryDeadlineOffByWhatItTook: a stall extends deadlines by its duration: 60 seconds, and 5 for reading.
func TestAStallPutsEveryDeadlineOffByWhatItTook(t *testing.T) {
	st := stalling(t)
	h, gone, late := lease.NewHolder(st.now), lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, 20*second, h)
	st.started(2, 20*second, gone)
	gone.Close(st.now)
	st.Restore(id(3), nodeOne, 20*second, st.now) // has until 30 s
	for range 4 {
		st.pass(second)
		st.due()
	}
	st.pass(30 * second)
	st.started(4, 20*second, late) // by a goroutine that was not stalled
	st.pass(30 * second)
	st.due()
	for _, c := range []struct {
		at   time.Duration
		want []uint64
	}{
		{85 * second, []uint64{1, 2}}, // 16 s were left
		{89 * second, []uint64{3, 4}}, // the full timeout was left
	} {
		for st.now.Before(start.Add(c.at - second)) {
			st.pass(second / 2)
			st.due()
		}
		st.dueAt(c.at, c.want...)
	}
	if c := st.Counts(); c.Stalls != 1 {
		t.Errorf("%d stalls; want one", c.Stalls)
	}
}

// TestAHostThatStallsAgainAndAgainEndsTheDead: however often a host stalls, a dead session ends after its timeout plus
// five quarters of the host's stalls.
func TestAHostThatStallsAgainAndAgainEndsTheDead(t *testing.T) {
	for name, c := range map[string]struct{ stall, every, timeout time.Duration }{
		"1.2 s of 9.7": {1200 * time.Millisecond, 9700 * time.Millisecond, 5 * second},
		"1.2 s of 3":   {1200 * time.Millisecond, 3 * second, 5 * second},
		"3 s of 4":     {3 * second, 4 * second, 30 * second},
	} {
		t.Run(name, func(t *testing.T) {
			st := stalling(t)
			h, gone := lease.NewHolder(st.now), lease.NewHolder(st.now)
			read, reader := readBy(st)
			st.started(1, c.timeout, h)
			st.started(2, c.timeout, gone)
			gone.Close(st.now)
			st.started(3, c.timeout, read)
			stood, ended := time.Duration(0), 0
			for next := second; ended < 3; next += c.every {
				for st.now.Before(start.Add(next)) {
					st.pass(stallTick)
					reader.last = st.now
					due, _ := st.Due(st.now, 10, nil)
					ended += len(due)
					bound := c.timeout + stood*5/4 + 2*stallTick
					if passed := st.now.Sub(start); ended < 3 && passed > bound {
						t.Fatalf("%d of 3 ended by %v, with stalls of %v; want all after %v", ended, passed, stood,
							bound)
					}
				}
				st.pass(c.stall)
				stood += c.stall + stallTick // the next check is one tick late, too
				reader.stood += c.stall
			}
		})
	}
}

// stallClient is a client that never falls silent: the client pings at every third of its timeout, and the host reads a
// ping at once, or after a stall.
type stallClient struct {
	holder  *lease.Holder
	timeout time.Duration
	next    time.Time // the next ping's arrival time
	unread  bool
}

// stallRun has clients ping a host with random stalls that then reads pending messages within a share of the stall's
// duration. It returns the number of due sessions.
func stallRun(t *testing.T, seed uint64, stallAfter time.Duration, readWithin float64) (ended int) {
	random := rand.New(rand.NewPCG(seed, 3))
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	st := emptyStage(t, stallAfter)
	st.lead()
	st.Restored()
	st.refresh()
	clients := make([]*stallClient, 20)
	for i := range clients {
		c := &stallClient{holder: lease.NewHolder(st.now), timeout: second + upTo(20*second)}
		c.next = st.now.Add(upTo(c.timeout / 3))
		clients[i] = c
		st.started(uint64(i+1), c.timeout, c.holder)
	}
	read := st.now // when everything received during the latest stall has been read
	for st.now.Before(start.Add(10 * time.Minute)) {
		step := stallTick
		if random.IntN(60) == 0 {
			step = second + 1 + upTo(15*second)
			read = st.now.Add(step + time.Duration(float64(step)*readWithin))
		}
		st.pass(step)
		for _, c := range clients {
			for !c.next.After(st.now) {
				c.next, c.unread = c.next.Add(c.timeout/3), true
			}
			if c.unread && !st.now.Before(read) {
				c.holder.Heard(st.now)
				c.unread = false
			}
		}
		due, _ := st.Due(st.now, 100, nil)
		ended += len(due)
	}
	return ended
}

// TestNoSessionEndsBecauseOfStalls: no session ends because a stalled host could not read its client's messages.
func TestNoSessionEndsBecauseOfStalls(t *testing.T) {
	for seed := range uint64(20) {
		if ended := stallRun(t, seed, second, 0.2); ended > 0 {
			t.Fatalf("seed %d: %d sessions ended whose clients spoke all the time", seed, ended)
		}
	}
}

// TestWhatAStallTookIsNeededBack: both parts of the extension after a stall are needed.
func TestWhatAStallTookIsNeededBack(t *testing.T) {
	for name, c := range map[string]struct {
		stallAfter time.Duration
		readWithin float64
	}{
		"its length":               {time.Hour, 0.2},
		"the time for catching up": {second, 0.6},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				if stallRun(t, seed, c.stallAfter, c.readWithin) > 0 {
					return
				}
			}
			t.Error("nobody misses it")
		})
	}
}

func TestCallsOfDueAsOftenAsNextSaysAreNoStall(t *testing.T) {
	st := emptyStage(t, 0)
	st.lead()
	for range 100 {
		st.due()
		st.pass(st.Next(st.now))
	}
	if c := st.Counts(); c.Stalls != 0 {
		t.Errorf("%d stalls", c.Stalls)
	}
}

func TestAStallDetectorNoticesAPause(t *testing.T) {
	p := lease.NewStallDetector(second)
	now := start.Add(time.Hour)
	for _, c := range []struct {
		after   time.Duration
		stalled bool
	}{{0, false}, {second, false}, {second + 1, true}, {second, false}} {
		if now = now.Add(c.after); p.Tick(now) != c.stalled {
			t.Errorf("a tick after %v: stalled %v; want %v", c.after, !c.stalled, c.stalled)
		}
	}
}
