package loadgen

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// Each test feeds a check with an invalid history, and with a valid history.

func TestTurnstileFindsTwoOwnersOfOneLock(t *testing.T) {
	x := holders{name: "x", limit: 1}
	check(t, x.add(1))
	wantError(t, x.add(2), "has a limit of 1, and 2 believe to own it")
	x.remove()
	x.remove()
	check(t, x.add(3))
}

func TestTurnstileFindsMoreOwnersThanTheLimit(t *testing.T) {
	x := holders{name: "x", limit: 3}
	for _, fence := range []uint64{7, 5, 6} { // simultaneous owners may be seen in any order
		check(t, x.add(fence))
	}
	wantError(t, x.add(8), "has a limit of 3, and 4 believe to own it")
}

func TestTurnstileFindsFencesThatDoNotGrow(t *testing.T) {
	for _, fence := range []uint64{4, 5} {
		x := holders{name: "x", limit: 1}
		check(t, x.add(5))
		x.remove()
		wantError(t, x.add(fence), "fences must grow")
	}
}

func TestLockFindsAnotherOwner(t *testing.T) {
	owner := client.Owner{OrderID: 5, SessionID: 7, Count: 1}
	d := &client.SemaphoreDetails{Owners: []client.Owner{owner}}
	check(t, owns(d, 7, 5))
	wantError(t, owns(d, 8, 5), "was granted to session 8")
	wantError(t, owns(d, 7, 6), "under the fence 6")
	wantError(t, owns(&client.SemaphoreDetails{}, 7, 5), "its owners are []")
	d.Owners = append(d.Owners, owner)
	wantError(t, owns(d, 7, 5), "its owners are")
}

func TestLockFindsASemaphoreThatIsNotFreeInTheEnd(t *testing.T) {
	w, r := prepared[*lock](t, of("lock"))
	check(t, w.caller(3)(t.Context()))
	check(t, w.check(t.Context()))
	_, err := outsider(t, r).Semaphore(r.name("lock", 3)).Acquire(t.Context())
	check(t, err)
	wantError(t, w.check(t.Context()), "has 1 owners and 0 waiters")
}

func TestStrictReadFindsWhatIsMissing(t *testing.T) {
	var p piece
	p.asked.Store(5)
	check(t, p.judge(client.Strict, 4, 4))
	check(t, p.judge(client.Strict, 4, 5))
	wantError(t, p.judge(client.Strict, 4, 3), "but change 4 was acknowledged before")
	check(t, p.judge(client.Relaxed, 4, 3))
	wantError(t, p.judge(client.Relaxed, 4, 6), "but only 5 changes were made")
}

func TestSessionFindsOneThatIsLeft(t *testing.T) {
	w, r := prepared[*session](t, of("session"))
	check(t, w.caller(0)(t.Context()))
	check(t, w.check(t.Context()))
	outsider(t, r)
	wantError(t, w.check(t.Context()), "1 sessions are left")
}

func TestIdleFindsASessionThatIsOver(t *testing.T) {
	w, r := prepared[*idle](t, of("idle"))
	check(t, w.check(t.Context()))
	x := w.sessions[7]
	id := x.ID()
	check(t, r.fleet.client(0).DestroySession(t.Context(), id))
	<-x.Context().Done()
	err := w.check(t.Context())
	wantError(t, err, "session")
	wantError(t, err, "is expired")
	wantError(t, err, "40 sessions are held, but the hosts have 39")
}

func TestInstancesFindTargetsThatAreMissingOrGoBack(t *testing.T) {
	for _, h := range []struct {
		history []uint64
		says    string
	}{
		{history: []uint64{1, 2, 2, 3}}, // a snapshot may repeat known values
		{history: []uint64{1, 2, 4}, says: "was sent version 4 after 2"},
		{history: []uint64{1, 2, 1}, says: "was sent version 1 after 2"},
	} {
		r := &run{}
		load := &rolloutTargets{run: r, stages: newStages(1, "publish", "target", "reach")}
		x := &targetSink{load: load, publisher: &publisher{series: series{name: "x", round: newRound()}}}
		for _, n := range h.history {
			head := protocol.AppendRecord(nil, &protocol.RolloutTarget{Generation: n, Seq: n, Payload: marked(20, n)})
			x.delta(&protocol.WatchDelta{DataChanged: true, Data: head})
		}
		if h.says == "" {
			if list := r.broken.list(); len(list) > 0 {
				t.Errorf("%v: %q", h.history, list)
			}
			continue
		}
		wantBroken(t, r, h.says)
	}
}

