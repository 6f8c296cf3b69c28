package memguard

import (
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Available returns the number of bytes the process may use: the smaller of its cgroup limit (version 1 or 2) and the
// machine's memory. 0 means unknown.
func Available() uint64 { return smallest(memlimit.FromCgroup, memlimit.FromSystem) }

// smallest returns the smallest known limit, 0 if none is known.
func smallest(providers ...memlimit.Provider) (least uint64) {
	for _, provider := range providers {
		if limit, err := provider(); err == nil && (least == 0 || limit < least) {
			least = limit
		}
	}
	return least
}

// series lists the Go runtime metrics read by a measurement.
var series = [...]string{
	"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/total:bytes",
}

// measureRuntime measures the process's memory use. Unused heap memory is not counted, because the heap holds it for
// later allocations.
func measureRuntime() Usage {
	var samples [len(series)]metrics.Sample
	for i, name := range series {
		samples[i].Name = name
	}
	metrics.Read(samples[:])
	of := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	live, objects, total := of(0), of(1), of(5)
	beside := total - min(total, objects+of(2)+of(3)+of(4))
	return Usage{Live: live + beside, InUse: max(live, objects) + beside}
}
