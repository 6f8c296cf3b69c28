package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// A request that changes an object becomes a command, and the effect of the command becomes the answer. Each kind of
// objects has a file with both directions for its requests.

// mutation is both directions of one kind of request.
type mutation struct {
	// command returns the command without what all mutations have, and that: the mutation, its node and its name. What
	// the command says in the form of its kind is written to body, whose memory is used again.
	command func(r *protocol.Request, body *[]byte) (m *protocol.Mutation, node uint64, name []byte, c shard.Command)
	// answer makes the answer to a request that was carried out, in memory of the replica that is used again.
	answer func(r *Replica, c *shard.Command, e *shard.Effect) protocol.AnswerMessage
	// mayChangeNothing: it says again and again what is known, and need not go into the log then.
	mayChangeNothing bool
	// frees: less is held after it than before, and it is let in though the disk is nearly full.
	frees bool
}

// mutations are those of all kinds of objects.
var mutations = func() (all [protocol.MaxRequestKind + 1]mutation) {
	for _, of := range []map[protocol.Kind]mutation{semaphoreMutations, rolloutMutations, processMutations} {
		for kind, m := range of {
			all[kind] = m
		}
	}
	return all
}()

// answers are reused for every answer, because an encoder takes pointers.
type answers struct {
	semaphoreAnswers
	rolloutAnswers
	processAnswers
}

// IsMutation reports whether requests of the kind change an object.
func IsMutation(k protocol.Kind) bool { return mutations[k].command != nil }

// Frees reports whether less is held after a request of the kind than before.
func Frees(k protocol.Kind) bool { return mutations[k].frees }

// MayChangeNothing reports whether requests of the kind are tried with Replica.Unchanged first.
func MayChangeNothing(k protocol.Kind) bool { return mutations[k].mayChangeNothing }

// CommandOf returns the command that a mutation asks for. Its texts and bytes are those of the request, and of body,
// which may be used again when the command is encoded.
func CommandOf(r *protocol.Request, body *[]byte) shard.Command {
	m, node, name, c := mutations[r.Kind].command(r, body)
	c.Node, c.Name = shard.NodeID(node), name
	c.Session, c.Number, c.Acked = shard.SessionID(m.SessionID), m.Number, m.Acknowledged
	return c
}

// flagIf returns the flag where it is set, and none otherwise.
func flagIf(set bool, flag shard.CommandFlags) shard.CommandFlags {
	if set {
		return flag
	}
	return 0
}
