package mutation

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// semaphoreMutations are the mutations for semaphores: create, update, resize, acquire, release and delete.
var semaphoreMutations = map[protocol.Kind]Mutation{
	protocol.KindSemaphoreCreate: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreCreate
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdSemaphoreCreate, Count: m.Limit,
				Data: m.Data}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.SemaphoreCreate.Revision = uint64(e.Revision)
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
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.SemaphoreUpdate.Revision = uint64(e.Revision)
		},
	},
	protocol.KindSemaphoreResize: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.SemaphoreResize
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdSemaphoreResize, Count: m.Limit, Revision: shard.Revision(m.ExpectedRevision),
			}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.SemaphoreResize.Revision = uint64(e.Revision)
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
		Waits: Queues,
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Acquire
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdAcquire, Count: m.Count, Timeout: m.WaitMillis, Data: m.Data,
				Flags: flagIf(m.Ephemeral, shard.FlagEphemeral),
			}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.Acquire = protocol.AcquireAnswer{OrderID: uint64(e.Order), SemaphoreLimit: e.Limit}
			switch {
			case e.Flags&shard.FlagQueued != 0:
				a.Acquire.Outcome = protocol.Queued
			case e.Flags&shard.FlagAcquired != 0:
				a.Acquire.Outcome = protocol.Acquired
			}
		},
	},
	protocol.KindRelease: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.Release
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRelease, Order: shard.OrderID(m.OrderID)}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.Release.Released = e.Flags&shard.FlagReleased != 0
		},
		Frees: true,
	},
}
