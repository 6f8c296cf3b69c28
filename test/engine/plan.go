package engine

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog"
)

// Plan describes a world, drawn entirely from its seed.
type Plan struct {
	Seed   uint64
	Hosts  int
	Length time.Duration
	// Ticks are the engine ticks for hosts with different clocks.
	Ticks []time.Duration
	// Faults is the mean time between faults.
	Faults time.Duration
	// Sync and Delay are the maximum durations for a log sync and a message.
	Sync, Delay time.Duration
	// Writers propose values with Bytes bytes, with a mean pause of Think.
	Writers int
	Think   time.Duration
	Bytes   int
	// SnapshotEntries is the entry count between a host's snapshots, KeepEntries the entry count kept in the log.
	SnapshotEntries, KeepEntries int
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// Draw draws a seed's plan.
func Draw(seed uint64) Plan {
	random := rand.New(rand.NewPCG(seed, 1))
	p := Plan{
		Seed: seed, Hosts: pick(random, 1, 3, 3, 3, 3, 5),
		Length: time.Duration(2+random.IntN(9)) * time.Minute,
		Faults: pick(random, 2*time.Second, 5*time.Second, 15*time.Second),
		Sync:   pick(random, 0, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond),
		Delay:  pick(random, time.Millisecond, 5*time.Millisecond, 50*time.Millisecond),
		Think:  pick(random, 20*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond),
		Bytes:  pick(random, 50, 500, 3000), Writers: 1 + random.IntN(5),
		SnapshotEntries: pick(random, 20, 200, 2000), KeepEntries: pick(random, 5, 100),
	}
	tick := pick(random, 20*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond)
	for range p.Hosts {
		p.Ticks = append(p.Ticks, tick*time.Duration(95+random.IntN(11))/100/time.Millisecond*time.Millisecond)
	}
	return p
}

// String describes the plan in a line.
func (p Plan) String() string {
	return fmt.Sprintf("seed %d: %v, %d hosts, ticks %v, a fault in %v, syncs to %v, messages to %v, "+
		"%d writers each %v with %d bytes, a snapshot in %d", p.Seed, p.Length, p.Hosts,
		p.Ticks, p.Faults, p.Sync, p.Delay, p.Writers, p.Think, p.Bytes, p.SnapshotEntries)
}

// logBytes is the log size for the given entry count.
func (p Plan) logBytes(entries int) int64 { return int64(entries * (raftlog.BatchBytes + p.Bytes)) }

// Again is the command that repeats the plan.
func (p Plan) Again() string {
	return fmt.Sprintf("go test ./test/engine -run '^TestWorld$' -seed %d -v", p.Seed)
}
