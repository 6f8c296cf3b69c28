// Package mutation converts requests that change objects into commands, and effects of commands into answers.
//
// A Mutation has both directions for one request kind. Every object kind has a file with its mutations: semaphore.go,
// rollout.go and process.go. All combines the files into one table, indexed by request kind. A new object kind adds a
// file.
//
// A request takes this path: the handler calls CommandOf, and queues the command in a replica's pipeline. After the
// command has been applied, the replica calls Applied on every host and, on the host that proposed the command, Fill,
// which writes the answer. Nothing here allocates: commands refer to the request's bytes until the pipeline has
// encoded them, and answers are written into memory the replica reuses.
package mutation

import (
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// Mutation has both directions for one request kind.
type Mutation struct {
	// Command returns the command for a request, and separately the fields common to all mutations, the node and the
	// name. The kind-specific part of the command is written to body, whose memory is reused.
	Command func(r *protocol.Request, body *[]byte) (m *protocol.Mutation, node uint64, name []byte, c shard.Command)
	// Fill fills in the answer to a successful request. The machine has applied the command. nil means that the
	// answer has no content.
	Fill func(a *protocol.Answer, m *machine.Machine, c *shard.Command, e *shard.Effect)
	// Applied is called on every host of the shard after the command has taken effect, with the shard's inboxes
	// there. nil means that nothing is left to do.
	Applied func(in *inbox.Table, c *shard.Command)
	// MayChangeNothing marks requests that often repeat known facts, and then need not go into the log.
	// Replica.Unchanged is tried first.
	MayChangeNothing bool
	// Waits predicts what the command may wait for after it was applied.
	Waits Forecast
	// Frees marks a request that reduces what is held. The request is admitted even if the disk is nearly full.
	Frees bool
}

// All contains the mutations for all object kinds, indexed by request kind. A kind without a Command changes no
// object. All is never modified.
var All = func() (all [protocol.MaxRequestKind + 1]Mutation) {
	for _, of := range []map[protocol.Kind]Mutation{semaphoreMutations, rolloutMutations, processMutations} {
		for kind, m := range of {
			all[kind] = m
		}
	}
	return all
}()

// Applied contains the Applied functions from All, indexed by command kind.
var Applied = func() (all [math.MaxUint8 + 1]func(*inbox.Table, *shard.Command)) {
	for _, m := range All {
		if m.Applied != nil {
			_, _, _, c := m.Command(new(protocol.Request), new([]byte))
			all[c.Kind] = m.Applied
		}
	}
	return all
}()

// Forecast predicts what a command may wait for after it is applied. Forecast is not a function, because a command
// passed to a function in a table would be heap-allocated.
type Forecast uint8

const (
	// NeverWaits: the command's result is its whole effect, so the command is never delayed.
	NeverWaits Forecast = iota
	// Queues: an acquire, which may wait in the semaphore's queue for a release.
	Queues
	// Gathers: a process member's command, which may have no effect until the other members send theirs.
	Gathers
)

// WillWait reports whether a command with this forecast would only wait for other commands. delayed is the number of
// such commands already delayed.
func (f Forecast) WillWait(m *machine.Machine, c *shard.Command, delayed int) bool {
	switch f {
	case Queues:
		return semaphore.WillQueue(m, c)
	case Gathers:
		return process.WillGather(m, c, delayed)
	}
	return false
}

// CommandOf returns the command for a mutation. Its texts and bytes alias the request and body, which may be reused
// once the command is encoded.
func CommandOf(r *protocol.Request, body *[]byte) shard.Command {
	m, node, name, c := All[r.Kind].Command(r, body)
	c.Node, c.Name = shard.NodeID(node), name
	c.Session, c.Number, c.Acked = shard.SessionID(m.SessionID), m.Sequence, m.AcknowledgedSequence
	return c
}

// flagIf returns the command flag if a request field is set, and 0 otherwise.
func flagIf(set bool, flag shard.CommandFlags) shard.CommandFlags {
	if set {
		return flag
	}
	return 0
}
