package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Load is a host's measured load. The zero Load means no measurement.
type Load struct {
	Span     time.Duration // duration of the measurement
	Requests uint64        // requests answered in the span
	Failed   uint64        // answers with a status other than SUCCESS
	// P50 and P99 are the median and the 99th percentile of answer times.
	P50 time.Duration
	P99 time.Duration
	// CommitP99 is the 99th percentile of batch commit times.
	CommitP99 time.Duration
	// DiskFree and DiskTotal are bytes in the file system with the host's data; both are 0 if unknown.
	DiskFree  uint64
	DiskTotal uint64
}

// ReportLoad records the host's recent load, and answers client questions about the load with the latest report. Safe
// for concurrent use.
func (h *Host) ReportLoad(l Load) { h.load.Store(&l) }

// HostLoad returns the answer with the host's recent load.
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