func TestReportsFindAnInstanceOfWhichTheRolloutKnowsSomethingElse(t *testing.T) {
	w, r := prepared[*rolloutReports](t, of("rollout-reports"))
	check(t, w.caller(1)(t.Context()))
	check(t, w.check(t.Context()))
	if list := r.broken.list(); len(list) > 0 {
		t.Errorf("all is well, and found is %q", list)
	}
	w.instances[1].last = rollout.Failed
	check(t, w.check(t.Context()))
	wantBroken(t, r, "instance 1 has reported last that it is failed, and the rollout knows updating")
}

func TestBarriersFindOneThatIsPassedTooEarly(t *testing.T) {
	for _, c := range []struct {
		come, gone int32 // of the others
		says       string
	}{
		{parties - 2, parties - 1, "entered a barrier with 2 of 3 parties present"},
		{parties - 1, parties - 2, "left a barrier with 2 of 3 parties leaving"},
	} {
		w, r := prepared[*barriers](t, of("barrier"))
		m := w.all[0]
		session, err := r.session(t.Context(), 0)
		check(t, err)
		m.parties[0] = barrier.New(session, r.name("too-small", 0), 1) // a barrier that admits all parties at once
		var counts roundCounts
		counts.come.Store(c.come)
		counts.gone.Store(c.gone)
		_, err = w.pass(t.Context(), m, 0, &counts)
		check(t, err)
		wantBroken(t, r, c.says)
	}
}

func TestBarriersFindGenerationsThatGoBack(t *testing.T) {
	w, r := prepared[*barriers](t, of("barrier"))
	check(t, w.caller(0)(t.Context()))
	if list := r.broken.list(); len(list) > 0 {
		t.Errorf("all is well, and found is %q", list)
	}
	w.all[0].generation = 1 << 62
	check(t, w.caller(0)(t.Context()))
	wantBroken(t, r, "parties in a round have the generations")
}

func TestWatcherFindsUpdatesThatAreMissingOrGoBack(t *testing.T) {
	for _, h := range []struct {
		history []uint64
		free    bool
		says    string
	}{
		{history: []uint64{0, 1, 2, 3}},
		{history: []uint64{1, 2, 2, 3}}, // a snapshot may repeat known values
		{history: []uint64{1, 2, 4}, says: "was shown update 4 after 2: updates are missing"},
		{history: []uint64{1, 2, 4}, free: true},
		{history: []uint64{1, 2, 1}, says: "was shown update 1 after 2"},
		{history: []uint64{1, 9, 8}, free: true, says: "was shown update 8 after 9"},
	} {
		r := &run{config: Config{Free: h.free}}
		x := &watcher{run: r, updater: &updater{series: series{name: "x", round: newRound()}}}
		for _, n := range h.history {
			x.snapshot(&protocol.WatchSnapshot{First: true, Data: marked(20, n)})
		}
		if h.says == "" {
			if list := r.broken.list(); len(list) > 0 {
				t.Errorf("%v: %q", h.history, list)
			}
			continue
		}
		wantBroken(t, r, h.says)
	}
}

func TestWatchEndsOnlyWhenEverybodyHasTheLastUpdate(t *testing.T) {
	w, r := prepared[*watch](t, of("watch"))
	check(t, w.check(t.Context()))
	// An extra follower that does not exist and never sees an update.
	w.updaters[0].followers++
	ctx, cancel := withTimeout(t, 300*time.Millisecond)
	defer cancel()
	if err := w.check(ctx); err == nil {
		t.Error("a watcher is missing, and nobody noticed")
	}
	if list := r.broken.list(); len(list) > 0 {
		t.Errorf("broken are %q", list)
	}
}

func TestAWatchThatBreaksOffIsReported(t *testing.T) {
	srv := servertest.Start(t)
	c, err := short(srv, "watch").complete()
	check(t, err)
	r := &run{config: c, prefix: "test/"}
	defer r.fleet.close()
	check(t, r.open(t.Context()))
	w := &watch{}
	check(t, w.prepare(t.Context(), r))
	defer r.end()
	srv.CutClients(1)
	for _, s := range w.watcherConns.streams {
		<-s.down
	}
	if list := r.broken.list(); len(list) != len(w.watcherConns.streams) {
		t.Errorf("broken are %q, of %d connections", list, len(w.watcherConns.streams))
	}
}

