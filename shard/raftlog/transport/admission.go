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

// Refusal is why a message or a connection from another host was withheld from the engine.
type Refusal int

// Refusal reasons. The first three end the connection.
const (
	// RefusedHandshake: the peer is not a host in this cluster, or does not have the secret.
	RefusedHandshake Refusal = iota
	// RefusedFrame: a frame is malformed, or has a wrong MAC.
	RefusedFrame
	// RefusedSender: a frame names a sending host other than the peer.
	RefusedSender
	// RefusedReplica: a message for a replica that is not on this host.
	RefusedReplica
	// RefusedShard: a message for a shard that does not run here. A host that starts late gets such messages.
	RefusedShard
	// RefusedMessage: a message type that hosts do not send.
	RefusedMessage
	// RefusedFull: log entries, or a snapshot, for which this host's disk has no space.
	RefusedFull
	// Refusals is the number of reasons.
	Refusals
)

// String returns the reason as one word, also used as a metric label.
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

// sentByPeers lists the message types a host accepts from other hosts. The remaining types are internal to an engine: a
// peer that sent one could advance the engine's clock or stop the engine. Proposals are not in the list. A follower's
// engine forwards proposals to the leader, but the sending transport drops them.
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

// origin is the peer on an accepted connection.
type origin struct {
	shard.HostID
	target Target
	source string // the target in the engine's format
}

func newOrigin(peer *Peer) *origin {
	return &origin{HostID: peer.Host, target: peer.Target(), source: peer.Target().String()}
}

// admitBatch drops messages that peers never send, and returns an error if the connection must end.
func (e *engineEnd) admitBatch(from *origin, batch *raftpb.MessageBatch) error {
	if deployment := e.deployment; batch.DeploymentId != deployment {
		return refuse(RefusedSender, "different deployment: host %d has %d, this host has %d", from.HostID,
			batch.DeploymentId, deployment)
	}
	if batch.SourceAddress != from.source {
		return refuse(RefusedSender, "host %d sent the target %q, but is known as %q", from.HostID,
			batch.SourceAddress, from.source)
	}
	kept := batch.Requests[:0]
	for i := range batch.Requests {
		m := &batch.Requests[i]
		switch reason, good := e.classify(from, m); {
		case good:
			kept = append(kept, *m)
		case reason == RefusedFull: // the host itself logs when a full disk begins and ends
			e.refusals.count(reason)
		case reason == RefusedShard: // while this host starts, or shortly after it had a replica
			e.refusals.count(reason)
			e.refusals.config.Logger.Debug("dropped a message for a shard without a local replica",
				"host", from.HostID, "shard", m.ShardID, "replica", m.To, "type", m.Type.String())
		case reason == RefusedSender:
			return refuse(reason, "host %d sent a message as replica %d in shard %d", from.HostID, m.From,
				m.ShardID)
		default:
			e.refusals.note(reason, "dropped a message from a remote host",
				"host", from.HostID, "shard", m.ShardID, "replica", m.To, "type", m.Type.String())
		}
	}
	clear(batch.Requests[len(kept):])
	batch.Requests = kept
	return nil
}

// classify reports whether a peer may send a message, and returns the refusal reason if not.
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

// standing is a sending replica's membership status.
type standing int

const (
	standingMember  standing = iota // a member, on the peer
	standingUnknown                 // not a member, as far as this host knows
	standingRemoved                 // removed
	standingForeign                 // on a host other than the peer
)

// standing returns a replica's membership status. This host's view of the membership may be outdated, and a replica
// that was just added has an empty membership until the leader's first message. So messages from unknown replicas pass:
// the engine expects them, and must hear a leader from a later membership. The peer is a host in the cluster, and its
// engine has only replicas with ids for that host. Bootstrap ids, below FirstJoined, are host ids.
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

// FirstJoined is the smallest id for a replica that has joined a shard. Replicas created by bootstrap have the host
// ids.
const FirstJoined = 1024

// votes are the answers to a candidate. The engine counts all answers, but a candidate asks only the replicas in its
// membership, so answers from further replicas are withheld from the engine.
var votes = [len(sentByPeers)]bool{raftpb.RequestVoteResp: true, raftpb.RequestPreVoteResp: true}

// MaxBatchBytes is the largest batch that can be proposed, in bytes. The engine sends up to 64 MiB at once.
const MaxBatchBytes = 16 << 20

// admitChunk returns an error for a snapshot chunk that legitimate peers never send.
func (e *engineEnd) admitChunk(from *origin, chunk *raftpb.Chunk) error {
	route := e.replicas.Route(chunk.ShardID)
	switch base := filepath.Base(chunk.Filepath); {
	case route == nil:
		return refuse(RefusedShard, "host %d sent a snapshot for shard %d, which does not run on this host",
			from.HostID, chunk.ShardID)
	case chunk.ReplicaID != route.Replica:
		return refuse(RefusedReplica, "host %d sent a snapshot to replica %d", from.HostID, chunk.ReplicaID)
	case base == "." || base == ".." || base == string(filepath.Separator):
		return refuse(RefusedFrame, "host %d sent a snapshot with the file %q", from.HostID, chunk.Filepath)
	}
	switch route.standing(from, chunk.From) {
	case standingForeign:
		return refuse(RefusedSender, "host %d sent a snapshot as replica %d", from.HostID, chunk.From)
	case standingRemoved:
		return refuse(RefusedReplica, "host %d sent a snapshot from the removed replica %d", from.HostID,
			chunk.From)
	}
	return nil
}

// arriving is the snapshot being received on a connection. After a dropped chunk, the rest of the snapshot is dropped
// too. The sender still gets confirmations: after an error its engine would send nothing to this host for a while, and
// then the snapshot again.
type arriving struct {
	known bool // this host already has the snapshot's content
	full  bool // the disk is full
}

// drops reports whether a chunk is dropped. If this host already has the snapshot and the leader does not know because
// the confirmations were lost, the engine would refuse the last chunk.
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

// refusalLogPeriod is the minimum interval between logged refusals. Otherwise any program that connects could fill the
// log.
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

// note counts a refusal, and logs it unless a refusal was logged within the last period.
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

// reportEnd counts and logs a connection that ended abnormally.
func (r *refusals) reportEnd(err error, remote string) {
	// A temporary refusal is logged by the peer, if at all.
	refused, ok := errors.AsType[*Refused](err)
	if ok && (refused.early || refused.By != 0 && refused.Code == CodeNotNow) {
		r.config.Logger.Debug("a remote host connected too early", "remote_address", remote, "error", err)
		return
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		r.note(refused.reason, "refused a connection from a remote host", "remote_address", remote, "error", err)
		return
	}
	if err := unexpected(err); err != nil {
		r.config.Logger.Warn("ended a connection from a remote host", "remote_address", remote, "error", err)
	}
}
