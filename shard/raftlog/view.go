package raftlog

import (
	"maps"
	"slices"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// view is this host's knowledge about a shard's membership. A view is replaced, never modified.
//
// The engine exports the voters its replica has applied, and nothing about learners. Learners and removed replicas are
// known only from reading the whole membership (Log.Membership), which the leader's host repeats regularly.
type view struct {
	transport.Route
	change uint64 // number of the voters' membership
	voters []uint64
}

// newView is a replica's view before any news. The initial members are a new shard's voters.
func newView(replica uint64, initialMembers map[uint64]transport.Target) *view {
	return &view{
		Route:  transport.Route{Replica: replica, Members: initialMembers},
		voters: slices.Sorted(maps.Keys(initialMembers)),
	}
}

// hostOf returns a replica's host, zero if unknown. A bootstrap replica has its host's id. On this host only the
// running replica counts: an earlier replica may be named as the leader in an earlier term.
func (v *view) hostOf(replica uint64, self shard.HostID) shard.HostID {
	host := v.Members[replica].Host
	if _, known := v.Members[replica]; !known && replica < transport.FirstJoined {
		host = shard.HostID(replica)
	}
	if host == self && replica != v.Replica {
		return 0
	}
	return host
}

// voterOn returns a host's voting replica, zero if it has no vote.
func (v *view) voterOn(host shard.HostID) uint64 {
	for _, replica := range v.voters {
		if v.Members[replica].Host == host {
			return replica
		}
	}
	return 0
}

// votingHosts returns the hosts with voting replicas.
func (v *view) votingHosts() []shard.HostID {
	all := make([]shard.HostID, 0, len(v.voters))
	for _, replica := range v.voters {
		all = append(all, v.Members[replica].Host)
	}
	return all
}

// hosts returns the hosts with a replica.
func (v *view) hosts() (all []shard.HostID) {
	for _, replica := range slices.Sorted(maps.Keys(v.Members)) {
		if target := v.Members[replica]; target != (transport.Target{}) {
			all = append(all, target.Host)
		}
	}
	return all
}

// withVoters returns the view with a membership's voters. A former voter was removed, because the engine never turns a
// voter into a learner.
func (v *view) withVoters(change uint64, voters map[uint64]transport.Target) *view {
	if change < v.change {
		return v
	}
	next := &view{change: change, voters: slices.Sorted(maps.Keys(voters))}
	next.Replica, next.Members = v.Replica, maps.Clone(v.Members)
	if next.Members == nil {
		next.Members = make(map[uint64]transport.Target, len(voters))
	}
	for _, replica := range v.voters {
		if _, still := voters[replica]; !still {
			next.Members[replica] = transport.Target{}
		}
	}
	maps.Copy(next.Members, voters)
	return next
}

// withMembership returns the view with a whole membership.
func (v *view) withMembership(m *shard.Membership, removed map[uint64]struct{}) *view {
	if m.Change < v.change {
		return v
	}
	next := &view{change: m.Change}
	next.Replica, next.Members = v.Replica, make(map[uint64]transport.Target, len(m.Members)+len(removed))
	for replica := range removed {
		next.Members[replica] = transport.Target{}
	}
	for _, member := range m.Members {
		next.Members[member.Replica] = transport.Target{Host: member.Host, Incarnation: member.Incarnation}
		if member.Voter {
			next.voters = append(next.voters, member.Replica)
		}
	}
	return next
}

// Route implements transport.Replicas.
func (h *Host) Route(shardID uint64) *transport.Route {
	if l := h.log(shardID); l != nil {
		return &l.view.Load().Route
	}
	return nil
}

// refreshVoters updates the views of some shards with the memberships the engine exports.
func (h *Host) refreshVoters(shards map[uint64]bool) {
	info := h.engine.GetNodeHostInfo(dragonboat.NodeHostInfoOption{SkipLogInfo: true})
	if info == nil {
		return // the engine is closed
	}
	for _, s := range info.ShardInfoList {
		l := h.log(s.ShardID)
		if l == nil || !shards[s.ShardID] || s.Pending || s.ReplicaID != l.replica.Replica {
			continue
		}
		voters, err := parseTargets(s.Replicas)
		if err != nil {
			h.config.Logger.Error("a member of a shard is at no host", "shard", s.ShardID, "error", err)
			continue
		}
		l.updateView(func(v *view) *view { return v.withVoters(s.ConfigChangeIndex, voters) })
	}
}

func parseTargets(texts map[uint64]string) (map[uint64]transport.Target, error) {
	targets := make(map[uint64]transport.Target, len(texts))
	for replica, text := range texts {
		target, err := transport.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		targets[replica] = target
	}
	return targets, nil
}

// updateView replaces the view. The new view may name the host of a leader that was unknown before.
func (l *Log) updateView(next func(*view) *view) {
	l.leaderMu.Lock()
	defer l.leaderMu.Unlock()
	before := l.view.Load()
	after := next(before)
	l.view.Store(after)
	now := time.Now()
	for replica := range after.Members {
		if _, known := before.Members[replica]; !known {
			l.since[replica] = now
		}
	}
	l.resolveLeader()
}
