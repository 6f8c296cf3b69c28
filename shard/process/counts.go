package process

import (
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Counts count events in the processes of a machine since the machine was made or restored. The counts are no
// part of the machine's state.
type Counts struct {
	Epochs    uint64 // opened epochs
	Completed uint64 // rounds
	Cancelled uint64 // epochs that ended before their round was complete
	Failed    uint64 // rounds given up by a member
	Kicked    uint64 // members put out by an operator
	Late      uint64 // how often members had not answered within the reply timeout
}

// CountsOf returns the counts of events.
func CountsOf(m *machine.Machine) Counts {
	co := m.RLock()
	defer m.RUnlock()
	return processesOf(co).counts
}

// count counts the events of a command.
func (c *Counts) count(events []Event) {
	for i := range events {
		switch events[i].Kind {
		case eventOpened:
			c.Epochs++
		case eventComplete:
			c.Completed++
		case eventCancelled:
			c.Cancelled++
		case eventFailed:
			c.Failed++
		case eventKicked:
			c.Kicked++
		case eventLate:
			c.Late++
		}
	}
}

// Status is a process for an observer of all processes.
type Status struct {
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
	Reasons []Reason
}

const (
	// processesInOneGo is how many places of processes a walk looks at while the machine stands still, membersInOneGo
	// how many members it may have looked at before the last of them.
	processesInOneGo = 100
	membersInOneGo   = 2000
)

// Walk calls fn for processes, some at a time, and returns the place of the next call and whether the walk
// is over. Processes that are made during the walk may be missed. estimate is the leader's estimate of the time, 0 if
// unknown. fn must not call the machine.
func Walk(m *machine.Machine, at shard.Cursor, estimate uint64, fn func(*Status)) (next shard.Cursor,
	over bool) {
	co := m.RLock()
	defer m.RUnlock()
	pr := processesOf(co)
	h := max(arena.Handle(at), 1)
	members := 0
	for end := min(h+processesInOneGo, pr.End()); h < end && members < membersInOneGo; h++ {
		p := pr.At(h)
		if p.object == 0 || co.Objects.At(p.object).Deleting {
			continue
		}
		members += len(p.Members())
		o := co.Objects.At(p.object)
		fn(&Status{
			Node: co.Objects.Node(o).ID, Name: co.Objects.Name(o), Now: max(estimate, co.Clock.Now),
			State: p.Phase(),
			Since: p.Since(), Epoch: p.Epoch(), Members: len(p.Members()), Requests: p.Requests(), Reasons: p.Why(),
		})
	}
	return shard.Cursor(h), h >= pr.End()
}
