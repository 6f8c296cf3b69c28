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

// knowing is an up-to-date meta shard replica with an empty access book.
type knowing struct{ *meta.Machine }

func (knowing) SureFor(time.Time) time.Duration { return 0 }
func (knowing) CaughtUp() bool                  { return true }
func (knowing) Confirm(done func(bool))         { done(true) }

// benchGate is a gate on a host with the node /bench.
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

// ruled is a client with the given number of rules, one about the node /bench; a negative number means full rights.
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

// asked checks the right to acquire a semaphore in the node.
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

// BenchmarkRightToAcquire measures a request's permission check.
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
