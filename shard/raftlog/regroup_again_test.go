package raftlog

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// TestASalvagedReplicaGoesOnWhereTheOthersComeBack: Salvage changes no file on the host, so the replica commits nothing
// by itself, even if the host is restarted.
func TestASalvagedReplicaGoesOnWhereTheOthersComeBack(t *testing.T) {
	lost := loseMajority(t)
	survivor, want := lost.survivor, lost.acknowledged
	survivor.log.Close()
	commit, files := survivor.commit(), listing(t, survivor.config.DataDir)
	survivor.salvage()
	if now := survivor.commit(); now != commit {
		t.Errorf("%d is committed, and it was %d", now, commit)
	}
	if now := listing(t, survivor.config.DataDir); !slices.Equal(now, files) {
		t.Errorf("there is %v, and there was %v", now, files)
	}
	survivor.start(newRecorder())
	survivor.machine.awaitBatches(t, want[:len(want)-1])
	survivor.close()
	all := []*member{survivor, lost.leader, lost.third}
	openAll(all)
	want = append(want, leaderOf(t, all).mustPropose(len(want), len(want)+5)...)
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

// TestReplicasOfAnEarlierGroupAreNotHeard: both other hosts return, are a majority in the old group, and continue. The
// new group ignores them, and one joins the new group.
func TestReplicasOfAnEarlierGroupAreNotHeard(t *testing.T) {
	lost := loseMajority(t)
	survivor, want := lost.survivor, lost.acknowledged
	survivor.regroup(transport.FirstJoined, 1, survivor.salvage())
	before := survivor.log.Leadership()
	back := []*member{lost.leader, lost.third}
	openAll(back)
	leaderOf(t, back).mustPropose(1000, 1010)
	count := &lost.refused[lost.survivor.config.Host]
	refused := count.Load()
	eventually(t, "refused messages", func() bool { return count.Load() > refused+10 })
	want = append(want, survivor.mustPropose(len(want), len(want)+5)...)
	survivor.machine.awaitBatches(t, want)
	if now := survivor.log.Leadership(); now != before {
		t.Errorf("%+v leads, and it was %+v", now, before)
	}

	joining := lost.third
	if _, err := joining.host.Join(testShard, 1030, newRecorder()); !errors.Is(err, ErrOtherReplica) {
		t.Errorf("a host with a replica of the earlier group joins: %v", err)
	}
	joining.joinGroup(survivor, 1030, want)
	want = append(want, survivor.mustPropose(len(want), len(want)+5)...)
	joining.machine.awaitBatches(t, want)
}

// newLone returns an open host with all of a shard's replicas.
func newLone(t *testing.T) *member {
	t.Helper()
	m := newCluster(t, 1, fewEntries)[0]
	m.open()
	leaderOf(t, []*member{m})
	return m
}

// TestGroupFollowsGroup: each group continues with its predecessor's complete state, in higher terms, and nothing else
// remains from the predecessor.
func TestGroupFollowsGroup(t *testing.T) {
	m := newLone(t)
	var want []string
	for group := range uint64(4) {
		if group > 0 {
			m.regroup(1030+group, 2*group, m.salvage())
			if err := m.host.Regroup(t.Context(), testShard, 1030+group, 2*group, newRecorder()); err != nil {
				t.Errorf("repeated: %v", err)
			}
		}
		want = append(want, m.mustPropose(len(want), len(want)+100)...)
		m.machine.awaitBatches(t, want)
		if at, err := m.host.Remnant(testShard); err != nil || at.Term>>32 != 2*group {
			t.Errorf("%+v, %v", at, err)
		}
		if group%2 == 1 {
			m.close()
			m.config.Used = true
			m.open()
			m.machine.awaitBatches(t, want)
			leaderOf(t, []*member{m})
		}
	}
	if found := m.host.store.Load().Positions(); len(found) != 1 || found[0].Replica != 1033 {
		t.Errorf("the store has %+v", found)
	}
}

// TestAGroupBeginsOnlyAfterEarlierGroups: invalid replicas and groups are refused without changes.
func TestAGroupBeginsOnlyAfterEarlierGroups(t *testing.T) {
	m := newLone(t)
	state := withBatches("a")
	if err := m.host.Regroup(t.Context(), testShard, 1030, 3, state); !errors.Is(err, ErrShardStarted) {
		t.Errorf("a running shard: %v", err)
	}
	m.log.Close()
	m.regroup(1030, 3, state)
	want := append([]string{"a"}, m.mustPropose(0, 3)...)
	m.log.Close()
	for _, test := range []struct {
		replica, group uint64
		want           error
	}{
		{1031, 3, ErrOtherReplica}, {1031, 2, ErrOtherReplica}, {1029, 4, ErrOtherReplica}, {1, 4, ErrOtherReplica},
		{7, 4, ErrOtherReplica}, {1031, 0, ErrGroup}, {1031, MaxGroup + 1, ErrGroup},
	} {
		if err := m.host.Regroup(t.Context(), testShard, test.replica, test.group, state); !errors.Is(err, test.want) {
			t.Errorf("replica %d in group %d: %v", test.replica, test.group, err)
		}
	}
	m.start(newRecorder())
	m.machine.awaitBatches(t, want)
	host := m.host
	m.close()
	if err := host.Regroup(t.Context(), testShard, 1031, 4, state); !errors.Is(err, ErrHostClosed) {
		t.Errorf("a closed host: %v", err)
	}
}

// TestAShardWithoutASurvivorBeginsOnAnyHost: even on a host that never had a replica.
func TestAShardWithoutASurvivorBeginsOnAnyHost(t *testing.T) {
	all := newComers(t, 1, 2, nil)
	m := all[1]
	m.openHost()
	if _, err := m.host.Remnant(testShard); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("Remnant: %v", err)
	}
	if _, err := m.host.Salvage(t.Context(), testShard, newRecorder()); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("Salvage: %v", err)
	}
	m.regroup(1030, 1, withBatches("a"))
	m.machine.awaitBatches(t, append([]string{"a"}, m.mustPropose(0, 3)...))
}

