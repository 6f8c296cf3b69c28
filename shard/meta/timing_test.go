package meta

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

func TestTimingThroughSeveralChangesAndConfirmations(t *testing.T) {
	m := New()
	id := ok(t, m, create("/a", cfg(500, 20_000))).Node.ID
	for i, step := range []struct {
		command Command
		status  protocol.Status
		timing  Timing
	}{
		{alter("/a", cfg(0, 10_000)), protocol.StatusSuccess, Timing{2, 20_000, 10_000, 500}},
		{alter("/a", cfg(0, 15_000)), protocol.StatusSuccess, Timing{3, 20_000, 10_000, 500}},
		// late: some host may have version 2 alone
		{confirmed(id, 2), protocol.StatusPreconditionFailed, Timing{3, 20_000, 10_000, 500}},
		{alter("/a", cfg(0, 5_000)), protocol.StatusSuccess, Timing{4, 20_000, 5_000, 500}},
		{confirmed(id, 3), protocol.StatusPreconditionFailed, Timing{4, 20_000, 5_000, 500}},
		{confirmed(id, 5), protocol.StatusPreconditionFailed, Timing{4, 20_000, 5_000, 500}}, // no such version yet
		{confirmed(id, 4), protocol.StatusSuccess, Timing{4, 5_000, 5_000, 500}},
		{confirmed(id, 4), protocol.StatusSuccess, Timing{4, 5_000, 5_000, 500}},
		{confirmed(id, 2), protocol.StatusPreconditionFailed, Timing{4, 5_000, 5_000, 500}},
		{alter("/a", Config{ReadConsistency: protocol.ConsistencyStrict}), protocol.StatusSuccess,
			Timing{4, 5_000, 5_000, 500}},
		// a raise is as slow as a lowering
		{alter("/a", cfg(0, 30_000)), protocol.StatusSuccess, Timing{6, 30_000, 5_000, 500}},
		{confirmed(id, 5), protocol.StatusPreconditionFailed, Timing{6, 30_000, 5_000, 500}},
		{alter("/a", cfg(4_000, 0)), protocol.StatusSuccess, Timing{7, 30_000, 5_000, 500}},
		{alter("/a", Config{ReadConsistency: protocol.ConsistencyRelaxed}), protocol.StatusSuccess,
			Timing{7, 30_000, 5_000, 500}},
		{confirmed(id, 7), protocol.StatusSuccess, Timing{7, 30_000, 30_000, 4_000}}, // version 8 changed no timing
		{alter("/a", cfg(0, 20_000)), protocol.StatusSuccess, Timing{9, 30_000, 20_000, 4_000}},
		// as before, but not confirmed
		{alter("/a", cfg(0, 30_000)), protocol.StatusSuccess, Timing{10, 30_000, 20_000, 4_000}},
		{confirmed(id, 10), protocol.StatusSuccess, Timing{10, 30_000, 30_000, 4_000}},
	} {
		e := do(m, step.command)
		if n, _ := m.NodeByID(id); e.Status != step.status || n.Timing != step.timing {
			t.Fatalf("step %d: %v (%s), %+v; want %v, %+v", i, e.Status, e.Message, n.Timing, step.status, step.timing)
		}
		if byPath, _ := m.Node("/a"); byPath.Timing != step.timing {
			t.Fatalf("step %d: the node by path has another timing: %+v", i, byPath.Timing)
		}
	}
}

func TestGraceConfirmedRules(t *testing.T) {
	m := New()
	id := ok(t, m, create("/a", Config{})).Node.ID
	want(t, m, protocol.StatusBadRequest, confirmed(0, 1))
	want(t, m, protocol.StatusBadRequest, confirmed(id, 0))
	want(t, m, protocol.StatusNotFound, confirmed(id+1, 1))
	ok(t, m, drop("/a"))
	want(t, m, protocol.StatusNotFound, confirmed(id, 1))
	ok(t, m, create("/a", cfg(0, 2000)))
	list := run(m, alter("/a", cfg(0, 3000)), confirmed(id+1, 2))
	if kinds(list) != "result node-changed result node-changed " ||
		list[3].Node.Timing.GraceFloorMillis != 3000 {
		t.Errorf("%+v", list)
	}
}

// lagging is a node as seen by hosts that lag arbitrarily, but never behind their reports to the leader.
type lagging struct {
	random *rand.Rand
	m      *Machine
	node   Node
	log    []Node // node after each command
	views  []int  // number of skipped alters per executed one
	bag    []Command
	calm   int // how many alters are thought of for one that is made
}

func newLagging(seed uint64, hosts int) *lagging {
	random := rand.New(rand.NewPCG(seed, 1))
	l := &lagging{random: random, m: New(), views: make([]int, hosts), calm: 1 + random.IntN(20)}
	l.commit(create("/a", cfg(500, 10_000)))
	return l
}

func (l *lagging) commit(c Command) {
	do(l.m, c)
	l.node, _ = l.m.Node("/a")
	l.log = append(l.log, l.node)
}

