package raftlog

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// followers records other hosts' answers to the leader on this host. The engine knows the answers too, but does not
// export them.
type followers struct {
	mu  sync.Mutex
	all map[followerKey]follower // guarded by mu
	// full counts the followers that report a nearly full disk.
	full atomic.Int64
	// memoryFull counts the followers that report nearly full memory.
	memoryFull atomic.Int64
}

type followerKey struct {
	shard uint64
	host  shard.HostID
}

// follower is how much of the log a host has, by its own answers.
type follower struct {
	term    uint64 // term of the answers
	replica uint64 // the host's newest replica
	index   uint64
	heard   time.Time
	full    bool // the host's disk is nearly full
	// memory is the host's latest memory report, if any.
	memory   memoryReport
	reported bool
	ended    bool // the host's process has ended since
}

func newFollowers() *followers { return &followers{all: make(map[followerKey]follower)} }

// note records the answers among another host's messages.
func (f *followers) note(from shard.HostID, messages []raftpb.Message) {
	var now time.Time
	for i := range messages {
		m := &messages[i]
		if m.Type != raftpb.ReplicateResp && m.Type != raftpb.HeartbeatResp {
			continue
		}
		if now.IsZero() {
			now = time.Now()
			f.mu.Lock()
			defer f.mu.Unlock()
		}
		key := followerKey{shard: m.ShardID, host: from}
		known := f.all[key]
		if m.Term < known.term || m.From < known.replica {
			continue
		}
		if m.Term > known.term || m.From > known.replica {
			// Entries from an earlier term may have been overwritten, and an earlier replica's entries were deleted.
			known = follower{term: m.Term, replica: m.From}
		}
		if m.Type == raftpb.ReplicateResp && !m.Reject {
			known.index = max(known.index, m.LogIndex)
		}
		if full, says := saysFull(m); says {
			known.full = full
			known.memory, known.reported = readMemory(m.LogTerm), true
		}
		known.heard, known.ended = now, false
		f.full.Add(asOne(known.full) - asOne(f.all[key].full))
		f.memoryFull.Add(asOne(known.memory.full) - asOne(f.all[key].memory.full))
		f.all[key] = known
	}
}

// end records that a host's process has ended.
func (f *followers) end(host shard.HostID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, known := range f.all {
		if key.host == host {
			known.ended = true
			f.all[key] = known
		}
	}
}

func asOne(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// of returns a host's answers in a shard and a term.
func (f *followers) of(shardID, term uint64, host shard.HostID) follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.all[followerKey{shard: shardID, host: host}]; known.term == term {
		return known
	}
	return follower{}
}

// Follower returns the last index a follower has acknowledged in this leader's term, and whether the follower could
// lead instead: it has answered within an election timeout, and its disk has space. Both are zero if this host does not
// lead.
func (l *Log) Follower(id shard.HostID) (index uint64, near bool) {
	leadership := l.leadership.Load()
	if leadership.Leader != l.host.config.Host {
		return 0, false
	}
	known := l.host.followers.of(l.shardID, leadership.Term, id)
	return known.index, !known.full && l.answers(known)
}

// answers reports whether a follower has answered within an election timeout, without its process ending since.
func (l *Log) answers(f follower) bool {
	return !f.heard.IsZero() && !f.ended && time.Since(f.heard) <= l.host.config.election()
}

// Progress returns the known followers' progress. The list is empty if the host does not lead.
func (l *Log) Progress() (all []shard.Progress) {
	leadership := l.leadership.Load()
	if leadership.Leader != l.host.config.Host {
		return nil
	}
	view, now := l.view.Load(), time.Now()
	for _, replica := range slices.Sorted(maps.Keys(view.Members)) {
		target := view.Members[replica]
		if replica == view.Replica || target == (transport.Target{}) {
			continue
		}
		p := shard.Progress{Replica: replica, Tried: true}
		known := l.host.followers.of(l.shardID, leadership.Term, target.Host)
		if known.replica != replica {
			known = follower{heard: l.triedSince(replica)}
		}
		p.Index, p.SilentMillis = known.index, uint64(max(now.Sub(known.heard), 0).Milliseconds())
		p.Percent, p.Rate = l.host.sendingTo(l.shardID, target.Host)
		all = append(all, p)
	}
	return all
}

// triedSince is the time since when the leader on this host has been sending to a replica.
func (l *Log) triedSince(replica uint64) time.Time {
	l.leaderMu.Lock()
	defer l.leaderMu.Unlock()
	if since := l.since[replica]; since.After(l.ledSince) {
		return since
	}
	return l.ledSince
}

// Applied returns the index of the last entry applied by this host's state machine.
func (l *Log) Applied() uint64 { return l.machine.applied.Load() }

// Replica returns the log's replica id.
func (l *Log) Replica() uint64 { return l.replica.Replica }
