package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
	table "github.com/signalbox/signalbox/shard/slots"
)

// ShardPhase is a data shard's phase between being added and being deleted.
type ShardPhase uint8

// The phases.
const (
	// ShardServing: the shard takes slots by its weight. Shards from the bootstrap begin in this phase.
	ShardServing ShardPhase = iota
	// ShardAdded: the shard has not had all its voters yet, and takes no slots.
	ShardAdded
	// ShardLeaving: the shard is to be removed. Its slots move to other shards.
	ShardLeaving
	// ShardRetired: the shard owns nothing, and its replicas are being deleted. The record is deleted last.
	ShardRetired
	shardPhases
)

// String returns the phase's name for people.
func (p ShardPhase) String() string { return [...]string{"serving", "added", "leaving", "retired"}[p] }

// Rebalance is the state of rebalancing, as ordered by operators.
type Rebalance struct {
	// Due is set when shares change, and unset once each shard has its target. If operators move slots afterwards, the
	// slots stay in their new shards.
	Due bool
	// Paused is set while no rebalancing move may begin.
	Paused bool
	// Now turns off pacing until Due is unset.
	Now     bool
	By, Why string
	Since   uint64 // 0 before the first order
}

// Weight returns the shard's weight, as set by an operator or by default. Only serving shards use their weights: see
// Share.
func (s *Shard) Weight() uint64 {
	if s.Weighs == 0 {
		return DefaultWeight
	}
	return s.Weighs - 1
}

// Share returns the shard's weight while the shard is serving, else 0.
func (s *Shard) Share() uint64 {
	if s.ID == Meta || s.Phase != ShardServing {
		return 0
	}
	return s.Weight()
}

// LastShard is the last data shard id issued.
func (r *Records) LastShard() ShardID { return r.lastShard }

// Rebalance returns the state of rebalancing.
func (r *Records) Rebalance() Rebalance { return r.rebalance }

// dataShard returns a data shard that can be operated on, or a refusal.
func (r *Records) dataShard(id ShardID) (*Shard, Answer) {
	s := r.Shard(id)
	if s == nil || id == Meta {
		return nil, refuse(protocol.StatusNotFound, "there is no data shard %d", id)
	}
	if s.Phase == ShardRetired {
		return nil, forbid("shard %d was removed", id)
	}
	return s, Answer{}
}

// AddShards adds a data shard for each listed host. The host gets the shard's first replica. The shards get consecutive
// new ids, own no slot, and take no slots before MarkServing.
func (r *Records) AddShards(at At, on []shard.HostID) Answer {
	live := len(r.shards) - 1
	switch {
	case len(on) == 0:
		return refuse(protocol.StatusBadRequest, "the number of shards is missing")
	case live+len(on) > MaxShards-1:
		return forbid("a cluster has at most %d data shards, this one has %d", MaxShards-1, live)
	case uint64(r.lastShard)+uint64(len(on)) > shard.MaxShard:
		return forbid("shard ids are used once, up to %d; the last one used is %d", shard.MaxShard, r.lastShard)
	}
	for _, id := range on {
		if h := r.Host(id); h == nil || !h.Living() {
			return forbid("host %d cannot take a shard: it does not belong to the cluster", id)
		}
	}
	first := r.lastShard + 1
	for _, id := range on {
		r.lastShard++
		r.shards = append(r.shards, &Shard{ID: r.lastShard, Phase: ShardAdded})
		r.begin(at, r.lastShard, id)
		r.note(at, EventShard, r.Host(id), "shard %d is added", r.lastShard)
	}
	return Answer{Shard: first}
}

// begin begins a new, empty group for a shard, with one replica on a host.
func (r *Records) begin(at At, id ShardID, host shard.HostID) {
	s := r.edit(id)
	r.nextGroup(at, s, host)
	s.Empty, s.Fresh = true, true
	s.CountedAt = clock.Moment(at.Now)
	s.Fence = shard.OrderID(s.ID)
}

// BeginAgain gives an added shard a new group on another host, because the current group has not begun or has lost its
// majority. A shard that has not served owns nothing, so nothing is lost. term is the governor's term, group the
// current group.
func (r *Records) BeginAgain(at At, term uint64, id ShardID, group uint64, host shard.HostID) Answer {
	s, a := r.dataShard(id)
	h := r.Host(host)
	switch {
	case s == nil:
		return a
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case h == nil || !h.Living():
		return refuse(protocol.StatusNotFound, "host %d does not belong to the cluster", host)
	case s.Group != group || !s.Fresh || s.Phase != ShardAdded:
		return refuse(protocol.StatusStale, "shard %d is %s, in group %d", id, s.Phase, s.Group)
	}
	r.begin(at, id, host)
	r.note(at, EventShard, h, "shard %d begins anew, as group %d", id, r.Shard(id).Group)
	r.noteBare(at)
	return Answer{Host: host}
}

