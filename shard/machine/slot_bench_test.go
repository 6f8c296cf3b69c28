package machine

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/slots"
)

// BenchmarkSealScan: finds the sessions with numbers in one slot, among sessions that have used three slots each.
func BenchmarkSealScan(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("sessions=%d", n), func(b *testing.B) {
			var sets slotSets
			var entries arena.Slab[uint64]
			for i := range n {
				h := entries.Alloc()
				sets.words.Cover(h)
				for k := range 3 {
					sets.add(h, shard.Slot((i+k*1000)%shard.Slots))
				}
			}
			found := make([]arena.Handle, 0, n)
			for b.Loop() {
				found = sets.sessionsIn(7, found[:0])
			}
			b.ReportMetric(float64(len(found)), "found")
		})
	}
}

// BenchmarkSlotMove: a slot is saved, and restored and merged: 1,000 objects, 1,000 holdings and sessions with cached
// responses, and number entries.
func BenchmarkSlotMove(b *testing.B) {
	for _, n := range []int{5_000, 30_000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			m := New(TestKinds, Options{})
			var out shard.Effects
			apply := func(c shard.Command) *shard.Effect {
				c.Level = level.Newest
				out.Reset()
				m.Apply(&shard.Batch{Commands: []shard.Command{c}}, &out)
				for i := range out.List {
					if out.List[i].Kind == shard.EffectResult {
						return &out.List[i]
					}
				}
				return nil
			}
			const slot = 10
			names := make([][]byte, 0, n/5)
			for i := 0; len(names) < cap(names); i++ {
				if name := fmt.Appendf(nil, "lock-%d", i); shard.SlotOf(1, name) == slot {
					names = append(names, name)
				}
			}
			for _, name := range names {
				id := apply(shard.Command{Kind: shard.CmdSessionCreate, Slot: 20, Node: 1}).Session
				apply(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
				apply(shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: id, Number: 1, Name: name, Count: 1})
				more := apply(shard.Command{Kind: shard.CmdSessionCreate, Slot: 20, Node: 1}).Session
				apply(shard.Command{Kind: shard.CmdRelease, Node: 1, Session: more, Number: 1, Name: name})
				apply(shard.Command{Kind: shard.CmdRelease, Node: 1, Session: more, Number: 2, Acked: 1,
					Name: names[0]})
				m.core.Sessions.acknowledge(m.core.Sessions.At(m.core.Sessions.Find(more)), 2)
				m.core.Nodes.Charge(m.core.Nodes.byID[1], -shard.AnswerBytes)
			}
			g := uint64(0)
			var sealed *slots.Snapshot
			b.Run("seal", func(b *testing.B) {
				for b.Loop() {
					g += 2
					apply(shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: g, Number: 2})
					sealed = m.Slot(slot).Content
					b.StopTimer()
					apply(shard.Command{Kind: shard.CmdSlotCancel, Slot: slot, Count: g})
					b.StartTimer()
				}
				b.ReportMetric(float64(sealed.Records), "records")
				b.ReportMetric(float64(len(sealed.Bytes)), "bytes")
			})
			b.Run("merge", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					g += 2
					apply(shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: g, Number: 2})
					b.StartTimer()
					apply(shard.Command{Kind: shard.CmdSlotCancel, Slot: slot, Count: g})
				}
			})
		})
	}
}
