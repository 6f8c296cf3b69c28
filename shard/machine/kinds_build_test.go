package machine_test

import (
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
	"github.com/signalbox/signalbox/shard/semaphore"
)

func init() {
	machine.SetTestKinds(semaphore.Kind(), rollout.Kind(), process.Kind())
	reads := &machine.SemaphoreReads
	reads.List = semaphore.List
	reads.Queues = func(m *machine.Machine) (list []any) {
		semaphore.WalkQueues(m, 0, func(q semaphore.Queue) { list = append(list, q) })
		return list
	}
}
