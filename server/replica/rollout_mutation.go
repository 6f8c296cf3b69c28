package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// rolloutMutations are those of rollouts. What their commands say in the form of rollouts refers to the request until
// it is written.
var rolloutMutations = map[protocol.Kind]mutation{
	protocol.KindRolloutPut: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutPut
			*body = rollout.AppendPut((*body)[:0], rollout.Put{
				Mode: rollout.PutMode(m.Mode), ExpectedRevision: m.ExpectedRevision, Spec: specOf(&m.Spec),
				Author: protocol.Text(m.Author), Reason: protocol.Text(m.Reason),
			})
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutPut, Body: *body}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.put = protocol.RolloutPutAnswer{
				Revision: uint64(e.Revision), Created: e.Flags&shard.FlagCreated != 0,
			}
			return &r.put
		},
	},
	protocol.KindRolloutDelete: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutDelete
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutDelete, Flags: flagIf(m.Force, shard.FlagForce),
			}
		},
		answer: always(&protocol.RolloutDeleteAnswer{}),
		frees:  true,
	},
	protocol.KindRolloutPublish: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutPublish
			*body = rollout.AppendPublication((*body)[:0], rollout.Publication{
				Label: protocol.Text(m.Label), Author: protocol.Text(m.Author), Reason: protocol.Text(m.Reason),
				Compare: m.Compare, Expected: m.ExpectedSeq, Fence: m.Fence,
			})
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutPublish, Body: *body, Data: m.Payload,
			}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.published.Seq = uint64(e.Order)
			return &r.published
		},
	},
	protocol.KindRolloutSource: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutSource
			*body = rollout.AppendSourceRole((*body)[:0], rollout.SourceRole{
				Off: m.Off, Name: protocol.Text(m.Source),
			})
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutSource, Body: *body}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.source.SourceID = uint64(e.Order)
			return &r.source
		},
	},
	protocol.KindRolloutOffer: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutOffer
			*body = rollout.AppendOffering((*body)[:0], rollout.Offering{
				Ticket: m.Ticket, Declined: m.Declined, Text: protocol.Text(m.Text),
				Version: rollout.Publication{Label: protocol.Text(m.Label), Author: protocol.Text(m.Author)},
			})
			return &m.Mutation, m.NodeID, m.Name, shard.Command{
				Kind: shard.CmdRolloutOffer, Body: *body, Data: m.Payload,
			}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.offered.Seq = uint64(e.Order)
			return &r.offered
		},
	},
	protocol.KindRolloutJoin: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutJoin
			*body = rollout.AppendJoining((*body)[:0], rollout.Joining{
				Instance: protocol.Text(m.Instance), Location: protocol.Text(m.Location),
				Attributes: protocol.Text(m.Attributes),
			})
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutJoin, Body: *body}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.joined.InstanceID = uint64(e.Order)
			return &r.joined
		},
	},
	protocol.KindRolloutLeave: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutLeave
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutLeave}
		},
		answer: always(&protocol.RolloutLeaveAnswer{}),
		frees:  true,
	},
	protocol.KindRolloutRole: {
		command: func(r *protocol.Request, _ *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutRole
			c := shard.Command{Kind: shard.CmdRolloutRole}
			if m.Leader {
				c.Count = 1
			}
			return &m.Mutation, m.NodeID, m.Name, c
		},
		answer: always(&protocol.RolloutRoleAnswer{}),
	},
	protocol.KindRolloutReport: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutReport
			return &m.Mutation, m.NodeID, m.Name, reportCommand(shard.CmdRolloutReport, &m.Report, body)
		},
		answer:           always(&reported),
		mayChangeNothing: true,
	},
	protocol.KindRolloutAsk: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutAsk
			return &m.Mutation, m.NodeID, m.Name, reportCommand(shard.CmdRolloutAsk, &m.Report, body)
		},
		answer: func(r *Replica, c *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.asked = r.askAnswer(c, e)
			return &r.asked
		},
		mayChangeNothing: true,
	},
	protocol.KindRolloutAct: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutAct
			*body = rollout.AppendAct((*body)[:0], ActOf(&m.Act))
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutAct, Body: *body}
		},
		answer: func(r *Replica, _ *shard.Command, e *shard.Effect) protocol.AnswerMessage {
			r.acted.Generation = uint64(e.Order)
			return &r.acted
		},
	},
	protocol.KindRolloutGate: {
		command: func(r *protocol.Request, body *[]byte) (*protocol.Mutation, uint64, []byte, shard.Command) {
			m := &r.RolloutGate
			*body = rollout.AppendVerdict((*body)[:0], rollout.GateVerdict{
				Location: protocol.Text(m.Location), Gate: protocol.Text(m.Gate), Seq: m.Seq, Generation: m.Generation,
				Verdict: rollout.Verdict(m.Verdict), By: protocol.Text(m.By), Text: protocol.Text(m.Text),
			})
			return &m.Mutation, m.NodeID, m.Name, shard.Command{Kind: shard.CmdRolloutGate, Body: *body}
		},
		answer: always(&protocol.RolloutGateAnswer{}),
	},
}

