package memlog_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// realCluster is a cluster in real time. Its machines signal every leadership change.
type realCluster struct {
	t        *testing.T
	net      *memlog.Network
	logs     map[shard.HostID]*memlog.Log
	machines map[shard.HostID]*realRecorder
	changes  chan struct{} // has a token after a leadership change
}

type realRecorder struct {
	*recorder
	changes chan struct{}
	held    chan struct{} // if not nil, Apply waits for it
	entered chan struct{} // if not nil, closed by the first Apply
	stall   chan struct{} // if not nil, closed by the first Save, which waits to be stopped
}

func (r *realRecorder) LeadershipChanged(l shard.Leadership) {
	r.recorder.LeadershipChanged(l)
	select {
	case r.changes <- struct{}{}:
	default:
	}
}

func (r *realRecorder) Apply(entries []shard.Entry) error {
	if r.held != nil {
		defer r.enter("a held Apply")()
		close(r.entered)
		<-r.held
		return nil
	}
	return r.recorder.Apply(entries)
}

func (r *realRecorder) PrepareSnapshot() (shard.Snapshot, error) {
	s, err := r.recorder.PrepareSnapshot()
	s.(*recording).saving = r.stall
	return s, err
}

func newRealCluster(t *testing.T, cfg memlog.Config, hosts int) *realCluster {
	t.Helper()
	for h := range hosts {
		cfg.Hosts = append(cfg.Hosts, shard.HostID(h+1))
	}
	n, err := memlog.NewNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	c := &realCluster{
		t: t, net: n, changes: make(chan struct{}, 1),
		logs: map[shard.HostID]*memlog.Log{}, machines: map[shard.HostID]*realRecorder{},
	}
	for _, h := range cfg.Hosts {
		c.machines[h] = &realRecorder{recorder: newRecorder(t), changes: c.changes}
	}
	return c
}

func (r *realCluster) open(hosts ...shard.HostID) {
	r.t.Helper()
	for _, h := range hosts {
		l, err := r.net.Open(h, theGroup, r.machines[h])
		if err != nil {
			r.t.Fatal(err)
		}
		r.logs[h] = l
	}
}

// leader waits for a leader other than the given host.
func (r *realCluster) leader(not shard.HostID) shard.HostID {
	r.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		for h, l := range r.logs {
			if h != not && l.Leadership().Leader == h {
				return h
			}
		}
		select {
		case <-r.changes:
		case <-deadline:
			r.t.Fatal("no leader")
		}
	}
}

// believes waits until a host believes that the given host leads.
func (r *realCluster) believes(h, leader shard.HostID) {
	r.t.Helper()
	deadline := time.After(30 * time.Second)
	for r.logs[h].Leadership().Leader != leader {
		select {
		case <-r.changes:
		case <-deadline:
			r.t.Fatalf("host %d believes %v", h, r.logs[h].Leadership())
		}
	}
}

func (r *realCluster) propose(h shard.HostID, batch string) shard.Outcome {
	r.t.Helper()
	result := make(chan shard.Outcome, 1)
	if err := r.logs[h].Propose([]byte(batch), func(o shard.Outcome) { result <- o }); err != nil {
		r.t.Fatal(err)
	}
	return <-result
}

func (r *realCluster) barrier(h shard.HostID) error {
	r.t.Helper()
	result := make(chan error, 1)
	if err := r.logs[h].Barrier(func(err error) { result <- err }); err != nil {
		r.t.Fatal(err)
	}
	return <-result
}

// inBothTimes runs a test in real time, and in the virtual time of a bubble.
func inBothTimes(t *testing.T, test func(*testing.T)) {
	t.Run("by the clock", test)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, test) })
}

