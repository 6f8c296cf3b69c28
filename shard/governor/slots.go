package governor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

const (
	// maxMoves is the maximum number of concurrent slot moves. Each shard takes part in one move at a time.
	maxMoves = 4
	// maxKept is the maximum number of failed moves that are reported one by one.
	maxKept = 16
)

// slotSubject is the subject for moves of one slot.
func slotSubject(slot shard.Slot) plan.Subject {
	return plan.Subject("slot/" + strconv.FormatUint(uint64(slot), 10))
}

// moveSubject is the subject for a shard's part in slot moves. Membership changes have another subject, so a shard can
// change its membership during a move.
func moveSubject(id hosts.ShardID) plan.Subject {
	return plan.Subject("move/" + strconv.FormatUint(uint64(id), 10))
}

// move returns the step that moves a slot into a shard, in the attempt in progress or in a new attempt. After a failed
// attempt to leave a shard that is to be removed, the slot may be large.
func move(v View, slot shard.Slot, into hosts.ShardID) Action {
	from, o := v.State.SlotOwner(slot), v.State.SlotOrder(slot)
	large := o != nil && (o.Large || o.Failures > 0 && v.State.Shard(from).Phase == hosts.ShardLeaving)
	return Action{Shard: from, Into: into, Slot: slot, Number: v.State.MoveGeneration(slot, from, into), Large: large}
}

// inProgress reports whether an attempt to move a slot is in progress.
func inProgress(r *hosts.Records, slot shard.Slot) bool {
	o := r.SlotOrder(slot)
	return o != nil && o.Into != 0
}

// moving returns the slots with an open step, and the shards in these steps.
func moving(v View) (slots map[shard.Slot]bool, busy map[hosts.ShardID]bool) {
	slots, busy = make(map[shard.Slot]bool), make(map[hosts.ShardID]bool)
	for _, s := range v.Plan.Steps() {
		if s.Kind == KindMoveSlot {
			slots[s.Payload.Slot], busy[s.Payload.Shard], busy[s.Payload.Into] = true, true, true
		}
	}
	return slots, busy
}

// ruleAttempts continues attempts without an open step and without an outcome on record: the step has failed too often,
// or an operator has cancelled the step. The slot may be sealed, so the attempt must not wait for other steps.
func ruleAttempts(v View) (f finding) {
	orders := v.State.SlotOrders()
	if len(orders) == 0 {
		return f
	}
	slots, _ := moving(v)
	for _, o := range orders {
		if o.Into != 0 && !slots[o.Slot] {
			f.propose(v, KindMoveSlot, move(v, o.Slot, o.Into))
		}
	}
	return f
}

// ruleSlots moves the slots that operators have ordered to move, in slot order, while the hosts and the two shards are
// healthy.
func ruleSlots(v View) (f finding) {
	orders := slices.DeleteFunc(slices.Clone(v.State.SlotOrders()), func(o *hosts.SlotOrder) bool { return o.Balance })
	if len(orders) == 0 {
		return f
	}
	slots, busy := moving(v)
	states := make(map[hosts.ShardID]*plan.Reason)
	for _, s := range v.State.Shards() {
		states[s.ID] = newGroup(v, s).unfitToMove()
	}
	away, kept, queued := missing(v), 0, 0
	if held := held(v); held != nil {
		f.because(held)
		return f
	}
	for _, o := range orders {
		from := v.State.SlotOwner(o.Slot)
		switch {
		case o.Into != 0:
		case v.Now < o.NotBefore:
			if kept++; kept <= maxKept {
				f.because(keptReason(v, o))
			}
		case away != nil || busy[from] || busy[o.To] || len(slots) >= maxMoves:
			queued++
		case states[from] != nil || states[o.To] != nil:
			queued++
			f.because(states[from])
			f.because(states[o.To])
			states[from], states[o.To] = nil, nil // reported once; the shards' other slots wait too
			busy[from], busy[o.To] = true, true
		default:
			f.propose(v, KindMoveSlot, move(v, o.Slot, o.To))
			slots[o.Slot], busy[from], busy[o.To] = true, true, true
		}
	}
	if kept > maxKept {
		f.because(&plan.Reason{Code: CodeKept, Text: fmt.Sprintf("%d more slots stay for a while after failed attempts",
			kept-maxKept)})
	}
	if queued > 0 {
		text := "wait for other slots or shards"
		if away != nil {
			text = "wait for a host"
			f.because(away)
		}
		f.because(&plan.Reason{Code: CodeQueued, Text: fmt.Sprintf("%d slots are to move and %s", queued, text)})
	}
	return f
}

// keptReason explains why a slot stays, and until when.
func keptReason(v View, o *hosts.SlotOrder) *plan.Reason {
	from := v.State.SlotOwner(o.Slot)
	return &plan.Reason{Code: CodeKept, Since: o.Since, Until: o.NotBefore,
		Subjects: []plan.Subject{slotSubject(o.Slot), shardSubject(from), shardSubject(o.To)},
		Text: fmt.Sprintf("slot %d stays in shard %d after %d attempts to move to shard %d: %s; the next attempt "+
			"begins by itself, or at once if the move is ordered again", o.Slot, from, o.Failures, o.To, o.Text)}
}

// held returns the reason why no slot begins to move if a backup holds moves, or nil.
func held(v View) *plan.Reason {
	hold := v.State.MovesHeld(v.Now)
	if hold == nil {
		return nil
	}
	return &plan.Reason{Code: CodeHeld, Until: hold.Until, Text: "no slot begins to move before the backup by " +
		cmp.Or(hold.By, "a client") + " is saved"}
}

// missing returns the reason why no slot begins to move if a host that should be online is not, or nil.
func missing(v View) *plan.Reason {
	for _, h := range v.State.Hosts() {
		if h.Wanted() && !(h.Online() && v.Seen.live(h.ID)) {
			return &plan.Reason{Code: CodeOffline, Subjects: []plan.Subject{hostSubject(h.ID)},
				Text: fmt.Sprintf("host %s is to be online and is not; no slot begins to move", h.Name)}
		}
	}
	return nil
}

// unfitToMove returns why a shard must not give up or take a slot now, or nil.
func (g *group) unfitToMove() *plan.Reason {
	if r := g.unusable(); r != nil {
		return r
	}
	if g.shard.Waits {
		return g.reason(CodeRebuilt, "no slot moves: the shard was rebuilt and grants nothing yet")
	}
	for _, m := range g.voters {
		switch {
		case !m.live:
			return g.reason(CodeSilent, "no slot moves: "+m.name()+" is not heard", m)
		case g.v.Seen.full(m.Host):
			return g.reason(CodeFull, "no slot moves: the disk of "+m.name()+" is nearly full", m)
		case !m.caughtUp():
			return g.behind(m)
		}
	}
	return nil
}

// forbiddenMove returns why no executor may act on a slot move now, or nil.
func forbiddenMove(v View, a *Action) *plan.Reason {
	r := &plan.Reason{Subjects: []plan.Subject{slotSubject(a.Slot), shardSubject(a.Shard)}}
	seen := v.Seen.shard(a.Shard)
	switch {
	case v.State.MoveGeneration(a.Slot, a.Shard, a.Into) != a.Number:
		r.Code, r.Text = CodeMoot, fmt.Sprintf("slot %d is not to move to shard %d", a.Slot, a.Into)
	case seen == nil || seen.Leader == 0 || seen.Age >= reportMillis:
		r.Code, r.Text = CodeNoReport, fmt.Sprintf("slot %d: no report from the leader of shard %d", a.Slot, a.Shard)
	default:
		return nil
	}
	return r
}
