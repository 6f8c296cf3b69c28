package overview

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/slots"
)

// Audit returns a page of the audit log, with at most limit entries: from the entry with a number on, or the newest
// entries if the number is 0.
func Audit(r *hosts.Records, from uint64, limit int) *protocol.AuditReadAnswer {
	a := &protocol.AuditReadAnswer{Newest: r.LastAudit()}
	if first := r.Audit(1, 1); len(first) > 0 {
		a.Oldest = first[0].Number
	}
	if from == 0 {
		from = max(a.Newest-min(uint64(limit), a.Newest)+1, a.Oldest)
	}
	entries, size := r.Audit(from, limit), 0
	for i := range entries {
		e := &entries[i]
		entry := host.Entry{ID: e.Number, Event: e.Event.String(), Host: uint64(e.Host), HostName: e.Name,
			Text: e.Text, Author: e.By, Reason: e.Why, At: field.WallTime(e.Wall)}
		a.Entries = append(a.Entries, entry)
		if size += protocol.Size(&entry); size >= protocol.PageBytes && e.Number < a.Newest {
			a.Next = e.Number + 1
			return a
		}
	}
	if n := len(entries); n > 0 && entries[n-1].Number < a.Newest {
		a.Next = entries[n-1].Number + 1
	}
	return a
}

// Slots returns a page with the slots from a number on, and the orders to move these slots. If id is not the meta
// shard, only slots of the shard and orders from or to the shard are returned.
func Slots(r *hosts.Records, now uint64, id hosts.ShardID, from shard.Slot) *protocol.SlotListAnswer {
	a, end := &protocol.SlotListAnswer{}, shard.Slot(shard.Slots)
	for _, o := range r.SlotOrders() {
		owner := r.SlotOwner(o.Slot)
		if o.Slot < from || id != hosts.Meta && id != owner && id != o.To && id != o.Into {
			continue
		}
		if len(a.Moves) == host.MaxSlotMoves {
			a.Next, end = uint64(o.Slot), o.Slot
			break
		}
		move := host.SlotMove{Slot: uint64(o.Slot), From: uint64(owner), To: uint64(o.To), Into: uint64(o.Into),
			Generation: r.Slots().Pending(o.Slot), Large: o.Large, Author: o.By, Reason: o.Why, Age: left(o.Since, now),
			Failures: int(o.Failures), LastError: o.Text, Wait: left(now, o.NotBefore)}
		a.Moves = append(a.Moves, move)
	}
	r.Slots().Ranges(func(first, last shard.Slot, o slots.Owner) {
		first, last = max(first, from), min(last, end-1)
		if first <= last && (id == hosts.Meta || id == hosts.ShardID(o.Shard)) {
			a.Ranges.Append(protocol.SlotRange{First: uint64(first), Last: uint64(last), ShardID: o.Shard,
				Generation: o.Generation})
		}
	})
	return a
}

// Rebalance describes how the slots follow the weights of the data shards.
func Rebalance(r *hosts.Records, now uint64) *protocol.RebalanceDescribeAnswer {
	order, counts, targets := r.Rebalance(), r.Counts(), r.Targets()
	a := &protocol.RebalanceDescribeAnswer{Planned: governor.Planned(r), Paused: order.Paused, NoPacing: order.Now,
		Author: []byte(order.By), Reason: []byte(order.Why)}
	if order.Since != 0 {
		a.AgeMillis = now - min(order.Since, now)
	}
	for _, s := range r.Shards() {
		if s.ID != hosts.Meta {
			a.Shards = append(a.Shards, host.ShardSlots{ID: uint64(s.ID), Phase: s.Phase.String(), Weight: s.Weight(),
				Slots: counts[s.ID], Target: targets[s.ID]})
		}
	}
	return a
}

// Tokens returns the join tokens that are valid or used. If ids are given, only tokens with these ids are returned.
func Tokens(r *hosts.Records, now uint64, ids ...string) (list []host.JoinToken) {
	for _, t := range r.ListTokens() {
		if len(ids) == 0 || slices.Contains(ids, t.ID) {
			list = append(list, host.JoinToken{ID: t.ID, Left: left(now, t.Until), Author: t.By, Used: digits(t.Used)})
		}
	}
	return list
}
