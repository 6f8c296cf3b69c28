package executor

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// ErrNotGoverning is returned for questions that only the host answers which leads the meta shard, and has heard from
// the others since.
var ErrNotGoverning = errors.New("executor: this host does not govern")

// Meta is this host's replica of the meta shard. All of it may be called from any goroutine.
type Meta interface {
	// Leadership is what this host believes about who leads the meta shard. It is cheap.
	Leadership() shard.Leadership
	// Barrier returns once this host has applied all that was committed before the call.
	Barrier(ctx context.Context) error
	// State is what this host has applied. It does not change afterwards.
	State() State
	// Propose has a command carried out, and returns once this host has applied it. An error says that it was refused,
	// or that its outcome is not known: what came of it is for the next State to show.
	Propose(ctx context.Context, c Command) error
}

// State is the part of the meta machine that the plan goes by.
type State struct {
	Records *hosts.Records
	Plan    *plan.Plan[governor.Action]
	// Now is the shard time that a command would have which is proposed now, in milliseconds.
	Now uint64
	// Term is the last one whose leader has begun, and Began the shard time at which it did.
	Term, Began uint64
}

// Verb says what a Command does.
type Verb uint8

// What an executor proposes. Which fields of a command count stands with each.
const (
	VerbBegin    Verb = iota + 1 // a step: Term, Revision, Proposal
	VerbProgress                 // of a step: Act, Phase
	VerbRetry                    // an act for a step has failed: Act, Text
	VerbDone                     // a step has reached what it is for: Act
	VerbDrop                     // a step is not wanted any more: Act
	VerbKnown                    // a membership was read: Term, Shard, Change, Members
	VerbFail                     // a host is taken for failed: Term, Action
	VerbReach                    // a host has come to its target: Term, Action
	VerbCleared                  // a host has deleted a replica: Shard, Replica, Incarnation
)

// Command is one command of the meta machine.
type Command struct {
	Verb     Verb
	Term     uint64
	Revision uint64
	Proposal plan.Proposal[governor.Action]
	Act      plan.Act
	Phase    plan.Phase
	Text     string
	Action   governor.Action

	Shard       hosts.ShardID
	Change      uint64
	Members     []hosts.Member
	Replica     uint64
	Incarnation hosts.Incarnation
}

// Calls reaches other hosts.
type Calls interface {
	// Call has a host answer a request, with what its Agent.Answer returns. It ends with the context at the latest,
	// and a host that is not there delays no other call.
	Call(ctx context.Context, to shard.HostID, request []byte) (answer []byte, err error)
}

// Replicas are those that this host runs. All of it may be called from any goroutine.
type Replicas interface {
	// Held are the replicas that run.
	Held() []Held
	// Start starts a replica that was or will be added as a learner, and makes sure that it is started again when the
	// host is. One that runs is left as it is. An id that was discarded is refused for ever.
	Start(ctx context.Context, id hosts.ShardID, replica uint64) error
	// Discard stops a replica and deletes its data. A second one does nothing.
	Discard(ctx context.Context, id hosts.ShardID, replica uint64) error
}

// Held is a replica that runs at this host.
type Held struct {
	Shard   hosts.ShardID
	Replica uint64
	Log     Log
}

// Log is the log of a replica that runs at this host.
type Log interface {
	shard.Members
	Leadership() shard.Leadership
	Barrier(done func(error)) error
	Transfer(to shard.HostID) error
	// Applied is the index of the last entry that was applied here.
	Applied() uint64
	// Progress is how far the other replicas are. It is empty where this host does not lead.
	Progress() []shard.Progress
}
