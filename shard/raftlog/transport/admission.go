package transport

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// Refusal is why a message or a connection of another host was kept from the engine.
type Refusal int

// The reasons of refusals. The first three end the connection.
const (
	// RefusedHandshake: the peer is no host of this cluster, or does not have the secret.
	RefusedHandshake Refusal = iota
	// RefusedFrame: a frame that cannot be read, or has a wrong MAC.
	RefusedFrame
	// RefusedSender: a frame in the name of a host other than the peer.
	RefusedSender
	// RefusedReplica: a message to a replica that is not on this host.
	RefusedReplica
	// RefusedShard: a message to a shard that does not run here. A host that starts late gets such messages.
	RefusedShard
	// RefusedMessage: a message of a kind that hosts do not send.
	RefusedMessage
	// RefusedFull: a part of the log, or of a snapshot, for which the disk of this host has no room.
	RefusedFull
	// Refusals is how many reasons there are.
	Refusals
)

// String returns the reason in one word, also for the label in metrics.
func (r Refusal) String() string {
	return [Refusals]string{"handshake", "frame", "sender", "replica", "shard", "message", "full"}[r]
}

// refusedError is a refusal that ends the connection.
type refusedError struct {
	reason Refusal
	err    error
}

func (r *refusedError) Error() string { return r.err.Error() }
func (r *refusedError) Unwrap() error { return r.err }

func refuse(reason Refusal, format string, args ...any) error {
	return &refusedError{reason: reason, err: fmt.Errorf(format, args...)}
}

// sentByPeers lists the message kinds that a host accepts from other hosts. The remaining kinds are internal to an
// engine: a peer that sent one could advance the engine's clock or stop the engine. Proposals are not in the list. A
// follower's engine forwards proposals to the leader, but the sending transport drops them.
var sentByPeers = func() (sent [raftpb.LogQuery + 1]bool) {
	for _, t := range []raftpb.MessageType{
		raftpb.NoOP, raftpb.Replicate, raftpb.ReplicateResp, raftpb.RequestVote, raftpb.RequestVoteResp,
		raftpb.Heartbeat, raftpb.HeartbeatResp, raftpb.ReadIndex, raftpb.ReadIndexResp, raftpb.SnapshotReceived,
		raftpb.LeaderTransfer, raftpb.TimeoutNow, raftpb.RateLimit, raftpb.RequestPreVote, raftpb.RequestPreVoteResp,
	} {
		sent[t] = true
	}
	return sent
}()

// origin is the peer of an accepted connection.
type origin struct {
	shard.HostID
	target Target
	source string // the target in the form of the engine
}

func newOrigin(peer *Peer) *origin {
	return &origin{HostID: peer.Host, target: peer.Target(), source: peer.Target().String()}
}

// admitBatch drops messages that no peer sends, and returns an error if the connection has to end.
func (e *engineEnd) admitBatch(from *origin, batch *raftpb.MessageBatch) error {
	if deployment := e.deployment; batch.DeploymentId != deployment {
		return refuse(RefusedSender, "host %d is of deployment %d, this one of %d", from.HostID, batch.DeploymentId,
			deployment)
	}
	if batch.SourceAddress != from.source {
		return refuse(RefusedSender, "host %d says that its target is %q, here it is known as %q", from.HostID,
			batch.SourceAddress, from.source)
	}
	kept := batch.Requests[:0]
	for i := range batch.Requests {
		m := &batch.Requests[i]
		switch reason, good := e.classify(from, m); {
		case good:
			kept = append(kept, *m)
		case reason == RefusedFull: // the host logs the beginning and the end of a full disk
			e.refusals.count(reason)
		case reason == RefusedShard: // at a host that starts, or that has had a replica until lately
			e.refusals.count(reason)
			e.refusals.config.Logger.Debug("dropped a message about a shard that is not here",
				"host", from.HostID, "shard", m.ShardID, "replica", m.To, "type", m.Type.String())
		case reason == RefusedSender:
			return refuse(reason, "host %d sent a message in the name of replica %d of shard %d", from.HostID, m.From,
				m.ShardID)
		default:
			e.refusals.note(reason, "dropped a message of another host",
				"host", from.HostID, "shard", m.ShardID, "replica", m.To, "type", m.Type.String())
		}
	}
	clear(batch.Requests[len(kept):])
	batch.Requests = kept
	return nil
}

// classify reports whether a peer may send a message, and otherwise returns the reason of the refusal.
func (e *engineEnd) classify(from *origin, m *raftpb.Message) (_ Refusal, good bool) {
	route := e.replicas.Route(m.ShardID)
	switch {
	case m.Type < 0 || int(m.Type) >= len(sentByPeers) || !sentByPeers[m.Type]:
		return RefusedMessage, false
	case route == nil:
		return RefusedShard, false
	case m.To != route.Replica:
		return RefusedReplica, false
	}
	switch route.standing(from, m.From) {
	case standingForeign:
		return RefusedSender, false
	case standingRemoved:
		return RefusedReplica, false
	case standingUnknown:
		if votes[m.Type] {
			return RefusedReplica, false
		}
	}
	if m.Type == raftpb.Replicate && !e.replicas.Takes(m.ShardID, 0) {
		return RefusedFull, false
	}
	return 0, true
}

// standing is the place of a sending replica in the membership.
type standing int