func (l *lagging) view(host int) Timing { return l.log[l.views[host]].Timing }

// step does one random thing: an alter; a host catches up, partly or completely; or a confirmation, true when proposed,
// and committed later, possibly never, possibly twice.
func (l *lagging) step() {
	switch l.random.IntN(8) {
	case 0:
		if l.random.IntN(l.calm) == 0 {
			l.commit(alter("/a", cfg(0, 1000*(1+l.random.Uint64N(30)))))
		}
	case 1:
		if l.random.IntN(l.calm) == 0 {
			l.commit(alter("/a", cfg(500*(1+l.random.Uint64N(20)), 0)))
		}
	case 2, 3:
		h := l.random.IntN(len(l.views))
		l.views[h] += l.random.IntN(len(l.log) - l.views[h])
	case 4:
		l.views[l.random.IntN(len(l.views))] = len(l.log) - 1
	case 5, 6:
		least := l.node.Version
		for h := range l.views {
			least = min(least, l.log[l.views[h]].Version)
		}
		l.bag = append(l.bag[max(0, len(l.bag)-3):], confirmed(l.node.ID, least))
	case 7:
		if len(l.bag) > 0 {
			i := l.random.IntN(len(l.bag))
			l.commit(l.bag[i])
			if l.random.IntN(2) == 0 {
				l.bag = append(l.bag[:i], l.bag[i+1:]...)
			}
		}
	}
}

func TestNoHostReliesOnMoreThanAnyOtherWaitsFor(t *testing.T) {
	confirmations, apart := 0, 0
	for seed := range uint64(200) {
		l := newLagging(seed, 4)
		for range 300 {
			l.step()
			for a := range l.views {
				for b := range l.views {
					if l.view(a).GraceCeilingMillis > l.view(b).GraceFloorMillis {
						t.Fatalf("seed %d: one host answers for %+v while another expires by %+v", seed, l.view(a),
							l.view(b))
					}
				}
				if v := l.view(a); v.SelfCheckCeilingMillis >= v.GraceCeilingMillis {
					t.Fatalf("seed %d: a leader cannot stay fresh by %+v", seed, v)
				}
				if l.view(a) != l.view(0) {
					apart++
				}
			}
			if l.node.Version > 1 && l.node.Confirmed() {
				confirmations++
			}
		}
	}
	if confirmations == 0 || apart == 0 {
		t.Errorf("the test shows nothing: %d times confirmed, %d times apart", confirmations, apart)
	}
}

// TestNoSessionEndsBeforeItsLease simulates DESIGN.md's rules for hosts, tick by tick (a tick is 1 s): host 0 leads and
// began its last successful barrier at tick 100; host 1 leads from some later tick on.
func TestNoSessionEndsBeforeItsLease(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	const barrier, timeout, end = 100, 10, 150
	tight := 0
	for seed := range uint64(10_000) {
		l := newLagging(seed, 2)
		lead := barrier + l.random.IntN(3)
		busy := 1 + l.random.IntN(4)
		lastAnswer, firstExpiry := 0, end
		smallest, largest := ^uint64(0), uint64(0)
		for now := range end {
			for range l.random.IntN(busy + 1) {
				l.step()
			}
			if now >= barrier {
				smallest = min(smallest, l.view(0).GraceCeilingMillis)
				if uint64(now-barrier)*1000 < smallest {
					lastAnswer = now
				}
			}
			if now >= lead {
				largest = max(largest, l.view(1).GraceFloorMillis)
				if uint64(now-lead)*1000 >= timeout*1000+largest {
					firstExpiry = min(firstExpiry, now)
				}
			}
		}
		if lease := lastAnswer + timeout; lease > firstExpiry {
			t.Fatalf("seed %d: a lease until %d, and an expiry at %d", seed, lease, firstExpiry)
		} else if lease+2 >= firstExpiry {
			tight++
		}
	}
	if tight == 0 {
		t.Error("no lease came near its expiry: the test shows nothing")
	}
}

func ExampleTiming() {
	m := New()
	run(m, create("/jobs", cfg(1000, 20_000)))
	show := func(what string) {
		n, _ := m.Node("/jobs")
		fmt.Printf("%-20s answer for %5d ms, expire after %5d ms more\n",
			what, n.Timing.GraceCeilingMillis, n.Timing.GraceFloorMillis)
	}
	show("created")
	run(m, alter("/jobs", cfg(0, 5_000)))
	show("lowered")
	run(m, confirmed(1, 2))
	show("seen by all hosts")
	run(m, alter("/jobs", cfg(0, 30_000)))
	show("raised")
	run(m, confirmed(1, 3))
	show("seen by all hosts")
	// Output:
	// created              answer for 20000 ms, expire after 20000 ms more
	// lowered              answer for  5000 ms, expire after 20000 ms more
	// seen by all hosts    answer for  5000 ms, expire after  5000 ms more
	// raised               answer for  5000 ms, expire after 30000 ms more
	// seen by all hosts    answer for 30000 ms, expire after 30000 ms more
}