func TestFollowerFindsValuesThatAreMissingOrGoBack(t *testing.T) {
	for _, h := range []struct {
		history []uint64
		doubts  uint64
		says    string
	}{
		{history: []uint64{0, 1, 2, 3}},
		{history: []uint64{1, 3}, says: "was shown value 3 after 1"},
		{history: []uint64{1, 3}, doubts: 1},
		{history: []uint64{2, 1}, says: "was shown value 1 after 2"},
	} {
		r := &run{}
		x := &follower{run: r, of: &putter{series: series{name: "x", round: newRound()}}}
		x.of.doubts.Store(h.doubts)
		for _, n := range h.history {
			x.see(n)
		}
		if h.says == "" {
			if list := r.broken.list(); len(list) > 0 {
				t.Errorf("%v: %q", h.history, list)
			}
			continue
		}
		wantBroken(t, r, h.says)
	}
}

func TestConfigFindsAnotherValueThanTheLast(t *testing.T) {
	p := &putter{series: series{name: "x", number: 5}, confirmed: 4}
	check(t, p.judge(4))
	check(t, p.judge(5))
	wantError(t, p.judge(3), "has value 3, but the last put value is 4")
	wantError(t, p.judge(6), "has value 6")
}

func TestConsumersFindAListThatIsNotTheHosts(t *testing.T) {
	w, r := prepared[*discoveries](t, of("discovery"))
	check(t, w.caller(0)(t.Context()))
	check(t, w.check(t.Context()))
	if list := r.broken.list(); len(list) > 0 {
		t.Fatalf("broken are %q", list)
	}
	x := w.consumers[3]
	x.mu.Lock()
	delete(x.workers, firstKey(x.workers))
	x.mu.Unlock()
	check(t, w.check(t.Context()))
	wantBroken(t, r, "consumer 3: it has 14 workers")
}

func firstKey(m map[uint64]int) uint64 {
	least := uint64(math.MaxUint64)
	for k := range m {
		least = min(least, k)
	}
	return least
}

func TestConsumerFindsAGapInWhatItIsSent(t *testing.T) {
	r := &run{}
	w := &discoveries{run: r}
	x := newConsumer(w, make(chan struct{}, 1))
	x.snapshot(&protocol.WatchSnapshot{First: true, Last: true, Revision: 5})
	x.delta(&protocol.WatchDelta{From: 4, To: 6})
	x.delta(&protocol.WatchDelta{From: 3, To: 4}) // known already
	if list := r.broken.list(); len(list) > 0 {
		t.Fatalf("broken are %q", list)
	}
	x.delta(&protocol.WatchDelta{From: 7, To: 8})
	wantBroken(t, r, "with revision 6 was sent the changes from 7 to 8")
}

func TestConsumerFindsAnEndpointOfNoWorker(t *testing.T) {
	r := &run{}
	x := newConsumer(&discoveries{run: r}, make(chan struct{}, 1))
	d := &protocol.WatchDelta{From: 0, To: 1}
	d.Joined.Append(protocol.Owner{OrderID: 1, Data: []byte("10.0.0.9:8080")})
	x.delta(d)
	wantBroken(t, r, "that no worker has registered")
}

func TestAddressesOfWorkers(t *testing.T) {
	for _, worker := range []int{0, 1, 255, 256, 65_537, 1<<workerBits - 1} {
		if got := workerOf(addressOf(worker)); got != worker {
			t.Errorf("%s is of worker %d, and not %d", addressOf(worker), got, worker)
		}
	}
	for _, other := range []string{"", "10.0.0.1", "11.0.0.1:8080", "10.a.0.1:8080"} {
		if got := workerOf(other); got != -1 {
			t.Errorf("%q is of worker %d", other, got)
		}
	}
}

func TestManyViolationsAreCounted(t *testing.T) {
	var v violations
	for range maxViolations + 5 {
		v.add(errTest)
	}
	if list := v.list(); len(list) != maxViolations+1 || list[maxViolations] != "and 5 more" {
		t.Errorf("%q", list)
	}
}

func TestWhoLosesWhatItHoldsIsNotInside(t *testing.T) {
	w, r := prepared[*contention](t, func(srv *servertest.Cluster) Config {
		c := short(srv, "handoff")
		c.Hold = patience
		return c
	})
	lost := make(chan error, 1)
	go func() { lost <- w.caller(0)(t.Context()) }()
	for w.holders.now.Load() == 0 {
		runtime.Gosched()
	}
	check(t, r.fleet.client(0).DestroySession(t.Context(), w.sessions[0].ID()))
	if err := <-lost; statusOf(err) != "LEASE_LOST" && statusOf(err) != "SESSION_EXPIRED" {
		t.Errorf("the error is %v", err)
	}
	r.config.Hold = 0
	check(t, w.caller(1)(t.Context()))
	if list := r.broken.list(); len(list) > 0 {
		t.Errorf("broken are %q", list)
	}
}