// rolloutAnswers are those to mutations of rollouts that say something.
type rolloutAnswers struct {
	put       protocol.RolloutPutAnswer
	published protocol.RolloutPublishAnswer
	source    protocol.RolloutSourceAnswer
	offered   protocol.RolloutOfferAnswer
	joined    protocol.RolloutJoinAnswer
	asked     protocol.RolloutAskAnswer
	acted     protocol.RolloutActAnswer
}

// reported says nothing, and so is never written to.
var reported protocol.RolloutReportAnswer

// always is the answer of requests whose answer says nothing.
func always(m protocol.AnswerMessage) func(*Replica, *shard.Command, *shard.Effect) protocol.AnswerMessage {
	return func(*Replica, *shard.Command, *shard.Effect) protocol.AnswerMessage { return m }
}

func reportCommand(k shard.CommandKind, m *protocol.InstanceReport, body *[]byte) shard.Command {
	*body = rollout.AppendReport((*body)[:0], rollout.Report{
		Current: m.Current, Generation: m.Generation, Status: rollout.Status(m.Status), Code: protocol.Text(m.Code),
		Text: protocol.Text(m.Text), Attempts: m.Attempts,
	})
	return shard.Command{Kind: k, Body: *body}
}

// ActOf returns an act as rollouts have it. Its texts are those of the message.
func ActOf(m *protocol.Act) rollout.Act {
	return rollout.Act{
		Verb: rollout.Verb(m.Verb), Locations: wordsOf(&m.Locations), Seq: m.Seq, Fast: m.Fast,
		Author: protocol.Text(m.Author), Reason: protocol.Text(m.Reason),
	}
}

// specOf returns a spec as rollouts have it, with the defaults for what the message leaves out.
func specOf(m *protocol.RolloutSpec) rollout.Spec {
	s := rollout.Spec{Rules: rollout.DefaultRules()}
	s.DelayFrom, s.Source = rollout.DelayFrom(m.DelayFrom), rollout.SourceMode(m.Versions)
	s.ProgressDeadline, s.HaltDeadline = m.ProgressMillis, m.HaltMillis
	if m.KeepVersions != 0 {
		s.KeepVersions = m.KeepVersions
	}
	if m.AskMillis != 0 {
		s.AskInterval = m.AskMillis
	}
	re := &m.Reelect
	if re.AfterMillis|re.Attempts|re.IntervalMillis|re.Most != 0 {
		s.Reelect = rollout.Reelect{
			After: re.AfterMillis, Attempts: re.Attempts, MinInterval: re.IntervalMillis, Max: re.Most,
		}
	}
	s.Reelect.Codes = wordsOf(&re.Codes)
	for l := range m.Locations.All() {
		s.Locations = append(s.Locations, rollout.LocationSpec{
			Name: protocol.Text(l.Name), Delay: l.DelayMillis, Require: l.Require, MaxFailing: l.MaxFailing,
			Gates: wordsOf(&l.Gates),
		})
	}
	return s
}

func wordsOf(list *protocol.Words) (words []string) {
	for w := range list.All() {
		words = append(words, protocol.Text(w))
	}
	return words
}
