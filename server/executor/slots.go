package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/slots"
)

// errNoLeader: no host is known to lead a shard.
var errNoLeader = errors.New("executor: the shard has no leader")

// moveSlot carries out the attempt of a step, and records the outcome. moveSlot first asks the owner to hand over the
// slot. Without an outcome in time, or if the order has changed, moveSlot asks the target to refuse the slot, and after
// a refusal the owner to keep the slot. The target's log decides. A repeated effect returns the outcome of the attempt.
func (t *term) moveSlot(ctx context.Context, v governor.View, s *step) error {
	a, order := &s.Payload, v.State.SlotOrder(s.Payload.Slot)
	from, into := leaderOf(v, a.Shard), leaderOf(v, a.Into)
	m := protocol.StepExecute{StepID: uint64(s.ID), ShardID: uint64(a.Shard), Into: uint64(a.Into),
		Slot: uint64(a.Slot), Generation: a.Number, HostID: uint64(into), Large: a.Large}
	why := "the order to move the slot has changed"
	if order.To == a.Into {
		outcome, reason, err := t.slotEffect(ctx, from, protocol.EffectMoveSlot, m)
		switch {
		case errors.Is(err, errOldTerm) || errors.Is(err, shard.ErrNotLeader):
			return err // the next leader of the shard is asked later
		case err != nil:
			why = fmt.Sprintf("no outcome from shard %d: %v", a.Shard, err)
		case outcome == protocol.SlotNone:
			why = cmp.Or(reason, "the attempt took too long")
		default:
			return t.assign(ctx, a, outcome, reason)
		}
	}
	refusal := m
	refusal.ShardID, refusal.Into, refusal.HostID = m.Into, m.ShardID, uint64(from)
	outcome, reason, err := t.slotEffect(ctx, into, protocol.EffectRefuseSlot, refusal)
	if err == nil && outcome == protocol.SlotKept {
		why = cmp.Or(reason, why)
		outcome, reason, err = t.slotEffect(ctx, from, protocol.EffectCancelSlot, m)
	}
	switch {
	case err != nil:
		return fmt.Errorf("slot %d: %w; before: %s", a.Slot, err, why)
	case outcome == protocol.SlotNone:
		return fmt.Errorf("slot %d: the outcome is not known yet: %s", a.Slot, cmp.Or(reason, why))
	}
	return t.assign(ctx, a, outcome, why)
}

// assign records the outcome of an attempt.
func (t *term) assign(ctx context.Context, a *governor.Action, outcome protocol.SlotOutcome, why string) error {
	c := Command{Verb: VerbAssign, Slot: a.Slot, Owner: slots.Owner{Shard: uint64(a.Into), Generation: a.Number}}
	if outcome == protocol.SlotKept {
		c.Owner, c.Text = slots.Owner{Shard: uint64(a.Shard), Generation: a.Number + 1}, why
	}
	return t.propose(ctx, c)
}

// slotEffect asks a shard's leader to carry out a slot effect.
func (t *term) slotEffect(ctx context.Context, to shard.HostID, effect protocol.EffectKind, m protocol.StepExecute) (
	protocol.SlotOutcome, string, error) {
	if to == 0 {
		return 0, "", fmt.Errorf("%w: shard %d", errNoLeader, m.ShardID)
	}
	ctx, cancel := context.WithTimeout(ctx, slotWithin)
	defer cancel()
	m.Effect, m.Term = effect, t.number
	a, err := t.e.ask(ctx, to, &m)
	if err != nil {
		return 0, "", err
	}
	return a.StepExecute.Outcome, string(a.StepExecute.Reason), nil
}

// leaderOf returns the host that leads a shard, 0 if unknown.
func leaderOf(v governor.View, id hosts.ShardID) shard.HostID {
	for _, on := range v.Seen.Shards {
		if on.Shard == id {
			return on.Leader
		}
	}
	return 0
}

// slot carries out a slot effect on a shard that the host leads.
func (a *Agent) slot(ctx context.Context, e *protocol.StepExecute) (*protocol.StepExecuteAnswer, error) {
	if id := hosts.ShardID(e.ShardID); a.leading(id) == nil {
		return nil, fmt.Errorf("shard %d at host %d: %w", id, a.host, shard.ErrNotLeader)
	}
	outcome, reason, err := a.replicas.Slot(ctx, e)
	if err != nil {
		return nil, err
	}
	cut := reason[:min(len(reason), protocol.MaxOperatorTextBytes)]
	return &protocol.StepExecuteAnswer{Outcome: outcome, Reason: []byte(strings.ToValidUTF8(cut, ""))}, nil
}
