package machine

import (
	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/slots"
)

// Core is the machine's content, in parts with rules of their own. Commands and object kinds work on it while holding
// the machine's lock. Restore replaces the Core as a whole.
type Core struct {
	Run       Run
	Nodes     Nodes
	Sessions  Sessions
	Answers   Answers
	Objects   Objects
	Holdings  Holdings
	Pending   Pending
	History   History
	Snapshots Snapshots
	Clock     clock.Clock // with the highest term that began

	alarms       heap.Heap[alarm, alarmOrder]
	slots        slots.Slots
	class        shard.OrderID // the shard id, which is the class of all order ids the shard issues
	bounds       Bounds
	lastOrder    shard.OrderID
	lastRevision shard.Revision
	level        level.Level // commands above the level are refused
	nextLevel    level.Level // becomes the level when the batch ends
	group        shard.Group // the replica group

	known *Kinds
	kinds [shard.MaxKinds]Kind // each kind's store
}

// newCore returns the content for an empty machine. Every part points to the Core, and each slab points to the trees
// over its entries.
func newCore(known *Kinds, o Options) *Core {
	co := &Core{
		known: known,
		slots: slots.New(o.Shard, o.Slots), class: shard.OrderID(o.Shard), bounds: o.Bounds,
		level: level.First, nextLevel: level.First,
		Clock:    clock.Clock{Now: o.Began, Base: o.Began},
		Nodes:    Nodes{quota: newShardQuota(shard.Limits{}), byID: make(map[shard.NodeID]*Node)},
		Sessions: newSessions(), Objects: newObjects(), Holdings: newHoldings(),
		History: History{limit: o.History}, Snapshots: Snapshots{epoch: 1},
	}
	co.Nodes.core, co.Sessions.core, co.Answers.core, co.Objects.core, co.Holdings.core = co, co, co, co, co
	co.Pending.core, co.History.core, co.Snapshots.core = co, co, co
	co.Sessions.Trees = []arena.Beside{&co.Sessions.byID, &co.Sessions.sets.words}
	co.Objects.Trees = []arena.Beside{&co.Objects.byName}
	co.Holdings.Trees = []arena.Beside{&co.Holdings.byObject, &co.Holdings.bySession}
	co.alarms.By.core = co
	for i := range known.rows {
		if row := &known.rows[i]; row.New != nil {
			co.kinds[i] = row.New()
		}
	}
	return co
}

// Kind returns the store for a kind.
func (co *Core) Kind(k shard.ObjectKind) Kind { return co.kinds[k] }

// NextRevision is the revision the next change gets.
func (co *Core) NextRevision() shard.Revision { return co.lastRevision + 1 }

// Worked returns how many pieces of work the command has done.
func (co *Core) Worked() int { return co.bounds.Work - co.Run.Left }

// apply applies a command to the Core, and fills in its outcome.
func (co *Core) apply(c *shard.Command, o *Outcome) {
	if c.Level > co.level {
		o.Status = protocol.StatusUnsupported
		return
	}
	if co.Run.stamp.Term != co.Clock.Term && c.Kind != shard.CmdLead {
		o.Status = protocol.StatusUnavailable
		return
	}
	co.Run.Wall = c.Time
	switch c.Kind {
	case shard.CmdSessionCreate:
		*o = co.Sessions.create(c)
	case shard.CmdSessionUpdate:
		*o = co.Sessions.update(c)
	case shard.CmdSessionNumbers:
		*o = co.Sessions.drawNumbers(c)
	case shard.CmdSessionEnd:
		*o = co.Sessions.endOne(c)
	default:
		if mu := &co.known.mutations[c.Kind]; mu.Run != nil {
			co.mutate(c, mu, o)
			return
		}
		u := &co.known.upkeeps[c.Kind]
		assert.That(u.Run != nil, "only commands that this build knows are decoded")
		*o = co.keepUp(c, u)
	}
}
