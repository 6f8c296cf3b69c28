package raftlog

import (
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
)

// filesOf is an in-memory disk in the form used by a host.
func filesOf(m *outage.Memory) *Files {
	return &Files{
		FS: m, SegmentBytes: 256 << 10,
		OpenData:      func(name string) (direct.File, error) { return m.OpenData(name) },
		LockDirectory: func(string) (io.Closer, error) { return io.NopCloser(nil), nil },
	}
}

// endings are the possible disks of a host that ends at any step of some calls.
type endings struct {
	memory   *outage.Memory
	draw     func() outage.Draw
	watching atomic.Bool

	mu  sync.Mutex
	all []ending // guarded by mu
}

type ending struct {
	step outage.Step
	disk *outage.Memory
}

// before is called before each step. Files beside the data directory are ignored.
func (e *endings) before(s outage.Step) error {
	if !e.watching.Load() || strings.Contains(s.Name, ".scratch") {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ending{s, e.memory.AfterKill()}, ending{s, e.memory.AfterPowerFailure(e.draw())})
	return nil
}

// loneInMemory returns a single host on an in-memory disk, with short elections.
func loneInMemory(t *testing.T, m *outage.Memory) *member {
	return newCluster(t, 1, func(c *Config) {
		fewEntries(c)
		c.DataDir, c.Files, c.Tick = "/data/host", filesOf(m), 2*time.Millisecond
	})[0]
}

// regroupEndings makes a host begin a new group, and returns the disks for all possible ends on the way. The new
// group's state is the host's old state, plus one batch. An earlier attempt may have ended before the new replica was
// recorded.
func regroupEndings(t *testing.T, again bool) (all []ending, had, given []string) {
	random, drawn := powerRandom(t), 0
	e := &endings{memory: outage.NewMemory("/data"), draw: func() outage.Draw {
		if drawn++; drawn%2 == 0 {
			return outage.Extremes[drawn/2%len(outage.Extremes)]
		}
		return outage.RandomDraw(random)
	}}
	e.memory.Before = e.before
	m := loneInMemory(t, e.memory)
	m.open()
	leaderOf(t, []*member{m})
	had = m.mustPropose(0, 45)
	m.machine.awaitBatches(t, had)
	if again {
		m.importUnrecorded(1030)
	}
	e.watching.Store(true)
	given = append(m.salvage().applied(), "regrouped")
	if err := m.host.Regroup(t.Context(), testShard, 1030, 1, withBatches(given...)); err != nil {
		t.Fatal(err)
	}
	e.watching.Store(false)
	e.all = append(e.all, ending{disk: e.memory.AfterKill()}, ending{disk: e.memory.AfterPowerFailure(e.draw())})
	m.start(newRecorder())
	leaderOf(t, []*member{m})
	m.machine.awaitBatches(t, given)
	m.close()
	return e.all, had, given
}

// check starts a host on a disk, which must have the replica of one of the two groups. Regroup can be repeated.
func (e ending) check(t *testing.T, had, given []string) (replica uint64) {
	t.Helper()
	m := loneInMemory(t, e.disk)
	m.config.Used = true
	m.openHost()
	want := given
	if replica, _ = m.host.Replica(testShard); replica == 1 {
		want = had
	}
	m.start(newRecorder())
	leaderOf(t, []*member{m})
	m.machine.awaitBatches(t, want)
	if replica == 1 {
		m.close()
		m.openHost()
		m.regroup(1030, 1, withBatches(given...))
	}
	if found := m.host.store.Load().Positions(); len(found) != 1 || found[0].Replica != 1030 {
		t.Errorf("the store has %+v", found)
	}
	if err := m.host.Regroup(t.Context(), testShard, 1030, 1, withBatches()); err != nil {
		t.Fatal(err)
	}
	m.machine.awaitBatches(t, slices.Concat(given, m.mustPropose(100, 103)))
	m.close()
	for _, name := range e.disk.Names() {
		if strings.Contains(name, ".scratch") || strings.Contains(name, "snapshot-7-1/snapshot-") {
			t.Errorf("%s is left", name)
		}
	}
	return replica
}

// TestAHostThatEndsWhileAGroupBeginsHasOneOfTheTwo: before each change of its files the process is killed or the power
// fails.
func TestAHostThatEndsWhileAGroupBeginsHasOneOfTheTwo(t *testing.T) {
	for name, again := range map[string]bool{"first attempt": false, "second attempt": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends, had, given := regroupEndings(t, again)
			found := make(map[uint64]int)
			for _, e := range ends {
				replica := e.check(t, had, given)
				if found[replica]++; t.Failed() {
					t.Fatalf("replica %d, before %+v", replica, e.step)
				}
			}
			if t.Logf("%d ends, %v", len(ends), found); found[1] == 0 || found[1030] == 0 || len(found) != 2 {
				t.Errorf("the hosts have the replicas %v", found)
			}
		})
	}
}
