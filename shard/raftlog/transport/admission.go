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

// admitBatch drops the messages that no peer of this host sends. It returns an error where the connection has to end.
func (t *transport) admitBatch(peer shard.HostID, batch *raftpb.MessageBatch) error {
	if batch.DeploymentId != t.config.Deployment {
		return refuse(RefusedSender, "host %d is of deployment %d, this one of %d", peer, batch.DeploymentId,
			t.config.Deployment)
	}
	if known := t.config.Members[peer]; known != batch.SourceAddress {
		return refuse(RefusedSender, "host %d says that its address is %q, here it is known as %q", peer,
			batch.SourceAddress, known)
	}
	for i := range batch.Requests {
		if from := batch.Requests[i].From; shard.HostID(from) != peer {
			return refuse(RefusedSender, "host %d sent a message in the name of host %d", peer, from)
		}
	}
	batch.Requests = slices.DeleteFunc(batch.Requests, func(m raftpb.Message) bool {
		reason, known := t.classify(&m)
		if known {
			return false
		}
		if reason == RefusedFull { // the host says so itself when it begins and ends
			t.refusals.count(reason)
			return true
		}
		t.refusals.note(reason, "dropped a message of another host",
			"host", peer, "shard", m.ShardID, "replica", m.To, "type", m.Type.String())
		return true
	})
	return nil
}

// classify reports whether a message is one that a peer sends, and otherwise why it is refused.
func (t *transport) classify(m *raftpb.Message) (_ Refusal, good bool) {
	switch {
	case shard.HostID(m.To) != t.config.Host:
		return RefusedReplica, false
	case !t.config.Runs(m.ShardID):
		return RefusedShard, false
	case m.Type < 0 || int(m.Type) >= len(sentByPeers) || !sentByPeers[m.Type]:
		return RefusedMessage, false
	case m.Type == raftpb.Propose && !isForwarded(m.Entries):
		return RefusedMessage, false
	case m.Type == raftpb.Replicate && t.config.Takes != nil && !t.config.Takes(m.ShardID, 0):
		return RefusedFull, false
	}
	return 0, true
}

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
func (t *transport) admitChunk(peer shard.HostID, chunk *raftpb.Chunk) error {
	switch base := filepath.Base(chunk.Filepath); {
	case shard.HostID(chunk.From) != peer:
		return refuse(RefusedSender, "host %d sent a snapshot in the name of host %d", peer, chunk.From)
	case shard.HostID(chunk.ReplicaID) != t.config.Host:
		return refuse(RefusedReplica, "host %d sent a snapshot to replica %d", peer, chunk.ReplicaID)
	case !t.config.Runs(chunk.ShardID):
		return refuse(RefusedShard, "host %d sent a snapshot of shard %d, which does not run here", peer, chunk.ShardID)
	case base == "." || base == ".." || base == string(filepath.Separator):
		return refuse(RefusedFrame, "host %d sent a snapshot whose file is %q", peer, chunk.Filepath)
	}
	return nil
}

// takesChunk reports whether this host takes a chunk of a snapshot. Where it does not the chunk is dropped, and the
// sender holds that it has arrived: an error would end for a while all that the sender's engine sends to this host.
func (t *transport) takesChunk(chunk *raftpb.Chunk) bool {
	var size uint64
	if chunk.ChunkId == 0 {
		size = chunk.FileSize
	}
	return t.config.Takes == nil || t.config.Takes(chunk.ShardID, size)
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
	if refused, ok := errors.AsType[*refusedError](err); ok {
		r.note(refused.reason, "refused a connection of another host", "remote", remote, "error", err)
		return
	}
	if err := unexpected(err); err != nil {
		r.config.Logger.Warn("ended a connection of another host", "remote", remote, "error", err)
	}
}
