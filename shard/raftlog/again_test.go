package raftlog

import (
	"testing"
	"time"
)

// TestAShardHasNoReplicaForAWhileBetweenTwo: an engine worker that found both replicas would end the process: seen
// once, under the race detector on two busy processors, and not reproducible from outside the engine.
func TestAShardHasNoReplicaForAWhileBetweenTwo(t *testing.T) {
	one := openOne(t, nil)
	begun := time.Now()
	if err := one.host.Discard(t.Context(), testShard, 1); err != nil {
		t.Fatal(err)
	}
	for replica := uint64(1030); replica < 1032; replica++ {
		joined, err := one.host.Join(testShard, replica, newRecorder())
		if err != nil {
			t.Fatal(err)
		}
		if pause := time.Since(begun); pause < restartPause {
			t.Errorf("replica %d was started %v after the one before it was stopped", replica, pause)
		}
		begun = time.Now()
		if replica == 1030 {
			err = one.host.Discard(t.Context(), testShard, replica)
		} else {
			err = joined.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
