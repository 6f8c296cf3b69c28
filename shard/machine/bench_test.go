package machine

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// bed is a test machine with sessions.
type bed struct{ machinetest.Bed[*Machine] }

func newBed(sessions int) *bed { return &bed{machinetest.New(New(TestKinds, Options{}), sessions)} }

// newestBed is a bed for a shard at the newest level.
func newestBed(sessions int) *bed { return bedAt(level.Newest, sessions) }

func bedAt(l level.Level, sessions int) *bed {
	return &bed{machinetest.NewAt(New(TestKinds, Options{}), l, sessions)}
}

func names(format string, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, format, i)
	}
	return out
}

// BenchmarkApplyAcquireRelease: a session acquires and releases its own semaphore; one operation is half of the result
// per pair.
func BenchmarkApplyAcquireRelease(b *testing.B) {
	for _, n := range []int{512, 100_000} {
		b.Run(fmt.Sprintf("locks=%d", n), func(b *testing.B) {
			t := newestBed(n)
			locks := names("lock/%08d", n)
			for _, name := range locks {
				t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := i / 2 % n
				if i%2 == 0 {
					t.ApplyAs(at, &shard.Command{Kind: shard.CmdAcquire, Name: locks[at], Count: 1,
						Timeout: shard.Forever})
				} else {
					t.ApplyAs(at, &shard.Command{Kind: shard.CmdRelease, Name: locks[at]})
				}
			}
		})
	}
}

// BenchmarkApplyEphemeralCreateDelete: an ephemeral semaphore created by an acquire and ended by the release: one of
// each per operation.
func BenchmarkApplyEphemeralCreateDelete(b *testing.B) {
	for _, others := range []int{0, 10_000, 900_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			t := newestBed(1)
			for i := range others {
				t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: fmt.Appendf(nil, "other/%08d", i),
					Count: 1})
			}
			locks := names("object/%d", 1000)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				name := locks[i%len(locks)]
				t.ApplyAs(0, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: shard.Exclusive,
					Flags: shard.FlagEphemeral})
				t.ApplyAs(0, &shard.Command{Kind: shard.CmdRelease, Name: name})
			}
		})
	}
}

// BenchmarkApplyAmongManyWaiters: one session joins a long queue and leaves from its middle.
func BenchmarkApplyAmongManyWaiters(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("waiters=%d", n), func(b *testing.B) { benchmarkAmong(b, n, 1, shard.Forever) })
		b.Run(fmt.Sprintf("deadlines=%d", n), func(b *testing.B) { benchmarkAmong(b, n, 1, 60_000) })
	}
}

// BenchmarkApplyAmongManyOwners: one session becomes an owner among many and releases.
func BenchmarkApplyAmongManyOwners(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("owners=%d", n), func(b *testing.B) { benchmarkAmong(b, n, shard.Forever, shard.Forever) })
	}
}

func benchmarkAmong(b *testing.B, n int, limit, timeout uint64) {
	t := newestBed(n + 1)
	name := []byte("wanted")
	t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: limit})
	for i := range n + 1 {
		t.ApplyAs(i, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: timeout})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := 1 + (i/2*7919)%n
		if i%2 == 0 {
			t.ApplyAs(at, &shard.Command{Kind: shard.CmdRelease, Name: name})
		} else {
			t.ApplyAs(at, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: timeout})
		}
	}
}

// BenchmarkApplyHandOff: the hand-off of a contended lock: the owner releases, the next gets it, the first queues
// again.
func BenchmarkApplyHandOff(b *testing.B) {
	const n = 32
	t := newestBed(n)
	name := []byte("contended")
	t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
	for i := range n {
		t.ApplyAs(i, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: shard.Forever})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t.ApplyAs(i%n, &shard.Command{Kind: shard.CmdRelease, Name: name})
		t.ApplyAs(i%n, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: shard.Forever})
	}
}

