package machine

import (
	"github.com/signalbox/signalbox/shard"
)

// TestKinds are the kinds of the build and those of these tests. The packages of kinds import the machine, so the other
// half of the tests, which may import them, gives them to this half.
var TestKinds *Kinds

// SemaphoreReads are reads of package semaphore.
var SemaphoreReads struct {
	List func(m *Machine, n shard.NodeID, prefix, after string, limit int, dst []shard.SemaphoreView) (
		_ []shard.SemaphoreView, last string, more bool)
	Queues func(m *Machine) (list []any)
}

// SetTestKinds makes the kinds of the build known to these tests.
func SetTestKinds(rows ...KindRow) {
	for i := range rows {
		if rows[i].Number == shard.KindSemaphore {
			rows[i].Commands = append(rows[i].Commands, exchangeRow)
		}
	}
	TestKinds = NewKinds(append(rows, clubRow, bellRow)...)
}
