package server

import (
	"fmt"
	"io"

	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

const (
	// maxObjectSeries bounds how many series of single objects are written, of each kind: of semaphores with their
	// owners, and of objects that stand still.
	maxObjectSeries = 1000
	// maxObjectChecks bounds how many objects of each kind are looked at for a page.
	maxObjectChecks = 20_000
)

// objectWriter is the common part of the writers of metrics for single objects.
type objectWriter struct {
	host   *Host
	to     io.Writer
	series int // how many more series there may be
	checks int // how many more objects may be looked at
}

func newObjectWriter(h *Host, to io.Writer) objectWriter {
	return objectWriter{host: h, to: to, series: maxObjectSeries, checks: maxObjectChecks}
}

// node returns the label of a node; false if the node was dropped, and is being cleared.
func (ow *objectWriter) node(id shard.NodeID) (string, bool) {
	n, ok := ow.host.meta.Machine.NodeByID(id)
	return label(n.Path), ok
}

// add writes for how long a part of an object has stood still. If several parts share a series, the first is written.
func (ow *objectWriter) add(seen map[string]bool, series string, millis uint64) {
	if seen[series] || ow.series <= 0 {
		return
	}
	seen[series] = true
	ow.series--
	fmt.Fprintf(ow.to, "%s %g\n", series, float64(millis)/1000)
}

// walkObjects looks at the objects of a kind in a shard, page by page, as long as there are checks left. count gets
// each object, and returns whether the object may have stalled; write gets those that may have, without a lock.
func walkObjects[S any](ow *objectWriter, r *replica.Replica,
	walk func(*machine.Machine, shard.Cursor, uint64, func(*S)) (shard.Cursor, bool),
	count func(*S) bool, write func(*S),
) {
	at, over := shard.Cursor(0), false
	for !over && ow.checks > 0 {
		var still []S
		at, over = walk(r.Machine, at, r.EstimatedTime(), func(v *S) {
			ow.checks--
			if count(v) {
				still = append(still, *v)
			}
		})
		for i := range still {
			write(&still[i])
		}
	}
}