// MarkServing lets an added shard take slots by its weight, after the governor has seen all voters of the shard live.
func (r *Records) MarkServing(at At, term uint64, id ShardID) Answer {
	s, a := r.dataShard(id)
	switch {
	case s == nil:
		return a
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case s.Phase != ShardAdded:
		return Answer{Existed: true}
	}
	r.edit(id).Phase = ShardServing
	r.rebalanceNext(true)
	r.note(at, EventShard, nil, "shard %d has its voters and takes slots, with weight %d", id, s.Weight())
	return Answer{}
}

// WeighShard sets a data shard's weight.
func (r *Records) WeighShard(at At, id ShardID, weight uint64) Answer {
	s, a := r.dataShard(id)
	switch {
	case s == nil:
		return a
	case weight > MaxWeight:
		return badRequest(fmt.Errorf("the weight is %d; 0 to %d are allowed", weight, MaxWeight))
	case s.Weight() == weight:
		return Answer{Existed: true}
	case weight == 0 && s.Phase == ShardServing && r.shares(id) == 0:
		return forbid("no other shard can take the slots of shard %d", id)
	}
	r.edit(id).Weighs = weight + 1
	r.rebalanceNext(s.Phase == ShardServing)
	r.note(at, EventShard, nil, "shard %d has weight %d", id, weight)
	return Answer{}
}

// shares adds up the shares of all shards except the listed shards.
func (r *Records) shares(except ...ShardID) (sum uint64) {
	for _, s := range r.shards {
		if !slices.Contains(except, s.ID) {
			sum += s.Share()
		}
	}
	return sum
}

// RemoveShards orders the removal of data shards. A serving shard is removed once its slots have moved to other shards.
// A shard that has never served has no slots, and is retired at once.
func (r *Records) RemoveShards(at At, ids []ShardID) Answer {
	if len(ids) == 0 {
		return refuse(protocol.StatusBadRequest, "the shards to remove are missing")
	}
	existed := true
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), r.removed)
	for _, id := range ids {
		s, a := r.dataShard(id)
		if s == nil {
			return a
		}
		existed = existed && s.Phase == ShardLeaving
	}
	switch {
	case existed:
		return Answer{Existed: true}
	case r.shares(ids...) == 0:
		return forbid("no other shard can take the slots: at least one serving shard with a weight above 0 must stay")
	}
	served := false
	for _, id := range ids {
		switch s := r.Shard(id); s.Phase {
		case ShardServing:
			served = true
			r.edit(id).Phase = ShardLeaving
			r.note(at, EventShard, nil, "shard %d is to be removed", id)
		case ShardAdded:
			r.retire(at, id)
		}
	}
	for _, o := range slices.Clone(r.orders) {
		if !o.Balance && slices.Contains(ids, o.To) {
			r.CancelMove(at, o.Slot)
		}
	}
	r.rebalanceNext(served)
	return Answer{}
}

// removed reports whether a data shard was removed: the shard is retired, or its record is already deleted.
func (r *Records) removed(id ShardID) bool {
	s := r.Shard(id)
	return id != Meta && (s != nil && s.Phase == ShardRetired || s == nil && id <= r.lastShard)
}

// Retire makes the hosts delete the replicas of a leaving shard, after the governor has seen that the shard keeps
// nothing.
func (r *Records) Retire(at At, term uint64, id ShardID) Answer {
	s := r.Shard(id)
	switch {
	case s == nil || s.Phase == ShardRetired:
		return Answer{Existed: true}
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case s.Phase != ShardLeaving || r.Owns(id):
		return refuse(protocol.StatusStale, "shard %d has slots, or is not to be removed", id)
	}
	r.retire(at, id)
	return Answer{}
}

// retire makes the hosts delete the replicas of a shard that owns nothing.
func (r *Records) retire(at At, id ShardID) {
	s := r.edit(id)
	s.Phase, s.Waits, s.Overlap, s.Wish, s.WishUntil = ShardRetired, false, false, 0, 0
	r.dropMembers(at, s)
	r.note(at, EventShard, nil, "shard %d owns nothing, and its replicas are deleted", id)
	r.noteBare(at)
	r.forgetShard(at, id)
}

// Owns reports whether the table, an order or an attempt names a data shard.
func (r *Records) Owns(id ShardID) (owns bool) {
	r.slots.Ranges(func(_, _ shard.Slot, o table.Owner) { owns = owns || ShardID(o.Shard) == id })
	return owns || slices.ContainsFunc(r.orders, func(o *SlotOrder) bool { return o.To == id || o.Into == id })
}

// forgetShard deletes the record of a retired shard that has no replica left.
func (r *Records) forgetShard(at At, id ShardID) {
	if i, found := r.shardIndex(id); found && r.shards[i].Phase == ShardRetired && len(r.shards[i].Replicas) == 0 {
		r.past.counters = r.Highest(at.Now)
		r.outlives(at, r.shards[i].Bound.Longest)
		r.shards = slices.Delete(slices.Clone(r.shards), i, i+1)
		r.revision++
	}
}

