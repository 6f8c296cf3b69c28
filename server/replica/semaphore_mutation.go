package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// semaphoreMutations are the mutations of semaphores.
var semaphoreMutations = map[protocol.Kind]mutation{
	protocol.KindSemaphoreCreate: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreCreate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdSemaphoreCreate, Count: m.Limit,
				Data: m.Data}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) {
			r.answer.SemaphoreCreate.Revision = uint64(e.Revision)
		},
	},
	protocol.KindSemaphoreUpdate: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreUpdate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreUpdate, Data: m.Data, Order: shard.OrderID(m.OrderID),
				Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) {
			r.answer.SemaphoreUpdate.Revision = uint64(e.Revision)
		},
	},
	protocol.KindSemaphoreResize: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreResize
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreResize, Count: m.Limit, Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) {
			r.answer.SemaphoreResize.Revision = uint64(e.Revision)
		},
	},
	protocol.KindSemaphoreDelete: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		Frees: true,
	},
	protocol.KindAcquire: {
		waits: queues,
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Acquire
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdAcquire, Count: m.Count, Timeout: m.TimeoutMillis, Data: m.Data,
				Flags: flagIf(m.Ephemeral, shard.FlagEphemeral),
			}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) {
			r.answer.Acquire = protocol.AcquireAnswer{OrderID: uint64(e.Order), SemaphoreLimit: e.Limit}
			switch {
			case e.Flags&shard.FlagQueued != 0:
				r.answer.Acquire.Outcome = protocol.Queued
			case e.Flags&shard.FlagAcquired != 0:
				r.answer.Acquire.Outcome = protocol.Acquired
			}
		},
	},
	protocol.KindRelease: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Release
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRelease, Order: shard.OrderID(m.OrderID)}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) {
			r.answer.Release.Released = e.Flags&shard.FlagReleased != 0
		},
		Frees: true,
	},
}
