package raftlog

import (
	"runtime"
	"testing"
)

// TestABatchTakesLittleMemory proposes one batch at a time, after each of which the engine's slice of entries is empty.
func TestABatchTakesLittleMemory(t *testing.T) {
	const batches = 300
	one := newCluster(t, 1, nil)[0]
	one.open()
	leaderOf(t, []*member{one})
	one.mustPropose(0, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	one.mustPropose(1, 1+batches)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / batches; each > 16<<10 {
		t.Errorf("%d bytes for each batch", each)
	} else {
		t.Logf("%d bytes for each batch", each)
	}
}
