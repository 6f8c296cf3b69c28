package transport

import (
	"io"
	"sync/atomic"
	"testing"
)

func TestPendingRisesWithoutAReaderAndFallsToZeroWithOneDrainedPerCrossing(t *testing.T) {
	// Nothing counts below the mark; much exceeds the operating system's buffers by a multiple of the mark.
	const piece, much = 64 << 10, 32 << 20
	conform(t, func(f *fixture) {
		conns := make(chan Conn, 1)
		var drained, high atomic.Int64
		f.serve(func(c Conn) *script {
			conns <- c
			return &script{drained: func() {
				drained.Add(1)
				high.Store(int64(c.Pending()))
			}}
		})
		client := f.connect()
		server := await(f, conns, "the connection")
		for round := range int64(3) {
			for range HighWater / piece {
				server.Send(pooled(make([]byte, piece)))
			}
			server.Send(pooled(make([]byte, much)))
			if server.Pending() <= HighWater {
				f.Fatalf("Pending is %d of %d", server.Pending(), much)
			}
			if n := drained.Load(); n != round {
				f.Fatalf("%d Drained in round %d, and nobody has read", n, round)
			}
			if _, err := io.CopyN(io.Discard, client, HighWater+much); err != nil {
				f.Fatal(err)
			}
			poll(f, "Pending to be 0", func() bool { return server.Pending() == 0 })
			poll(f, "Drained", func() bool { return drained.Load() > round })
			if n := drained.Load(); n != round+1 {
				f.Fatalf("%d Drained after %d crossings", n, round+1)
			}
			if high.Load() > LowWater {
				f.Fatalf("Pending was %d at Drained", high.Load())
			}
		}
	})
}

func TestASenderPacedByDrainedGetsEverythingThrough(t *testing.T) {
	const piece, bursts = 2 * HighWater, 10
	conform(t, func(f *fixture) {
		f.serve(func(c Conn) *script {
			sent := 1
			c.Send(pooled(make([]byte, piece)))
			return &script{drained: func() {
				if sent < bursts {
					sent++
					c.Send(pooled(make([]byte, piece)))
				}
			}}
		})
		client := f.connect()
		if _, err := io.CopyN(io.Discard, client, bursts*piece); err != nil {
			f.Fatal(err)
		}
	})
}

func TestASlowReaderDoesNotHoldUpOthers(t *testing.T) {
	conform(t, func(f *fixture) {
		f.serve(func(c Conn) *script {
			return &script{data: func(b []byte) int {
				if b[0] == 'x' {
					for range 64 {
						c.Send(pooled(make([]byte, 1<<20)))
					}
					return len(b)
				}
				c.Send(pooled(b))
				return len(b)
			}}
		})
		slow, other := f.connect(), f.connect()
		if _, err := slow.Write([]byte("x")); err != nil {
			f.Fatal(err)
		}
		for range 100 {
			if _, err := other.Write([]byte("hello")); err != nil {
				f.Fatal(err)
			}
			if _, err := io.ReadFull(other, make([]byte, 5)); err != nil {
				f.Fatal(err)
			}
		}
		if _, err := io.CopyN(io.Discard, slow, 64<<20); err != nil {
			f.Fatal(err)
		}
	})
}
