package caller

import (
	"fmt"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/meta"
)

// knowing is a copy of the meta shard that is up to date, with a book that has nothing.
type knowing struct{ *meta.Machine }

func (knowing) SureFor(time.Time) time.Duration { return 0 }
func (knowing) CaughtUp() bool                  { return true }
func (knowing) Confirm(done func(bool))         { done(true) }

// benchGate is the gate of a host with the node /bench.
func benchGate(t testing.TB) *Gate {
	t.Helper()
	m := meta.New()
	var effects meta.Effects
	create := meta.Command{Kind: meta.CmdNodeCreate, Path: "/bench", Level: m.Level()}
	m.Apply(&meta.Batch{Commands: []meta.Command{create}}, &effects)
	if n, ok := m.Node("/bench"); !ok || n.ID != 1 {
		t.Fatalf("the node is %+v", n)
	}
	return NewGate(Config{Meta: knowing{m}, Nodes: m, Clock: time.Now, Started: time.Now()})
}

// ruled is a client with so many rules, one of them about the node /bench; below 0 a client that may do everything.
func ruled(g *Gate, rules int) *Caller {
	if rules < 0 {
		c, _, _ := g.Enter(nil, nil)
		return c
	}
	set := []access.Rule{{Path: "/bench", Object: "lock/", Rights: protocol.RightRead | protocol.RightSession}}
	for i := range rules {
		set = append(set, access.Rule{Path: fmt.Sprintf("/other/%d", i), Rights: protocol.RightAll})
	}
	k := &kept{gate: g}
	k.state.Store(&keptState{book: g.Meta.Rights(), set: access.NewSet(set...)})
	return &Caller{gate: g, Rights: k}
}

// asked asks for the right to acquire a semaphore of the node.
func asked(c *Caller, name []byte) bool {
	return c.PermitsIn(protocol.KindAcquire, shard.NodeID(1), protocol.Text(name))
}

// TestAskingForARightAllocatesNothing: every request does.
func TestAskingForARightAllocatesNothing(t *testing.T) {
	g, name := benchGate(t), []byte("lock/1")
	for _, rules := range []int{-1, 0, 64, 4096} {
		c := ruled(g, rules)
		if n := testing.AllocsPerRun(1000, func() {
			if !asked(c, name) {
				t.Fatal("it is refused")
			}
		}); n != 0 {
			t.Errorf("%d rules: %v allocations", rules, n)
		}
		if rules >= 0 && asked(c, []byte("other")) {
			t.Errorf("%d rules: another object is allowed", rules)
		}
	}
}

// BenchmarkRightToAcquire: what a request costs for the question whether its client may make it.
func BenchmarkRightToAcquire(b *testing.B) {
	for _, rules := range []int{-1, 0, 64, 4096} {
		b.Run(fmt.Sprintf("rules=%d", rules+1), func(b *testing.B) {
			c, name := ruled(benchGate(b), rules), []byte("lock/1")
			b.ReportAllocs()
			for b.Loop() {
				if !asked(c, name) {
					b.Fatal("it is refused")
				}
			}
		})
	}
}