// TestAGroupThatDoesNotBeginLeavesTheReplica: the disk has no room, or the caller gives up.
func TestAGroupThatDoesNotBeginLeavesTheReplica(t *testing.T) {
	full := errors.New("the disk is nearly full")
	var room error
	m := newCluster(t, 1, func(c *Config) {
		fewEntries(c)
		c.Room = func(uint64) error { return room }
	})[0]
	m.open()
	leaderOf(t, []*member{m})
	want := m.mustPropose(0, 100)
	m.machine.awaitBatches(t, want)
	m.machine.closed.Store(true)
	m.log.Close()
	room = full
	if _, err := m.host.Salvage(t.Context(), testShard, newRecorder()); !errors.Is(err, full) {
		t.Errorf("Salvage: %v", err)
	}
	if err := m.host.Regroup(t.Context(), testShard, 1030, 1, newRecorder()); !errors.Is(err, full) {
		t.Errorf("Regroup: %v", err)
	}
	room = nil
	untilDone(t, func(ctx context.Context) error {
		_, err := m.host.Salvage(ctx, testShard, newRecorder())
		return err
	})
	m.start(newRecorder())
	m.machine.awaitBatches(t, want)
	m.machine.closed.Store(true)
	m.log.Close()
	untilDone(t, func(ctx context.Context) error {
		return m.host.Regroup(ctx, testShard, 1030, 1, withBatches(want...))
	})
	m.start(newRecorder())
	m.machine.awaitBatches(t, want)
}

// untilDone calls a function with an early timeout, and slightly later timeouts each time, until the function succeeds
// in time.
func untilDone(t *testing.T, call func(context.Context) error) {
	t.Helper()
	const step, before = 5 * time.Millisecond, 60
	for i := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		if i < before {
			cancel()
		}
		giveUp := time.AfterFunc(step*time.Duration(i-before), cancel)
		err := call(ctx)
		giveUp.Stop()
		cancel()
		switch {
		case err == nil && i >= before:
			return
		case err != nil && !errors.Is(err, context.Canceled): // a canceled call may be done already
			t.Fatalf("call %d: %v", i, err)
		}
	}
	t.Fatal("the call is never done")
}

// importUnrecorded leaves the files from a Regroup whose process ends before the new replica is recorded.
func (m *member) importUnrecorded(replica uint64) {
	m.t.Helper()
	err := m.host.withScratch(func(dir string) error {
		states := map[uint64]State{testShard: {Machine: withBatches("unrecorded")}}
		if err := exportStates(m.t.Context(), dir, m.host.config, states); err != nil {
			return err
		}
		c := m.host.config
		store := importStore{m.host.store.Load(), groupTerm(1)}
		engine := c.engineConfig(nil, nil, c.disk(), store)
		return importState(engine, exportDirectory(dir, testShard), replica)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// TestRemnantsAreOfTheReplicaOnRecord: not from an interrupted group start.
func TestRemnantsAreOfTheReplicaOnRecord(t *testing.T) {
	m := newLone(t)
	want := m.mustPropose(0, 5)
	m.machine.awaitBatches(t, want)
	m.importUnrecorded(1030)
	m.close()
	machine := newRecorder()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found, err := ReadRemnants(ctx, m.config.DataDir, filepath.Join(t.TempDir(), "scratch"), testLogger(t),
		func(uint64) shard.StateMachine { return machine })
	if err != nil || len(found) != 1 || found[0].Term>>32 != 0 || !slices.Equal(machine.applied(), want) {
		t.Errorf("found %+v, %v, with %q", found, err, machine.applied())
	}
}
