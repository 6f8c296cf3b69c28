package mutation

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/rollout"
)

// rolloutMutations are the mutations for rollouts: publishers and sources add versions; instances join, report and
// ask; operators and gates act. Until a command is encoded, its body aliases the request.
var rolloutMutations = map[protocol.Kind]Mutation{
	protocol.KindRolloutPut: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutPut
			m.Spec = m.Spec.WithDefaults()
			*body = rollout.Append((*body)[:0], &m.Put)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutPut, Body: *body}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.RolloutPut = protocol.RolloutPutAnswer{
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
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.RolloutPublish.Seq = uint64(e.Order)
		},
	},
	protocol.KindRolloutSource: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutSource
			*body = rollout.Append((*body)[:0], &m.SourceRole)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutSource, Body: *body}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.RolloutSource.SourceID = uint64(e.Order)
		},
	},
	protocol.KindRolloutOffer: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutOffer
			*body = rollout.Append((*body)[:0], &m.Offering)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutOffer, Body: *body, Data: m.Payload,
			}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.RolloutOffer.Seq = uint64(e.Order)
		},
	},
	protocol.KindRolloutJoin: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutJoin
			*body = rollout.Append((*body)[:0], &m.Instance)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutJoin, Body: *body}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.RolloutJoin.InstanceID = uint64(e.Order)
		},
	},
	protocol.KindRolloutLeave: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutLeave
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutLeave}
		},
		Frees: true,
	},
	protocol.KindRolloutReady: {
		Command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutReady
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
	protocol.KindRolloutPoll: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutPoll
			return &m.Mutation, m.NodeID, m.Name, reportCommand(shard.CmdRolloutAsk, &m.Report, body)
		},
		Fill: func(a *protocol.Answer, m *machine.Machine, c *shard.Command, e *shard.Effect) {
			a.RolloutPoll = askAnswer(m, c, e)
		},
		MayChangeNothing: true,
	},
	protocol.KindRolloutAction: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutAction
			*body = rollout.Append((*body)[:0], &m.Action)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutAct, Body: *body}
		},
		Fill: func(a *protocol.Answer, _ *machine.Machine, _ *shard.Command, e *shard.Effect) {
			a.RolloutAction.Generation = uint64(e.Order)
		},
	},
	protocol.KindRolloutGateReport: {
		Command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutGateReport
			*body = rollout.Append((*body)[:0], &m.GateReport)
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutGate, Body: *body}
		},
	},
}

// reportCommand returns the command for a report from an instance. Reports and asks share the form: an ask also
// reports the current status.
func reportCommand(k shard.CommandKind, m *protocol.InstanceReport, body *[]byte) shard.Command {
	*body = rollout.AppendReport((*body)[:0], rollout.Report{
		Current: m.Current, Generation: m.Generation, Status: m.Status, Code: protocol.Text(m.Code),
		Text: protocol.Text(m.Text), Attempts: m.Attempts,
	})
	return shard.Command{Kind: k, Body: *body}
}

// askAnswer builds the answer to an ask. The log contains the target's number; label and payload are looked up, so
// that a session's cached answers contain no payload.
func askAnswer(m *machine.Machine, c *shard.Command, e *shard.Effect) protocol.RolloutPollAnswer {
	t, err := rollout.ParseTarget([]byte(e.Body))
	if err != nil {
		panic("mutation: cannot decode the answer to an ask: " + err.Error())
	}
	a := protocol.RolloutPollAnswer{
		Target: protocol.RolloutTarget{Generation: t.Generation, Seq: t.Seq}, NextInMillis: t.NextIn,
	}
	if t.Generation == 0 {
		return a
	}
	label, payload, ok := rollout.PayloadOf(m, c.Node, c.Name, t.Seq)
	a.Target.Label, a.Target.Payload, a.Gone = protocol.View(label), payload, !ok
	return a
}