func TestNetworkRunsInRealTime(t *testing.T) {
	inBothTimes(t, func(t *testing.T) {
		c := newRealCluster(t, memlog.Config{
			ElectionTimeout: 20 * time.Millisecond, BarrierTimeout: 50 * time.Millisecond,
		}, 3)
		defer func() { _ = c.net.Close() }()
		c.open(1, 2, 3)
		first := c.leader(0)
		if o := c.propose(first, "a"); o != shard.OutcomeApplied {
			t.Fatalf("outcome %v", o)
		}
		for h := range c.logs {
			if err := c.barrier(h); err != nil {
				t.Errorf("host %d: %v", h, err)
			}
			if !c.machines[h].holds("a") {
				t.Errorf("host %d has %v after a barrier", h, c.machines[h].applied())
			}
		}

		c.net.Isolate(first)
		next := c.leader(first)
		if o := c.propose(next, "b"); o != shard.OutcomeApplied {
			t.Fatalf("outcome %v", o)
		}
		if err := c.barrier(first); !errors.Is(err, shard.ErrNoQuorum) {
			t.Errorf("barrier of the old leader: %v", err)
		}
		c.net.HealAll()
		c.believes(first, next)
		if err := c.barrier(first); err != nil {
			t.Errorf("barrier of the old leader as a follower: %v", err)
		}
		if got := c.machines[first].applied(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("the old leader has %v", got)
		}
	})
}

func TestVirtualTimeOfABubblePassesWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRealCluster(t, memlog.Config{
			Path: memlog.Path{Delay: memlog.Exactly(10 * time.Millisecond)},
		}, 3)
		defer func() { _ = c.net.Close() }()
		c.open(1, 2, 3)
		if h := c.leader(0); h != 1 {
			t.Fatalf("host %d leads", h)
		}
		time.Sleep(24 * time.Hour) // bubble time: no real wait
		start := time.Now()
		if err := c.barrier(1); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 20*time.Millisecond {
			t.Errorf("a barrier over 10ms links took %v", took)
		}
		if now := c.net.Now(1); !now.Equal(time.Now()) {
			t.Errorf("the host's clock shows %v, the bubble's %v", now, time.Now())
		}
		fired := make(chan time.Time)
		c.net.AfterFunc(1, time.Second, func() { fired <- time.Now() })
		start = time.Now()
		if d := (<-fired).Sub(start); d != time.Second {
			t.Errorf("a second took %v", d)
		}
	})
}

func TestPausedHostIsQuietInRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRealCluster(t, memlog.Config{}, 3)
		defer func() { _ = c.net.Close() }()
		c.open(1, 2, 3)
		c.leader(0)
		c.net.Pause(3)
		if o := c.propose(1, "a"); o != shard.OutcomeApplied {
			t.Fatalf("outcome %v", o)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.machines[3].holds("a") {
			t.Error("the paused host applied a batch")
		}
		c.net.Resume(3)
		synctest.Wait()
		if !c.machines[3].holds("a") {
			t.Error("the resumed host did not")
		}
	})
}

func TestCloseWaitsForTheStateMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRealCluster(t, memlog.Config{}, 1)
		defer func() { _ = c.net.Close() }()
		m := c.machines[1]
		m.held, m.entered = make(chan struct{}), make(chan struct{})
		c.open(1)
		c.leader(0)
		var outcome shard.Outcome
		if err := c.logs[1].Propose([]byte("a"), func(o shard.Outcome) { outcome = o }); err != nil {
			t.Fatal(err)
		}
		<-m.entered
		returned := false
		go func() {
			_ = c.logs[1].Close()
			m.closed.Store(true)
			returned = true
		}()
		synctest.Wait()
		if returned {
			t.Fatal("Close returned while Apply was under way")
		}
		close(m.held)
		synctest.Wait()
		if !returned || outcome != shard.OutcomeUnknown {
			t.Errorf("returned %v, outcome %v", returned, outcome)
		}
	})
}

