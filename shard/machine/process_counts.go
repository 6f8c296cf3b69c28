package machine

import (
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// ProcessCounts count events in the processes of a machine since the machine was made or restored. The counts are no
// part of the machine's state.
type ProcessCounts struct {
	Epochs    uint64 // opened epochs
	Completed uint64 // rounds
	Cancelled uint64 // epochs that ended before their round was complete
	Failed    uint64 // rounds given up by a member
	Kicked    uint64 // members put out by an operator
	Late      uint64 // how often members had not answered within the reply timeout
}

// ProcessCounts returns the counts of events.
func (m *Machine) ProcessCounts() ProcessCounts {
	co := m.RLock()
	defer m.RUnlock()
	return co.processes().counts
}

// count counts the events of a command.
func (c *ProcessCounts) count(events []process.Event) {
	for i := range events {
		switch events[i].Kind {
		case process.EventOpened:
			c.Epochs++
		case process.EventComplete:
			c.Completed++
		case process.EventCancelled:
			c.Cancelled++
		case process.EventFailed:
			c.Failed++
		case process.EventKicked:
			c.Kicked++
		case process.EventLate:
			c.Late++
		}
	}
}

// ProcessView is a process for an observer of all processes.
type ProcessView struct {
	Node    shard.NodeID
	Name    string
	Now     uint64 // the time of the shard, by its leader's estimate if known
	State   processkind.Phase
	Since   uint64 // start of the present state
	Epoch   uint64
	Members int
	// Requests counts the unacknowledged requests in all inboxes.
	Requests int
	// Reasons are why the round does not move.
	Reasons []process.Reason
}

const (
	// processesInOneGo is how many places of processes a walk looks at while the machine stands still, membersInOneGo
	// how many members it may have looked at before the last of them.
	processesInOneGo = 100
	membersInOneGo   = 2000
)

// WalkProcesses calls fn for processes, some at a time, and returns the place of the next call and whether the walk
// is over. Processes that are made during the walk may be missed. estimate is the leader's estimate of the time, 0 if
// unknown. fn must not call the machine.
func (m *Machine) WalkProcesses(at shard.Cursor, estimate uint64, fn func(*ProcessView)) (next shard.Cursor,
	over bool) {
	co := m.RLock()
	defer m.RUnlock()
	pr := co.processes()
	h := max(arena.Handle(at), 1)
	members := 0
	for end := min(h+processesInOneGo, pr.End()); h < end && members < membersInOneGo; h++ {
		p := pr.At(h)
		if p.object == 0 || co.Objects.At(p.object).Deleting {
			continue
		}
		members += len(p.Members())
		o := co.Objects.At(p.object)
		fn(&ProcessView{
			Node: co.Objects.Node(o).ID, Name: co.Objects.Name(o), Now: max(estimate, co.Clock.Now),
			State: p.Phase(),
			Since: p.Since(), Epoch: p.Epoch(), Members: len(p.Members()), Requests: p.Requests(), Reasons: p.Why(),
		})
	}
	return shard.Cursor(h), h >= pr.End()
}
