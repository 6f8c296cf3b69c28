package replica

import (
	"math/rand/v2"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// idleConn is a connection used only for its identity.
type idleConn struct {
	Conn
	_ byte // for a unique address
}

// TestWaitersAreThoseThatWerePutAndNotTaken: the naive model is a map; drop scans all of it.
func TestWaitersAreThoseThatWerePutAndNotTaken(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	conns := []Conn{&idleConn{}, &idleConn{}, &idleConn{}}
	var w waiters
	w.init()
	naive := map[waitKey]waiting{}
	for step := range 20_000 {
		id := shard.SessionID(1 + random.IntN(3))
		key := waitKey{id, uint64(random.IntN(20))}
		switch random.IntN(8) {
		case 0, 1, 2, 3:
			x := waiting{number: key.number, conn: conns[random.IntN(3)], request: uint64(step)}
			w.add(id, x)
			naive[key] = x
		case 4, 5, 6:
			got, ok := w.take(id, key.number)
			if had, has := naive[key]; ok != has || got != had {
				t.Fatalf("step %d: took %+v, %v; want %+v, %v", step, got, ok, had, has)
			}
			delete(naive, key)
		case 7:
			if random.IntN(10) > 0 {
				continue
			}
			c := append(conns, nil)[random.IntN(4)]
			w.drop(id, c)
			for k, x := range naive {
				if k.session == id && (c == nil || x.conn == c) {
					delete(naive, k)
				}
			}
		}
		if len(w.byNumber) != len(naive) {
			t.Fatalf("step %d: %d wait, want %d", step, len(w.byNumber), len(naive))
		}
	}
	for k := range naive {
		if _, ok := w.take(k.session, k.number); !ok {
			t.Fatalf("%+v is missing", k)
		}
	}
	if len(w.first) != 0 {
		t.Fatalf("%d sessions have waiters, and nobody waits", len(w.first))
	}
}

// BenchmarkWaitersOfOneSession removes one of a session's 100,000 waiters, and adds one.
func BenchmarkWaitersOfOneSession(b *testing.B) {
	var w waiters
	w.init()
	const all = 100_000
	for i := range uint64(all) {
		w.add(1, waiting{number: i})
	}
	b.ReportAllocs()
	n := uint64(0)
	for b.Loop() {
		w.take(1, n)
		w.add(1, waiting{number: n + all})
		n++
	}
}
