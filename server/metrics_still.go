package server

import (
	"fmt"
	"io"

	"github.com/signalbox/signalbox/shard"
)

const (
	// maxStillSeries bounds how many series of single objects that stand still are written, of each kind.
	maxStillSeries = 1000
	// maxStillChecks bounds how many objects of each kind are looked at for a page.
	maxStillChecks = 20_000
)

// stillWriter is the common part of the writers of metrics for objects that can stand still.
type stillWriter struct {
	host   *Host
	to     io.Writer
	series int // how many more series there may be
	checks int // how many more objects may be looked at
}

func newStillWriter(h *Host, to io.Writer) stillWriter {
	return stillWriter{host: h, to: to, series: maxStillSeries, checks: maxStillChecks}
}

// node returns the label of a node; false if the node was dropped, and is being cleared.
func (sw *stillWriter) node(id shard.NodeID) (string, bool) {
	n, ok := sw.host.meta.Machine.NodeByID(id)
	return label(n.Path), ok
}

// add writes for how long a part of an object has stood still. If several parts share a series, the first is written.
func (sw *stillWriter) add(seen map[string]bool, series string, millis uint64) {
	if seen[series] || sw.series <= 0 {
		return
	}
	seen[series] = true
	sw.series--
	fmt.Fprintf(sw.to, "%s %g\n", series, float64(millis)/1000)
}
