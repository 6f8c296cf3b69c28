package machine

import (
	"github.com/signalbox/signalbox/shard"
)

// TestKinds are the build's kinds and those of these tests. Kind packages import the machine, so the external half of
// the tests, which may import them, passes them to this half.
var TestKinds *Kinds

// SemaphoreReads are reads in package semaphore.
var SemaphoreReads struct {
	List func(m *Machine, n shard.NodeID, prefix, after string, limit int, dst []shard.SemaphoreView) (
		_ []shard.SemaphoreView, last string, more bool)
	Queues func(m *Machine) (list []any)
}

// SetTestKinds sets the build's kinds for these tests.
func SetTestKinds(rows ...KindRow) {
	for i := range rows {
		if rows[i].Number == shard.KindSemaphore {
			rows[i].Commands = append(rows[i].Commands, exchangeRow)
		}
	}
	TestKinds = NewKinds(append(rows, clubRow, bellRow)...)
}
