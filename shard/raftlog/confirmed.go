package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// Confirmed is how much of a shard's log another host is known to have on its disk: a term in which the host has
// answered or led, and a committed entry. A replica never goes back behind either, whichever leader is elected. Entries
// beyond the committed entry may have been overwritten.
type Confirmed struct {
	Host shard.HostID
	transport.Position
}

// confirmations are what other hosts have confirmed to this host. Hosts confirm to a leader by their answers, to a
// follower by the commit position in their heartbeats, and to both by the term in a vote request or vote: the host
// votes only once in that term. The engine sends all these messages only after the confirmed facts are on the sender's
// disk. The engine sends a Replicate earlier, so a Replicate does not count.
type confirmations struct {
	mu  sync.Mutex
	all map[followerKey]transport.Position // guarded by mu; for the host's newest replica
}

func newConfirmations(list []Confirmed) *confirmations {
	c := &confirmations{all: make(map[followerKey]transport.Position, len(list))}
	for _, x := range list {
		c.raise(x.Host, x.Position)
	}
	return c
}

// note records the confirmations in a host's messages. applied returns the last entry this host has applied in a
// shard's log.
func (c *confirmations) note(from shard.HostID, messages []raftpb.Message, applied func(shardID uint64) uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		p := transport.Position{Shard: m.ShardID, Replica: m.From, Term: m.Term}
		switch {
		case m.Type == raftpb.Heartbeat:
			p.Last = m.Commit
		case m.Type == raftpb.ReplicateResp && !m.Reject:
			p.Last = min(m.LogIndex, applied(m.ShardID))
		case m.Type == raftpb.RequestVote, m.Type == raftpb.RequestVoteResp:
		default:
			continue
		}
		c.raise(from, p)
	}
}

// raise adds one position to the known confirmations. The caller holds the lock.
func (c *confirmations) raise(host shard.HostID, p transport.Position) {
	key := followerKey{shard: p.Shard, host: host}
	known := c.all[key]
	switch {
	case p.Replica < known.Replica:
		return
	case p.Replica == known.Replica:
		p.Term, p.Last = max(p.Term, known.Term), max(p.Last, known.Last)
	}
	if p != known {
		c.all[key] = p
	}
}

// of returns a host's confirmations.
func (c *confirmations) of(host shard.HostID) (list []transport.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, p := range c.all {
		if key.host == host {
			list = append(list, p)
		}
	}
	return list
}

// Confirmed returns what other hosts have confirmed, by host and shard.
func (h *Host) Confirmed() (list []Confirmed) {
	h.confirmations.mu.Lock()
	all := maps.Clone(h.confirmations.all)
	h.confirmations.mu.Unlock()
	for key, p := range all {
		list = append(list, Confirmed{key.host, p})
	}
	slices.SortFunc(list, func(a, b Confirmed) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Shard, b.Shard))
	})
	return list
}

// LogEnd returns the durable end of the log, also after the host is closed.
func (h *Host) LogEnd() wal.End { return h.store.Load().End() }

// Positions implements transport.Replicas. The records are read last: by then a replica whose data is being deleted is
// recorded as discarded. Only the newest replica in each shard counts, which has the largest id.
func (h *Host) Positions() (list []transport.Position) {
	newest := make(map[uint64]transport.Position)
	for _, p := range h.store.Load().Positions() {
		if p.Replica >= newest[p.Shard].Replica {
			newest[p.Shard] = p
		}
	}
	for shardID, record := range h.replicas.every() {
		for _, gone := range record.Discarded {
			if gone >= newest[shardID].Replica {
				newest[shardID] = transport.Position{Shard: shardID, Replica: gone, Term: math.MaxUint64,
					Last: math.MaxUint64}
			}
		}
	}
	return slices.Collect(maps.Values(newest))
}

// Behind implements transport.Replicas. If a host names a later replica than the one it has confirmed for, the host has
// discarded the earlier replica.
func (h *Host) Behind(host shard.HostID) func([]transport.Position) error {
	confirmed := h.confirmations.of(host)
	return func(list []transport.Position) error {
		said := make(map[uint64]transport.Position, len(list))
		for _, p := range list {
			said[p.Shard] = p
		}
		var lacks []string
		for _, c := range confirmed {
			p := said[c.Shard]
			if p.Replica < c.Replica {
				p = transport.Position{}
			}
			if p.Replica <= c.Replica && p.Behind(c) {
				lacks = append(lacks, fmt.Sprintf("of shard %d it has the log up to %d in term %d, and has confirmed "+
					"%d in term %d", c.Shard, p.Last, p.Term, c.Last, c.Term))
			}
		}
		if len(lacks) == 0 {
			return nil
		}
		slices.Sort(lacks)
		return errors.New(strings.Join(lacks[:min(len(lacks), 3)], "; "))
	}
}

// appliedOf returns the last applied entry in a shard's log, 0 if the shard does not run on the host.
func (h *Host) appliedOf(shardID uint64) uint64 {
	if l := h.log(shardID); l != nil {
		return l.Applied()
	}
	return 0
}

// checkSetBack reports that the host lacks confirmed entries. A heartbeat has the last entry the leader knows as
// confirmed by the host. If that entry is behind the end of the log, the engine would stop the process, so checkSetBack
// makes the heartbeat confirm nothing.
func (h *Host) checkSetBack(from shard.HostID, m *raftpb.Message) {
	last := h.store.Load().Last(m.ShardID, m.To)
	if m.Commit <= last {
		return
	}
	err := fmt.Errorf("%w: host %d, which leads shard %d, knows that this host has confirmed the log up to %d, and it "+
		"ends at %d here", ErrSetBack, from, m.ShardID, m.Commit, last)
	m.Commit = 0
	h.config.Logger.Error("this host lacks what it has confirmed", "error", err)
	if h.config.Damaged != nil {
		h.config.Damaged(err)
	}
}
