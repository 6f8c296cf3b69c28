package meta

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Routing is the slot table: each slot's data shard. The zero value, with version 0, is the table before the cluster's
// bootstrap. The lists in a table never change; do not write to them.
type Routing struct {
	Version uint64 // grows by one with each table change
	Cluster string // cluster id, set at the bootstrap
	Shards  []ShardID
	// Ranges cover all slots in order; adjacent ranges belong to different shards.
	Ranges []SlotRange
}

// SlotRange is the slots First to Last, inclusive, in one data shard.
type SlotRange struct {
	First, Last shard.Slot
	Shard       ShardID
}

// slotTable is the table with one element per slot, a form that is easy to change.
type slotTable [shard.Slots]ShardID

func (r Routing) table() *slotTable {
	var t slotTable
	for _, g := range r.Ranges {
		t.fill(g)
	}
	return &t
}

func (t *slotTable) fill(g SlotRange) {
	for i := int(g.First); i <= int(g.Last); i++ {
		t[i] = g.Shard
	}
}

// ranges returns the table as ranges. A table has exactly one list of ranges, so equal tables have equal ranges.
func (t *slotTable) ranges() []SlotRange {
	var list []SlotRange
	for i, id := range t {
		if n := len(list); n > 0 && list[n-1].Shard == id {
			list[n-1].Last = shard.Slot(i)
			continue
		}
		list = append(list, SlotRange{First: shard.Slot(i), Last: shard.Slot(i), Shard: id})
	}
	return list
}

// InitialRanges returns the table at a cluster's bootstrap: each data shard gets one range, in list order. Range
// lengths differ by at most one slot.
func InitialRanges(shards []ShardID) []SlotRange {
	var t slotTable
	for i, id := range shards {
		t.fill(SlotRange{
			First: shard.Slot(i * shard.Slots / len(shards)),
			Last:  shard.Slot((i+1)*shard.Slots/len(shards) - 1),
			Shard: id,
		})
	}
	return t.ranges()
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
		if m.routing.Cluster != c.Cluster || !slices.Equal(m.routing.Shards, shards) {
			m.refuse(protocol.StatusPreconditionFailed,
				"the cluster was bootstrapped with id %s and %d data shards; the request is for a different cluster",
				m.routing.Cluster, len(m.routing.Shards))
			return
		}
		m.accept(FlagExisted).Routing = m.routing.Version
		return
	}
	m.setRouting(Routing{Version: 1, Cluster: c.Cluster, Shards: shards, Ranges: InitialRanges(shards)})
}

func (m *Machine) slotsAssign(c *Command) {
	if c.First > c.Last || c.Last >= shard.Slots {
		m.refuse(protocol.StatusBadRequest, "slots %d to %d; a range within 0 to %d is needed",
			c.First, c.Last, shard.Slots-1)
		return
	}
	if c.From == 0 || c.To == 0 || c.From == c.To {
		m.refuse(protocol.StatusBadRequest, "slots go from one data shard to another, not from %d to %d", c.From, c.To)
		return
	}
	if !slices.Contains(m.routing.Shards, c.To) {
		m.refuse(protocol.StatusPreconditionFailed, "shard %d is not a data shard of this cluster", c.To)
		return
	}
	t := m.routing.table()
	slots := t[c.First : c.Last+1]
	if allOf(slots, c.To) {
		// The command is a repetition, and the table's version has grown since.
		m.accept(FlagExisted).Routing = m.routing.Version
		return
	}
	if c.Expected != 0 && c.Expected != m.routing.Version {
		m.refuse(protocol.StatusPreconditionFailed, "the slot table has version %d, not %d",
			m.routing.Version, c.Expected).Routing = m.routing.Version
		return
	}
	if !allOf(slots, c.From) {
		m.refuse(protocol.StatusPreconditionFailed, "not all slots from %d to %d belong to data shard %d",
			c.First, c.Last, c.From).Routing = m.routing.Version
		return
	}
	t.fill(SlotRange{First: c.First, Last: c.Last, Shard: c.To})
	next := m.routing
	next.Version++
	next.Ranges = t.ranges()
	m.setRouting(next)
}

func allOf(slots []ShardID, id ShardID) bool {
	return !slices.ContainsFunc(slots, func(s ShardID) bool { return s != id })
}

// setRouting puts a new table into force and answers the command.
func (m *Machine) setRouting(r Routing) {
	m.routing = r
	m.change(0).Routing = r.Version
	m.emit(EffectRoutingChanged).Routing = r.Version
}
