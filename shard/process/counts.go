package process

import (
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Counts count process events since the machine was created or restored. The counts are not part of the machine's
// state.
type Counts struct {
	Epochs    uint64 // opened epochs
	Completed uint64 // rounds
	Cancelled uint64 // epochs that ended before their round was complete
	Failed    uint64 // rounds failed by a member
	Kicked    uint64 // members evicted by an operator
	Late      uint64 // how often members had not answered within the reply timeout
}

// CountsOf returns the event counts.
func CountsOf(m *machine.Machine) Counts {
	co := m.RLock()
	defer m.RUnlock()
	return processesOf(co).counts
}

// count counts a command's events.
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

// Status describes a process to an observer of all processes.
type Status struct {
	Node    shard.NodeID
	Name    string
	Now     uint64 // shard time, by the leader's estimate if known
	State   processkind.Phase
	Since   uint64 // start of the present phase
	Epoch   uint64
	Members int
	// Requests counts the unacknowledged requests in all inboxes.
	Requests int
	// Reasons are why the round is stalled.
	Reasons []Reason
}

const (
	// processesInOneGo is how many process entries a walk examines under one lock hold. membersInOneGo is the number of
	// examined members after which the walk begins no further process.
	processesInOneGo = 100
	membersInOneGo   = 2000
)

// Walk calls fn for processes, some at a time, and returns the cursor for the next call and whether the walk is over.
// Processes created during the walk may be missed. estimate is the leader's time estimate, 0 if unknown. fn must not
// call the machine.
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
