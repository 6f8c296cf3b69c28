package operation

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// slotsRequest asks which shards own slots.
type slotsRequest struct {
	Shard uint64 `about:"Only this shard's slots, and moves from or to this shard" help:"Only slots of the shard with this 'NUMBER'"`
	Node  string `arg:"PATH" about:"Only the slot that contains a name in this node"`
	Name  string `about:"Name in the node"`
}

// run lists all slots, or the slot that contains a name.
func (r *slotsRequest) run(ctx context.Context, c *client.Client) (*admin.Slots, error) {
	if (r.Node == "") != (r.Name == "") {
		return nil, BadRequest("give both the path of a node and a name in it, or neither")
	}
	s, err := admin.New(c).Slots(ctx, r.Shard)
	if err == nil && r.Node != "" {
		var node *client.NodeInfo
		if node, err = c.DescribeNode(ctx, r.Node); err == nil {
			s.Only(uint64(protocol.SemaphoreSlot(node.ID, []byte(r.Name))))
		}
	}
	return s, err
}

// showSlots shows slot ranges and moves.
func showSlots(_ *slotsRequest, s *admin.Slots) Shown {
	ranges := Section{Title: "slots", Titles: []string{"FIRST#", "LAST#", "SLOTS#", "SHARD#", "GENERATION#"}}
	count := uint64(0)
	for _, r := range s.Ranges {
		count += r.Last - r.First + 1
		ranges.Rows = append(ranges.Rows, []any{r.First, r.Last, r.Last - r.First + 1, r.Shard, r.Generation})
	}
	moves := Section{Title: "moves", Titles: []string{"SLOT#", "FROM#", "TO#", "STATE", "AGE", "FAILURES#",
		"LAST ERROR", "+BY", "+WHY"}}
	for _, m := range s.Moves {
		moves.Rows = append(moves.Rows, []any{m.Slot, m.From, cmp.Or(m.To, m.Into), moveText(&m),
			m.Age.Round(time.Second), m.Failures, m.LastError, m.Author, m.Reason})
	}
	return Shown{Fields: []Field{{"SLOTS", count}, {"MOVES", len(s.Moves)}}, Sections: []Section{ranges, moves}}
}

// moveText describes how far a move is.
func moveText(m *admin.SlotMove) string {
	switch {
	case m.Into != 0 && m.To == 0:
		return "cancelled; the attempt in progress ends by itself"
	case m.Into != 0 && m.To != m.Into:
		return fmt.Sprintf("waiting for the end of the attempt to move to shard %d", m.Into)
	case m.Into != 0:
		return "moving"
	case m.Wait > 0:
		return "next attempt in " + m.Wait.Round(time.Second).String()
	}
	return "waiting; signalbox cluster why shows the reason"
}

// listSlots returns the operation for slot list.
func listSlots() Operation {
	return read("/slots", protocol.KindSlotList, "Lists the shard for each slot, and unfinished slot moves",
		func(ctx context.Context, c *client.Client, q *slotsRequest) (*admin.Slots, error) {
			return q.run(ctx, c)
		},
		Face{
			Use: "slot list [PATH] [NAME] [--shard]", Form: "list [PATH NAME]",
			Short: "List the shard for each slot, and unfinished moves",
			Long: `Lists slot ranges with their data shard, and unfinished slot moves: ordered by operators,
or begun by rebalancing. With PATH and NAME, signalbox shows only the slot for a
semaphore, rollout or process called NAME in the node PATH.

GENERATION grows with every attempt to move the slot, and is 0 before the first attempt.`,
			Example: `  signalbox slot list
  signalbox slot list --shard 3
  signalbox slot list /prod leader`,
			Show: show(showSlots),
		})
}

// slotMoveRequest orders a slot move, or cancels the order.
type slotMoveRequest struct {
	Slot   uint64 `need:"true" about:"Slot, 0 to 4095"`
	To     uint64 `about:"Id of the data shard that gets the slot"`
	Large  bool   `about:"Move up to 8 MiB instead of 1 MiB. Clients of the slot then wait longer"`
	Cancel bool   `about:"Cancel the order. An attempt in progress ends by itself"`
	act
}

// run orders or cancels the move.
func (r *slotMoveRequest) run(ctx context.Context, a *admin.Admin) (changed bool, err error) {
	switch {
	case r.Cancel && (r.To != 0 || r.Large):
		return false, BadRequest("cancel cannot be combined with to or large")
	case r.Cancel:
		return a.CancelSlotMove(ctx, r.Slot, r.by())
	case r.To == 0:
		return false, BadRequest("to is missing: the data shard that gets the slot")
	}
	return a.MoveSlot(ctx, r.Slot, r.To, r.Large, r.by())
}

// moveSlot returns the operation for slot move.
func moveSlot() Operation {
	return govern("/slot/move", protocol.KindSlotMove,
		"Orders a slot move to another shard, or cancels the order",
		func(ctx context.Context, a *admin.Admin, q *slotMoveRequest) (bool, error) { return q.run(ctx, a) })
}
