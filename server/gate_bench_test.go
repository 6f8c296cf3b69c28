package server

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rights"
)

// ruled is a connection with the rights of a token that has one rule about the node /bench, and so many others. Its
// host does not know it, so that nothing reviews it meanwhile.
func ruled(h *Host, others int) *conn {
	rules := []rights.Rule{{Path: "/bench", Object: "lock/", Rights: protocol.RightSee | protocol.RightSession}}
	for i := range others {
		rules = append(rules, rights.Rule{Path: fmt.Sprintf("/other/%d", i), Rights: protocol.RightAll})
	}
	k := &kept{host: h}
	k.state.Store(&keptState{book: h.meta.Rights(), set: rights.NewSet(rules...)})
	return &conn{host: h, rights: k}
}

// asked asks for the right to acquire a semaphore of the node.
func asked(c *conn, name []byte) bool {
	return c.permitsIn(protocol.KindAcquire, shard.NodeID(1), protocol.Text(name))
}

// TestAskingForARightAllocatesNothing: every request does.
func TestAskingForARightAllocatesNothing(t *testing.T) {
	h := openAlone(t)
	t.Cleanup(h.Close)
	s := newSink()
	c := h.Opened(s).(*conn)
	send(c, s, &protocol.Hello{VersionMin: 1, VersionMax: 1})
	send(c, s, &protocol.NodeCreate{Path: []byte("/bench")})
	name := []byte("lock/1")
	for _, rules := range []int{-1, 0, 64, 4096} {
		if rules >= 0 {
			c = ruled(h, rules)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if !asked(c, name) {
				t.Fatal("it is refused")
			}
		}); n != 0 {
			t.Errorf("%d rules: %v allocations", rules, n)
		}
	}
	if asked(c, []byte("other")) {
		t.Error("another object is allowed")
	}
}

// BenchmarkRightToAcquire: what a request costs for the question whether its client may make it.
func BenchmarkRightToAcquire(b *testing.B) {
	for _, rules := range []int{-1, 0, 64, 4096} {
		b.Run(fmt.Sprintf("rules=%d", rules+1), func(b *testing.B) {
			h, c, _ := benchHost(b)
			if rules >= 0 {
				c = ruled(h, rules)
			}
			name := []byte("lock/1")
			b.ReportAllocs()
			for b.Loop() {
				if !asked(c, name) {
					b.Fatal("it is refused")
				}
			}
		})
	}
}