// BenchmarkApplySessionDeathAmongManyWaiters: one of 100,000 waiting sessions dies, and a new one replaces it.
func BenchmarkApplySessionDeathAmongManyWaiters(b *testing.B) {
	const n = 100_000
	t := newestBed(n)
	name := []byte("wanted")
	t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
	for i := range n {
		t.ApplyAs(i, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: shard.Forever})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := 1 + (i*7919)%(n-1)
		t.Apply(&shard.Command{Kind: shard.CmdSessionEnd, Session: t.IDs[at]})
		t.Apply(&shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1,
			Timeout: 10_000})
		t.IDs[at], t.Numbers[at] = t.Result().Session, 0
		t.ApplyAs(at, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: shard.Forever})
	}
}

// BenchmarkApplyDecodedBatch: a host's apply path for a batch from the log: decode and apply.
func BenchmarkApplyDecodedBatch(b *testing.B) {
	const n = 100
	t := newestBed(n)
	locks := names("lock/%08d", n)
	var batch shard.Batch
	for i, name := range locks {
		t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
		batch.Commands = append(batch.Commands,
			shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: t.IDs[i], Name: name, Count: 1,
				Timeout: shard.Forever}, shard.Command{Kind: shard.CmdRelease, Node: 1, Session: t.IDs[i], Name: name})
	}
	for i := range batch.Commands {
		batch.Commands[i].Level = level.Newest
	}
	var decoded shard.Batch
	var data []byte
	number := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch.Commands {
			number++
			batch.Commands[i].Number, batch.Commands[i].Acked = number, number-1
		}
		data = shard.AppendBatch(data[:0], &batch)
		if err := shard.DecodeBatch(data, &decoded, level.Newest); err != nil {
			b.Fatal(err)
		}
		t.Out.Reset()
		t.M.Apply(&decoded, &t.Out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*n), "ns/command")
	b.ReportMetric(float64(len(data))/(2*n), "bytes/command")
}

const million = 1_000_000

// fillMillion creates a million sessions, then a million semaphores, each owned by one session, in a few nodes: a
// node's limit is a million.
func fillMillion(tb testing.TB) (m *Machine, perSession, perSemaphore float64) {
	m = New(TestKinds, Options{})
	var out shard.Effects
	batch := shard.Batch{Commands: make([]shard.Command, 0, 2)}
	ids := make([]shard.SessionID, million)
	before := machinetest.Heap()
	for i := range ids {
		batch.Commands = append(batch.Commands[:0], shard.Command{
			Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1, Timeout: 10_000,
			Data: []byte("worker"), Key: []byte("0123456789abcdef"),
		})
		out.Reset()
		m.Apply(&batch, &out)
		ids[i] = out.List[len(out.List)-1].Session
	}
	between := machinetest.Heap()
	var name []byte
	for i, id := range ids {
		name = fmt.Appendf(name[:0], "semaphore/%07d", i)
		batch.Commands = append(batch.Commands[:0],
			shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1},
			shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: id, Number: 1, Name: name, Count: 1})
		out.Reset()
		m.Apply(&batch, &out)
	}
	after := machinetest.Heap()
	if c := m.Count(); c.Sessions != million || c.Objects != million || c.Links != million {
		tb.Fatal(c)
	}
	runtime.KeepAlive(ids)
	return m, float64(between-before) / million, float64(after-between) / million
}

