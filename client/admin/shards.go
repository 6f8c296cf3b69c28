package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// The types below are aliases: packages protocol and protocol/host declare them once, for hosts and clients.
type (
	// ShardSlots is a data shard with its weight and its number of slots.
	ShardSlots = host.ShardSlots
	// PlannedMoves are slots that are still to move from one shard to another.
	PlannedMoves = host.PlannedMoves
	// RebalanceAction is an order about rebalancing.
	RebalanceAction = protocol.RebalanceAction
)

// The orders about rebalancing.
const (
	// RebalanceResume continues, with pacing.
	RebalanceResume = protocol.RebalanceResume
	// RebalancePause begins no further move, and finishes those in progress.
	RebalancePause = protocol.RebalancePause
	// RebalanceNow continues, and ignores pacing until each shard has its slots.
	RebalanceNow = protocol.RebalanceNow
	// RebalanceCancel pauses, and has the moves in progress refused. A slot that the new shard has opened stays there.
	RebalanceCancel = protocol.RebalanceCancel
)

// Rebalancing describes how the slots follow the weights of the data shards.
type Rebalancing struct {
	Shards []ShardSlots // by id
	// Planned are the moves that the weights still require, in the governor's order.
	Planned []PlannedMoves
	Paused  bool
	// NoPacing is set if moves ignore pacing until each shard has its slots.
	NoPacing       bool   `name:"no_pacing"`
	Author, Reason string // of the last order
	// Age is how long ago the last order was given, 0 if there was none.
	Age time.Duration
}

// Pending returns the number of slots that are still to move.
func (r *Rebalancing) Pending() (slots int) {
	for _, p := range r.Planned {
		slots += p.Slots
	}
	return slots
}

// Rebalancing returns each data shard's weight and number of slots, and the moves that the weights still require.
func (a *Admin) Rebalancing(ctx context.Context) (r *Rebalancing, err error) {
	err = a.read(ctx, OpRebalancing, cluster.MetaLeader, &protocol.RebalanceDescribe{}, func(a *protocol.Answer) {
		m := &a.RebalanceDescribe
		r = &Rebalancing{Shards: m.Shards, Planned: m.Planned, Paused: m.Paused, NoPacing: m.NoPacing,
			Author: string(m.Author), Reason: string(m.Reason), Age: time.Duration(m.AgeMillis) * time.Millisecond}
	})
	return r, err
}

// Rebalance gives an order about rebalancing. changed is false if the order was in force already.
func (a *Admin) Rebalance(ctx context.Context, action RebalanceAction, by ChangeInfo) (changed bool, err error) {
	m := &protocol.Rebalance{Operation: by.operation(), Action: action}
	err = a.change(ctx, OpRebalance, "", m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.Rebalance.Existed
		return a.Rebalance.Since
	})
	return changed, err
}

// AddShards adds data shards, and returns their ids. The governor adds the replicas. A shard takes slots once all its
// voters are live.
func (a *Admin) AddShards(ctx context.Context, count int, by ChangeInfo) (ids []uint64, err error) {
	m := &protocol.ShardUpdate{Action: protocol.ShardAdd, Count: uint64(max(count, 0))}
	_, err = a.updateShards(ctx, OpAddShards, m, by, &ids)
	return ids, err
}

// RemoveShards removes data shards once their slots have moved to other shards. changed is false if all of them were to
// be removed already.
func (a *Admin) RemoveShards(ctx context.Context, shards []uint64, by ChangeInfo) (changed bool, err error) {
	return a.updateShards(ctx, OpRemoveShards, updateOf(protocol.ShardRemove, shards...), by, nil)
}

// SetShardWeight sets a data shard's weight, from 0 to 1000. Default: 100. Each shard gets slots in proportion to its
// weight. A shard with weight 0 gives its slots away.
func (a *Admin) SetShardWeight(ctx context.Context, shard uint64, weight int, by ChangeInfo) (changed bool, err error) {
	if weight < 0 {
		return false, fmt.Errorf("set shard weight: %w: a weight must not be negative, but is %d",
			client.ErrBadRequest, weight)
	}
	m := updateOf(protocol.ShardSetWeight, shard)
	m.Weight = uint64(weight)
	return a.updateShards(ctx, OpWeighShard, m, by, nil)
}

func updateOf(action protocol.ShardAction, shards ...uint64) *protocol.ShardUpdate {
	m := &protocol.ShardUpdate{Action: action}
	for _, id := range shards {
		m.ShardIDs.Append(protocol.ShardID(id))
	}
	return m
}

// updateShards sends a request about shards, and stores the shards in the answer if ids is not nil.
func (a *Admin) updateShards(
	ctx context.Context, op client.OperationKind, m *protocol.ShardUpdate, by ChangeInfo, ids *[]uint64,
) (changed bool, err error) {
	var names []string
	for id := range m.ShardIDs.All() {
		names = append(names, number(uint64(id)))
	}
	m.Operation = by.operation()
	err = a.change(ctx, op, strings.Join(names, ","), m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.ShardUpdate.Existed
		for id := range a.ShardUpdate.ShardIDs.All() {
			if ids != nil {
				*ids = append(*ids, uint64(id))
			}
		}
		return a.ShardUpdate.Since
	})
	return changed, err
}
