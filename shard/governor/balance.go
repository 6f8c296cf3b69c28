package governor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

const (
	// fullQuota is the share of a quota, in percent, above which a shard takes no slots.
	fullQuota = 80
	// slowCommit is a commit time in microseconds. Commit times up to slowCommit never delay moves.
	slowCommit = 10_000
)

// balance is how far the data shards are from their targets.
type balance struct {
	// spare has each shard's surplus above its target, negative for a shard that lacks slots.
	spare map[hosts.ShardID]int
}

// newBalance computes the balance from the records. If no rebalancing is due, no shard has spare slots or lacks slots.
func newBalance(r *hosts.Records) *balance {
	b := &balance{spare: make(map[hosts.ShardID]int)}
	if r.Rebalance().Due {
		maps.Copy(b.spare, r.Counts())
		for id, n := range r.Targets() {
			b.spare[id] -= n
		}
	}
	return b
}

// givers are the shards with more slots than their target, the largest surplus first.
func (b *balance) givers() []hosts.ShardID { return b.sorted(1) }

// takers are the shards with fewer slots than their target, the largest deficit first.
func (b *balance) takers() []hosts.ShardID { return b.sorted(-1) }

func (b *balance) sorted(sign int) (list []hosts.ShardID) {
	for id, n := range b.spare {
		if sign*n > 0 {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(x, y hosts.ShardID) int {
		return cmp.Or(sign*(b.spare[y]-b.spare[x]), cmp.Compare(x, y))
	})
	return list
}

// left returns how many slots are still to move.
func (b *balance) left() (n int) {
	for _, more := range b.spare {
		n += max(0, more)
	}
	return n
}

// ruleBalance moves slots until each shard has its target, always from the shard with the largest surplus to the shard
// with the largest deficit. So as few slots as possible move. A shard that is to be removed has the target 0.
func ruleBalance(v View) (f finding) {
	b := newBalance(v.State)
	left := b.left()
	if left == 0 {
		return f
	}
	if order := v.State.Rebalance(); order.Paused {
		by := cmp.Or(order.By, "an operator")
		f.because(&plan.Reason{Code: CodePaused, Since: order.Since, Text: fmt.Sprintf("%d slots are to move, and "+
			"rebalancing is paused by %s: signalbox cluster rebalance --resume", left, by)})
		return f
	}
	away := cmp.Or(held(v), missing(v))
	if f.because(away); away == nil {
		f.balance(v, b)
	}
	f.because(&plan.Reason{Code: CodeQueued,
		Text: fmt.Sprintf("%d slots are still to move by the weights of the shards", left)})
	return f
}

// balance proposes a move for each two shards that can begin a move now.
func (f *finding) balance(v View, b *balance) {
	open, busy := moving(v)
	for _, o := range v.State.SlotOrders() {
		if o.Balance && v.Now < o.NotBefore {
			f.because(keptReason(v, o))
		}
	}
	moves := len(open)
	may := make(map[hosts.ShardID]bool)
	for _, id := range slices.Concat(b.givers(), b.takers()) {
		may[id] = !busy[id] && f.mayMove(v, id, b.spare[id] < 0)
	}
	for _, from := range b.givers() {
		for _, into := range b.takers() {
			if !may[from] || !may[into] || moves >= maxMoves {
				continue
			}
			slot, found := b.nextSlot(v, from, into)
			if !found {
				break // all slots of the shard have orders, or wait after failed attempts
			}
			if f.propose(v, KindMoveSlot, move(v, slot, into)) {
				may[from], may[into] = false, false
				moves++
			}
		}
	}
}

// mayMove reports whether a shard can give up or take a slot now. If not, mayMove adds the reason to the finding.
func (f *finding) mayMove(v View, id hosts.ShardID, takes bool) bool {
	g := newGroup(v, v.State.Shard(id))
	r := g.unfitToMove()
	now := v.State.Rebalance().Now
	switch seen := g.seen; {
	case r != nil:
	case takes && seen.Quota > fullQuota:
		r = g.reason(CodeQuota, fmt.Sprintf("no slot moves into it: %d %% of a quota are used, at most %d %% are "+
			"allowed; raise the quota, or add a shard", seen.Quota, fullQuota))
	case !now && seen.Commit > slowCommit && 2*seen.Commit > 3*seen.Usual:
		r = g.reason(CodePacing, fmt.Sprintf("no slot moves while commits take %s (before the moves: %s); "+
			"signalbox cluster rebalance --now ignores this", micros(seen.Commit), micros(seen.Usual)))
	case !now && seen.Rest > 0:
		r = g.reason(CodePacing, "the next slot moves after a rest")
		r.Until = v.Now + seen.Rest
	}
	f.because(r)
	return r == nil
}

// nextSlot returns the slot that a shard gives up next. Slots without a failed attempt come first. The choice keeps the
// number of ranges in the table low: a slot next to a slot of the new owner, or else an end of the shortest range where
// no other shard takes slots, or else the middle of the longest range.
func (b *balance) nextSlot(v View, from, into hosts.ShardID) (best shard.Slot, found bool) {
	var worth [4]int
	v.State.Slots().Ranges(func(first, last shard.Slot, o slots.Owner) {
		if hosts.ShardID(o.Shard) != from {
			return
		}
		before, after := neighbor(v.State, first, -1), neighbor(v.State, last, 1)
		for slot := first; slot <= last; slot++ {
			order := v.State.SlotOrder(slot)
			if order != nil && (!order.Balance || order.Into != 0 || v.Now < order.NotBefore) {
				continue
			}
			near := slot == first && before == into || slot == last && after == into
			end := slot == first && b.spare[before] >= 0 || slot == last && b.spare[after] >= 0
			w := [4]int{rank(order != nil), rank(!near), rank(!end), int(last - first)}
			if !near && !end {
				w[3] = -int(min(slot-first, last-slot))
			}
			if !found || slices.Compare(w[:], worth[:]) < 0 {
				best, worth, found = slot, w, true
			}
		}
	})
	return best, found
}

// neighbor returns the owner of the previous or next slot, 0 if there is no such slot.
func neighbor(r *hosts.Records, slot shard.Slot, step int) hosts.ShardID {
	if next := int(slot) + step; next >= 0 && next < shard.Slots {
		return r.SlotOwner(shard.Slot(next))
	}
	return 0
}
