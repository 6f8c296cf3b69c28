package executor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/slots"
)

// heldSlot is a slot in a data shard's log, by the rules of package slots.
type heldSlot struct {
	owned, sealed    bool
	generation, seen uint64
}

// slotLogs are the slots of a fleet's data shards.
type slotLogs struct {
	held map[hosts.ShardID]map[shard.Slot]*heldSlot
	// tooLarge makes targets refuse. silent reports whether an effect is lost before it is applied, or
	// its answer after that.
	tooLarge bool
	silent   func(e *protocol.StepExecute, over bool) bool
	effects  []string
}

func (l *slotLogs) of(r *hosts.Records, id uint64, slot uint64) *heldSlot {
	if l.held == nil {
		l.held = map[hosts.ShardID]map[shard.Slot]*heldSlot{}
	}
	of := l.held[hosts.ShardID(id)]
	if of == nil {
		of = map[shard.Slot]*heldSlot{}
		l.held[hosts.ShardID(id)] = of
	}
	if of[shard.Slot(slot)] == nil {
		of[shard.Slot(slot)] = &heldSlot{owned: r.SlotOwner(shard.Slot(slot)) == hosts.ShardID(id)}
	}
	return of[shard.Slot(slot)]
}

// refuse reports whether the shard has opened the slot under g.
func (h *heldSlot) refuse(g uint64) bool {
	opened := h.owned && h.generation == g || h.seen > g
	h.seen = max(h.seen, g)
	return opened
}

func (h *heldSlot) cancel(g uint64) protocol.SlotOutcome {
	if h.sealed && h.generation == g || h.owned && h.generation < g && h.seen <= g {
		*h = heldSlot{owned: true, generation: g + 1, seen: g + 1}
	}
	if h.owned && h.generation == g+1 {
		return protocol.SlotKept
	}
	return protocol.SlotNone
}

// apply applies an effect to the logs of both shards.
func (l *slotLogs) apply(r *hosts.Records, e *protocol.StepExecute) (protocol.SlotOutcome, string) {
	own, other, g := l.of(r, e.ShardID, e.Slot), l.of(r, e.Into, e.Slot), e.Generation
	const large = "12.4 MiB, limit 8 MiB"
	switch {
	case e.Effect == protocol.EffectCancelSlot:
		return own.cancel(g), large
	case e.Effect == protocol.EffectRefuseSlot && own.refuse(g):
		other.sealed = false
		return protocol.SlotOpened, ""
	case e.Effect == protocol.EffectRefuseSlot:
		return protocol.SlotKept, ""
	case own.owned && own.generation < g && g > own.seen:
		*own = heldSlot{sealed: true, generation: g, seen: g}
	}
	if own.sealed && g > other.seen && !l.tooLarge {
		*other = heldSlot{owned: true, generation: g, seen: g}
	}
	if other.refuse(g) {
		own.sealed = false
		return protocol.SlotOpened, ""
	}
	return own.cancel(g), large
}

// Slot implements Replicas.
func (m *machine) Slot(ctx context.Context, e *protocol.StepExecute) (protocol.SlotOutcome, string, error) {
	f := m.fleet
	r := f.records()
	f.mu.Lock()
	silent := f.slots.silent
	f.slots.effects = append(f.slots.effects, fmt.Sprintf("%v of shard %d, generation %d, large %t", e.Effect,
		e.ShardID, e.Generation, e.Large))
	f.mu.Unlock()
	if silent != nil && silent(e, false) {
		<-ctx.Done()
		return 0, "", ctx.Err()
	}
	f.mu.Lock()
	outcome, why := f.slots.apply(r, e)
	f.mu.Unlock()
	if silent != nil && silent(e, true) {
		<-ctx.Done()
		return 0, "", ctx.Err()
	}
	return outcome, why, nil
}

// newSlotFleet has three hosts and two data shards at rest. Slot 5 belongs to shard 1.
func newSlotFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t, "a", "b", "c")
	f.converge()
	return f
}

// fail changes the faults of slot effects.
func (f *fleet) fail(change func(l *slotLogs)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.slots)
}

func (f *fleet) order(slot shard.Slot, to hosts.ShardID, large bool) {
	f.Helper()
	f.must("order", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.MoveSlot(at, slot, to, large) })
}

// wantOwner checks the owner of slot 5, on record and in the logs.
func (f *fleet) wantOwner(want slots.Owner) {
	f.Helper()
	r := f.records()
	if got := r.Slots().Of(5).Owner; got != want {
		f.Errorf("slot 5 belongs to %+v on record, want %+v", got, want)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range f.shards[1:] {
		h := f.slots.of(r, uint64(id), 5)
		if h.sealed || h.owned != (uint64(id) == want.Shard) || h.owned && h.generation != want.Generation {
			f.Errorf("shard %d has %+v, want the owner %+v", id, *h, want)
		}
	}
}

func (f *fleet) wantEffects(want string) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := strings.Join(f.slots.effects, "; "); got != want {
		f.Errorf("the effects are %s, want %s", got, want)
	}
}

func TestOrderedSlotMoves(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSlotFleet(t)
		f.order(5, 2, true)
		f.converge()
		f.wantOwner(slots.Owner{Shard: 2, Generation: 1})
		f.wantEffects("MOVE_SLOT of shard 1, generation 1, large true")
		if n := len(f.records().SlotOrders()); n != 0 {
			t.Errorf("%d orders are left", n)
		}
	})
}

