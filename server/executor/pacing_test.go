package executor

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// TestShardsOfAMoveRest: four times as long as the attempt took. The usual commit time is that before the moves.
func TestShardsOfAMoveRest(t *testing.T) {
	tt := newTerm(nil, 1)
	steps := plan.New(governor.Config())
	look := func(at time.Time, commit uint64) []governor.ShardSeen {
		seen := &governor.Seen{Shards: []governor.ShardSeen{{Shard: 1, Commit: commit}, {Shard: 2, Commit: commit},
			{Shard: 3, Commit: commit}}}
		tt.judgeMoves(seen, steps, at)
		return seen.Shards
	}
	start := time.Now()
	look(start, 4_000)
	tt.moved(&governor.Action{Shard: 1, Into: 2}, time.Now().Add(-100*time.Millisecond))
	now := time.Now()
	for _, s := range look(now, 16_000) {
		moved := s.Shard != 3
		if rests := s.Rest >= 390 && s.Rest <= millis(mostRest); rests != moved || s.Rest != 0 && !moved {
			t.Errorf("shard %d rests %d ms", s.Shard, s.Rest)
		}
		if want := map[bool]uint64{true: 4_000, false: 16_000}[moved]; s.Usual != want {
			t.Errorf("shard %d usually commits in %d us, want %d", s.Shard, s.Usual, want)
		}
	}
	for _, s := range look(now.Add(mostRest), 16_000) {
		if s.Rest != 0 || s.Usual != 16_000 {
			t.Errorf("after %v: %+v", mostRest, s)
		}
	}
	a := governor.Action{Shard: 1, Into: hosts.ShardID(2), Slot: 5, Number: 1}
	if _, out := steps.Begin(plan.Moment{Term: 1}, 1, 0, plan.Proposal[governor.Action]{Kind: governor.KindMoveSlot,
		Subject: "slot/5", Payload: a}); out != plan.Applied {
		t.Fatal(out)
	}
	for _, s := range look(now.Add(time.Minute), 30_000) {
		if busy := s.Shard != 3; busy != (s.Usual == 16_000) {
			t.Errorf("while a slot moves: %+v", s)
		}
	}
}
