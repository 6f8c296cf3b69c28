package limiter_test

import (
	"context"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/limiter"
	"github.com/signalbox/signalbox/client/lock"
	"github.com/signalbox/signalbox/test/clienttest"
)

// BenchmarkFiveSlots: the throughput for 64 goroutines in one process through five slots, with a millisecond's work: at
// most 5000 a second. The second variant uses one session, with one place in the semaphore, so one goroutine enters at
// a time.
func BenchmarkFiveSlots(b *testing.B) {
	work := func(context.Context, uint64) error { time.Sleep(time.Millisecond); return nil }
	b.Run("limiter", func(b *testing.B) {
		g := clienttest.New(b)
		l, err := limiter.New(g.Client, path, name, 5)
		clienttest.Check(b, err)
		b.Cleanup(func() { _ = l.Close(context.Background()) })
		measure(b, func(ctx context.Context) error { return l.Do(ctx, work) })
	})
	b.Run("one session", func(b *testing.B) {
		s := clienttest.New(b).Session()
		measure(b, func(ctx context.Context) error { return lock.Do(ctx, s, name, work, lock.Slots(5, 1)) })
	})
}

// BenchmarkAFreeSlot: a slot's cost without competing processes.
func BenchmarkAFreeSlot(b *testing.B) {
	g := clienttest.New(b)
	l, err := limiter.New(g.Client, path, name, 5)
	clienttest.Check(b, err)
	b.Cleanup(func() { _ = l.Close(context.Background()) })
	b.ReportAllocs()
	for b.Loop() {
		clienttest.Check(b, l.Do(b.Context(), func(context.Context, uint64) error { return nil }))
	}
}

func measure(b *testing.B, do func(ctx context.Context) error) {
	b.SetParallelism(32) // on two processors
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(b.Context()); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "slots/s")
}
