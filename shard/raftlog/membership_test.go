package raftlog

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const once = "once"

// TestReplicasComeAndGoThoughTheirProcessesAreKilled kills all processes between any two actions. Each process
// continues from its acknowledged state, with the same final result.
func TestReplicasComeAndGoThoughTheirProcessesAreKilled(t *testing.T) {
	for name, play := range map[string]func(dir string) (hosts int, acts []act){
		"the data of a replica are removed":     removedReplica,
		"a snapshot is exported and imported":   importedSnapshot,
		"a learner joins and becomes a voter":   promotedLearner,
		"a learner that needs a snapshot joins": learnerWithSnapshot,
		"a voter is replaced by another one":    replacedVoter,
	} {
		t.Run(name, func(t *testing.T) {
			_, acts := play("")
			for killAfter := 1; killAfter < len(acts); killAfter++ {
				if testing.Short() && killAfter%3 != 0 {
					continue
				}
				t.Run(fmt.Sprint("killed after ", acts[killAfter-1].what), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					hosts, acts := play(dir)
					perform(t, dir, hosts, acts, killAfter)
				})
			}
		})
	}
}

func removedReplica(string) (hosts int, acts []act) {
	return 1, []act{
		{1, "open", ""}, {1, "start 7", ""}, {1, "start 8", "stop 8"},
		{1, "propose 7 0 30", once}, {1, "propose 8 0 30", once},
		{1, "stop 8", once}, {1, "discard 8 1", once}, {1, "lacks 8 1", once},
		{1, "propose 7 30 60", once}, {1, "has 7 60", once}, {1, "discard 8 1", once},
		{1, "lacks 8 1", once},
	}
}

func importedSnapshot(dir string) (hosts int, acts []act) {
	exported := filepath.Join(dir, "exported")
	return 1, []act{
		{1, "open", "close"}, {1, "start 7", "close"}, {1, "propose 7 0 30", once},
		{1, "export 7 " + exported, once}, {1, "propose 7 30 60", once}, {1, "close", once},
		{1, "import " + exported, once},
		{1, "open", ""}, {1, "start 7", ""}, {1, "has 7 30", once}, // the other actions were after the snapshot
		{1, "propose 7 30 40", once}, {1, "has 7 40", once},
	}
}

func promotedLearner(string) (hosts int, acts []act) {
	return 2, []act{
		{1, "open", ""}, {1, "start 7", ""}, {1, "propose 7 0 10", once}, {1, "learner 7 1030", once},
		{2, "open", ""}, {2, "join 7 1030", ""}, {2, "has 7 10", once}, {1, "propose 7 10 15", once},
		{2, "has 7 15", once}, {1, "voter 7 1030", once}, {1, "propose 7 15 20", once}, {2, "has 7 20", once},
		{1, "has 7 20", once},
	}
}

func learnerWithSnapshot(string) (hosts int, acts []act) {
	return 2, []act{
		{1, "open", ""}, {1, "start 7", ""}, {1, "propose 7 0 100", once}, {1, "learner 7 1030", once},
		{2, "open", ""}, {2, "join 7 1030", ""}, {2, "has 7 100", once}, {1, "voter 7 1030", once},
		{1, "propose 7 100 110", once}, {2, "has 7 110", once}, {1, "has 7 110", once},
	}
}

// replacedVoter replaces a host's removed replica with a new replica.
func replacedVoter(string) (hosts int, acts []act) {
	return 2, []act{
		{1, "open", ""}, {1, "start 7", ""}, {1, "propose 7 0 30", once}, {1, "learner 7 1030", once},
		{2, "open", ""}, {2, "join 7 1030", "discard 7 1030"}, {2, "has 7 30", once}, {1, "voter 7 1030", once},
		{1, "propose 7 30 40", once}, {1, "remove 7 1030", once}, {2, "discard 7 1030", once},
		{2, "lacks 7 1030", once}, {1, "propose 7 40 70", once}, {1, "learner 7 1031", once},
		{2, "join 7 1031", ""}, {2, "has 7 70", once}, {2, "discard 7 1030", once}, {1, "voter 7 1031", once},
		{1, "propose 7 70 80", once}, {2, "has 7 80", once}, {2, "lacks 7 1030", once},
	}
}

// TestARemovalThatWasAnsweredNeedsTheRemovedReplicaNoMore: the remaining voter leads after a kill, although the removed
// voter is gone with its disk.
func TestARemovalThatWasAnsweredNeedsTheRemovedReplicaNoMore(t *testing.T) {
	all := newComers(t, 2, 2, nil)
	openAll(all)
	leader := leaderOf(t, all)
	gone := others(all, leader)[0]
	l := leader.log.(*Log)
	m, err := l.Membership(t.Context())
	if err == nil {
		err = l.Remove(t.Context(), uint64(gone.config.Host), m.Change)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The state after a kill: state held only by the process is lost.
	killed := filepath.Join(t.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(leader.config.DataDir)); err != nil {
		t.Fatal(err)
	}
	gone.close()
	leader.close()
	leader.config.DataDir = killed
	leader.open()
	eventually(t, "a leader without the one that was removed", func() bool { return leader.barrier() == nil })
}

// TestARemovedReplicaSaysSo: its log would report the previous leader forever.
func TestARemovedReplicaSaysSo(t *testing.T) {
	// A new leader, or a leader short of processor time, may send the removal to the other replica only. Then the
	// removed replica receives nothing more, and the test tries another cluster. Hosts also use the cluster's records.
	for range 5 {
		if removedReplicaSaysSo(t) {
			return
		}
	}
	t.Error("five replicas were removed, and none of them says so")
}

// removedReplicaSaysSo reports whether only a removed replica soon reports its removal.
func removedReplicaSaysSo(t *testing.T) bool {
	all, leader := openThree(t, nil)
	want := leader.mustPropose(0, 5)
	away := others(all, leader)[0]
	away.machine.awaitBatches(t, want)
	replica, _ := away.host.Replica(testShard)
	removeReplica(t, all, replica)
	soon := time.Now().Add(10 * time.Second)
	for !away.log.(*Log).Removed() {
		if time.Now().After(soon) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	for _, m := range others(all, away) {
		if m.log.(*Log).Removed() {
			t.Errorf("the replica of host %d was not removed", m.config.Host)
		}
	}
	return true
}
