package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Load is the measured work of a host. The zero Load belongs to a host without measurements.
type Load struct {
	Span     time.Duration // how long the measurement took
	Requests uint64        // requests that were answered in the span
	Failed   uint64        // answers with another status than SUCCESS
	// P50 and P99 are how long an answer took: the median, and the time of all but one in a hundred answers.
	P50 time.Duration
	P99 time.Duration
	// CommitP99 is how long a batch took to take effect, for all but one in a hundred.
	CommitP99 time.Duration
	// DiskFree and DiskTotal are bytes of the file system of the host's data; both are 0 if not known.
	DiskFree  uint64
	DiskTotal uint64
}

// ReportLoad reports the latest work of the host. A client's question about the load is answered with the latest
// report. Any goroutine may call ReportLoad at any time.
func (h *Host) ReportLoad(l Load) { h.load.Store(&l) }

// HostLoad is the answer with the latest work of the host.
func (h *Host) HostLoad() *protocol.HostLoadAnswer {
	l := h.load.Load()
	if l == nil {
		return &protocol.HostLoadAnswer{}
	}
	return &protocol.HostLoadAnswer{
		SpanMillis: uint64(max(l.Span.Milliseconds(), 0)), Requests: l.Requests, Failed: l.Failed,
		P50Micros: micros(l.P50), P99Micros: micros(l.P99), CommitP99Micros: micros(l.CommitP99),
		DiskFreeBytes: l.DiskFree, DiskTotalBytes: l.DiskTotal,
	}
}

func micros(d time.Duration) uint64 { return uint64(max(d.Microseconds(), 0)) }
