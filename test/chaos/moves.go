//go:build linux

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/workload"
)

// movePause is the mean pause between two orders to move a slot.
const movePause = 100 * time.Millisecond

// withMoves has slots move all the time during the act.
func (a Act) withMoves() Act {
	a.Moves = true
	a.Again += " MOVES=1"
	return a
}

// moveSlots orders moves until the context ends: slots with names in use, and homes of sessions, also of residents.
func (t *trial) moveSlots(ctx context.Context) {
	random := t.act.random(9)
	for workload.Sleep(ctx, workload.UpTo(random, 2*movePause)) {
		slot, to := t.someSlot(random), 1+random.IntN(shards)
		t.operated(func(ctx context.Context, a *admin.Admin) (bool, error) {
			if list, err := a.Slots(ctx, 0); err == nil {
				t.cluster.countMoves(list)
			}
			return a.MoveSlot(ctx, uint64(slot), uint64(to), false, operator)
		})
	}
}

func (t *trial) someSlot(random *rand.Rand) shard.Slot {
	var sessions []uint64
	switch random.IntN(4) {
	case 0:
		sessions = t.record.Living()
	case 1:
		sessions = t.residents.Living()
	}
	if len(sessions) > 0 {
		return shard.SessionID(workload.Pick(random, sessions...)).Slot()
	}
	names := workload.ObjectNames()
	for _, x := range targets {
		names = append(names, x.Name)
	}
	return shard.SlotOf(shard.NodeID(t.nodeID), []byte(workload.Pick(random, names...)))
}

// cancelMoves cancels the remaining orders, and waits until no slot is between two shards.
func (t *trial) cancelMoves(ctx context.Context) {
	ctx, cancel := withRunningTime(ctx, restTimeout)
	defer cancel()
	t.expect(ctx, func(ctx context.Context) string {
		a := admin.New(t.direct)
		list, err := a.Slots(ctx, 0)
		if err != nil {
			return fmt.Sprintf("the slots cannot be listed: %v", err)
		}
		if len(list.Moves) == 0 {
			t.cluster.countMoves(list)
			return ""
		}
		for _, m := range list.Moves {
			_, _ = a.CancelSlotMove(ctx, m.Slot, operator)
		}
		return fmt.Sprintf("slots are to move: %+v", list.Moves)
	})
}

// countMoves counts the attempts to move slots, and the slots that another shard has got, since the last call.
func (c *cluster) countMoves(list *admin.Slots) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range list.Ranges {
		for slot := r.First; slot <= r.Last; slot++ {
			before := c.generations[slot]
			if r.Generation <= before {
				continue
			}
			c.attempts += int((r.Generation+1)/2 - (before+1)/2) // each has two generations
			c.moved += int(r.Generation % 2)                     // the second is that of a slot that stays
			c.generations[slot] = r.Generation
		}
	}
}