// SetRebalance applies an operator's order about rebalancing. Cancel pauses rebalancing, and ends the attempts in
// progress: a slot that its new shard has already opened stays there, and all other slots stay in their old shards.
func (r *Records) SetRebalance(at At, action protocol.RebalanceAction) Answer {
	next := Rebalance{Due: r.rebalance.Due, By: codec.Cut(at.By, MaxText), Why: codec.Cut(at.Why, MaxText),
		Since: clock.Moment(at.Now)}
	text := "goes on"
	cancelled := false
	switch action {
	case protocol.RebalanceResume:
		next.Due = !r.balanced()
	case protocol.RebalanceNow:
		next.Due = !r.balanced()
		next.Now, text = next.Due, "goes on without pacing"
	case protocol.RebalancePause:
		next.Paused, text = true, "is paused"
	case protocol.RebalanceCancel:
		next.Paused, text = true, "is cancelled"
		cancelled = r.dropBalance(true)
	default:
		return refuse(protocol.StatusBadRequest, "unknown order for rebalancing")
	}
	now := r.rebalance
	if now.Paused == next.Paused && now.Now == next.Now && now.Due == next.Due && !cancelled {
		return Answer{Existed: true}
	}
	r.rebalance = next
	r.revision++
	r.note(at, EventSlot, nil, "rebalancing %s", text)
	return Answer{}
}

// rebalanceNext drops earlier rebalancing orders, because weights or shards have changed. If the shares have changed,
// slots move until each shard has its target.
func (r *Records) rebalanceNext(shares bool) {
	r.dropBalance(false)
	r.rebalance.Due = r.rebalance.Due || shares
	r.endBalance()
}

// endBalance ends rebalancing once each shard has its target.
func (r *Records) endBalance() {
	if r.rebalance.Due && r.balanced() {
		r.rebalance.Due, r.rebalance.Now = false, false
		r.dropBalance(false)
	}
}

// balanced reports whether each data shard has its target. The target of a leaving shard is 0.
func (r *Records) balanced() bool {
	return r.shares() == 0 || maps.Equal(r.Counts(), present(r.Targets()))
}

// present deletes the zeros.
func present(counts map[ShardID]int) map[ShardID]int {
	maps.DeleteFunc(counts, func(_ ShardID, n int) bool { return n == 0 })
	return counts
}

// dropBalance drops the rebalancing orders that have no attempt in progress, with their failure counts. With cancel,
// dropBalance also cancels the orders that have an attempt in progress. dropBalance reports whether it has dropped or
// cancelled any order.
func (r *Records) dropBalance(cancel bool) (any bool) {
	for _, o := range slices.Clone(r.orders) {
		if o.Balance && o.To != 0 && (cancel || o.Into == 0) {
			next := *o
			next.To = 0
			r.putOrder(&next)
			any = true
		}
	}
	return any
}

// Counts returns the number of slots of each data shard, by the slot table.
func (r *Records) Counts() map[ShardID]int {
	counts := make(map[ShardID]int, len(r.shards))
	r.slots.Ranges(func(first, last shard.Slot, o table.Owner) { counts[ShardID(o.Shard)] += int(last-first) + 1 })
	return counts
}

// evens reports whether a move from one shard to another brings both closer to their targets.
func (r *Records) evens(from, into ShardID) bool {
	s := r.Shard(into)
	if s == nil || s.Share() == 0 || !r.rebalance.Due {
		return false
	}
	targets, counts := r.Targets(), r.Counts()
	return counts[from] > targets[from] && counts[into] < targets[into]
}

// Targets returns the number of slots that each data shard should have, in proportion to its share. The targets add up
// to 4096, unless all shares are 0. Targets are rounded down; the slots left over go to the shards with the largest
// remainders, then to the lowest ids.
func (r *Records) Targets() map[ShardID]int {
	sum, left := r.shares(), shard.Slots
	targets := make(map[ShardID]int, len(r.shards))
	if sum == 0 {
		return targets
	}
	var list []*Shard
	for _, s := range r.shards[1:] {
		n := int(shard.Slots * s.Share() / sum)
		targets[s.ID], left = n, left-n
		if s.Share() > 0 {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b *Shard) int {
		return cmp.Compare(shard.Slots*b.Share()%sum, shard.Slots*a.Share()%sum)
	})
	for _, s := range list[:left] {
		targets[s.ID]++
	}
	return targets
}

func (r *Rebalance) code(c *codec.Coder) {
	c.Flags(&r.Due, &r.Paused, &r.Now)
	c.Text(&r.By, MaxText)
	c.Text(&r.Why, MaxText)
	c.Number(&r.Since)
}
