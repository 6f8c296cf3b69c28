package raftlog

import (
	"slices"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// standGap is the delay between two followers that stand for election after their leader has died: long enough for the
// first follower to collect votes, because a tick is longer than a network round trip. Two followers standing at once
// would split the votes.
func standGap(tick time.Duration) time.Duration { return max(60*time.Millisecond, tick+tick/5) }

// Died implements transport.Replicas. If a leader's process has ended, a follower need not wait for the leader's
// silence. An early election is always safe, whatever has happened to the leader: a follower with a fast clock stands
// just as early. The usual vote decides, so a follower with a shorter log loses, and the next one stands shortly after.
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

// stand plans this replica's election if the given host leads the shard and this replica has a vote. Followers take
// turns by term, so that not always the same follower stands first.
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
		}, now == led || now.Leader == 0 // the previous follower may have lost
	}
	return transport.Stand{After: time.Duration(turn) * standGap(l.host.config.Tick), Message: message}, true
}
