package memlog_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// nullMachine is a state machine without state.
type nullMachine struct{}

func (nullMachine) Apply([]shard.Entry) error                    { return nil }
func (nullMachine) PrepareSnapshot() (shard.Snapshot, error)     { return nullMachine{}, nil }
func (nullMachine) Restore(io.Reader) error                      { return nil }
func (nullMachine) LeadershipChanged(shard.Leadership)           {}
func (nullMachine) Save(w io.Writer, stop <-chan struct{}) error { return nil }
func (nullMachine) Discard()                                     {}

func benchNetwork(b *testing.B, hosts int, realTime bool) (*memlog.Network, *memlog.Log) {
	cfg := memlog.Config{SnapshotEvery: 10_000}
	for h := range hosts {
		cfg.Hosts = append(cfg.Hosts, shard.HostID(h+1))
	}
	n, err := memlog.NewNetwork(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = n.Close() })
	if realTime {
		n.Start()
	}
	var leader *memlog.Log
	for _, h := range cfg.Hosts {
		l, err := n.Open(h, 1, nullMachine{})
		if err != nil {
			b.Fatal(err)
		}
		if h == 1 {
			leader = l
		}
	}
	if !realTime {
		n.Advance(0)
	}
	passed := make(chan error, 1)
	if err := leader.Barrier(func(err error) { passed <- err }); err != nil {
		b.Fatal(err)
	}
	if !realTime {
		n.Advance(0)
	}
	if err := <-passed; err != nil {
		b.Fatal(err)
	}
	return n, leader
}

// BenchmarkPropose proposes batches sequentially in real time without delays: from the call of Propose to its callback.
func BenchmarkPropose(b *testing.B) {
	for _, hosts := range []int{1, 3} {
		b.Run(fmt.Sprintf("replicas=%d", hosts), func(b *testing.B) {
			_, l := benchNetwork(b, hosts, true)
			batch := make([]byte, 128)
			result := make(chan shard.Outcome, 1)
			done := func(o shard.Outcome) { result <- o }
			b.ReportAllocs()
			for b.Loop() {
				if err := l.Propose(batch, done); err != nil {
					b.Fatal(err)
				}
				if o := <-result; o != shard.OutcomeApplied {
					b.Fatal(o)
				}
			}
		})
	}
}

// BenchmarkProposeInFlight keeps 64 batches under way.
func BenchmarkProposeInFlight(b *testing.B) {
	for _, hosts := range []int{1, 3} {
		b.Run(fmt.Sprintf("replicas=%d", hosts), func(b *testing.B) {
			_, l := benchNetwork(b, hosts, true)
			batch := make([]byte, 128)
			free := make(chan struct{}, 64)
			done := func(shard.Outcome) { <-free }
			b.ReportAllocs()
			for b.Loop() {
				free <- struct{}{}
				if err := l.Propose(batch, done); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkProposeSimulated is the cost of a batch in a simulation.
func BenchmarkProposeSimulated(b *testing.B) {
	n, l := benchNetwork(b, 3, false)
	batch := make([]byte, 128)
	applied := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Propose(batch, func(shard.Outcome) { applied++ }); err != nil {
			b.Fatal(err)
		}
		n.Advance(0)
	}
	if applied != b.N {
		b.Fatalf("%d of %d", applied, b.N)
	}
}
