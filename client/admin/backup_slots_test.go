package admin

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

// TestABackupNeedsEverySlotAtItsLastOwner: by the slots in each shard's snapshot.
func TestABackupNeedsEverySlotAtItsLastOwner(t *testing.T) {
	at := func(first, last, shard, generation uint64) protocol.SlotRange {
		return protocol.SlotRange{First: first, Last: last, ShardID: shard, Generation: generation}
	}
	type snapshots map[uint64][]protocol.SlotRange
	for name, c := range map[string]struct {
		saved snapshots
		want  string
	}{
		"no moves":               {snapshots{1: {at(0, 2047, 1, 0)}, 2: {at(2048, 4095, 2, 0)}}, "map[]"},
		"both before the move":   {snapshots{1: {at(7, 7, 1, 0)}, 2: nil}, "map[]"},
		"both after the move":    {snapshots{1: {at(7, 7, 2, 1)}, 2: {at(7, 7, 2, 1)}}, "map[]"},
		"in both":                {snapshots{1: {at(7, 7, 1, 0)}, 2: {at(7, 7, 2, 1)}}, "map[]"},
		"in both as content":     {snapshots{1: {at(7, 7, 1, 1)}, 2: {at(7, 7, 2, 1)}}, "map[]"},
		"kept by the old owner":  {snapshots{1: {at(7, 7, 1, 1)}, 2: nil}, "map[]"},
		"in none":                {snapshots{1: {at(7, 9, 2, 1)}, 2: {at(8, 8, 2, 1)}}, "map[7:2 9:2]"},
		"only at an older owner": {snapshots{1: {at(7, 7, 1, 1)}, 2: {at(7, 7, 3, 3)}, 3: nil}, "map[7:3]"},
		"in a shard that is not": {snapshots{1: {at(7, 7, 9, 1)}}, "map[7:9]"},
	} {
		if got := fmt.Sprint(missingSlots(c.saved)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
