package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Counts count rollout events since the machine was created or restored. The counts are not part of the machine's
// state.
type Counts struct {
	Versions uint64                             // added versions
	Targets  [rolloutkind.CauseRetry + 1]uint64 // assigned targets, by cause
	Halts    [rolloutkind.HaltedAborted + 1]uint64
}

// CountsOf returns the event counts.
func CountsOf(m *machine.Machine) Counts {
	co := m.RLock()
	defer m.RUnlock()
	return rolloutsOf(co).counts
}

// countVersion counts the version if the command added one.
func (c *Counts) countVersion(k shard.CommandKind, a *Answer) {
	if a.Status == protocol.StatusSuccess && a.Seq != 0 && (k == shard.CmdRolloutPublish ||
		k == shard.CmdRolloutOffer) {
		c.Versions++
	}
}

// countEvents counts a command's events.
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

// Status describes a rollout to an observer of all rollouts.
type Status struct {
	Node  shard.NodeID
	Name  string
	Now   uint64 // shard time, by the leader's estimate if known
	Phase rolloutkind.Phase
	// Instances counts all instances, including Leaders.
	Instances, Leaders, Sources int
	// Still are the stall reasons that may need an operator.
	Still []Reason
}

// rolloutsInOneGo is how many rollout entries a walk looks at under one lock hold.
const rolloutsInOneGo = 100

// Walk calls fn for rollouts, some at a time, and returns the cursor for the next call and whether the walk is over.
// Rollouts created during the walk may be missed. estimate is the leader's time estimate, 0 if unknown. fn must not
// call the machine.
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
