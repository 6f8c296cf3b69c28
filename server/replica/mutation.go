package replica

import (
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// A request that changes an object becomes a command, and the effect of the command becomes the answer. Each kind of
// objects has a file with both directions for its requests.

// mutation is both directions of one kind of request.
type mutation struct {
	// Command returns the command for a request, and separately the fields of all mutations, the node and the name.
	// The part of the command in the form of its kind is written to body, whose memory is used again.
	Command func(r *protocol.Request, body *[]byte) (m *protocol.Mutation, node uint64, name []byte, c shard.Command)
	// fill gives the answer to a successful request its content, in memory of the replica that is used again. Nil: the
	// answer has no content.
	fill func(r *Replica, c *shard.Command, e *shard.Effect)
	// applied is called on every host of the shard after the command has taken effect. Nil: nothing is left to do.
	applied func(r *Replica, c *shard.Command)
	// MayChangeNothing: such requests often repeat known facts, and then need not go into the log. They are tried with
	// Replica.Unchanged first.
	MayChangeNothing bool
	// waits says by which forecast the command, once applied, only waits for other commands.
	waits forecast
	// Frees: the request reduces what is held, and is let in even when the disk is nearly full.
	Frees bool
}

// Mutations are the mutations of all kinds of objects, by the kind of request. A kind without a Command changes no
// object. The list never changes.
var Mutations = func() (all [protocol.MaxRequestKind + 1]mutation) {
	for _, of := range []map[protocol.Kind]mutation{semaphoreMutations, rolloutMutations, processMutations} {
		for kind, m := range of {
			all[kind] = m
		}
	}
	return all
}()

// applied has the functions of Mutations by the kind of command.
var applied = func() (all [math.MaxUint8 + 1]func(*Replica, *shard.Command)) {
	for _, m := range Mutations {
		if m.applied != nil {
			_, _, _, c := m.Command(new(protocol.Request), new([]byte))
			all[c.Kind] = m.applied
		}
	}
	return all
}()

// initAnswers finds the places of answers to mutations in the one answer that is used again.
func (r *Replica) initAnswers() {
	for k := range r.answers {
		r.answer.Kind = protocol.Kind(k).Answer()
		r.answers[k] = r.answer.Message()
	}
}

// forecast says for what a command may wait once it is applied. A forecast is no function: a command that is passed to
// a function of a table would be allocated.
type forecast uint8

const (
	neverWaits forecast = iota
	queues              // an acquire: for a release
	gathers             // a command of a member of a process: for the other members
)

// WillWait reports whether a command, once applied, would only wait for other commands, and none is proposed at once.
// Then the command can be delayed.
func (r *Replica) WillWait(k protocol.Kind, c *shard.Command) bool {
	switch waits := Mutations[k].waits; {
	case waits == neverWaits || r.Pipeline.Urgent():
		return false
	case waits == queues:
		return semaphore.WillQueue(r.Machine, c)
	}
	return r.Machine.WillGather(c, r.Pipeline.Delayed())
}

// CommandOf returns the command for a mutation. Its texts and bytes are in the memory of the request and of body,
// which may be used again once the command is encoded.
func CommandOf(r *protocol.Request, body *[]byte) shard.Command {
	m, node, name, c := Mutations[r.Kind].Command(r, body)
	c.Node, c.Name = shard.NodeID(node), name
	c.Session, c.Number, c.Acked = shard.SessionID(m.SessionID), m.Number, m.Acknowledged
	return c
}

// flagIf returns the flag if set is true, and no flag otherwise.
func flagIf(set bool, flag shard.CommandFlags) shard.CommandFlags {
	if set {
		return flag
	}
	return 0
}
