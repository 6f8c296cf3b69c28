package executor

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// perform executes a step's effect on the host.
func (a *Agent) perform(ctx context.Context, e *protocol.StepExecute) (*protocol.StepExecuteAnswer, error) {
	switch e.Effect {
	case protocol.EffectMoveSlot, protocol.EffectRefuseSlot, protocol.EffectCancelSlot:
		return a.slot(ctx, e)
	}
	return &protocol.StepExecuteAnswer{}, a.change(ctx, e)
}

// change executes an effect on a shard's replicas or its leadership.
func (a *Agent) change(ctx context.Context, e *protocol.StepExecute) error {
	id := hosts.ShardID(e.ShardID)
	switch e.Effect {
	case protocol.EffectHold:
		return a.own(e, func() error { return a.replicas.Start(ctx, id, e.ReplicaID) })
	case protocol.EffectRebuild:
		return a.own(e, func() error { return a.replicas.Renew(ctx, e) })
	case protocol.EffectDeleteReplica:
		return a.own(e, func() error { return a.replicas.Discard(ctx, id, e.ReplicaID) })
	}
	on := a.leading(id)
	if on == nil {
		return fmt.Errorf("shard %d at host %d: %w", id, a.host, shard.ErrNotLeader)
	}
	switch e.Effect {
	case protocol.EffectTransfer:
		return on.Transfer(shard.HostID(e.HostID))
	case protocol.EffectAdd:
		var i hosts.Incarnation
		if copy(i[:], e.Incarnation) != len(i) {
			return fmt.Errorf("%w: invalid incarnation with %d bytes", errRefused, len(e.Incarnation))
		}
		return on.AddLearner(ctx, e.ReplicaID, shard.HostID(e.HostID), i, e.Change)
	case protocol.EffectPromote:
		return on.Promote(ctx, e.ReplicaID, e.Change)
	case protocol.EffectRemove:
		return on.Remove(ctx, e.ReplicaID, e.Change)
	}
	return fmt.Errorf("%w: unknown effect %v", errRefused, e.Effect)
}

// own executes an effect on a local replica, if the request names the local host. By now another data directory may
// be in use at the host's address.
func (a *Agent) own(e *protocol.StepExecute, do func() error) error {
	if string(e.Incarnation) != string(a.incarnation[:]) {
		return fmt.Errorf("%w: host %d has another data directory", errRefused, a.host)
	}
	return do()
}

// leading returns a shard's log if the host leads the shard, else nil.
func (a *Agent) leading(id hosts.ShardID) Log {
	if h := a.held(id); h != nil && h.Log.Leadership().Leader == a.host {
		return h.Log
	}
	return nil
}
