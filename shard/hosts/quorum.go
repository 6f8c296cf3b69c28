package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/shard"
)

// Majority is how many of so many voters decide.
func Majority(voters int) int { return voters/2 + 1 }

// absence is how a host is to be gone.
type absence uint8

const (
	absenceDrained absence = iota // it keeps its votes where no other host can take them
	absenceLeaving                // it runs, and helps to remove its own votes
	absenceDead                   // its votes are removed by the others alone
)

// without returns why the cluster could not go on without a host, empty where it could. It goes by targets alone: who
// is really heard is for the governor, which checks each step again.
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
				spares += count(other != nil && other.Wanted() && !other.Cordoned)
			}
		}
		if votes && !enough(how, voters, others, spares) {
			return fmt.Sprintf("that would leave %d of %d voters of shard %d", others, voters, s.ID)
		}
	}
	return ""
}

// enough reports whether a shard goes on with so many other voters that are to be online.
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

// isLast reports whether no other host than this one belongs to the cluster.
func (r *Records) isLast(id shard.HostID) bool {
	for _, h := range r.hosts {
		if h.Living() && h.ID != id {
			return false
		}
	}
	return true
}
