package transport

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// Refusal is why something that came over a connection between hosts was kept from the engine.
type Refusal int

// The reasons of refusals. The first three end the connection.
const (
	// RefusedHandshake: the peer is no host of this cluster, or does not have its secret.
	RefusedHandshake Refusal = iota
	// RefusedFrame: a frame that cannot be read, or whose MAC is not that of its connection.
	RefusedFrame
	// RefusedSender: a frame in the name of a host that did not open the connection.
	RefusedSender
	// RefusedReplica: a message to a replica that is not on this host.
	RefusedReplica
	// RefusedShard: a message to a shard that does not run here. A host that starts later than the others gets some.
	RefusedShard
	// RefusedMessage: a message of a kind that hosts do not send each other, or a proposal that is not one of Forward.
	RefusedMessage
	// RefusedFull: a part of the log, or of a snapshot, that this host does not take while its disk is nearly full.
	RefusedFull
	// Refusals is how many reasons there are.
	Refusals
)

// String returns the reason in one word, which is also its label in metrics.
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

// sentByPeers are the kinds of messages that the engine of a host sends to others. All other kinds are internal to an
// engine: from outside they could advance its clock or stop it.
var sentByPeers = func() (sent [raftpb.LogQuery + 1]bool) {
	for _, t := range []raftpb.MessageType{
		raftpb.NoOP, raftpb.Propose, raftpb.Replicate, raftpb.ReplicateResp, raftpb.RequestVote, raftpb.RequestVoteResp,
		raftpb.Heartbeat, raftpb.HeartbeatResp, raftpb.ReadIndex, raftpb.ReadIndexResp, raftpb.SnapshotReceived,
		raftpb.LeaderTransfer, raftpb.TimeoutNow, raftpb.RateLimit, raftpb.RequestPreVote, raftpb.RequestPreVoteResp,
	} {
		sent[t] = true
	}
	return sent
}()

// origin is the host that a connection comes from.
type origin struct {
	shard.HostID
	target Target
	source string // the target as the engine has it
}

func newOrigin(peer *Peer) *origin {
	return &origin{HostID: peer.Host, target: peer.Target(), source: peer.Target().String()}
}

// admitBatch drops the messages that no peer of this host sends. It returns an error where the connection has to end.
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
		case reason == RefusedFull: // the host says so itself when it begins and ends
			e.refusals.count(reason)
		case reason == RefusedShard: // a host that starts has it soon, one that has left it is asked for a while
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

// classify reports whether a message is one that a peer sends, and otherwise why it is refused.
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
	switch {
	case m.Type == raftpb.Propose && !isForwarded(m.Entries):
		return RefusedMessage, false
	case m.Type == raftpb.Replicate && !e.replicas.Takes(m.ShardID, 0):
		return RefusedFull, false
	}
	return 0, true
}

// standing is what the membership says of a replica in whose name a peer sends.
type standing int

const (
	standingMember  standing = iota // the membership has it, on that peer
	standingUnknown                 // the membership, as far as it is known here, does not have it
	standingRemoved                 // it was removed
	standingForeign                 // it is another host's
)

// standing returns that of a replica. A membership that is known here may be old, and a replica that was only just
// added has none at all until its leader has sent something, so what it does not have is let through: the engine
// expects messages of replicas that it does not know, and a leader of a later membership must be heard. The peer is a
// host of the cluster, whose engine has only replicas with ids that were given to that host. The ids of a birth, below
// FirstJoined, are those of their hosts.
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

// FirstJoined is the smallest id of a replica that has joined its shard. Those of a birth have the ids of their hosts.
const FirstJoined = 1024

// votes are the answers to a candidate. The engine counts all that it gets, and a candidate asks only replicas that its
// own membership has, so those of others are kept from it.
var votes = [len(sentByPeers)]bool{raftpb.RequestVoteResp: true, raftpb.RequestPreVoteResp: true}

// isForwarded reports whether these are entries as Forward makes them, and no others. The engine stops the process for
// an entry of the log that it cannot decode, and does so again at every start.
func isForwarded(entries []raftpb.Entry) bool {
	plain := func(e raftpb.Entry) bool {
		return e.ClientID == ForwarderID && e.IsNoOPSession() && e.Type == raftpb.EncodedEntry &&
			len(e.Cmd) > 1 && len(e.Cmd) <= MaxBatchBytes+1 && e.Cmd[0] == uncompressedEntry
	}
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(e raftpb.Entry) bool { return !plain(e) })
}

// ForwarderID marks the entries of Forward, the only batches that hosts send each other before they are in the log. The
// engine draws the ids of all other sessions at random from 64 bits.
const ForwarderID = 1

// MaxBatchBytes is the largest batch that can be proposed. The engine sends up to 64 MiB at once.
const MaxBatchBytes = 16 << 20

// uncompressedEntry is the first byte of an encoded entry that is not compressed, which is what a host proposes.
const uncompressedEntry = 0

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

// takesChunk reports whether this host takes a chunk of a snapshot. Where it does not the chunk is dropped, and the
// sender holds that it has arrived: an error would end for a while all that the sender's engine sends to this host.
func (e *engineEnd) takesChunk(chunk *raftpb.Chunk) bool {
	var size uint64
	if chunk.ChunkId == 0 {
		size = chunk.FileSize
	}
	return e.replicas.Takes(chunk.ShardID, size)
}

// refusalLogPeriod is how often refusals are logged. Otherwise any program that reaches the port could fill the log.
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

// note counts a refusal, and logs it unless one was logged within the last period.
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

// reportEnd counts and logs the end of a connection that was not a normal one.
func (r *refusals) reportEnd(err error, remote string) {
	// What the other one refuses for now is in its own log, if it is worth a line.
	refused, ok := errors.AsType[*Refused](err)
	if ok && (refused.early || refused.By != 0 && refused.Code == CodeNotNow) {
		r.config.Logger.Debug("another host came too early", "remote", remote, "error", err)
		return
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		r.note(refused.reason, "refused a connection of another host", "remote", remote, "error", err)
		return
	}
	if err := unexpected(err); err != nil {
		r.config.Logger.Warn("ended a connection of another host", "remote", remote, "error", err)
	}
}
