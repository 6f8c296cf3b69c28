package server

import (
	"fmt"
	"io"

	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

const (
	// maxObjectSeries limits the series about single objects, per kind: semaphores with their owners, and stalled
	// objects.
	maxObjectSeries = 1000
	// maxObjectChecks limits the objects examined for a page, per kind.
	maxObjectChecks = 20_000
)

// objectWriter is the common part of the metrics writers for single objects.
type objectWriter struct {
	host   *Host
	to     io.Writer
	series int // remaining series
	checks int // remaining objects to examine
}

func newObjectWriter(h *Host, to io.Writer) objectWriter {
	return objectWriter{host: h, to: to, series: maxObjectSeries, checks: maxObjectChecks}
}

// node returns a node's label. ok is false if the node was dropped and is being cleared.
func (ow *objectWriter) node(id shard.NodeID) (string, bool) {
	n, ok := ow.host.meta.Machine.NodeByID(id)
	return label(n.Path), ok
}

// add writes how long a part of an object has been stalled. If several parts share a series, only the first is
// written.
func (ow *objectWriter) add(seen map[string]bool, series string, millis uint64) {
	if seen[series] || ow.series <= 0 {
		return
	}
	seen[series] = true
	ow.series--
	fmt.Fprintf(ow.to, "%s %g\n", series, float64(millis)/1000)
}

// walkObjects examines a shard's objects with one kind, page by page, as long as checks are left. count gets every
// object, and returns whether the object may have stalled; write gets those that may have, without a lock.
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
