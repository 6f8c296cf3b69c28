package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/workload"
)

// movePause is the mean pause between two orders to move a slot.
const movePause = 500 * time.Millisecond

// DrawMoves draws a world with membership changes and eight shards, in which slots move all the time. In
// some of the worlds, shards lose their majority.
func DrawMoves(seed uint64) Plan {
	p := DrawSpread(seed)
	p.Hosts, p.Moves, p.Shards = 5, true, 8
	p.Faults = drawMemberFaults(rand.New(rand.NewPCG(seed, 8)), &p)
	if lost := rand.New(rand.NewPCG(seed, 9)); p.Policy.Replicas == 3 && lost.IntN(4) == 0 {
		p.drawLosses(lost)
	}
	return p
}

// holdMoves lets no further move begin until release is called, and waits for the moves in progress. rested is false if
// some go on: only when none does, it is certain which slots a shard loses with its majority.
func (w *world) holdMoves() (release func(), rested bool) {
	w.movesHeld.Add(1)
	for end := time.Now().Add(ordersEndWithin); !rested && time.Now().Before(end); time.Sleep(lookEvery) {
		r := w.cluster.Records()
		rested = !w.plan.Moves || r != nil && len(r.SlotOrders()) == 0
	}
	return func() { w.movesHeld.Add(-1) }, rested
}

// ordersEndWithin is how long a loss waits for the end of the moves in progress.
const ordersEndWithin = 30 * time.Second

// moveSlots orders moves until the context ends: slots with names in use, and session homes.
func (w *world) moveSlots(ctx context.Context, random *rand.Rand) {
	c := workload.Open(ctx, w.cluster.Addresses(), client.WithDialer(w.cluster.Dial))
	defer func() { _ = c.Close() }()
	names := append(workload.ObjectNames(), targetNames()...)
	var sessions []shard.Slot
	for n := 0; workload.Sleep(ctx, time.Duration(random.Int64N(int64(2*movePause)))); n++ {
		if records := w.cluster.Records(); records != nil {
			w.countMoves(records)
		}
		if w.movesHeld.Load() > 0 {
			continue
		}
		if n%20 == 0 {
			sessions = homes(ctx, c)
		}
		slot := shard.SlotOf(w.node, []byte(workload.Pick(random, names...)))
		if len(sessions) > 0 && random.IntN(2) == 0 {
			slot = workload.Pick(random, sessions...)
		}
		to := hosts.ShardID(1 + random.IntN(w.shards()))
		_, _ = w.cluster.Do(&meta.SlotMove{Slot: slot, To: to}) // refused if the slot is there already
	}
}

// homes returns the session slots in the programs' node.
func homes(ctx context.Context, c *client.Client) (list []shard.Slot) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for s, err := range c.Node(path).Sessions(ctx) {
		if err != nil {
			break
		}
		list = append(list, shard.SessionID(s.ID).Slot())
	}
	return list
}

func targetNames() (names []string) {
	for _, t := range targets {
		names = append(names, t.Name)
	}
	return names
}

// cancelMoves takes back the orders that are left.
func (w *world) cancelMoves() {
	records := w.cluster.Records()
	for ; records == nil; records = w.cluster.Records() {
		time.Sleep(lookEvery)
	}
	for _, o := range records.SlotOrders() {
		_, _ = w.cluster.Do(&meta.SlotMove{Slot: o.Slot, Cancel: true})
	}
	w.countMoves(records)
}

// countMoves counts the slots that another shard has got since the last call.
func (w *world) countMoves(records *hosts.Records) {
	moved := 0
	for slot := range shard.Slot(shard.Slots) {
		generation := records.Slots().Of(slot).Generation
		if generation > w.generations[slot] {
			w.generations[slot] = generation
			moved += int(generation % 2) // the second generation of an attempt is that of a slot that stays
		}
	}
	if w.moved != nil {
		w.moved(moved)
	}
}
