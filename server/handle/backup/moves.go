package backup

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// movesWithin is how long a state waits for the end of slot moves in progress. A slot that stays between two shards for
// longer is in the backup as a slot snapshot.
const movesWithin = 3 * time.Second

// awaitMoves waits until no slot moves. No move begins meanwhile, because the backup holds moves.
func (e *export) awaitMoves() {
	late, confirmed := time.After(movesWithin), make(chan bool, 1)
	e.of.Meta.Confirm(func(ok bool) { confirmed <- ok })
	select {
	case <-confirmed:
	case <-late:
		return
	case <-e.stop:
		return
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for e.of.Meta.Machine.MovesInProgress() > 0 {
		select {
		case <-again.C:
		case <-late:
			return
		case <-e.stop:
			return
		}
	}
}

// slotsIn returns the slots in a fixed state, as in the answer to the client. The meta shard has none.
func slotsIn(state shard.Snapshot, own uint64) (list protocol.SlotRanges) {
	of, is := state.(interface{ Slots() *slots.Slots })
	if !is {
		return list
	}
	var last protocol.SlotRange // under construction, if it has a shard
	for slot := range shard.Slot(shard.Slots) {
		x := of.Slots().Of(slot)
		next := protocol.SlotRange{First: uint64(slot), Last: uint64(slot), Generation: x.Generation}
		switch {
		case x.State == slots.Owned || x.Content != nil:
			next.ShardID = own
		case x.State == slots.Released:
			next.ShardID = x.To
		}
		if last.ShardID == next.ShardID && last.Generation == next.Generation {
			last.Last = next.Last
			continue
		}
		if last.ShardID != 0 {
			list.Append(last)
		}
		last = next
	}
	if last.ShardID != 0 {
		list.Append(last)
	}
	return list
}
