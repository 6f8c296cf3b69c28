package meta

import (
	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// State is everything that a machine holds, written out plainly: for comparing replicas, for tests, and
// for looking into what is on disk. Lists are sorted, so that equal machines give equal states.
type State struct {
	Version  uint64
	LastNode shard.NodeID
	Level    level.Level
	Routing  Routing
	Hosts    []Host    // by id
	Nodes    []Node    // by path
	Dropping []Dropped // by id
}

// State writes out all that the machine holds. It does not keep Apply waiting.
func (m *Machine) State() State {
	f := m.freeze()
	return State{
		Version: f.version, LastNode: f.lastNode, Level: f.level, Routing: f.routing,
		Hosts: values(f.hosts), Nodes: values(f.nodes), Dropping: values(f.dropping),
	}
}

// Digest returns a number that is equal for machines with equal states, and as good as never for others.
// It does not keep Apply waiting.
func (m *Machine) Digest() uint64 { return m.BeginDigest()() }

// BeginDigest fixes the state as it is now, and returns what computes its digest beside Apply.
func (m *Machine) BeginDigest() (sum func() uint64) { return m.freeze().digest }

func (f *frozen) digest() uint64 {
	d := xxhash.New()
	buf := f.appendCounters(nil)
	buf = f.appendCounts(buf)
	buf = appendRouting(buf, &f.routing)
	hash := func() {
		_, _ = d.Write(buf)
		buf = buf[:0]
	}
	hash()
	for _, h := range f.hosts {
		buf = appendHost(buf, h)
		hash()
	}
	for _, n := range f.nodes {
		buf = appendNode(buf, n, f.level)
		hash()
	}
	for _, n := range f.dropping {
		buf = appendDropped(buf, n)
		hash()
	}
	return d.Sum64()
}
