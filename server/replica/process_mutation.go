package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// processMutations are the mutations of coordination processes. Until a command is written, its body refers to the
// request.
var processMutations = map[protocol.Kind]mutation{
	protocol.KindProcessPut: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessPut
			m.Spec = m.Spec.WithDefaults()
			*body = process.Append((*body)[:0], &m.Put)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdProcessPut, Body: *body}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.processPut = protocol.ProcessPutAnswer{
				Revision: uint64(e.Revision), Created: e.Flags&shard.FlagCreated != 0,
			}
			return &r.processPut
		},
	},
	protocol.KindProcessDelete: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdProcessDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		answer: always(&protocol.ProcessDeleteAnswer{}),
		frees:  true,
	},
	protocol.KindProcessAct: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessAct
			*body = process.Append((*body)[:0], &m.Act)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdProcessAct, Body: *body}
		},
		answer: always(&protocol.ProcessActAnswer{}),
	},
	protocol.KindProcessJoin: {
		waits: gathers,
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessJoin
			m.Spec = m.Spec.WithDefaults()
			*body = process.Append((*body)[:0], &m.Arrival)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdProcessJoin, Body: *body}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.processJoined.MemberID = uint64(e.Order)
			return &r.processJoined
		},
	},
	protocol.KindProcessLeave: {
		waits: gathers,
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessLeave
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdProcessLeave, Order: shard.OrderID(m.MemberID),
			}
		},
		answer: always(&protocol.ProcessLeaveAnswer{}),
		frees:  true,
	},
	protocol.KindProcessPrepared: {
		waits: gathers,
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessPrepared
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdProcessPrepared, &m.Part)
		},
		answer: always(&protocol.ProcessPreparedAnswer{}),
	},
	protocol.KindProcessSend: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessSend
			to := process.Request{Audience: m.Audience}
			for id := range m.To.All() {
				to.To = append(to.To, uint64(id))
			}
			*body = process.AppendReceivers((*body)[:0], to)
			c := partCommand(shard.CmdProcessSend, &m.Part)
			c.Timeout, c.Body, c.Data = m.TimeoutMillis, *body, m.Payload
			return &m.Mutation, m.NodeID, m.Name, c
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.processSent.Exchange = uint64(e.Order)
			return &r.processSent
		},
	},
	protocol.KindProcessReply: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessReply
			c := partCommand(shard.CmdProcessReply, &m.Part)
			c.Timeout, c.Flags, c.Data = m.Exchange, flagIf(m.Failed, shard.FlagFailed), m.Data
			return &m.Mutation, m.NodeID, m.Name, c
		},
		answer: always(&protocol.ProcessReplyAnswer{}),
	},
	protocol.KindProcessComplete: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessComplete
			c := partCommand(shard.CmdProcessComplete, &m.Part)
			c.Data = m.Result
			return &m.Mutation, m.NodeID, m.Name, c
		},
		answer: always(&protocol.ProcessCompleteAnswer{}),
	},
	protocol.KindProcessCompleted: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessCompleted
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdProcessCompleted, &m.Part)
		},
		answer: always(&protocol.ProcessCompletedAnswer{}),
	},
	protocol.KindProcessFail: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.ProcessFail
			c := partCommand(shard.CmdProcessFail, &m.Part)
			c.Data = m.Text
			return &m.Mutation, m.NodeID, m.Name, c
		},
		answer: always(&protocol.ProcessFailAnswer{}),
	},
	protocol.KindInboxAck: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.InboxAck
			part := protocol.Part{MemberID: m.MemberID, Ack: m.Ack}
			return &m.Mutation, m.NodeID, m.Name, partCommand(shard.CmdInboxAck, &part)
		},
		answer: always(&protocol.InboxAckAnswer{}),
		frees:  true,
	},
}

// processAnswers are the answers to mutations of processes, if they have content.
type processAnswers struct {
	processPut    protocol.ProcessPutAnswer
	processJoined protocol.ProcessJoinAnswer
	processSent   protocol.ProcessSendAnswer
}

// partCommand is the command of a member in a round.
func partCommand(k shard.CommandKind, p *protocol.Part) shard.Command {
	return shard.Command{Kind: k, Order: shard.OrderID(p.MemberID), Term: p.Epoch, Count: p.Ack}
}
