package mutation

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
)

// processMutations are the mutations for coordination processes: operators put, delete and act; members join, leave,
// prepare, send, reply and complete. A member's command in a round names the epoch and the member, and acknowledges
// the inbox items the member has handled. Until a command is encoded, its body aliases the request.
var processMutations = map[protocol.Kind]Mutation{
	protocol.KindProcessPut: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessPut
			m.Spec = m.Spec.WithDefaults()
			*body = process.Append((*body)[:0], &m.Put)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdProcessPut, Body: *body}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.ProcessPut = protocol.ProcessPutAnswer{
				Revision: uint64(e.Revision), Created: e.Flags&shard.FlagCreated != 0,
			}
		},
	},
	protocol.KindProcessDelete: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdProcessDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		Frees: true,
	},
	protocol.KindProcessAction: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessAction
			*body = process.Append((*body)[:0], &m.Action)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdProcessAct, Body: *body}
		},
	},
	protocol.KindProcessJoin: {
		Waits: Gathers,
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessJoin
			m.Spec = m.Spec.WithDefaults()
			*body = process.Append((*body)[:0], &m.Arrival)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdProcessJoin, Body: *body}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.ProcessJoin.MemberID = uint64(e.Order)
		},
	},
	protocol.KindProcessLeave: {
		Waits: Gathers,
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessLeave
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdProcessLeave, Order: shard.OrderID(m.MemberID),
			}
		},
		Applied: func(in *inbox.Table, c *shard.Command) { in.Lost(c.Session, c.Order, "the member left") },
		Frees:   true,
	},
	protocol.KindProcessPrepareAck: {
		Waits: Gathers,
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessPrepareAck
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdProcessPrepared, &m.Part, nil)
		},
	},
	protocol.KindProcessSend: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessSend
			to := process.Request{Audience: m.Audience}
			for id := range m.To.All() {
				to.To = append(to.To, uint64(id))
			}
			*body = process.AppendReceivers((*body)[:0], to)
			c := partCommand(shard.CmdProcessSend, &m.Part, m.Payload)
			c.Timeout, c.Body = m.TimeoutMillis, *body
			return &m.Mutation, m.NodeID, m.Name, c
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.ProcessSend.Exchange = uint64(e.Order)
		},
	},
	protocol.KindProcessReply: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessReply
			c := partCommand(shard.CmdProcessReply, &m.Part, m.Data)
			c.Timeout, c.Flags = m.Exchange, flagIf(m.Failed, shard.FlagFailed)
			return &m.Mutation, m.NodeID, m.Name, c
		},
	},
	protocol.KindProcessComplete: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessComplete
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdProcessComplete, &m.Part, m.Result)
		},
	},
	protocol.KindProcessCompleteAck: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessCompleteAck
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdProcessCompleted, &m.Part, nil)
		},
	},
	protocol.KindProcessFail: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessFail
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdProcessFail, &m.Part, m.Text)
		},
	},
	protocol.KindInboxAck: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.InboxAck
			part := protocol.Part{MemberID: m.MemberID, Ack: m.Ack}
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdInboxAck, &part, nil)
		},
		Frees: true,
	},
}

// partCommand returns a member's command in a round.
func partCommand(k shard.CommandKind, p *protocol.Part, data []byte) shard.Command {
	return shard.Command{Kind: k, Order: shard.OrderID(p.MemberID), Term: p.Epoch, Count: p.Ack, Data: data}
}
