package executor

import (
	"time"

	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// moves is what the governor remembers about a shard's slot moves.
type moves struct {
	ended time.Time // when the latest attempt ended
	until time.Time // end of the shard's rest
	usual uint64    // commit time before the latest moves, in microseconds; 0 if unknown
}

// moved lets both shards rest after a slot move, for a multiple of the attempt's time. An attempt takes a little longer
// than the pause that clients see.
func (t *term) moved(a *governor.Action, began time.Time) {
	now := time.Now()
	rest := min(restFactor*now.Sub(began), mostRest)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range []hosts.ShardID{a.Shard, a.Into} {
		m := t.moves[id]
		m.ended, m.until = now, now.Add(rest)
		t.moves[id] = m
	}
}

// judgeMoves adds each shard's remaining rest and usual commit time to the observations.
func (t *term) judgeMoves(seen *governor.Seen, p *plan.Plan[governor.Action], now time.Time) {
	busy := make(map[hosts.ShardID]bool)
	for _, s := range p.Steps() {
		if s.Kind == governor.KindMoveSlot {
			busy[s.Payload.Shard], busy[s.Payload.Into] = true, true
		}
	}
	for i := range seen.Shards {
		shown := &seen.Shards[i]
		m := t.moves[shown.Shard]
		if !busy[shown.Shard] && now.Sub(m.ended) >= quietFor && m.usual != shown.Commit {
			m.usual = shown.Commit
			t.moves[shown.Shard] = m
		}
		shown.Usual, shown.Rest = m.usual, millis(m.until.Sub(now))
	}
}
