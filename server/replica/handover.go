package replica

import (
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// HandOver asks other hosts to lead what this one leads, and returns whether it still leads anything that
// another host could.
func (s *Set) HandOver() (led bool) {
	others := slices.DeleteFunc(slices.Clone(s.config.Hosts),
		func(id shard.HostID) bool { return id == s.config.Self.ID })
	if len(others) == 0 {
		return false
	}
	if s.Meta.leads() {
		led = true
		_ = s.Meta.log.Transfer(successor(s.Meta.log, others))
	}
	for _, r := range s.Replicas {
		if r.Leads() {
			led = true
			_ = r.log.Transfer(successor(r.log, others))
		}
	}
	return led
}

// observer is a log that says what it knows of the other hosts while this one leads.
type observer interface {
	// Follower returns up to which index a host is known to have the log, and whether it was heard of lately.
	Follower(id shard.HostID) (index uint64, near bool)
}

// successor chooses who should lead in the place of this host: of those that were heard of lately one that has most of
// the log, so that it can begin at once. A transfer to one that lags, or is away, keeps everybody waiting in vain.
// Where nothing is known chance decides.
func successor(log shard.Log, others []shard.HostID) shard.HostID {
	o, knows := log.(observer)
	var best shard.HostID
	var most uint64
	var heard bool
	equal := 0
	for _, id := range others {
		index, near := uint64(0), false
		if knows {
			index, near = o.Follower(id)
		}
		switch {
		case best != 0 && (heard && !near || heard == near && index < most):
			continue
		case best == 0 || near != heard || index > most:
			best, most, heard, equal = id, index, near, 0
		}
		if equal++; rand.IntN(equal) == 0 {
			best = id
		}
	}
	return best
}

// guarded is a log that says why its leader must propose only what frees room. A log in memory is none.
type guarded interface {
	// Guard returns why: the disks of too many hosts are nearly full. It returns nil where this host does not lead.
	Guard() error
}

func guardOf(log shard.Log) error {
	if g, ok := log.(guarded); ok {
		return g.Guard()
	}
	return nil
}

// Guard returns why this host, where it leads the shard, must not take changes that do not free room, nil where it may.
func (r *Replica) Guard() error { return guardOf(r.log) }

// Guard is Replica.Guard for the nodes.
func (m *Meta) Guard() error { return guardOf(m.log) }
