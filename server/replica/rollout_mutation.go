package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// rolloutMutations are the mutations of rollouts. Until a command is written, its body refers to the request.
var rolloutMutations = map[protocol.Kind]mutation{
	protocol.KindRolloutPut: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutPut
			m.Spec = m.Spec.WithDefaults()
			*body = rollout.Append((*body)[:0], &m.Put)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutPut, Body: *body}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) {
			r.answer.RolloutPut = protocol.RolloutPutAnswer{
				Revision: uint64(e.Revision), Created: e.Flags&shard.FlagCreated != 0,
			}
		},
	},
	protocol.KindRolloutDelete: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		Frees: true,
	},
	protocol.KindRolloutPublish: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutPublish
			*body = rollout.Append((*body)[:0], &m.Publication)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutPublish, Body: *body, Data: m.Payload,
			}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) { r.answer.RolloutPublish.Seq = uint64(e.Order) },
	},
	protocol.KindRolloutSource: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutSource
			*body = rollout.Append((*body)[:0], &m.SourceRole)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutSource, Body: *body}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) { r.answer.RolloutSource.SourceID = uint64(e.Order) },
	},
	protocol.KindRolloutOffer: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutOffer
			*body = rollout.Append((*body)[:0], &m.Offering)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutOffer, Body: *body, Data: m.Payload,
			}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) { r.answer.RolloutOffer.Seq = uint64(e.Order) },
	},
	protocol.KindRolloutJoin: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutJoin
			*body = rollout.Append((*body)[:0], &m.Instance)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutJoin, Body: *body}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) { r.answer.RolloutJoin.InstanceID = uint64(e.Order) },
	},
	protocol.KindRolloutLeave: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutLeave
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutLeave}
		},
		Frees: true,
	},
	protocol.KindRolloutRole: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutRole
			c := shard.Command{Kind: shard.CmdRolloutRole}
			if m.Leader {
				c.Count = 1
			}
			return &m.Mutation, m.NodeID, m.Name, c
		},
	},
	protocol.KindRolloutReport: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutReport
			return &m.Mutation, m.NodeID, m.Name, reportCommand(shard.CmdRolloutReport, &m.Report, body)
		},
		MayChangeNothing: true,
	},
	protocol.KindRolloutAsk: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutAsk
			return &m.Mutation, m.NodeID, m.Name, reportCommand(shard.CmdRolloutAsk, &m.Report, body)
		},
		fill: func(r *Replica, c *shard.Command, e *shard.Effect) {
			r.answer.RolloutAsk = r.askAnswer(c, e)
		},
		MayChangeNothing: true,
	},
	protocol.KindRolloutAct: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutAct
			*body = rollout.Append((*body)[:0], &m.Act)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutAct, Body: *body}
		},
		fill: func(r *Replica, _ *shard.Command, e *shard.Effect) { r.answer.RolloutAct.Generation = uint64(e.Order) },
	},
	protocol.KindRolloutGate: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutGate
			*body = rollout.Append((*body)[:0], &m.Judgement)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutGate, Body: *body}
		},
	},
}

func reportCommand(k shard.CommandKind, m *protocol.InstanceReport, body *[]byte) shard.Command {
	*body = rollout.AppendReport((*body)[:0], rollout.Report{
		Current: m.Current, Generation: m.Generation, Status: m.Status, Code: protocol.Text(m.Code),
		Text: protocol.Text(m.Text), Attempts: m.Attempts,
	})
	return shard.Command{Kind: k, Body: *body}
}