func TestRefusedSlotStaysWithItsReason(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSlotFleet(t)
		f.fail(func(l *slotLogs) { l.tooLarge = true })
		f.order(5, 2, false)
		f.until(time.Minute, "two attempts fail", func() bool {
			o := f.records().SlotOrder(5)
			return o != nil && o.Failures == hosts.SlotAttempts && o.NotBefore != 0
		})
		f.wantOwner(slots.Owner{Shard: 1, Generation: 4})
		reasons, err := f.leader(hosts.Meta).executor.Why()
		if err != nil || len(reasons) == 0 || !strings.Contains(reasons[0].Text, "12.4 MiB, limit 8 MiB") {
			t.Errorf("why: %+v, %v", reasons, err)
		}
		f.fail(func(l *slotLogs) { l.tooLarge = false })
		f.converge() // after the delay
		f.wantOwner(slots.Owner{Shard: 2, Generation: 5})
	})
}

// TestSilentShardsAreAskedUntilTheOutcomeIsKnown: any answers are lost for a while. The attempt ends with the outcome
// that the target's log has.
func TestSilentShardsAreAskedUntilTheOutcomeIsKnown(t *testing.T) {
	for _, x := range []struct {
		name  string
		lost  string // effects that are lost before they are applied, or whose answers are lost after that
		moved bool   // in the first attempt
	}{
		{"the owner does not seal", "before MOVE_SLOT", false},
		{"the owner seals and does not answer", "after MOVE_SLOT", true},
		{"the target does not answer either", "after MOVE_SLOT, after REFUSE_SLOT", true},
		{"nobody is reached", "before MOVE_SLOT, before REFUSE_SLOT", true},
		{"the target refuses and does not answer", "before MOVE_SLOT, after REFUSE_SLOT", false},
		{"the owner does not take the slot back", "before MOVE_SLOT, before CANCEL_SLOT", false},
		{"the owner takes the slot back and does not answer", "before MOVE_SLOT, after CANCEL_SLOT", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := newSlotFleet(t)
				end := time.Now().Add(3 * time.Second)
				f.fail(func(l *slotLogs) {
					l.silent = func(e *protocol.StepExecute, over bool) bool {
						when := map[bool]string{false: "before ", true: "after "}[over]
						return strings.Contains(x.lost, when+e.Effect.String()) && time.Now().Before(end)
					}
				})
				f.order(5, 2, false)
				f.converge()
				generation := f.records().Slots().Of(5).Generation
				f.wantOwner(slots.Owner{Shard: 2, Generation: generation})
				if x.moved != (generation == 1) {
					t.Errorf("moved with generation %d: %s", generation, f.slots.effects)
				}
			})
		})
	}
}

func TestCancelledOrderEndsTheAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSlotFleet(t)
		f.fail(func(l *slotLogs) {
			l.silent = func(*protocol.StepExecute, bool) bool { return f.records().SlotOrder(5).To == 2 }
		})
		f.order(5, 2, false)
		f.until(10*time.Second, "the attempt begins", func() bool { return f.records().SlotOrder(5).Into == 2 })
		f.must("cancel", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.CancelMove(at, 5) })
		f.converge()
		f.wantOwner(slots.Owner{Shard: 1, Generation: 2})
	})
}

// TestGovernorDiesDuringASlotMove: before and after each action. The slot ends with one owner, which is on record.
func TestGovernorDiesDuringASlotMove(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a move once for each act")
	}
	move := func(when moment) (passed []moment, killed bool) {
		inBubble(t, func(t *testing.T) {
			f := newSlotFleet(t)
			old := f.leader(hosts.Meta)
			for _, id := range f.shards[1:] { // calls to the own agent do not pass the gate
				other := f.named(map[string]string{"a": "b", "b": "c", "c": "a"}[old.name])
				_ = f.leader(id).on(id).Transfer(other.id)
			}
			f.converge()
			come, at := f.killAt(when)
			f.order(5, 2, false)
			f.converge()
			passed, killed = come(), at()
			f.wantOwner(slots.Owner{Shard: 2, Generation: f.records().Slots().Of(5).Generation})
		})
		return passed, killed
	}
	moments, _ := move(moment{})
	died := map[moment]bool{}
	for _, when := range moments {
		if _, killed := move(when); killed {
			died[moment{act: when.act, over: when.over}] = true
		}
		if t.Failed() {
			return
		}
	}
	for _, act := range []string{"verb 1", "effect MOVE_SLOT of shard 1", fmt.Sprint("verb ", VerbAssign), "verb 4"} {
		for _, over := range []bool{false, true} {
			if !died[moment{act: act, over: over}] {
				t.Errorf("no governor died at %q, over %t", act, over)
			}
		}
	}
}

func TestFollowerCarriesOutNoSlotEffect(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSlotFleet(t)
		leader := f.leader(1)
		for _, m := range f.all() {
			for _, effect := range []protocol.EffectKind{protocol.EffectMoveSlot, protocol.EffectRefuseSlot,
				protocol.EffectCancelSlot} {
				e := &protocol.StepExecute{Term: m.Leadership().Term, Effect: effect, ShardID: 1, Into: 2, Slot: 5,
					Generation: 1}
				_, err := decodeAnswer(e.Kind(), m.agent.Answer(t.Context(), peerrpc.Request(e)))
				if (err == nil) != (m == leader) {
					t.Errorf("host %d, which leads %t: %v", m.id, m == leader, err)
				}
			}
		}
	})
}
