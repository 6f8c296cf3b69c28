package main

import (
	"bytes"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
	gateway "github.com/signalbox/signalbox/gateway/http"
	"github.com/signalbox/signalbox/server/host"
)

// loadMeter says what a host does, for the plots of the console. One goroutine uses it.
type loadMeter struct {
	host   *host.Host
	before pages.Metrics
	at     time.Time
}

// measure compares the host's metrics with those of the call before.
func (lm *loadMeter) measure() gateway.Load {
	var text bytes.Buffer
	lm.host.WriteMetrics(&text)
	now, at := pages.Metrics{}, time.Now()
	if read, err := pages.Parse(&text); err == nil {
		now = read
	}
	load := loadBetween(lm.before, now, at.Sub(lm.at).Seconds())
	load.At = at
	lm.before, lm.at = now, at
	return load
}

// loadBetween is what a host did between two readings of its metrics. Before the first it did nothing.
func loadBetween(before, now pages.Metrics, seconds float64) gateway.Load {
	load := gateway.Load{
		DiskFree:  uint64(now.Sum("signalbox_disk_free_bytes")),
		DiskTotal: uint64(now.Sum("signalbox_disk_total_bytes")),
	}
	if before == nil || seconds <= 0 {
		return load
	}
	grown := func(name string) float64 { return max(0, now.Sum(name)-before.Sum(name)) / seconds }
	below := func(name string, part float64) float64 {
		return 1000 * now.Times(name).Since(before.Times(name)).Below(part)
	}
	load.PerSecond, load.Failed = grown("signalbox_requests_total"), grown("signalbox_requests_failed_total")
	load.P50, load.P99 = below("signalbox_request_seconds", 0.5), below("signalbox_request_seconds", 0.99)
	load.CommitP99 = below("signalbox_commit_seconds", 0.99)
	return load
}
