package governor

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// heldSlot is a slot's state in one simulated shard. Package slots defines the rules.
type heldSlot struct {
	owned, sealed    bool
	generation, seen uint64
	to               hosts.ShardID // if sealed
}

func (h *heldSlot) seal(g uint64, to hosts.ShardID) {
	if h.owned && h.generation < g && g > h.seen {
		*h = heldSlot{sealed: true, generation: g, seen: g, to: to}
	}
}

// open and refuse report whether the shard owns the slot under g, or owned it and passed it on.
func (h *heldSlot) open(g uint64) bool {
	if g > h.seen {
		*h = heldSlot{owned: true, generation: g, seen: g}
	}
	return h.opened(g)
}

func (h *heldSlot) refuse(g uint64) bool {
	h.seen = max(h.seen, g)
	return h.opened(g)
}

func (h *heldSlot) opened(g uint64) bool { return h.owned && h.generation == g || h.seen > g }

// cancel reports whether the shard owns the slot under g+1.
func (h *heldSlot) cancel(g uint64) bool {
	if h.sealed && h.generation == g || h.owned && h.generation < g && h.seen <= g {
		*h = heldSlot{owned: true, generation: g + 1, seen: g + 1}
	}
	return h.owned && h.generation == g+1
}

func (h *heldSlot) release(g uint64) {
	if h.sealed && h.generation == g {
		*h = heldSlot{generation: g, seen: g}
	}
}

// moves is the slot state in a simulation with slot moves.
type moves struct {
	logs    map[hosts.ShardID]map[shard.Slot]*heldSlot
	first   *slots.Table // the owners at the beginning
	touched []shard.Slot // the slots that a shard has heard of, in that order
	// hasty is a planted bug: without an answer, the executor reports the slot as kept.
	hasty bool
}

// movedSlots are the slots that operators move. At the start, shard 1 owns two, shard 2 one and shard 3 one.
var movedSlots = []shard.Slot{0, 1, 2000, 4095}

// newMoving returns a simulation with slot moves.
func newMoving(seed uint64) *simulation {
	s := newSimulation(seed)
	s.moves = newMoves(s.records)
	for _, slot := range movedSlots {
		s.moves.of(1, slot)
	}
	return s
}

func newMoves(r *hosts.Records) *moves {
	m := &moves{logs: map[hosts.ShardID]map[shard.Slot]*heldSlot{}, first: r.Slots()}
	for _, on := range r.Shards()[1:] {
		m.logs[on.ID] = map[shard.Slot]*heldSlot{}
	}
	return m
}

// of returns a slot's state in a shard.
func (m *moves) of(id hosts.ShardID, slot shard.Slot) *heldSlot {
	if m.logs[id] == nil {
		m.logs[id] = map[shard.Slot]*heldSlot{}
	}
	h := m.logs[id][slot]
	if h == nil {
		h = &heldSlot{owned: hosts.ShardID(m.first.Of(slot).Shard) == id}
		m.logs[id][slot] = h
		if !slices.Contains(m.touched, slot) {
			m.touched = append(m.touched, slot)
		}
	}
	return h
}

// shards are all shards that ever had a slot, or could have had.
func (m *moves) shards() []hosts.ShardID { return slices.Sorted(maps.Keys(m.logs)) }

// order is an operator's order to move a slot, or to cancel a move.
func (s *simulation) order() {
	slot := movedSlots[s.IntN(len(movedSlots))]
	if s.IntN(6) == 0 {
		s.records.CancelMove(s.at(), slot)
	} else {
		s.records.MoveSlot(s.at(), slot, hosts.ShardID(1+s.IntN(3)), s.IntN(2) == 0)
	}
}

// offer lets leaders offer sealed slots to the target shards, without a governor.
func (s *simulation) offer() {
	for _, id := range s.moves.shards() {
		for _, slot := range s.moves.touched {
			if h := s.moves.of(id, slot); h.sealed && s.leads(id) && s.leads(h.to) && !s.chance(60) {
				if s.moves.of(h.to, slot).open(h.generation) && !s.chance(30) {
					h.release(h.generation)
				}
			}
		}
	}
}

func (s *simulation) leads(id hosts.ShardID) bool {
	return s.engines[id] != nil && s.engines[id].leader != 0
}

