package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// askAnswer makes the answer to an ask. The log has the number of the target; label and payload are looked up, so
// that the answers that are kept for a session have no payload.
func (r *Replica) askAnswer(c *shard.Command, e *shard.Effect) protocol.RolloutAskAnswer {
	t, err := rollout.ParseTarget([]byte(e.Body))
	if err != nil {
		panic("replica: the answer of an ask cannot be read: " + err.Error())
	}
	a := protocol.RolloutAskAnswer{
		Target: protocol.RolloutTarget{Generation: t.Generation, Seq: t.Seq}, NextInMillis: t.NextIn,
	}
	if t.Generation == 0 {
		return a
	}
	label, payload, ok := r.Machine.RolloutVersion(c.Node, c.Name, t.Seq)
	a.Target.Label, a.Target.Payload, a.Gone = protocol.View(label), payload, !ok
	return a
}

// Unchanged returns the answer to a report or an ask that would change nothing, or nil if the request has to go into
// the log. This host leads the shard.
func (r *Replica) Unchanged(c *shard.Command) protocol.AnswerMessage {
	now := r.EstimatedTime()
	if now == 0 {
		return nil // the host leads, but its term has not begun
	}
	t, same := r.Machine.Unchanged(c, now)
	switch {
	case !same:
		return nil
	case c.Kind == shard.CmdRolloutReport:
		return &r.answer.RolloutReport // without content, and never written to
	}
	return &protocol.RolloutAskAnswer{
		Target: protocol.RolloutTarget{
			Generation: t.Generation, Seq: t.Seq, Label: protocol.View(t.Label), Payload: t.Payload,
		},
		NextInMillis: t.NextIn,
	}
}
