package watch

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// discarding is a connection that accepts everything at once.
type discarding struct {
	mu      sync.Mutex
	encoder *protocol.Encoder
	buf     bytebufferpool.ByteBuffer
}

func (d *discarding) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	write(d.encoder, &d.buf)
	return true
}

func (d *discarding) Flush(bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buf.Reset()
}

func (d *discarding) Pending() int { return 0 }
func (d *discarding) Ended(uint64) {}

// idle waits until the worker has nothing to do.
func (h *Hub) idle() {
	h.mu.Lock()
	for h.running {
		h.stopped.Wait()
	}
	h.mu.Unlock()
}

// benchWatch opens watches on one semaphore, spread over connections.
func benchWatch(b *bed, watchers, connections int, name string) {
	sinks := make([]*discarding, connections)
	for i := range sinks {
		sinks[i] = &discarding{encoder: protocol.NewEncoder()}
	}
	m := protocol.Watch{NodeID: 1, Name: []byte(name), Owners: true, Data: true}
	for i := range watchers {
		if err := b.hub.Open(sinks[i%connections], uint64(i+1), &m); err != nil {
			b.Fatal(err)
		}
	}
	b.hub.idle()
}

// BenchmarkFanOut: a semaphore change, from the machine's effect to the last connection's flush. No changes are merged.
func BenchmarkFanOut(b *testing.B) {
	for _, size := range []struct{ watchers, connections int }{{1000, 100}, {10_000, 100}, {10_000, 10_000}} {
		b.Run(fmt.Sprintf("watchers=%d/connections=%d", size.watchers, size.connections), func(b *testing.B) {
			const owners = 1000
			t := newBed(b, owners, 1, Options{})
			t.create("sem", shard.Forever, "")
			endpoint := strings.Repeat("e", 40)
			t.own(owners-1, "sem", endpoint)
			benchWatch(t, size.watchers, size.connections, "sem")
			before := t.hub.Counters()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t.hub.mu.Lock()
				for _, x := range t.hub.objects {
					x.next = time.Time{}
				}
				t.hub.mu.Unlock()
				if i%2 == 0 {
					t.acquire(owners-1, "sem", endpoint)
				} else {
					t.release(owners-1, "sem")
				}
				t.hub.idle()
			}
			after := t.hub.Counters()
			if sent := after.Deltas - before.Deltas; sent != uint64(b.N*size.watchers) {
				b.Fatalf("%d deltas for %d changes", sent, b.N)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size.watchers), "ns/watcher")
			b.ReportMetric(float64(after.Bytes-before.Bytes)/float64(b.N*size.watchers), "B/watcher")
		})
	}
}

// BenchmarkApplyWatched: a watched change's cost for the applying goroutine: the worker does the rest.
func BenchmarkApplyWatched(b *testing.B) {
	for _, watchers := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			t := newBed(b, 1, 1, Options{})
			t.create("sem", 1, "")
			benchWatch(t, watchers, 100, "sem")
			effects := []shard.Effect{{Kind: shard.EffectChanged, Flags: shard.FlagData, Node: 1, Name: "sem",
				Revision: 1}}
			b.ReportAllocs()
			effects[0].Revision = 1 << 20 // after the bed's revisions
			for b.Loop() {
				effects[0].Revision++
				if err := t.hub.Apply(effects, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApplyUnwatched: the cost for changes to unwatched semaphores: nothing without any watch, otherwise one map
// lookup per change.
func BenchmarkApplyUnwatched(b *testing.B) {
	for _, watches := range []int{0, 1, 10_000} {
		b.Run(fmt.Sprintf("watches=%d", watches), func(b *testing.B) {
			const changes = 100
			t := newBed(b, 1, 1, Options{})
			for i := range watches {
				benchWatch(t, 1, 1, fmt.Sprint("watched", i))
			}
			var effects []shard.Effect
			for i := range changes {
				effects = append(effects,
					shard.Effect{Kind: shard.EffectResult},
					shard.Effect{Kind: shard.EffectChanged, Flags: shard.FlagOwners, Node: 1,
						Name: fmt.Sprint("lock/", i), Revision: 1})
			}
			now, revision := time.Now(), shard.Revision(1<<20) // after the bed's revisions
			b.ReportAllocs()
			for b.Loop() {
				for i := 1; i < len(effects); i += 2 {
					revision++
					effects[i].Revision = revision
				}
				if err := t.hub.Apply(effects, now); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*changes), "ns/change")
		})
	}
}

// BenchmarkOpenStop: a watch opened without a view, and stopped.
func BenchmarkOpenStop(b *testing.B) {
	t := newBed(b, 1, 1, Options{})
	t.create("sem", 1, "data")
	sink := &discarding{encoder: protocol.NewEncoder()}
	m := protocol.Watch{NodeID: 1, Name: []byte("sem"), Owners: true, Data: true}
	b.ReportAllocs()
	for b.Loop() {
		if err := t.hub.Open(sink, 1, &m); err != nil {
			b.Fatal(err)
		}
		t.hub.idle()
		t.hub.Stop(sink, 1)
		t.hub.idle()
	}
}

// BenchmarkSnapshot: a snapshot read and encoded once for all simultaneous openings.
func BenchmarkSnapshot(b *testing.B) {
	for _, owners := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("owners=%d", owners), func(b *testing.B) {
			t := newBed(b, owners, 1, Options{})
			t.create("sem", shard.Forever, "data")
			t.own(owners, "sem", strings.Repeat("e", 40))
			k := &t.hub.worker
			object := &object{name: shard.ObjectName{Node: 1, Name: "sem"}}
			topic := object.topicOf(part{kind: shard.KindSemaphore}, k)
			b.ReportAllocs()
			for b.Loop() {
				if topic.form.snapshot(topic) == nil {
					b.Fatal("no snapshot")
				}
			}
		})
	}
}
