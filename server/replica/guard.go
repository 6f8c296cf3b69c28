package replica

import "github.com/signalbox/signalbox/shard"

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