// move carries out a step like an executor. Any answer may be lost.
func (s *simulation) move(x *executor, step *plan.Step[Action]) {
	a := &step.Payload
	from, into := s.moves.of(a.Shard, a.Slot), s.moves.of(a.Into, a.Slot)
	report := command{do: doAssign, term: x.term, act: step.Act(x.term), a: *a, text: "refused"}
	assign := func(id hosts.ShardID, g uint64) {
		report.owner = slots.Owner{Shard: uint64(id), Generation: g}
		s.send(report)
	}
	asked := func(id hosts.ShardID) bool { return s.leads(id) && !s.chance(15) }
	if o := x.view.State.SlotOrder(a.Slot); o.To == a.Into && asked(a.Shard) {
		s.must(!from.sealed || from.generation == a.Number, "slot %d is sealed for generation %d, and %d begins",
			a.Slot, from.generation, a.Number)
		from.seal(a.Number, a.Into)
		switch {
		case s.tooLarge(a) && !into.refuse(a.Number):
			if asked(a.Shard) && from.cancel(a.Number) {
				assign(a.Shard, a.Number+1)
				return
			}
		case !asked(a.Into): // the offer or the answer is lost
		case s.chance(30):
			if !into.refuse(a.Number) && from.cancel(a.Number) {
				assign(a.Shard, a.Number+1)
				return
			}
		case from.sealed && from.generation == a.Number && into.open(a.Number):
			if asked(a.Shard) {
				s.release(from, a.Number)
				assign(a.Into, a.Number)
				return
			}
		}
	}
	switch {
	case !asked(a.Into):
		if s.moves.hasty {
			assign(a.Shard, a.Number+1)
			return
		}
	case into.refuse(a.Number):
		s.release(from, a.Number)
		assign(a.Into, a.Number)
		return
	case asked(a.Shard) && from.cancel(a.Number):
		assign(a.Shard, a.Number+1)
		return
	}
	report.do = doRetry
	s.send(report)
}

// release lets a shard release a slot that another has opened. If shards are removed, it may come after the outcome is
// on record, with the next offer.
func (s *simulation) release(from *heldSlot, g uint64) {
	if s.capacity == nil || s.IntN(3) > 0 {
		from.release(g)
	}
}

// oneOwner checks that each slot has one owner, or one slot snapshot not yet opened by the target.
func (s *simulation) oneOwner() {
	for _, slot := range s.moves.touched {
		n := 0
		for _, id := range s.moves.shards() {
			h := s.moves.of(id, slot)
			if h.owned || h.sealed && !s.moves.of(h.to, slot).opened(h.generation) {
				n++
				on := s.records.Shard(id)
				s.must(on != nil && on.Phase != hosts.ShardAdded && on.Phase != hosts.ShardRetired,
					"shard %d has slot %d and does not serve", id, slot)
			}
		}
		s.must(n == 1, "slot %d has %d owners", slot, n)
	}
}

// whole reports whether all voters are up.
func (s *simulation) whole() bool {
	for _, e := range s.engines {
		for h := range e.voters() {
			if !s.up(h) {
				return false
			}
		}
	}
	return true
}

// movesAreOver checks that the slot table names the owners, and, if all voters are up, that all orders are carried out.
func (s *simulation) movesAreOver() {
	whole := s.whole()
	for _, slot := range s.moves.touched {
		o, e := s.records.SlotOrder(slot), s.records.Slots().Of(slot)
		s.must(o == nil || o.Into == 0 && !whole, "slot %d is not moved: %+v", slot, o)
		h := s.moves.of(hosts.ShardID(e.Shard), slot)
		s.must(h.owned && h.generation == e.Generation, "slot %d is on record as %+v, and its shard has %+v",
			slot, e, *h)
	}
}

// TestSlotsComeToRest is TestPlansEndAndKeepTheQuorum with slot moves. Each slot has one owner at any time. At the end,
// the slot table names the owner, and all orders are carried out.
func TestSlotsComeToRest(t *testing.T) {
	tally := map[string]int{}
	count := *seeds / 2
	if testing.Short() {
		count = min(count, 30)
	}
	for seed := range count {
		if broken := run(*from+seed, newMoving, nil, tally); broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
	if n := tally["began move-slot"]; tally["opened"] < int(count) || tally["kept"] < int(count)/4 || n < int(count) {
		t.Errorf("%d steps, %d slots opened and %d kept: the worlds show too little", n, tally["opened"], tally["kept"])
	}
}

func TestPlantedBugsAboutSlotsAreNoticed(t *testing.T) {
	for _, b := range []struct {
		name  string
		seed  uint64
		spoil func(*simulation)
		says  string
	}{
		{"no rule slots", 0, without("slots"), "is not moved"},
		{"no rule attempts", 0, without("attempts"), "slot"},
		{"silence counts as a refusal", 30, func(s *simulation) { s.moves.hasty = true }, "slot"},
		{"moves that are not wanted any more are dropped", 0, func(s *simulation) {
			for i := range s.planner.Types {
				if k := &s.planner.Types[i]; k.Kind == KindMoveSlot {
					k.Reached = func(v View, step *plan.Step[Action]) (plan.Phase, bool) {
						o := v.State.SlotOrder(step.Payload.Slot)
						return 0, o == nil || o.To != step.Payload.Into
					}
				}
			}
			without("attempts")(s)
		}, "slot"},
	} {
		t.Run(b.name, func(t *testing.T) {
			broken := run(b.seed, newMoving, b.spoil, map[string]int{})
			if broken == "" || !strings.Contains(broken, b.says) {
				t.Errorf("seed %d does not notice it%s", b.seed, search(newMoving, b.spoil, b.says))
			}
			t.Log(broken[:min(len(broken), 160)])
		})
	}
}
