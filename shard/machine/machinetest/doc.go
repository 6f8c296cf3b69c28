// Package machinetest drives machines in the tests of package machine and of object kinds: Bed with single commands,
// ObjectRun with random commands compared to a model of one kind. The tests of package machine use it too, so it
// accesses machines only through the interface Machine.
package machinetest

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// Machine is a machine.Machine.
type Machine interface {
	Apply(b *shard.Batch, out *shard.Effects)
	PrepareSnapshot() (shard.Snapshot, error)
	Restore(r io.Reader) error
	State() shard.State
	Digest() uint64
	Pending() int
	NextAlarm() (at uint64, ok bool)
	Alarms() int
	Usage(n shard.NodeID) shard.Usage
	Slot(slot shard.Slot) slots.Slot
	Slots() (owned shard.SlotSet, changes uint64)
	Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool
	Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind
}

// Prepare prepares a snapshot.
func Prepare(t testing.TB, m Machine) shard.Snapshot {
	t.Helper()
	sn, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	return sn
}

// Save returns a snapshot's file, and discards the snapshot.
func Save(t testing.TB, sn shard.Snapshot) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := sn.Save(&file, nil); err != nil {
		t.Fatal(err)
	}
	sn.Discard()
	return file.Bytes()
}

// File returns the file of a machine snapshot.
func File(t testing.TB, m Machine) []byte {
	t.Helper()
	return Save(t, Prepare(t, m))
}

// Copy restores a machine's snapshot into another machine, and returns the latter.
func Copy[M Machine](t testing.TB, from Machine, into M) M {
	t.Helper()
	if err := into.Restore(bytes.NewReader(File(t, from))); err != nil {
		t.Fatal(err)
	}
	return into
}

// Expect fails the test if a command had a different answer. A refusal during a rebuilt shard's wait has a text.
func Expect(t testing.TB, what string, e *shard.Effect, status protocol.Status) {
	t.Helper()
	if e.Status != status || status == protocol.StatusOverloaded && e.Body != shard.QuietReason {
		t.Fatalf("%s: answered %v %q, not %v", what, e.Status, e.Body, status)
	}
}

// Heap returns the heap bytes in use after a garbage collection.
func Heap() uint64 {
	var ms runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&ms)
	return ms.HeapAlloc
}

// BenchmarkRead reports how long a read takes in the median and at the worst.
func BenchmarkRead(b *testing.B, name string, read func()) {
	b.Run(name, func(b *testing.B) {
		var all []time.Duration
		for b.Loop() {
			began := time.Now()
			read()
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "median-ms")
		b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "worst-ms")
	})
}