func TestSaveRunsBesideApplyAndIsStoppedByClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newRealCluster(t, memlog.Config{SnapshotEvery: 2}, 1)
		defer func() { _ = c.net.Close() }()
		m := c.machines[1]
		m.stall = make(chan struct{})
		c.open(1)
		c.leader(0)
		for i := range 10 {
			if o := c.propose(1, fmt.Sprint("b", i)); o != shard.OutcomeApplied {
				t.Fatalf("outcome %v", o)
			}
		}
		<-m.stall // a snapshot is being saved
		if o := c.propose(1, "beside"); o != shard.OutcomeApplied {
			t.Fatalf("outcome %v", o)
		}
		if err := c.logs[1].Close(); err != nil {
			t.Fatal(err)
		}
		if m.prepares != 1 || m.discards != 1 {
			t.Errorf("%d snapshots prepared, %d released", m.prepares, m.discards)
		}
	})
}

func TestEveryCallbackComesOnceWhateverIsClosedMeanwhile(t *testing.T) {
	c := newRealCluster(t, memlog.Config{
		SnapshotEvery: 50, ElectionTimeout: 20 * time.Millisecond,
		ProposalTimeout: 20 * time.Millisecond, BarrierTimeout: 20 * time.Millisecond,
	}, 3)
	c.open(1, 2, 3)
	c.leader(0)
	var mu sync.Mutex
	begun, ended := 0, 0
	begin := func() {
		mu.Lock()
		begun++
		mu.Unlock()
	}
	end := func() {
		mu.Lock()
		ended++
		mu.Unlock()
	}
	var proposers sync.WaitGroup
	for h, l := range c.logs {
		for k := range 3 {
			proposers.Go(func() {
				for i := 0; ; i++ {
					answered := make(chan struct{}, 2)
					done := func() {
						end()
						answered <- struct{}{}
					}
					err := l.Propose(fmt.Appendf(nil, "%d-%d-%d", h, k, i), func(shard.Outcome) { done() })
					if errors.Is(err, shard.ErrLogClosed) {
						return
					}
					if err != nil {
						t.Errorf("host %d: %v", h, err)
						return
					}
					begin()
					if i%3 == 0 && l.Barrier(func(error) { done() }) == nil {
						begin()
						<-answered
					}
					<-answered
				}
			})
		}
	}
	for _, h := range []shard.HostID{3, 1, 2} {
		for range 30 { // some work between two closes
			_ = c.barrier(2)
		}
		if err := c.logs[h].Close(); err != nil {
			t.Error(err)
		}
		c.machines[h].closed.Store(true)
		if err := c.logs[h].Close(); err != nil {
			t.Errorf("closing twice: %v", err)
		}
		if err := c.logs[h].Barrier(func(error) {}); !errors.Is(err, shard.ErrLogClosed) {
			t.Errorf("a barrier on a closed log: %v", err)
		}
		if err := c.logs[h].Transfer(1); !errors.Is(err, shard.ErrLogClosed) {
			t.Errorf("a transfer on a closed log: %v", err)
		}
	}
	proposers.Wait()
	if err := c.net.Close(); err != nil { // all callbacks have run afterwards
		t.Error(err)
	}
	if begun != ended || begun == 0 {
		t.Errorf("%d proposals and barriers, %d callbacks", begun, ended)
	}
}

func TestCallbackMayCallTheLog(t *testing.T) {
	inBothTimes(t, func(t *testing.T) {
		c := newRealCluster(t, memlog.Config{}, 1)
		defer func() { _ = c.net.Close() }()
		c.open(1)
		l := c.logs[1]
		c.leader(0)
		closed := make(chan error)
		err := l.Propose([]byte("a"), func(shard.Outcome) {
			_ = l.Barrier(func(error) {
				_ = l.Leadership()
				_ = l.Propose([]byte("b"), func(shard.Outcome) { closed <- l.Close() })
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestNetworkThatRunsInRealTimeCannotBeStepped(t *testing.T) {
	c := newRealCluster(t, memlog.Config{}, 1)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		_ = c.net.Close()
		if _, err := c.net.Open(1, theGroup, c.machines[1]); !errors.Is(err, shard.ErrLogClosed) {
			t.Errorf("opening on a closed network: %v", err)
		}
	}()
	c.net.Step()
}
