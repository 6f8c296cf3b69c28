package meta

import (
	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/plan"
)

// State is everything a machine holds, in plain form: for comparing replicas, for tests, and for tools that inspect
// files on disk. Lists are sorted, so equal machines give equal states.
type State struct {
	Version  uint64
	LastNode shard.NodeID
	Level    level.Level
	Term     uint64
	Now      uint64 // shard time in milliseconds, and when the term began
	TimeBase uint64
	Routing  Routing
	Hosts    []Host    // the registered hosts, by id
	Nodes    []Node    // by path
	Dropping []Dropped // by id
	// NextAnswer is the position the next numbered command's answer will get. Answers are the kept answers before
	// NextAnswer.
	NextAnswer uint64
	Answers    []Answer
	// Records, Plan and Seen are nil until the hosts are bootstrapped; Hosts is empty from then on.
	Records *hosts.Records
	Plan    *plan.Plan[governor.Action]
	Seen    []HostObservation // by id
	// Rights is the rights book, nil before the first change to rights.
	Rights *access.Book
}

// State returns the machine's whole state in plain form, without delaying Apply.
func (m *Machine) State() State {
	f := m.freeze()
	s := State{
		Version: f.version, LastNode: f.lastNode, Level: f.level,
		Term: f.clock.Term, Now: f.clock.Now, TimeBase: f.clock.Base, Routing: f.routing,
		Hosts: values(f.hosts), Nodes: values(f.nodes), Dropping: values(f.dropping),
		NextAnswer: f.next, Answers: values(f.answers),
		Rights: canonicalRights(f.rights),
	}
	if s.Records, s.Plan = f.topology.canonical(); f.topology != nil {
		s.Seen = values(f.topology.seen.entries)
	}
	return s
}

// Digest returns a number that is equal for machines with equal states, and almost never equal for different states. It
// does not delay Apply.
func (m *Machine) Digest() uint64 { return m.BeginDigest()() }

// BeginDigest fixes the present state, and returns a function that computes the digest beside Apply.
func (m *Machine) BeginDigest() (sum func() uint64) { return m.freeze().digest }

func (f *frozen) digest() uint64 {
	d := xxhash.New()
	_, _ = d.Write(codec.Save(f.appendCounts(f.appendCounters(nil)), f.routing.fields))
	digestRecords(d, f.hosts, (*Host).fields)
	digestRecords(d, f.nodes, (*Node).fields)
	digestRecords(d, f.dropping, (*Dropped).fields)
	digestRecords(d, f.answers, func(a *Answer, c *codec.Coder) { _ = a.fields(c) })
	rest := f.topology.appendDigested(nil)
	if f.rights.Revision() > 0 {
		rest = f.rights.Save(rest)
	}
	_, _ = d.Write(rest)
	return d.Sum64()
}

func digestRecords[V any](d *xxhash.Digest, list []*V, fields func(*V, *codec.Coder)) {
	var buf []byte
	for _, v := range list {
		buf = codec.Save(buf[:0], func(c *codec.Coder) { fields(v, c) })
		_, _ = d.Write(buf)
	}
}
