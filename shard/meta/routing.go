package meta

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// Routing is the slot table: each slot's data shard. The zero value, with version 0, is the table before the cluster's
// bootstrap. The lists in a table never change; do not write to them.
type Routing struct {
	Version uint64 // grows by one each time a slot gets another owner
	Cluster string // cluster id, set at the bootstrap
	Shards  []ShardID
	// Ranges cover all slots in order; adjacent ranges have different owners or generations. They follow from the host
	// records.
	Ranges []SlotRange
}

// Has reports whether the cluster has a data shard.
func (r *Routing) Has(id ShardID) bool { return slices.Contains(r.Shards, id) }

// SlotRange is the slots First to Last, inclusive, in one data shard, under one generation of ownership.
type SlotRange struct {
	First, Last shard.Slot
	Shard       ShardID
	Generation  uint64
}

// rangesOf returns a slot table as ranges. A table has exactly one list of ranges, so equal tables have equal ranges.
func rangesOf(t *slots.Table) (list []SlotRange) {
	t.Ranges(func(first, last shard.Slot, o slots.Owner) {
		list = append(list, SlotRange{First: first, Last: last, Shard: ShardID(o.Shard), Generation: o.Generation})
	})
	return list
}

// InitialRanges returns the table at a cluster's bootstrap: each data shard gets one range, in list order, under
// generation zero. Range lengths differ by at most one slot.
func InitialRanges(shards []ShardID) []SlotRange {
	ids := make([]uint64, len(shards))
	for i, id := range shards {
		ids[i] = uint64(id)
	}
	return rangesOf(slots.NewTable(ids))
}

// slotRanges returns the ranges of the slot table: the table in the records, or before the hosts are bootstrapped, the
// table that the records will begin with.
func (c *content) slotRanges() []SlotRange {
	switch {
	case c.topology != nil:
		return rangesOf(c.topology.records.Slots())
	case c.routing.Version != 0:
		return InitialRanges(c.routing.Shards)
	}
	return nil
}

func (m *Machine) routingInit(c *Command) {
	if err := checkWord("the cluster id", c.Cluster, 1, MaxClusterID); err != nil {
		m.refuse(protocol.StatusBadRequest, "%v", err)
		return
	}
	if len(c.Shards) == 0 || len(c.Shards) > MaxDataShards {
		m.refuse(protocol.StatusBadRequest, "%d data shards; 1 to %d are allowed", len(c.Shards), MaxDataShards)
		return
	}
	shards := slices.Sorted(slices.Values(c.Shards))
	if shards[0] == 0 {
		m.refuse(protocol.StatusBadRequest, "a data shard with id 0; 0 stands for none")
		return
	}
	for i, id := range shards[1:] {
		if id == shards[i] {
			m.refuse(protocol.StatusBadRequest, "data shard %d is listed twice", id)
			return
		}
	}
	if m.routing.Version != 0 {
		if m.routing.Cluster != c.Cluster || m.topology == nil && !slices.Equal(m.routing.Shards, shards) {
			m.refuse(protocol.StatusPreconditionFailed,
				"the cluster was bootstrapped with id %s and %d data shards; the request is for a different cluster",
				m.routing.Cluster, len(m.routing.Shards))
			return
		}
		m.accept(FlagExisted).Routing = m.routing.Version
		return
	}
	m.routing = Routing{Version: 1, Cluster: c.Cluster, Shards: shards, Ranges: InitialRanges(shards)}
	m.change(0).Routing = m.routing.Version
	m.emit(EffectRoutingChanged).Routing = m.routing.Version
}
