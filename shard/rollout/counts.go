package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Counts count events in the rollouts of a machine since the machine was made or restored. The counts are no
// part of the machine's state.
type Counts struct {
	Versions uint64                             // added versions
	Targets  [rolloutkind.CauseRetry + 1]uint64 // assigned targets, by cause
	Halts    [rolloutkind.HaltedAborted + 1]uint64
}

// CountsOf returns the counts of events.
func CountsOf(m *machine.Machine) Counts {
	co := m.RLock()
	defer m.RUnlock()
	return rolloutsOf(co).counts
}

// countVersion counts the version of a command that added a version.
func (c *Counts) countVersion(k shard.CommandKind, a *Answer) {
	if a.Status == protocol.StatusSuccess && a.Seq != 0 && (k == shard.CmdRolloutPublish ||
		k == shard.CmdRolloutOffer) {
		c.Versions++
	}
}

// countEvents counts the events of a command.
func (c *Counts) countEvents(events []Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case eventAssigned:
			c.Targets[e.Cause]++
		case eventHalted:
			c.Halts[e.Halt]++
		}
	}
}

// Status is a rollout for an observer of all rollouts.
type Status struct {
	Node  shard.NodeID
	Name  string
	Now   uint64 // the time of the shard, by its leader's estimate if known
	Phase rolloutkind.Phase
	// Instances counts all instances, with the Leaders.
	Instances, Leaders, Sources int
	// Still are the reasons for a standstill that may need an operator.
	Still []Reason
}

// rolloutsInOneGo is how many places of rollouts a walk looks at while the machine stands still.
const rolloutsInOneGo = 100

// Walk calls fn for rollouts, some at a time, and returns the place of the next call and whether the walk is
// over. Rollouts that are made during the walk may be missed. estimate is the leader's estimate of the time, 0 if
// unknown. fn must not call the machine.
func Walk(m *machine.Machine, at shard.Cursor, estimate uint64, fn func(*Status)) (next shard.Cursor, over bool) {
	co := m.RLock()
	defer m.RUnlock()
	ro := rolloutsOf(co)
	h := max(arena.Handle(at), 1)
	for end := min(h+rolloutsInOneGo, ro.End()); h < end; h++ {
		if st := ro.At(h); st.object != 0 && !co.Objects.At(st.object).Deleting {
			v := statusOf(co, st, max(estimate, co.Clock.Now))
			fn(&v)
		}
	}
	return shard.Cursor(h), h >= ro.End()
}

func statusOf(co *machine.Core, st *stagedRollout, now uint64) Status {
	o := co.Objects.At(st.object)
	v := Status{
		Node: co.Objects.Node(o).ID, Name: co.Objects.Name(o), Now: now, Phase: st.Phase(now),
		Instances: st.Instances(),
		Sources:   len(st.Sources()),
	}
	for _, l := range st.Locations() {
		v.Leaders += l.Counts.Leaders
	}
	if v.Phase != rolloutkind.Idle {
		v.Still = slices.DeleteFunc(st.Why(now, now, nil), func(re Reason) bool { return !re.stands() })
	}
	return v
}