const (
	standingMember  standing = iota // a member, on the peer
	standingUnknown                 // no member, as far as this host knows
	standingRemoved                 // removed
	standingForeign                 // of a host other than the peer
)

// standing returns the standing of a replica. The membership of this host may be old, and a replica that was only just
// added has an empty membership until the first message of the leader. So messages of unknown replicas pass: the engine
// expects messages of unknown replicas, and must hear a leader of a later membership. The peer is a host of the
// cluster, and its engine has only replicas with ids of that host. The ids of a bootstrap, below FirstJoined, are ids
// of hosts.
func (r *Route) standing(from *origin, replica uint64) standing {
	target, known := r.Members[replica]
	switch {
	case known && target == (Target{}):
		return standingRemoved
	case known && target != from.target, !known && replica < FirstJoined && shard.HostID(replica) != from.HostID:
		return standingForeign
	case !known:
		return standingUnknown
	}
	return standingMember
}

// FirstJoined is the smallest id of a replica that has joined a shard. Replicas of a bootstrap have the ids of the
// hosts.
const FirstJoined = 1024

// votes are the answers to a candidate. The engine counts all answers, but a candidate asks only replicas of its
// membership, so answers of further replicas are kept from the engine.
var votes = [len(sentByPeers)]bool{raftpb.RequestVoteResp: true, raftpb.RequestPreVoteResp: true}

// MaxBatchBytes is the largest batch that can be proposed. The engine sends up to 64 MiB at once.
const MaxBatchBytes = 16 << 20

// admitChunk returns an error for a chunk of a snapshot that no peer of this host sends.
func (e *engineEnd) admitChunk(from *origin, chunk *raftpb.Chunk) error {
	route := e.replicas.Route(chunk.ShardID)
	switch base := filepath.Base(chunk.Filepath); {
	case route == nil:
		return refuse(RefusedShard, "host %d sent a snapshot of shard %d, which does not run here", from.HostID,
			chunk.ShardID)
	case chunk.ReplicaID != route.Replica:
		return refuse(RefusedReplica, "host %d sent a snapshot to replica %d", from.HostID, chunk.ReplicaID)
	case base == "." || base == ".." || base == string(filepath.Separator):
		return refuse(RefusedFrame, "host %d sent a snapshot whose file is %q", from.HostID, chunk.Filepath)
	}
	switch route.standing(from, chunk.From) {
	case standingForeign:
		return refuse(RefusedSender, "host %d sent a snapshot in the name of replica %d", from.HostID, chunk.From)
	case standingRemoved:
		return refuse(RefusedReplica, "host %d sent a snapshot of replica %d, which was removed", from.HostID,
			chunk.From)
	}
	return nil
}

// arriving is the snapshot on a connection. After a chunk that is dropped, the rest of the snapshot is dropped too. The
// sender gets confirmations all the same: after an error the sender's engine would for a while send nothing to this
// host, and then the snapshot again.
type arriving struct {
	known bool // this host has what the snapshot has
	full  bool // the disk has no room
}

// drops reports whether a chunk is dropped. The engine would refuse the last chunk of a snapshot that this host has
// already, whose leader does not know that: the confirmations were lost.
func (a *arriving) drops(e *engineEnd, chunk *raftpb.Chunk) bool {
	if a.known = a.known || e.replicas.Has(chunk.ShardID, chunk.Index); a.known {
		return true
	}
	var size uint64
	if chunk.ChunkId == 0 {
		size = chunk.FileSize
	}
	if a.full = a.full || !e.replicas.Takes(chunk.ShardID, size); a.full {
		e.refusals.count(RefusedFull)
	}
	return a.full
}

// refusalLogPeriod is how often refusals are logged. Otherwise any program at the port could fill the log.
const refusalLogPeriod = time.Second

// refusals counts refusals and logs some of them.
type refusals struct {
	config *Config

	mu       sync.Mutex
	logged   time.Time // guarded by mu, as is silent
	unlogged int
}

// count counts a refusal.
func (r *refusals) count(reason Refusal) {
	if r.config.Refused != nil {
		r.config.Refused(reason)
	}
}

// note counts a refusal, and logs the refusal unless another was logged within the last period.
func (r *refusals) note(reason Refusal, message string, args ...any) {
	r.count(reason)
	r.mu.Lock()
	now := time.Now()
	if now.Sub(r.logged) < refusalLogPeriod {
		r.unlogged++
		r.mu.Unlock()
		return
	}
	silent := r.unlogged
	r.logged, r.unlogged = now, 0
	r.mu.Unlock()
	r.config.Logger.Warn(message, append(args, "reason", reason.String(), "unlogged", silent)...)
}

// reportEnd counts and logs the abnormal end of a connection.
func (r *refusals) reportEnd(err error, remote string) {
	// The peer logs a refusal for now by itself, if at all.
	refused, ok := errors.AsType[*Refused](err)
	if ok && (refused.early || refused.By != 0 && refused.Code == CodeNotNow) {
		r.config.Logger.Debug("another host came too early", "remote_address", remote, "error", err)
		return
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		r.note(refused.reason, "refused a connection of another host", "remote_address", remote, "error", err)
		return
	}
	if err := unexpected(err); err != nil {
		r.config.Logger.Warn("ended a connection of another host", "remote_address", remote, "error", err)
	}
}
