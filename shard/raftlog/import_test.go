package raftlog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// withBatches is a machine with a state.
func withBatches(batches ...string) *recorder {
	r := newRecorder()
	r.batches = batches
	return r
}

// TestAnImportedStateIsWhatAShardBeginsWith: the host is the only member, leads, continues after a restart, and a
// joining host gets the imported state.
func TestAnImportedStateIsWhatAShardBeginsWith(t *testing.T) {
	members := newCluster(t, 2, func(c *Config) {
		if c.Host == 2 {
			c.InitialMembers = initialMembersOf(1)
		} else {
			c.InitialMembers = map[shard.HostID]hosts.Incarnation{7: incarnationOf(7)} // the host is no initial member
		}
	})
	first, second := members[0], members[1]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	states := map[uint64]State{
		testShard: {Replica: transport.FirstJoined + 5, Machine: withBatches("a", "b")},
		9:         {Replica: transport.FirstJoined + 6, Machine: withBatches("c")},
	}
	if err := Import(ctx, withoutTransport(first.config), states); err != nil {
		t.Fatal(err)
	}
	if err := Import(ctx, withoutTransport(first.config), states); err == nil {
		t.Error("a directory with a log is filled again")
	}
	if left, err := filepath.Glob(filepath.Dir(first.config.DataDir) + "/*"); err != nil || len(left) != 1 {
		t.Errorf("there is %v, %v", left, err)
	}
	first.config.Used = true
	first.open()
	leaderOf(t, members[:1])
	first.machine.awaitBatches(t, append([]string{"a", "b"}, first.mustPropose(0, 3)...))
	first.close()
	first.open()
	leaderOf(t, members[:1])
	want := append([]string{"a", "b", "batch 0", "batch 1", "batch 2"}, first.mustPropose(3, 4)...)
	first.machine.awaitBatches(t, want)

	second.openHost()
	m, err := first.log.(*Log).Membership(ctx)
	if err != nil || len(m.Members) != 1 {
		t.Fatal(m, err)
	}
	const joined = transport.FirstJoined + 7
	if err := first.log.(*Log).AddLearner(ctx, joined, 2, incarnationOf(2), m.Change); err != nil {
		t.Fatal(err)
	}
	second.log, err = second.host.Join(testShard, joined, second.machine)
	if err != nil {
		t.Fatal(err)
	}
	second.machine.awaitBatches(t, want)
}

// TestRemnantsHaveAllThatReachedTheHost: including entries not known to be committed; the host's files are unchanged.
func TestRemnantsHaveAllThatReachedTheHost(t *testing.T) {
	members := newCluster(t, 3, func(c *Config) { c.SnapshotBytes, c.KeepBytes = 8*BatchBytes, 2*BatchBytes })
	openAll(members)
	leader := leaderOf(t, members)
	want := leader.mustPropose(0, 30)
	for _, m := range members {
		m.machine.awaitBatches(t, want)
	}
	want = append(want, leader.mustPropose(30, 31)...)
	for _, m := range members {
		m.close()
	}
	var best Remnant
	for _, m := range members {
		before := listing(t, m.config.DataDir)
		machine := newRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		found, err := ReadRemnants(ctx, m.config.DataDir, filepath.Join(t.TempDir(), "scratch"), testLogger(t),
			func(uint64) shard.StateMachine { return machine })
		cancel()
		if err != nil || len(found) != 1 || found[0].Shard != testShard {
			t.Fatal(found, err)
		}
		if got := machine.applied(); !slices.Equal(got, want[:len(got)]) {
			t.Errorf("host %d has %v", m.config.Host, got)
		} else if r := found[0]; len(got) == len(want) && r.Index >= best.Index {
			best = r
		}
		if after := listing(t, m.config.DataDir); !slices.Equal(after, before) {
			t.Errorf("host %d has %v now, and had %v", m.config.Host, after, before)
		}
	}
	if best.Term == 0 || best.Index < uint64(len(want)) {
		t.Errorf("no host has all of it: %+v", best)
	}
}

// listing is a directory's files with sizes and times.
func listing(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == lockFile {
			return err
		}
		info, err := d.Info()
		list = append(list, path+" "+info.ModTime().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
