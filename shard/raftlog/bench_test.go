package raftlog

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// idler is a state machine that only records leaders.
type idler struct{ *recorder }

func (idler) Apply([]shard.Entry) error                { return nil }
func (idler) PrepareSnapshot() (shard.Snapshot, error) { return emptySnapshot{}, nil }
func (idler) Restore(io.Reader) error                  { return nil }

type emptySnapshot struct{}

func (emptySnapshot) Discard() {}
func (emptySnapshot) Save(w io.Writer, _ <-chan struct{}) error {
	_, err := w.Write([]byte{1})
	return err
}

// defaultTimes resets the tests' timing changes.
func defaultTimes(c *Config) { c.ElectionTicks, c.ProposalTimeout, c.BarrierTimeout = 0, 0, 0 }

// benchLogs opens a cluster with some shards and returns each shard's log at its leader.
func benchLogs(b *testing.B, hosts, shards int) []shard.Log {
	b.Helper()
	members := newCluster(b, hosts, defaultTimes)
	for _, m := range members {
		host, err := Open(m.config)
		if err != nil {
			b.Fatal(err)
		}
		m.host = host
	}
	var leaders []shard.Log
	for id := range shards {
		for _, m := range members {
			m.machine = newRecorder()
			log, err := m.host.Start(uint64(id+1), idler{m.machine})
			if err != nil {
				b.Fatal(err)
			}
			m.log = log
		}
		leaders = append(leaders, leaderOf(b, members).log)
	}
	return leaders
}

// measure reports allocations and, because the disk determines the elapsed time, the processor time per operation.
func measure(b *testing.B) (done func()) {
	b.ReportAllocs()
	before := processorTime()
	b.ResetTimer()
	return func() {
		b.StopTimer()
		b.ReportMetric((processorTime()-before)/float64(b.N), "cpu-us/op")
	}
}

func processorTime() (microseconds float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

// share runs b.N operations by some callers at once.
func share(b *testing.B, callers int, run func(n int)) {
	var running sync.WaitGroup
	for i := range callers {
		n := b.N / callers
		if i < b.N%callers {
			n++
		}
		running.Go(func() { run(n) })
	}
	running.Wait()
}

func BenchmarkProposeOneAtATime(b *testing.B) {
	for _, hosts := range []int{1, 3} {
		b.Run(fmt.Sprint("hosts=", hosts), func(b *testing.B) {
			log := benchLogs(b, hosts, 1)[0]
			batch := make([]byte, 64)
			outcome := make(chan shard.Outcome, 1)
			done := func(o shard.Outcome) { outcome <- o }
			defer measure(b)()
			for range b.N {
				if err := log.Propose(batch, done); err != nil {
					b.Fatal(err)
				}
				if o := <-outcome; o != shard.OutcomeApplied {
					b.Fatal(o)
				}
			}
		})
	}
}

// BenchmarkProposePipelined has batches of about a hundred operations, two of every shard in flight.
func BenchmarkProposePipelined(b *testing.B) {
	for _, hosts := range []int{1, 3} {
		for _, shards := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("hosts=%d/shards=%d", hosts, shards), func(b *testing.B) {
				logs := make(chan shard.Log, shards)
				for _, log := range benchLogs(b, hosts, shards) {
					logs <- log
				}
				batch := make([]byte, 6<<10)
				b.SetBytes(int64(len(batch)))
				defer measure(b)()
				share(b, shards, func(n int) {
					log := <-logs
					slots := make(chan struct{}, 2)
					done := func(o shard.Outcome) {
						if o != shard.OutcomeApplied {
							b.Error(o)
						}
						<-slots
					}
					for range n {
						slots <- struct{}{}
						if err := log.Propose(batch, done); err != nil {
							b.Error(err)
							return
						}
					}
					slots <- struct{}{}
					slots <- struct{}{}
				})
			})
		}
	}
}

func BenchmarkBarrier(b *testing.B) {
	for _, hosts := range []int{1, 3} {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("hosts=%d/callers=%d", hosts, callers), func(b *testing.B) {
				log := benchLogs(b, hosts, 1)[0]
				defer measure(b)()
				share(b, callers, func(n int) {
					answer := make(chan error, 1)
					done := func(err error) { answer <- err }
					for range n {
						if err := log.Barrier(done); err != nil {
							b.Error(err)
							return
						}
						if err := <-answer; err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// BenchmarkTakeOver is the time from a leader's end to the first batch applied by another host.
func BenchmarkTakeOver(b *testing.B) {
	all := newCluster(b, 3, defaultTimes)
	openAll(all)
	leader := leaderOf(b, all)
	b.ResetTimer()
	for range b.N {
		leader.log.Close()
		next := leaderOf(b, others(all, leader))
		if o := next.propose("taken over"); o != shard.OutcomeApplied {
			b.Fatal(o)
		}
		b.StopTimer()
		leader.start(newRecorder())
		if err := leader.barrier(); err != nil {
			b.Fatal(err)
		}
		leader = next
		b.StartTimer()
	}
}

// BenchmarkTransfer is the time from a transfer request to the first batch applied by the target, which has caught up
// before.
func BenchmarkTransfer(b *testing.B) {
	all := newCluster(b, 3, defaultTimes)
	openAll(all)
	leader := leaderOf(b, all)
	b.ResetTimer()
	for range b.N {
		next := others(all, leader)[0]
		if err := next.barrier(); err != nil {
			b.Fatal(err)
		}
		transfer(b, nil, leader, next)
		for next.propose("taken over") != shard.OutcomeApplied {
		}
		leader = next
	}
}

// applyCounter is an idler that counts the applied entries.
type applyCounter struct {
	idler
	applied atomic.Int64
}

func (c *applyCounter) Apply(entries []shard.Entry) error {
	c.applied.Add(int64(len(entries)))
	return nil
}

// BenchmarkReplay is the start of a host whose log has many entries after no snapshot, per entry: the restart cost of
// an entry before the state machine applies it.
func BenchmarkReplay(b *testing.B) {
	const entries = 100_000
	for _, size := range []int{60, 600, 6000} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			m := newCluster(b, 1, func(c *Config) { defaultTimes(c); c.SnapshotBytes = 1 << 40 })[0]
			open := func() *applyCounter {
				host, err := Open(m.config)
				if err != nil {
					b.Fatal(err)
				}
				machine := &applyCounter{idler: idler{newRecorder()}}
				m.host = host
				if m.log, err = host.Start(testShard, machine); err != nil {
					b.Fatal(err)
				}
				return machine
			}
			machine := open()
			eventually(b, "a leader", func() bool { return m.log.Leadership().Leader != 0 })
			slots := make(chan struct{}, 64)
			for range entries {
				slots <- struct{}{}
				if err := m.log.Propose(make([]byte, size), func(shard.Outcome) { <-slots }); err != nil {
					b.Fatal(err)
				}
			}
			eventually(b, "all entries", func() bool { return machine.applied.Load() == entries })
			m.machine = machine.recorder
			spent := 0.0
			for b.Loop() {
				b.StopTimer()
				m.host.Close()
				before := processorTime()
				b.StartTimer()
				machine = open()
				eventually(b, "all entries", func() bool { return machine.applied.Load() == entries })
				spent += processorTime() - before
			}
			b.ReportMetric(spent/float64(b.N)/entries, "cpu-us/entry")
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/entries, "us/entry")
		})
	}
}
