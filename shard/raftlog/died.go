package raftlog

import (
	"slices"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// standGap lies between two followers that stand for election after the death of their leader: long enough for the
// votes of the first follower, as a tick is longer than the way to another host and back. Two followers that stand at
// once would split the votes.
func standGap(tick time.Duration) time.Duration { return max(60*time.Millisecond, tick+tick/5) }

// Died implements transport.Replicas. A follower need not wait for the silence of a leader whose process has ended.
// An early election is safe whatever has happened to the leader: a follower whose clock is fast stands as early. The
// vote decides as always, so a follower with a shorter log loses, and the next one stands a moment later.
func (h *Host) Died(host shard.HostID) (all []transport.Stand) {
	h.followers.end(host)
	if h.full() {
		return nil // others should lead
	}
	for _, l := range h.logsByShard() {
		if s, ok := l.stand(host); ok {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b transport.Stand) int { return int(a.After - b.After) })
	return all
}

// stand returns how the replica of this host stands for election, if a host leads the shard and this host votes. Which
// follower is the first changes with the term.
func (l *Log) stand(leader shard.HostID) (s transport.Stand, ok bool) {
	led, v := l.Leadership(), l.view.Load()
	from := v.voterOn(leader)
	others := slices.DeleteFunc(slices.Clone(v.voters), func(replica uint64) bool { return replica == from })
	place := slices.Index(others, v.Replica)
	if led.Leader != leader || from == 0 || place < 0 {
		return s, false
	}
	turn := (uint64(place) + led.Term) % uint64(len(others))
	message := func() (raftpb.Message, bool) {
		now := l.Leadership()
		return raftpb.Message{
			Type: raftpb.TimeoutNow, ShardID: l.shardID, From: from, To: v.Replica, Term: now.Term,
		}, now == led || now.Leader == 0 // the follower before may have lost
	}
	return transport.Stand{After: time.Duration(turn) * standGap(l.host.config.Tick), Message: message}, true
}
