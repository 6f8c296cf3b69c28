package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
)

// Majority is the number of votes that form a majority.
func Majority(voters int) int { return voters/2 + 1 }

// absence is how a host would become absent.
type absence uint8

const (
	absenceDrained absence = iota // the host keeps its votes if they cannot move to another host
	absenceLeaving                // the host runs, and helps to remove its own votes
	absenceDead                   // the remaining voters remove the host's votes
)

// without returns the reason why the cluster could not go on without a host, or an empty text. It considers targets
// alone: the governor knows which hosts are really in contact, and checks each step again.
func (r *Records) without(h *Host, how absence) string {
	for _, s := range r.shards {
		voters, others, spares := 0, 0, 0
		votes := false
		for i := range s.Replicas {
			p := &s.Replicas[i]
			other := r.Host(p.Host)
			switch {
			case p.Role == RoleVoter && p.Host == h.ID:
				votes = true
				voters++
			case p.Role == RoleVoter:
				voters++
				others += count(other != nil && other.Wanted())
			case p.Role == RoleLearner && p.Host != h.ID:
				spares += count(other != nil && other.Wanted() && !other.Cordoned && (s.ID != Meta || r.Votes(other)))
			}
		}
		if how == absenceDrained && r.Spread() && s.ID != Meta {
			if why := r.unplaced(s, h, voters, others, spares); why != "" {
				return why
			}
			continue
		}
		if votes && !enough(how, voters, others, spares) {
			return fmt.Sprintf("that would leave %d of %d voters of shard %d", others, voters, s.ID)
		}
	}
	return ""
}

// unplaced returns why a drained host's replica cannot move elsewhere, or an empty text. A shard with replicas on only
// some hosts needs a host without a replica of the shard, and a majority that adds and removes members.
func (r *Records) unplaced(s *Shard, h *Host, voters, others, spares int) string {
	p := s.On(h.ID)
	switch {
	case p == nil || !p.Member():
		return ""
	case p.Role == RoleVoter && others+1 < Majority(voters):
		return fmt.Sprintf("of shard %d only %d of %d voters are to be online", s.ID, others+1, voters)
	case others+spares >= r.Wanted(s.ID):
		return ""
	}
	var why []string
	for _, other := range r.hosts {
		if other == h || !other.Living() {
			continue
		}
		switch on := s.On(other.ID); {
		case on != nil && on.Member():
			why = append(why, other.Name+" has one")
		case !other.Wanted():
			why = append(why, fmt.Sprintf("%s is offline (%s)", other.Name, other.Target.Reason))
		case other.Cordoned:
			why = append(why, other.Name+" is cordoned")
		case other.Weight() == 0:
			why = append(why, other.Name+" has the weight 0")
		default:
			return ""
		}
	}
	return fmt.Sprintf("no host can take its replica of shard %d: %s", s.ID, strings.Join(why, ", "))
}

// Wanted is how many replicas should vote in a shard.
func (r *Records) Wanted(id ShardID) int {
	if r.Spread() && id != Meta {
		return WantedVoters(r.policy.Replicas, r.Living())
	}
	n := r.Living()
	if id == Meta && r.policy.Tier != "" {
		n = cmp.Or(r.voting(r.policy.Tier), n)
	}
	return WantedVoters(r.policy.Voters, n)
}

// Votes reports whether the policy's tier allows a host to vote in the meta shard.
func (r *Records) Votes(h *Host) bool {
	return r.policy.Tier == "" || h.has(r.policy.Tier) || r.voting(r.policy.Tier) == 0
}

// voting is how many hosts have a label.
func (r *Records) voting(label string) (n int) {
	for _, h := range r.hosts {
		n += count(h.Living() && h.has(label))
	}
	return n
}

// has reports whether the host's failure domain contains a label.
func (h *Host) has(label string) bool {
	return slices.ContainsFunc(h.Domain, func(l host.Label) bool { return l.String() == label })
}

// WantedVoters is how many replicas should vote in a shard if the cluster has the given number of hosts: an odd number,
// and no more than the limit, unless the limit is 0.
func WantedVoters(limit, hosts int) int {
	wanted := 5
	switch {
	case hosts < 3:
		wanted = 1
	case hosts < 5:
		wanted = 3
	}
	if limit != 0 {
		wanted = min(wanted, limit)
	}
	return wanted
}

// enough reports whether a shard goes on with the given number of other voters with the target Online.
func enough(how absence, voters, others, spares int) bool {
	if how == absenceDead {
		return others >= Majority(voters)
	}
	if others+spares >= Majority(voters) {
		return true
	}
	return how == absenceLeaving && voters > 1 && others >= Majority(voters-1) && others+1 >= Majority(voters)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// isLast reports whether the host is the cluster's last host.
func (r *Records) isLast(id shard.HostID) bool {
	return !slices.ContainsFunc(r.hosts, func(h *Host) bool { return h.Living() && h.ID != id })
}
