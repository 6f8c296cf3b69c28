package shard

import (
	"fmt"
	"testing"
)

// locks returns a machine with n sessions in one node and a persistent semaphore of limit 1 for each.
func locks(tb testing.TB, n int) (*Machine, []SessionID, [][]byte) {
	tb.Helper()
	m := New(Options{})
	var out Effects
	ids := make([]SessionID, n)
	names := make([][]byte, n)
	for i := range n {
		names[i] = fmt.Appendf(nil, "lock/%08d", i)
		out.Reset()
		m.Apply(&Batch{Commands: []Command{
			{Kind: CmdSessionCreate, Slot: Slot(i % Slots), Node: 1, Timeout: 10_000},
			{Kind: CmdSemaphoreCreate, Node: 1, Name: names[i], Count: 1},
		}}, &out)
		ids[i] = out.List[1].Session
		if i > 0 {
			ids[i] = out.List[0].Session
		}
	}
	return m, ids, names
}

func BenchmarkApplyAcquireRelease(b *testing.B) {
	for _, n := range []int{512, 100_000} {
		b.Run(fmt.Sprintf("locks=%d", n), func(b *testing.B) {
			m, ids, names := locks(b, n)
			var out Effects
			batch := Batch{Commands: make([]Command, 2)}
			b.ReportAllocs()
			number, i := uint64(0), 0
			for b.Loop() {
				if i++; i == n {
					i = 0
				}
				number += 2
				batch.Commands[0] = Command{Kind: CmdAcquire, Node: 1, Session: ids[i], Number: number, Acked: number - 1, Name: names[i], Count: 1, Timeout: Forever}
				batch.Commands[1] = Command{Kind: CmdRelease, Node: 1, Session: ids[i], Number: number + 1, Acked: number, Name: names[i]}
				out.Reset()
				m.Apply(&batch, &out)
				if out.List[0].Flags != FlagAcquired {
					b.Fatal(out.List[0])
				}
			}
		})
	}
}
