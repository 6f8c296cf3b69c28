package raftlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Start starts or restarts this host's replica of a shard: a replica that has joined, or the replica from the shard's
// bootstrap. The initial members are the hosts a new shard begins with; by default, all initial members in the config.
// The initial members matter only for a shard that is new on the host, and must then be equal on all initial members.
// Start returns before the replica has read its snapshot and its log. It fails with shard.ErrNotMember if the host has
// no replica of the shard.
//
// The state machine must be empty. It gets the shard's entries until the log is closed.
func (h *Host) Start(shardID uint64, target shard.StateMachine, initialMembers ...shard.HostID) (shard.Log, error) {
	defer h.change()()
	record := h.replica(shardID)
	if record.Replica == 0 {
		return nil, fmt.Errorf("raftlog: start shard %d on host %d: %w", shardID, h.config.Host, shard.ErrNotMember)
	}
	if err := h.removeDiscarded(context.Background(), shardID, false); err != nil {
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, err)
	}
	if record.Replica >= transport.FirstJoined { // the replica has joined, or its log was imported
		return h.start(shardID, target, record, nil)
	}
	initial, err := h.initialMembers(initialMembers)
	if err != nil {
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, err)
	}
	return h.start(shardID, target, record, initial)
}

// Join starts or restarts a shard replica the leader has added on this host. From then on it is the host's replica of
// the shard, also after a host restart, until the replica is discarded.
func (h *Host) Join(shardID, replica uint64, target shard.StateMachine) (shard.Log, error) {
	defer h.change()()
	record, err := h.replica(shardID).join(replica)
	if err == nil {
		err = h.replicas.set(shardID, record)
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: join shard %d: %w", shardID, err)
	}
	return h.start(shardID, target, record, nil)
}

// initialMembers are a shard's initial members; by default, all initial members in the config.
func (h *Host) initialMembers(initialMembers []shard.HostID) (map[uint64]transport.Target, error) {
	if len(initialMembers) == 0 {
		initialMembers = h.config.initialIDs()
	}
	initial := make(map[uint64]transport.Target, len(initialMembers))
	for _, id := range initialMembers {
		incarnation, known := h.config.InitialMembers[id]
		if !known {
			return nil, fmt.Errorf("host %d is no initial member of the cluster: %w", id, shard.ErrNotMember)
		}
		initial[uint64(id)] = transport.Target{Host: id, Incarnation: incarnation}
	}
	if _, own := initial[uint64(h.config.Host)]; !own {
		return nil, fmt.Errorf("host %d is not among its hosts: %w", h.config.Host, shard.ErrNotMember)
	}
	return initial, nil
}

// start starts a replica. A new replica begins with its initial members, or gets the log from the leader. The caller
// has the lifecycle token.
func (h *Host) start(shardID uint64, target shard.StateMachine, record replicaRecord,
	initial map[uint64]transport.Target) (shard.Log, error) {
	known := h.engine.HasNodeInfo(shardID, record.Replica)
	if known {
		initial = nil // the log has the members
	}
	l, err := h.register(shardID, record, initial, target)
	if err != nil {
		return nil, err
	}
	members := make(map[uint64]dragonboat.Target, len(initial))
	for replica, target := range initial {
		members[replica] = target.String()
	}
	h.awaitWorkers(shardID)
	create := func(_, _ uint64) statemachine.IConcurrentStateMachine { return l.machine }
	joins := record.Joined && !known
	err = h.engine.StartConcurrentReplica(members, joins, create, h.config.replicaConfig(shardID, record))
	if err != nil {
		h.forget(l)
		return nil, fmt.Errorf("raftlog: start shard %d: %w", shardID, err)
	}
	l.start()
	return l, nil
}

// restartPause is the minimum time without a replica of a shard on a host, between two replicas. Every engine worker
// looks through the replicas once in 200 ms. A worker may have found a replica just before it was stopped: the worker
// then picks up the closed replica. If the worker finds the next replica before it has put away the closed replica, the
// engine ends the process. Between finding and picking up, a worker needs neither the disk nor a lock that is held for
// long.
const restartPause = 500 * time.Millisecond

// awaitWorkers gives the engine's workers time to put away a shard's stopped replica.
func (h *Host) awaitWorkers(shardID uint64) {
	h.mu.Lock()
	stopped := h.stopped[shardID]
	h.mu.Unlock()
	time.Sleep(restartPause - time.Since(stopped))
}

// Discard deletes the data of a replica that was removed from its shard, and first stops the replica if it is running.
// The replica never starts again. Discard can be repeated, also by a new process if the first process died before it
// was done.
func (h *Host) Discard(ctx context.Context, shardID, replica uint64) error {
	defer h.change()()
	if err := h.discard(ctx, shardID, replica); err != nil {
		return fmt.Errorf("raftlog: discard replica %d of shard %d: %w", replica, shardID, err)
	}
	return nil
}

func (h *Host) discard(ctx context.Context, shardID, replica uint64) error {
	if h.closed {
		return ErrHostClosed
	}
	if err := h.replicas.set(shardID, h.replica(shardID).discard(replica)); err != nil {
		return err
	}
	l := h.log(shardID)
	if l != nil && l.replica.Replica != replica {
		return h.removeBeside(shardID, replica)
	}
	if l != nil {
		if err := l.Close(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.config.ProposalTimeout)
	defer cancel()
	return h.engine.SyncRemoveData(ctx, shardID, replica)
}

// removeDiscarded removes what is left of a shard's discarded replicas, if the process ended before the removal: for
// all replicas, or only for the replicas in the log. The caller has the lifecycle token.
func (h *Host) removeDiscarded(ctx context.Context, shardID uint64, all bool) error {
	for _, replica := range h.replica(shardID).Discarded {
		if !all && !h.engine.HasNodeInfo(shardID, replica) {
			continue
		}
		if err := h.discard(ctx, shardID, replica); err != nil {
			return err
		}
	}
	return nil
}

// removeBeside removes a replica's data while another replica of the shard runs.
func (h *Host) removeBeside(shardID, replica uint64) error {
	err := h.engine.RemoveData(shardID, replica)
	if errors.Is(err, dragonboat.ErrShardNotStopped) {
		return fmt.Errorf("it still runs: %w", err)
	}
	return err
}
