package shard

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// TestEffectsGiveTheMemoryOfABurstBack: memory used by a burst is released.
func TestEffectsGiveTheMemoryOfABurstBack(t *testing.T) {
	var e Effects
	e.List = append(e.List, make([]Effect, 100)...)
	before := cap(e.List)
	if e.Reset(); cap(e.List) != before {
		t.Error("the memory of a common batch is given back")
	}
	e.List = append(e.List, make([]Effect, 1_000_000)...)
	if e.Reset(); cap(e.List) > keptEffects {
		t.Errorf("room for %d effects is kept", cap(e.List))
	}
}

func TestABatchGivesTheMemoryOfABurstBack(t *testing.T) {
	long := Batch{Commands: []Command{{Level: level.First, Kind: CmdSessionsExpire,
		Sessions: make([]SessionID, 10*MaxList)}}}
	short := Batch{Commands: []Command{{Level: level.First, Kind: CmdSessionsExpire, Sessions: make([]SessionID, 10)}}}
	var b Batch
	for _, from := range []*Batch{&long, &short} {
		if err := DecodeBatch(AppendBatch(nil, from), &b, level.First); err != nil {
			t.Fatal(err)
		}
	}
	if cap(b.sessions) > 2*MaxList {
		t.Errorf("room for %d sessions is kept", cap(b.sessions))
	}
}
