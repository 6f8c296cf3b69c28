// Package mutation converts requests that change objects into commands, and effects of commands into answers.
//
// A Mutation is both directions of one kind of request. Each kind of objects has a file with its mutations:
// semaphore.go, rollout.go and process.go. All joins the files into one table, which is indexed by the kind of request.
// A further kind of objects adds a file.
//
// The way of a request through the table: the handler calls CommandOf, and queues the command in the pipeline of a
// replica. Once the command has been applied, the replica calls Applied on every host, and on the host that proposed
// the command Fill, which writes the answer. Nothing here allocates: commands refer to the bytes of the request until
// the pipeline has encoded the commands, and answers are written into memory that the replica uses again.
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

// Mutation is both directions of one kind of request.
type Mutation struct {
	// Command returns the command for a request, and separately the fields of all mutations, the node and the name.
	// The part of the command in the form of its kind is written to body, whose memory is used again.
	Command func(r *protocol.Request, body *[]byte) (m *protocol.Mutation, node uint64, name []byte, c shard.Command)
	// Fill gives the answer to a successful request its content. The machine has applied the command. Nil: the answer
	// has no content.
	Fill func(a *protocol.Answer, m *machine.Machine, c *shard.Command, e *shard.Effect)
	// Applied is called on every host of the shard after the command has taken effect, with the inboxes of the shard
	// there. Nil: nothing is left to do.
	Applied func(in *inbox.Table, c *shard.Command)
	// MayChangeNothing: such requests often repeat known facts, and then need not go into the log. They are tried with
	// Replica.Unchanged first.
	MayChangeNothing bool
	// Waits says for what the command, once applied, may wait.
	Waits Forecast
	// Frees: the request reduces what is held, and is let in even when the disk is nearly full.
	Frees bool
}

// All are the mutations of all kinds of objects, by the kind of request. A kind without a Command changes no
// object. The list never changes.
var All = func() (all [protocol.MaxRequestKind + 1]Mutation) {
	for _, of := range []map[protocol.Kind]Mutation{semaphoreMutations, rolloutMutations, processMutations} {
		for kind, m := range of {
			all[kind] = m
		}
	}
	return all
}()

// Applied has the functions Applied of All by the kind of command.
var Applied = func() (all [math.MaxUint8 + 1]func(*inbox.Table, *shard.Command)) {
	for _, m := range All {
		if m.Applied != nil {
			_, _, _, c := m.Command(new(protocol.Request), new([]byte))
			all[c.Kind] = m.Applied
		}
	}
	return all
}()

// Forecast says for what a command may wait once it is applied. A Forecast is no function: a command that is passed to
// a function of a table would be allocated.
type Forecast uint8

const (
	// NeverWaits is the forecast of a command whose result is its whole effect.
	NeverWaits Forecast = iota
	// Queues is the forecast of an acquire: it may wait for a release.
	Queues
	// Gathers is the forecast of a command of a member of a process: it may wait for the other members.
	Gathers
)

// WillWait reports whether a command with this forecast would only wait for other commands. delayed is how many such
// commands are delayed already.
func (f Forecast) WillWait(m *machine.Machine, c *shard.Command, delayed int) bool {
	switch f {
	case Queues:
		return semaphore.WillQueue(m, c)
	case Gathers:
		return process.WillGather(m, c, delayed)
	}
	return false
}

// CommandOf returns the command for a mutation. Its texts and bytes are in the memory of the request and of body,
// which may be used again once the command is encoded.
func CommandOf(r *protocol.Request, body *[]byte) shard.Command {
	m, node, name, c := All[r.Kind].Command(r, body)
	c.Node, c.Name = shard.NodeID(node), name
	c.Session, c.Number, c.Acked = shard.SessionID(m.SessionID), m.Sequence, m.AcknowledgedSequence
	return c
}

// flagIf returns the flag if set is true, and no flag otherwise.
func flagIf(set bool, flag shard.CommandFlags) shard.CommandFlags {
	if set {
		return flag
	}
	return 0
}
