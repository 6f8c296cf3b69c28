package raftlog

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"testing"
)

func TestTheEngineHasTheSlicesThatAreReplaced(t *testing.T) {
	if !entrySlicesSet || entrySliceSize != entriesRoom || minEntrySliceSize != entriesFree {
		t.Errorf("the engine has other values, which were left alone: room %d, free %d; read "+
			"internal/raft/inmemory.go of its version again", entrySliceSize, minEntrySliceSize)
	}
}

func TestSlicesWithOtherValuesAreLeftAlone(t *testing.T) {
	for _, found := range [][2]uint64{{0, 0}, {foundRoom, foundFree + 1}, {foundRoom - 1, foundFree}, {32, 8}} {
		room, free := found[0], found[1]
		if setEntrySlices(&room, &free) || room != found[0] || free != found[1] {
			t.Errorf("%v became %d, %d", found, room, free)
		}
	}
	room, free := uint64(foundRoom), uint64(foundFree)
	if !setEntrySlices(&room, &free) || room != entriesRoom || free != entriesFree {
		t.Errorf("what is expected became %d, %d", room, free)
	}
}

func TestSlicesThatAreLeftAloneAreLogged(t *testing.T) {
	defer func(was bool) { entrySlicesSet = was }(entrySlicesSet)
	for _, set := range []bool{true, false} {
		var out bytes.Buffer
		entrySlicesSet = set
		reportEntrySlices(slog.New(slog.NewTextHandler(&out, nil)))
		if strings.Contains(out.String(), "left as they are") == set {
			t.Errorf("set %v: %q", set, out.String())
		}
	}
}

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
	if each := (after.TotalAlloc - before.TotalAlloc) / batches; each > 3<<10 {
		t.Errorf("%d bytes for each batch", each)
	} else {
		t.Logf("%d bytes for each batch", each)
	}
}
