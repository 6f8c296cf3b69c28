package host

import (
	"context"

	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// raftReplicas starts and discards replicas while the host runs. raftReplicas implements replica.Replicas.
type raftReplicas struct{ raft *raftlog.Host }

// Join implements replica.Replicas.
func (r raftReplicas) Join(id, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	return r.raft.Join(id, replica, machine)
}

// Discard implements replica.Replicas.
func (r raftReplicas) Discard(ctx context.Context, id, replica uint64) error {
	return r.raft.Discard(ctx, id, replica)
}

// Renew implements replica.Replicas.
func (r raftReplicas) Renew(
	ctx context.Context, id, to, group uint64, before shard.StateMachine, renew func() (shard.Saver, error),
) error {
	return r.raft.Renew(ctx, id, to, group, before, renew)
}

// Last implements replica.Replicas.
func (r raftReplicas) Last(id uint64) (term, index uint64) {
	at, err := r.raft.Remnant(id)
	if err != nil {
		return 0, 0
	}
	return at.Term, at.Index
}

// calls returns the calls to other hosts, nil if the host reaches no hosts.
func (h *Host) calls() executor.Calls {
	if peers := h.peers.Load(); peers != nil {
		return peers
	}
	return nil
}

// answerHost answers a call for the server.
func (h *Host) answerHost(ctx context.Context, peer *rafttransport.Peer, request []byte) ([]byte, error) {
	core := h.core.Load()
	if core == nil {
		return nil, errStarting
	}
	return core.Answer(ctx, peer.Host, request)
}
