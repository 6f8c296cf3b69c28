package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// semaphoreMutations are the mutations of semaphores.
var semaphoreMutations = map[protocol.Kind]mutation{
	protocol.KindSemaphoreCreate: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreCreate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdSemaphoreCreate, Count: m.Limit,
				Data: m.Data}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.created.Revision = uint64(e.Revision)
			return &r.created
		},
	},
	protocol.KindSemaphoreUpdate: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreUpdate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreUpdate, Data: m.Data, Order: shard.OrderID(m.OrderID),
				Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.updated.Revision = uint64(e.Revision)
			return &r.updated
		},
	},
	protocol.KindSemaphoreResize: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreResize
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreResize, Count: m.Limit, Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.resized.Revision = uint64(e.Revision)
			return &r.resized
		},
	},
	protocol.KindSemaphoreDelete: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		answer: always(&protocol.SemaphoreDeleteAnswer{}),
		frees:  true,
	},
	protocol.KindAcquire: {
		waits: queues,
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Acquire
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdAcquire, Count: m.Count, Timeout: m.TimeoutMillis, Data: m.Data,
				Flags: flagIf(m.Ephemeral, shard.FlagEphemeral),
			}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.acquired = protocol.AcquireAnswer{OrderID: uint64(e.Order), SemaphoreLimit: e.Limit}
			switch {
			case e.Flags&shard.FlagQueued != 0:
				r.acquired.Outcome = protocol.Queued
			case e.Flags&shard.FlagAcquired != 0:
				r.acquired.Outcome = protocol.Acquired
			}
			return &r.acquired
		},
	},
	protocol.KindRelease: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Release
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRelease, Order: shard.OrderID(m.OrderID)}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.released.Released = e.Flags&shard.FlagReleased != 0
			return &r.released
		},
		frees: true,
	},
}

// semaphoreAnswers are the answers to mutations of semaphores.
type semaphoreAnswers struct {
	created  protocol.SemaphoreCreateAnswer
	updated  protocol.SemaphoreUpdateAnswer
	resized  protocol.SemaphoreResizeAnswer
	acquired protocol.AcquireAnswer
	released protocol.ReleaseAnswer
}
