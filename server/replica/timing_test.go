package replica

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestANodeThatASnapshotLacksIsForgotten: a node was dropped while this host was away, and is missing in the meta shard
// snapshot sent to it.
func TestANodeThatASnapshotLacksIsForgotten(t *testing.T) {
	timing := newTiming()
	timing.changed(meta.Node{ID: 7, Path: "/gone", Timing: meta.Timing{
		GraceFloorMillis: 900, GraceCeilingMillis: 600, SelfCheckCeilingMillis: 100, Since: 3,
	}})
	if window, _ := timing.window(); window != 600*time.Millisecond ||
		!slices.Equal(timing.changing(), []shard.NodeID{7}) {
		t.Fatalf("the window is %v, %v are changing", window, timing.changing())
	}
	empty := meta.New()
	timing.reload(empty)
	if ids := timing.known(); len(ids) != 0 || len(timing.changing()) != 0 {
		t.Errorf("it goes by %v, %v are changing", ids, timing.changing())
	}
	timing.narrow(empty)
	if window, period := timing.window(); window != defaultBounds.ceiling || period != defaultBounds.selfCheck {
		t.Errorf("the window is still %v, the period %v", window, period)
	}
}
