package replica

import (
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// HandOver asks remote hosts to lead the local host's shards. The meta shard is last, when the local host leads no
// data shard. HandOver returns whether the local host still leads a shard with a possible successor.
func (s *Set) HandOver() (led bool) {
	for _, r := range s.All() {
		if heirs := s.heirs(r.ID); r.Leads() && len(heirs) > 0 {
			led = true
			_ = r.log.Transfer(successor(r.log, heirs))
		}
	}
	if heirs := s.heirs(MetaShard); !led && s.Meta.leads() && len(heirs) > 0 {
		led = true
		_ = s.Meta.log.Transfer(successor(s.Meta.log, heirs))
	}
	return led
}

// LeadsData reports whether the host leads a data shard with a possible successor.
func (s *Set) LeadsData() bool {
	return slices.ContainsFunc(s.All(), func(r *Replica) bool { return r.Leads() && len(s.heirs(r.ID)) > 0 })
}

// heirs returns the hosts that can take over a shard's leadership: the shard's voters. Voters being removed count only
// if no other voter remains.
func (s *Set) heirs(id uint64) (stay []shard.HostID) {
	t, ok := s.Meta.Machine.Topology()
	if !ok {
		return slices.DeleteFunc(slices.Clone(s.config.Hosts),
			func(id shard.HostID) bool { return id == s.config.Self.ID })
	}
	on := t.Records.Shard(hosts.ShardID(id))
	if on == nil {
		return nil
	}
	var leaving []shard.HostID
	for i := range on.Replicas {
		p := &on.Replicas[i]
		switch h := t.Records.Host(p.Host); {
		case p.Role != hosts.RoleVoter || h == nil || h.ID == s.config.Self.ID:
		case h.Wanted():
			stay = append(stay, h.ID)
		default:
			leaving = append(leaving, h.ID)
		}
	}
	if len(stay) == 0 {
		return leaving
	}
	return stay
}

// observer is a log whose leader knows the followers' progress.
type observer interface {
	// Follower returns up to which index a host is known to have the log, and whether the host was heard recently and
	// can accept more log entries.
	Follower(id shard.HostID) (index uint64, near bool)
}

// successor chooses the host that should lead instead of the local host: among the hosts heard recently, the one that
// has the most log entries, so that it can begin immediately. A transfer to a host that lags or is absent would make
// all clients wait in vain. If nothing is known, the choice is random.
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
