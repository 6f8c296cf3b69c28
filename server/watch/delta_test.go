package watch

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/shard"
)

func TestOneChangeAmongManyOwnersIsSmall(t *testing.T) {
	const owners = 20_000
	play(t, owners, func(t *testing.T, b *bed, c *client) {
		b.create("sem", shard.Forever, "")
		endpoint := strings.Repeat("e", 40)
		b.own(owners-1, "sem", endpoint)
		v := c.watch("sem", all)
		rest()
		for i := range 500 {
			b.addAs(i, shard.Command{Kind: shard.CmdRelease, Name: []byte("sem")})
		}
		b.commit()
		rest()
		before := c.look(v).bytes
		b.acquire(owners-1, "sem", endpoint)
		rest()
		b.release(700, "sem")
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.deltas != 3 || got.bytes-before > 120 {
			t.Errorf("%d deltas, the last two in %d bytes", got.deltas, got.bytes-before)
		}
	})
}

func TestChangesThatAreLongerThanTheWholeAreSentAsASnapshot(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 1, "")
		v := c.watch("sem", all)
		rest()
		for range 400 {
			b.acquire(0, "sem", "")
			b.release(0, "sem")
		}
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.bytes > 600 || got.resyncs > 0 { // deltas of all 800 changes would be thousands
			t.Errorf("%d bytes, %d snapshots, %d deltas, %d resyncs", got.bytes, got.snapshots, got.deltas, got.resyncs)
		}
	})
}

func TestChangesThatDoNotFitIntoAFrameAreSentAsASnapshot(t *testing.T) {
	const owners, data = 40, 1 << 10
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{PageBytes: 8 * data})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", strings.Repeat("a", data))
		c := newClient(t, b.hub)
		v := c.watch("sem", all)
		rest()
		for i := range owners / 2 {
			b.addAs(i, acquire("sem", strings.Repeat("b", data)))
		}
		b.commit()
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.snapshots != 2 || got.deltas != 0 || got.resyncs != 0 {
			t.Errorf("%d snapshots, %d deltas, %d resyncs", got.snapshots, got.deltas, got.resyncs)
		}
	})
}

// TestAnotherLimitIsSentInASmallDelta: every watch shows the limit, whatever its other wants.
func TestAnotherLimitIsSentInASmallDelta(t *testing.T) {
	const owners = 500
	play(t, owners, func(t *testing.T, b *bed, c *client) {
		b.create("sem", owners-1, strings.Repeat("d", 1000))
		b.own(owners, "sem", "")
		var views []*view
		for w := range wants(wantKinds) {
			views = append(views, c.watch("sem", w))
		}
		rest()
		begun := make([]int, len(views))
		for i, v := range views {
			begun[i] = c.look(v).bytes
		}
		b.resize("sem", 3)
		rest()
		b.resize("sem", owners) // grants the last waiter
		rest()
		for i, v := range views {
			c.expect(v, b.machine)
			if got := c.look(v); got.deltas != 2 || got.bytes-begun[i] > 100 {
				t.Errorf("wants %b: %d deltas in %d bytes", v.wants, got.deltas, got.bytes-begun[i])
			}
		}
	})
}
