package host

import (
	"context"

	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog"
	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// raftReplicas are the replicas that come to a host while it runs. It implements replica.Replicas.
type raftReplicas struct{ raft *raftlog.Host }

// Join implements replica.Replicas.
func (r raftReplicas) Join(id, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	return r.raft.Join(id, replica, machine)
}

// Discard implements replica.Replicas.
func (r raftReplicas) Discard(ctx context.Context, id, replica uint64) error {
	return r.raft.Discard(ctx, id, replica)
}

// calls returns how other hosts are asked, nil where none are reached.
func (h *Host) calls() executor.Calls {
	if peers := h.peers.Load(); peers != nil {
		return peers
	}
	return nil
}

// answerHost answers a call that is for the server.
func (h *Host) answerHost(ctx context.Context, peer *rafttransport.Peer, request []byte) ([]byte, error) {
	core := h.core.Load()
	if core == nil {
		return nil, errStarting
	}
	return core.Answer(ctx, peer.Host, request)
}
