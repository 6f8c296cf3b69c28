package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Load is what a host did while it was measured. The zero Load is that of a host that does not know.
type Load struct {
	Span     time.Duration // how long it was measured
	Requests uint64        // that were answered in that time
	Failed   uint64        // of them, with another status than SUCCESS
	// P50 and P99 are how long an answer took: the median, and of all but one in a hundred.
	P50 time.Duration
	P99 time.Duration
	// CommitP99 is how long a batch took to take effect, of all but one in a hundred.
	CommitP99 time.Duration
	// DiskFree and DiskTotal are bytes of the file system of its data; both are 0 where that is not known.
	DiskFree  uint64
	DiskTotal uint64
}

// ReportLoad says what the host did lately. A client that asks for it is answered with the latest report.
// It may be called at any time, by any goroutine.
func (h *Host) ReportLoad(l Load) { h.load.Store(&l) }

func (c *conn) hostLoad(r *protocol.Request) {
	if !c.authorize(r, "", "") {
		return
	}
	var a protocol.HostLoadAnswer
	if l := c.host.load.Load(); l != nil {
		a = protocol.HostLoadAnswer{
			SpanMillis: uint64(max(l.Span.Milliseconds(), 0)), Requests: l.Requests, Failed: l.Failed,
			P50Micros: micros(l.P50), P99Micros: micros(l.P99), CommitP99Micros: micros(l.CommitP99),
			DiskFreeBytes: l.DiskFree, DiskTotalBytes: l.DiskTotal,
		}
	}
	c.Answer(r.ID, &a)
}

func micros(d time.Duration) uint64 { return uint64(max(d.Microseconds(), 0)) }
