package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
)

// maxCompleted is how often a backup saves shards again because slots have moved.
const maxCompleted = 3

// complete makes sure that the backup has every slot: the shard with the latest generation of the slot, by all
// snapshots, was saved with the slot. Otherwise a snapshot is from before a move, and the shard is saved again.
func (s *saver) complete(ctx context.Context) error {
	for n := range maxCompleted + 1 {
		missing := missingSlots(s.slots)
		if len(missing) == 0 {
			return nil
		}
		slot := slices.Min(slices.Collect(maps.Keys(missing)))
		if n == maxCompleted {
			return &protocol.Error{Status: protocol.StatusUnavailable, Message: fmt.Sprintf("%d slots moved while the "+
				"backup was saved, the first of them slot %d to shard %d; try again when no slot moves: see signalbox "+
				"cluster why", len(missing), slot, missing[slot])}
		}
		again := slices.Sorted(maps.Values(missing))
		for _, id := range slices.Compact(again) {
			s.done.Again, s.done.Saved = s.done.Again+1, s.done.Saved-1
			if err := s.shard(ctx, id, cluster.ShardLeader(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// missingSlots returns the slots that snapshots lack, with the shards that have the slots, by the slots in each shard's
// snapshot.
func missingSlots(saved map[uint64][]protocol.SlotRange) map[uint64]uint64 {
	type owner struct {
		generation, shard uint64
		saved             bool
	}
	var latest [protocol.Slots]owner
	for id, ranges := range saved {
		for _, r := range ranges {
			for slot := r.First; slot <= r.Last && slot < protocol.Slots; slot++ {
				x := owner{r.Generation, r.ShardID, r.ShardID == id}
				if at := &latest[slot]; at.shard == 0 || x.generation > at.generation {
					*at = x
				} else if x.generation == at.generation && x.saved {
					*at = x
				}
			}
		}
	}
	missing := make(map[uint64]uint64)
	for slot, at := range latest {
		if at.shard != 0 && !at.saved {
			missing[uint64(slot)] = at.shard
		}
	}
	return missing
}
