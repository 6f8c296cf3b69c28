package ydb

import (
	"fmt"
	"io"
	"sync/atomic"
)

// counts are what a gateway counts.
type counts struct {
	streams  atomic.Int64 // that have a session
	refused  atomic.Int64 // that were refused one
	withheld atomic.Int64 // that were closed because their lease was too short to send over them
}

// WriteMetrics writes what the gateway counts, in the text form of Prometheus.
func (g *Gateway) WriteMetrics(w io.Writer) error {
	_, err := fmt.Fprintf(w, `# TYPE signalbox_ydb_sessions gauge
signalbox_ydb_sessions %d
# TYPE signalbox_ydb_sessions_refused_total counter
signalbox_ydb_sessions_refused_total %d
# TYPE signalbox_ydb_streams_withheld_total counter
signalbox_ydb_streams_withheld_total %d
`, g.counts.streams.Load(), g.counts.refused.Load(), g.counts.withheld.Load())
	return err
}

// Ready reports whether the gateway takes sessions.
func (g *Gateway) Ready() bool { return !g.draining.Load() }