func BenchmarkMillion(b *testing.B) {
	m, perSession, perSemaphore := fillMillion(b)
	b.Run("fill", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(perSession, "heap-bytes/session")
		b.ReportMetric(perSemaphore, "heap-bytes/semaphore")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("prepare-snapshot", func(b *testing.B) {
		for b.Loop() {
			sn, err := m.PrepareSnapshot()
			if err != nil {
				b.Fatal(err)
			}
			sn.Discard()
		}
	})
	var file bytes.Buffer
	b.Run("save-snapshot", func(b *testing.B) {
		for b.Loop() {
			file.Reset()
			sn, _ := m.PrepareSnapshot()
			if err := sn.Save(&file, nil); err != nil {
				b.Fatal(err)
			}
			sn.Discard()
		}
		b.SetBytes(int64(file.Len()))
	})
	// An acquire and a release during a snapshot save: everything touched is copied once.
	b.Run("apply-during-save", func(b *testing.B) {
		t := &bed{machinetest.New(m, 0)}
		for i := range 1000 {
			t.Apply(&shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i), Node: 2, Timeout: 10_000})
			t.IDs = append(t.IDs, t.Result().Session)
		}
		locks := names("lock/%08d", len(t.IDs))
		for _, name := range locks {
			t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 2, Name: name, Count: 1})
		}
		sn, _ := m.PrepareSnapshot()
		saved := make(chan error, 1)
		go func() { saved <- sn.Save(io.Discard, nil) }()
		number := uint64(0)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			at := i % len(locks)
			number += 2
			t.Apply(&shard.Command{Kind: shard.CmdAcquire, Node: 2, Session: t.IDs[at], Number: number,
				Acked: number - 1, Name: locks[at], Count: 1})
			t.Apply(&shard.Command{Kind: shard.CmdRelease, Node: 2, Session: t.IDs[at], Number: number + 1,
				Acked: number, Name: locks[at]})
		}
		if err := <-saved; err != nil {
			b.Fatal(err)
		}
		sn.Discard()
	})
	// One digest step: the time for which it holds the read lock; and the number of steps, each followed by a pause.
	b.Run("digest-step", func(b *testing.B) {
		d := m.BeginDigest()
		steps := 0
		b.ReportAllocs()
		for b.Loop() {
			steps++
			if done, _ := d.Step(); done {
				d.Close()
				b.ReportMetric(float64(steps), "steps")
				d, steps = m.BeginDigest(), 0
			}
		}
		d.Close()
	})
	// An acquire and a release during a digest, taken in steps with a host's pauses.
	b.Run("apply-during-digest", func(b *testing.B) {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for d := m.BeginDigest(); ; {
				if done, _ := d.Step(); done {
					d.Close()
					d = m.BeginDigest()
				}
				select {
				case <-stop:
					d.Close()
					return
				case <-time.After(time.Millisecond):
				}
			}
		}()
		cyclesOfOne(b, m, "digested")
		close(stop)
		<-stopped
	})
	b.Run("apply", func(b *testing.B) { cyclesOfOne(b, m, "alone") })
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if err := New(TestKinds, Options{}).Restore(bytes.NewReader(file.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(file.Len()))
	})
}

// cyclesOfOne acquires and releases one lock of a machine.
func cyclesOfOne(b *testing.B, m *Machine, lock string) {
	t := &bed{machinetest.New(m, 0)}
	t.Apply(&shard.Command{Kind: shard.CmdSessionCreate, Node: 3, Timeout: 10_000})
	session, name := t.Result().Session, []byte(lock)
	t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 3, Name: name, Count: 1})
	number := uint64(0)
	for b.Loop() {
		number += 2
		t.Apply(&shard.Command{Kind: shard.CmdAcquire, Node: 3, Session: session, Number: number, Acked: number - 1,
			Name: name, Count: 1})
		t.Apply(&shard.Command{Kind: shard.CmdRelease, Node: 3, Session: session, Number: number + 1, Acked: number,
			Name: name})
	}
}

// BenchmarkDescribePageOfManyOwners: one page of a semaphore with 100,000 owners: the longest time for which a read
// holds the lock.
func BenchmarkDescribePageOfManyOwners(b *testing.B) {
	const n = 100_000
	t := newestBed(n)
	name := []byte("endpoints")
	t.Apply(&shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: shard.Forever})
	for i := range n {
		t.ApplyAs(i, &shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Data: []byte("10.0.0.1:8080")})
	}
	var d shard.Description
	at, after := refOf(1, name), shard.OrderID(0)
	b.ReportAllocs()
	for b.Loop() {
		if !t.M.Describe(at, shard.DescribeOptions{Owners: true, After: after}, &d) {
			b.Fatal("no semaphore")
		}
		if after = d.Links[len(d.Links)-1].Order; !d.More {
			after = 0
		}
	}
}
