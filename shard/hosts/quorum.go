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
	absenceDrained absence = iota // the host keeps its votes if no other host can take them
	absenceLeaving                // the host runs, and helps to remove its own votes
	absenceDead                   // the rest of the voters removes the host's votes
)

// without returns the reason why the cluster could not go on without a host, or an empty text. It goes by targets
// alone: the governor knows which hosts are really heard, and checks each step again.
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

// enough reports whether a shard goes on with a number of other voters with the target Online.
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

// isLast reports whether the host is the last host of the cluster.
func (r *Records) isLast(id shard.HostID) bool {
	for _, h := range r.hosts {
		if h.Living() && h.ID != id {
			return false
		}
	}
	return true
}
