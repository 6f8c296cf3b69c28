package shard

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/rollout"
)

// RolloutCounts are what has happened in the rollouts of a machine since it was made or restored. They are no part of
// its state.
type RolloutCounts struct {
	Versions uint64                             // that were added
	Targets  [rolloutkind.CauseRetry + 1]uint64 // that were assigned, by cause
	Halts    [rolloutkind.HaltedAborted + 1]uint64
}

// RolloutCounts returns what has happened.
func (m *Machine) RolloutCounts() RolloutCounts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rollouts().counts
}

// countVersion counts the version that a command has added.
func (c *RolloutCounts) countVersion(k CommandKind, a *rollout.Answer) {
	if a.Status == protocol.StatusSuccess && a.Seq != 0 && (k == CmdRolloutPublish || k == CmdRolloutOffer) {
		c.Versions++
	}
}

// countEvents counts what a command has caused.
func (c *RolloutCounts) countEvents(events []rollout.Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case rollout.EventAssigned:
			c.Targets[e.Cause]++
		case rollout.EventHalted:
			c.Halts[e.Halt]++
		}
	}
}

// RolloutView is a rollout as one sees it who watches over all of them.
type RolloutView struct {
	Node  NodeID
	Name  string
	Now   uint64 // the time of the shard, as its leader estimates it where that is known
	Phase rolloutkind.Phase
	// Instances are all, Leaders among them.
	Instances, Leaders, Sources int
	// Still are the reasons that an operator may have to do something about.
	Still []rollout.Reason
}

// rolloutsInOneGo is how many places of rollouts a walk looks at while the machine stands still.
const rolloutsInOneGo = 100

// WalkRollouts calls fn for rollouts, some at a time, and returns where to go on and whether the walk is over. Rollouts
// that are made during the walk may be missed. estimate is the leader's of the time, 0 where it is not known. fn must
// not call the machine.
func (m *Machine) WalkRollouts(at Cursor, estimate uint64, fn func(*RolloutView)) (next Cursor, over bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ro := m.rollouts()
	h := max(handle(at), 1)
	for end := min(h+rolloutsInOneGo, ro.used); h < end; h++ {
		if st := ro.at(h); st.object != 0 && !m.objects.at(st.object).deleting {
			v := m.viewRollout(st, max(estimate, m.clock.Now))
			fn(&v)
		}
	}
	return Cursor(h), h >= ro.used
}

func (m *Machine) viewRollout(st *stagedRollout, now uint64) RolloutView {
	o := m.objects.at(st.object)
	v := RolloutView{
		Node: m.objects.node(o).id, Name: m.objects.name(o), Now: now, Phase: st.Phase(now), Instances: st.Instances(),
		Sources: len(st.Sources()),
	}
	for _, l := range st.Locations() {
		v.Leaders += l.Counts.Leaders
	}
	if v.Phase != rolloutkind.Idle {
		v.Still = slices.DeleteFunc(st.Why(now, now, nil), func(re rollout.Reason) bool { return !re.Stands() })
	}
	return v
}
