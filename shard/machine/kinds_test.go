package machine

import (
	"github.com/signalbox/signalbox/shard"
)

// TestKinds are the build's kinds and the kinds in these tests. Kind packages import the machine, so the external test
// package, which may import kind packages, passes the kinds to this package.
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
