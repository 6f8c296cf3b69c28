package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/mutation"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// results answers requests whose commands were applied. Used by one goroutine at a time.
type results struct {
	r *Replica
	// answer is reused for every answer, because an encoder takes pointers.
	answer  protocol.Answer
	answers [protocol.MaxRequestKind + 1]protocol.AnswerMessage // pointers into answer, by request kind
}

// init sets the pointers to mutation answers within the reusable answer.
func (res *results) init() {
	for k := range res.answers {
		res.answer.Kind = protocol.Kind(k).Answer()
		res.answers[k] = res.answer.Message()
	}
}

// waitsElsewhere is the answer to a queued acquire whose session has been detached from the connection. After the
// earlier notification, the client would wait for an outcome in vain.
var waitsElsewhere = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the session is no longer bound to the connection, but keeps " +
		"its queue position",
}

// complete answers one request.
func (res *results) complete(o *pipeline.Op, command *shard.Command, e *shard.Effect) {
	if o.Caller == nil {
		o.Done(e, 0)
		return
	}
	if e.Status == protocol.StatusMoved {
		res.r.elsewhere(o, command, res.r.Mark)
		return
	}
	c := o.Caller.(Conn)
	if e.Status != protocol.StatusSuccess {
		c.Fail(o.Ticket, res.refused(command, e))
		res.r.Mark(c)
		return
	}
	answer := res.answers[o.Kind]
	if fill := mutation.All[o.Kind].Fill; fill != nil {
		fill(&res.answer, res.r.Machine, command, e)
	}
	if e.Flags&shard.FlagQueued == 0 {
		c.Answer(o.Ticket, answer)
	} else if c.AnswerBound(command.Session, o.Ticket, answer) {
		// After the answer: from here on, other goroutines may push the outcome.
		res.r.waits.add(command.Session, waiting{slot: shard.SlotOf(command.Node, command.Name), number: command.Number,
			conn: c, request: o.Request, since: o.Started})
		res.r.waits.withdraw(&shard.WaiterRef{Node: command.Node, Name: command.Name, Session: command.Session,
			Order: e.Order, Number: command.Number}, c) // the right may have been revoked meanwhile
	} else {
		c.Fail(o.Ticket, &waitsElsewhere)
	}
	res.r.Mark(c)
}

// WillWait reports whether a command, once applied, would only wait for other commands, while none is about to be
// proposed. Such a command can be delayed.
func (r *Replica) WillWait(k protocol.Kind, c *shard.Command) bool {
	waits := mutation.All[k].Waits
	return waits != mutation.NeverWaits && !r.Pipeline.Urgent() && waits.WillWait(r.Machine, c, r.Pipeline.Delayed())
}

// Unchanged returns the answer to a report or an ask that would change nothing, or nil if the request has to go into
// the log. The host leads the shard.
func (r *Replica) Unchanged(c *shard.Command) protocol.AnswerMessage {
	now := r.EstimatedTime()
	if now == 0 {
		return nil // the host leads, but its term has not begun
	}
	t, same := rollout.Unchanged(r.Machine, c, now)
	switch {
	case !same:
		return nil
	case c.Kind == shard.CmdRolloutReport:
		return &r.results.answer.RolloutReport // without content, and never modified
	}
	return &protocol.RolloutPollAnswer{
		Target: protocol.RolloutTarget{
			Generation: t.Generation, Seq: t.Seq, Label: protocol.View(t.Label), Payload: t.Payload,
		},
		NextInMillis: t.NextIn,
	}
}
