package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// answerUnchanged answers a report or an ask of an instance of a rollout that changes nothing, without the log, and
// reports whether it is one. What it answers of targets is as fresh as a RELAXED read.
func (c *conn) answerUnchanged(r *protocol.Request, rp *replica.Replica, command *shard.Command) bool {
	if !rp.Leads() || !rp.MayAnswer(protocol.ConsistencyRelaxed) {
		return false
	}
	answer := rp.Unchanged(command)
	if answer == nil {
		return false
	}
	c.Answer(r.ID, answer)
	c.host.metrics.Answered(r.Kind, c.host.clock()-c.started)
	c.host.metrics.Unlogged(r.Kind)
	return true
}
