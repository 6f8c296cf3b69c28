package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
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
func (h *Host) ReportLoad(l Load) {
	h.conns.SampleTraffic(h.config.Clock())
	h.load.Store(&l)
}

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

// AddTraffic adds the requests of the last minute by client and by node, as far as a client may know them.
func (h *Host) AddTraffic(a *protocol.HostLoadAnswer, by *caller.Caller) {
	span, total, clients, nodes := h.conns.Traffic(h.config.Clock())
	t := &a.Traffic
	t.SpanMillis, t.Requests = uint64(max(span.Milliseconds(), 1)), total
	may := func(path string) bool { return by.Permits(protocol.KindNodeDescribe, path, "") }
	if may(handle.Everywhere) {
		for _, one := range clients[:min(len(clients), protocol.MaxTraffic)] {
			t.Clients.Append(protocol.ClientTraffic{Name: []byte(one.Key.Name), Principal: []byte(one.Key.Principal),
				Address: []byte(one.Key.Address), Requests: one.Requests})
		}
	}
	for _, one := range nodes {
		node, known := h.meta.Machine.NodeByID(one.Key)
		if t.Nodes.Len() < protocol.MaxTraffic && known && may(node.Path) {
			t.Nodes.Append(protocol.NodeTraffic{Path: []byte(node.Path), Requests: one.Requests})
		}
	}
}
