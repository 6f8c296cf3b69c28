package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// A request that changes a semaphore becomes a command, and the effect of the command becomes the answer. This file has
// both directions for each kind of such requests.

// mutation is both directions of one kind of request.
type mutation struct {
	// command returns the command without what all mutations have, and that: the mutation, its node and its name.
	command func(r *protocol.Request) (m *protocol.Mutation, node uint64, name []byte, c shard.Command)
	// answer makes the answer to a request that was carried out, in memory that is used again.
	answer func(a *answers, e *shard.Effect) protocol.AnswerMessage
}

var mutations = [protocol.MaxRequestKind + 1]mutation{
	protocol.KindSemaphoreCreate: {
		func(r *protocol.Request) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreCreate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdSemaphoreCreate, Count: m.Limit,
				Data: m.Data}
		},
		func(a *answers, e *shard.Effect) protocol.AnswerMessage {
			a.created.Revision = uint64(e.Revision)
			return &a.created
		},
	},
	protocol.KindSemaphoreUpdate: {
		func(r *protocol.Request) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreUpdate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreUpdate, Data: m.Data, Order: shard.OrderID(m.OrderID),
				Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		func(a *answers, e *shard.Effect) protocol.AnswerMessage {
			a.updated.Revision = uint64(e.Revision)
			return &a.updated
		},
	},
	protocol.KindSemaphoreResize: {
		func(r *protocol.Request) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreResize
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreResize, Count: m.Limit, Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		func(a *answers, e *shard.Effect) protocol.AnswerMessage {
			a.resized.Revision = uint64(e.Revision)
			return &a.resized
		},
	},
	protocol.KindSemaphoreDelete: {
		func(r *protocol.Request) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		func(a *answers, e *shard.Effect) protocol.AnswerMessage {
			return &a.deleted
		},
	},
	protocol.KindAcquire: {
		func(r *protocol.Request) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Acquire
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdAcquire, Count: m.Count, Timeout: m.TimeoutMillis, Data: m.Data,
				Flags: flagIf(m.Ephemeral, shard.FlagEphemeral),
			}
		},
		func(a *answers, e *shard.Effect) protocol.AnswerMessage {
			a.acquired = protocol.AcquireAnswer{OrderID: uint64(e.Order), SemaphoreLimit: e.Limit}
			switch {
			case e.Flags&shard.FlagQueued != 0:
				a.acquired.Outcome = protocol.Queued
			case e.Flags&shard.FlagAcquired != 0:
				a.acquired.Outcome = protocol.Acquired
			}
			return &a.acquired
		},
	},
	protocol.KindRelease: {
		func(r *protocol.Request) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Release
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRelease, Order: shard.OrderID(m.OrderID)}
		},
		func(a *answers, e *shard.Effect) protocol.AnswerMessage {
			a.released.Released = e.Flags&shard.FlagReleased != 0
			return &a.released
		},
	},
}

// answers are reused for every answer, because an encoder takes pointers.
type answers struct {
	created  protocol.SemaphoreCreateAnswer
	updated  protocol.SemaphoreUpdateAnswer
	resized  protocol.SemaphoreResizeAnswer
	deleted  protocol.SemaphoreDeleteAnswer
	acquired protocol.AcquireAnswer
	released protocol.ReleaseAnswer
}

// IsMutation reports whether requests of the kind change a semaphore.
func IsMutation(k protocol.Kind) bool { return mutations[k].command != nil }

// CommandOf returns the command that a mutation asks for. Its texts and bytes are those of the request.
func CommandOf(r *protocol.Request) shard.Command {
	m, node, name, c := mutations[r.Kind].command(r)
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
