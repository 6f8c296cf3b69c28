package serve

import (
	"bytes"
	"context"
	"math"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/adminclient"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/host"
)

// loadEvery is the interval between measurements.
const loadEvery = 5 * time.Second

// loadMeter measures a host periodically, for callers that ask for the host's load, and for the console's plots.
type loadMeter struct {
	host   *host.Host
	api    *httpAPI // nil for a host without an API
	before adminclient.Metrics
	at     time.Time

	stop    context.CancelFunc
	working sync.WaitGroup
}

// startLoadMeter measures a host until Close.
func startLoadMeter(h *host.Host, api *httpAPI) *loadMeter {
	ctx, stop := context.WithCancel(context.Background())
	lm := &loadMeter{host: h, api: api, stop: stop}
	lm.working.Go(func() { lm.run(ctx) })
	return lm
}

// Close stops measuring.
func (lm *loadMeter) Close() {
	lm.stop()
	lm.working.Wait()
}

func (lm *loadMeter) run(ctx context.Context) {
	ticker := time.NewTicker(loadEvery)
	defer ticker.Stop()
	for {
		load := lm.measure()
		lm.host.ReportLoad(load)
		lm.api.addLoad(client.HostLoad(load))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// measure compares the host's metrics with those from the previous call.
func (lm *loadMeter) measure() server.Load {
	var text bytes.Buffer
	lm.host.WriteMetrics(&text)
	now, at := adminclient.Metrics{}, time.Now()
	if read, err := adminclient.Parse(&text); err == nil {
		now = read
	}
	load := loadBetween(lm.before, now, at.Sub(lm.at))
	lm.before, lm.at = now, at
	return load
}

// loadBetween returns a host's load between two metrics readings. Before the first reading, the load is unknown.
func loadBetween(before, now adminclient.Metrics, span time.Duration) server.Load {
	load := server.Load{
		DiskFree:  uint64(now.Sum("signalbox_disk_free_bytes")),
		DiskTotal: uint64(now.Sum("signalbox_disk_total_bytes")),
	}
	if before == nil || span <= 0 {
		return load
	}
	grown := func(name string) uint64 { return uint64(math.Round(max(0, now.Sum(name)-before.Sum(name)))) }
	below := func(name string, part float64) time.Duration {
		return time.Duration(now.Times(name).Since(before.Times(name)).Below(part) * float64(time.Second))
	}
	load.Span = span
	load.Requests, load.Failed = grown("signalbox_requests_total"), grown("signalbox_requests_failed_total")
	load.P50, load.P99 = below("signalbox_request_duration_seconds", 0.5), below("signalbox_request_duration_seconds",
		0.99)
	load.CommitP99 = below("signalbox_commit_duration_seconds", 0.99)
	return load
}
