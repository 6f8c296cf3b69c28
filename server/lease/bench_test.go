package lease_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

const (
	benchSessions = 100_000
	benchHolders  = 100
)

// fullTable returns a table with many sessions, attached in equal parts over a few holders.
func fullTable(tb testing.TB, attached bool) (*lease.Table, []*lease.Holder) {
	table, err := lease.NewTable(lease.Config{
		Grace:      func(shard.NodeID) time.Duration { return grace },
		StallAfter: 24 * time.Hour,
	})
	if err != nil {
		tb.Fatal(err)
	}
	table.Rely(24 * time.Hour)
	table.Lead(1, 0, start)
	table.Succeeded(table.Begin(start), 1, 0)
	table.Reserve(benchSessions)
	holders := make([]*lease.Holder, benchHolders)
	for i := range holders {
		holders[i] = lease.NewHolder(start)
	}
	for n := range uint64(benchSessions) {
		timeout := time.Duration(10+n%7) * second
		if attached {
			table.Start(id(n+1), shard.NodeID(1+n%10), timeout, holders[n%benchHolders], 0, start)
		} else {
			table.Restore(id(n+1), shard.NodeID(1+n%10), timeout, start)
		}
	}
	table.Restored()
	return table, holders
}

func BenchmarkHeard(b *testing.B) {
	h := lease.NewHolder(start)
	now := start.Add(second)
	b.ReportAllocs()
	for b.Loop() {
		h.Heard(now)
	}
}

// BenchmarkMayPong is a ping over a connection with sessions in four shards.
func BenchmarkMayPong(b *testing.B) {
	h := lease.NewHolder(start)
	for range 4 {
		table, _ := fullTable(b, false)
		table.Start(id(benchSessions+1), 1, second, h, 0, start)
	}
	now := start.Add(second)
	b.ReportAllocs()
	for b.Loop() {
		if !h.MayPong(now) {
			b.Fatal("the pong is withheld")
		}
	}
}

// BenchmarkAttach moves sessions between holders, among a hundred thousand.
func BenchmarkAttach(b *testing.B) {
	table, holders := fullTable(b, true)
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		lost, v := table.Attach(id(n%benchSessions+1), holders[(n+n/benchSessions+1)%benchHolders], 0, start)
		if v != lease.Attached {
			b.Fatal(v)
		}
		if lost != nil {
			lost.Reported(1)
		}
		n++
	}
}

// BenchmarkDueIdle checks a hundred thousand sessions on a hundred active connections.
func BenchmarkDueIdle(b *testing.B) {
	table, holders := fullTable(b, true)
	now := start
	var due []lease.Expiry
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(10 * time.Millisecond)
		for _, h := range holders {
			h.Heard(now)
		}
		if due, _ = table.Due(now, 1000, due[:0]); len(due) > 0 {
			b.Fatal("sessions are due")
		}
	}
}

// BenchmarkDueAll ends a hundred thousand sessions at once, a thousand per call.
func BenchmarkDueAll(b *testing.B) {
	for _, c := range []struct {
		name     string
		attached bool
	}{{"attached", true}, {"detached", false}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var due []lease.Expiry
			for b.Loop() {
				b.StopTimer()
				table, _ := fullTable(b, c.attached)
				b.StartTimer()
				for total := 0; total < benchSessions; total += len(due) {
					due, _ = table.Due(start.Add(time.Hour), 1000, due[:0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSessions, "ns/session")
		})
	}
}

// BenchmarkRestore is a new leader's work before it can serve.
func BenchmarkRestore(b *testing.B) {
	for b.Loop() {
		fullTable(b, false)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSessions, "ns/session")
}

// BenchmarkStall is the cost of a stall for a leader with a hundred thousand sessions.
func BenchmarkStall(b *testing.B) {
	table, _ := fullTable(b, false)
	now := start
	for b.Loop() {
		now = now.Add(25 * time.Hour)
		table.Due(now, 1, nil)
	}
}

// TestASessionTakesLittleMemory: a leader keeps few bytes per session, attached or not.
func TestASessionTakesLittleMemory(t *testing.T) {
	const most = 120 // bytes
	for name, attached := range map[string]bool{"attached": true, "detached": false} {
		before := heapBytes()
		table, holders := fullTable(t, attached)
		per := float64(heapBytes()-before) / benchSessions
		runtime.KeepAlive(table)
		runtime.KeepAlive(holders)
		t.Logf("%s: %.0f bytes", name, per)
		if per > most {
			t.Errorf("%s: a session takes %.0f bytes; want at most %d", name, per, most)
		}
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestTheHotPathsDoNotAllocate: work done for every burst and every tick must not allocate.
func TestTheHotPathsDoNotAllocate(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	var due []lease.Expiry
	if n := testing.AllocsPerRun(1000, func() {
		st.pass(900 * time.Millisecond)
		h.Heard(st.now)
		h.MayPong(st.now)
		due, _ = st.Due(st.now, 10, due[:0])
		st.attaches(1, h, 0, lease.Attached)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSlotLeft looks for the sessions of one slot among all.
func BenchmarkSlotLeft(b *testing.B) {
	table, _ := fullTable(b, false)
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		table.SlotLeft(slotOne+1, uint64(n))
	}
}
