package connection

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/shard"
)

// TestTrafficIsOfTheLastMinute: the most requests come first, old requests are forgotten, and a connection whose
// counter was retired counts again.
func TestTrafficIsOfTheLastMinute(t *testing.T) {
	b := newBed(t, handle.Table{protocol.KindRouting: func(r *handle.Request) (handle.Reply, error) {
		return &protocol.RoutingAnswer{}, nil
	}})
	b.enter()
	b.send(&protocol.Routing{})
	b.send(&protocol.Routing{})
	client := TrafficClient{"", "tester", "192.0.2.1"}
	for step, want := range []uint64{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 1, 1} {
		if step == 14 {
			b.send(&protocol.Routing{})
		}
		b.now = b.now.Add(5 * time.Second)
		b.set.SampleTraffic(b.now)
		b.set.SampleTraffic(b.now.Add(time.Second)) // too early for a sample
		span, total, clients, nodes := b.set.Traffic(b.now)
		if most := min(time.Duration(step+1)*5*time.Second, time.Minute); span != most || total != want {
			t.Errorf("step %d: %d requests in %v, want %d in %v", step, total, span, want, most)
		}
		listed := []Traffic[TrafficClient]{{client, want}}
		if want == 0 {
			listed = nil
		}
		if !slices.Equal(clients, listed) || len(nodes) != 0 {
			t.Errorf("step %d: %v %v, want %v", step, clients, nodes, listed)
		}
	}
}

// TestTrafficIsBounded: keys above the limit are counted together.
func TestTrafficIsBounded(t *testing.T) {
	var cs counters[shard.NodeID]
	began := time.Now()
	cs.init(began)
	for id := range shard.NodeID(maxCounted + 5) {
		cs.of(id).requests.Add(uint64(id) + 1)
	}
	_, total, list := cs.since(began)
	const n = maxCounted + 5
	if total != n*(n+1)/2 || len(list) != maxCounted || list[0].Key != maxCounted-1 {
		t.Errorf("%d requests, %d keys, first %v", total, len(list), list[0])
	}
	for i := range samples {
		cs.sample(began.Add(time.Duration(i+1) * 5 * time.Second))
	}
	if len(cs.all) != 0 {
		t.Errorf("%d idle keys are kept", len(cs.all))
	}
}

// TestCountingAllocatesNothing, and BenchmarkCount reports the cost per request.
func TestCountingAllocatesNothing(t *testing.T) {
	b := newBed(t, nil)
	b.enter()
	if n := testing.AllocsPerRun(1000, func() { b.conn.count(0) }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkCount(b *testing.B) {
	bed := newBed(b, nil)
	bed.enter()
	b.ReportAllocs()
	for b.Loop() {
		bed.conn.count(0)
	}
}
