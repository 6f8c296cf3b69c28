package raftlog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// followers records what other hosts answer to this one where it leads. The engine knows it too, but does not export
// it.
type followers struct {
	mu  sync.Mutex
	all map[followerKey]follower // guarded by mu
	// full is how many of them say that their disks are nearly full.
	full atomic.Int64
}

type followerKey struct {
	shard uint64
	host  shard.HostID
}

// follower is how far a host has the log, by its own answers.
type follower struct {
	term  uint64 // of those answers
	index uint64
	heard time.Time
	full  bool // its disk is nearly full
}

func newFollowers() *followers { return &followers{all: make(map[followerKey]follower)} }

// note records the answers among messages of another host.
func (f *followers) note(messages []raftpb.Message) {
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
		key := followerKey{shard: m.ShardID, host: shard.HostID(m.From)}
		known := f.all[key]
		if m.Term < known.term {
			continue
		}
		if m.Term > known.term {
			known = follower{term: m.Term} // what it had in an earlier term may have been overwritten
		}
		if m.Type == raftpb.ReplicateResp && !m.Reject {
			known.index = max(known.index, m.LogIndex)
		}
		if full, says := saysFull(m); says {
			known.full = full
		}
		known.heard = now
		f.full.Add(asOne(known.full) - asOne(f.all[key].full))
		f.all[key] = known
	}
}

func asOne(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// of returns what is known of a host in a shard in that term.
func (f *followers) of(shardID, term uint64, host shard.HostID) follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.all[followerKey{shard: shardID, host: host}]; known.term == term {
		return known
	}
	return follower{}
}

// Follower returns up to which index another host has acknowledged the log since this one leads, and whether it has
// answered within an election timeout. Both are zero where this host does not lead.
func (l *Log) Follower(id shard.HostID) (index uint64, near bool) {
	leadership := l.leadership.Load()
	if leadership.Leader != l.host.config.Host {
		return 0, false
	}
	known := l.host.followers.of(l.shardID, leadership.Term, id)
	return known.index, !known.heard.IsZero() && time.Since(known.heard) <= l.host.config.election()
}
