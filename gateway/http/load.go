package http

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/gateway/operation"
)

const (
	// loadEvery is the time between two kept loads, and loadKept the maximum number of kept loads: an hour.
	loadEvery = 10 * time.Second
	loadKept  = 360
	// wholeEvery is the age at which the gateway itself refreshes the load of all hosts. loadGap is the maximum gap
	// between two loads; after a longer gap the list restarts.
	wholeEvery = 15 * time.Second
	loadGap    = time.Minute
)

// Load is a host's load between two measurements.
type Load struct {
	At time.Time `name:"time"`
	// PerSecond is the host's response rate, and Failed the rate of responses with a status other than SUCCESS.
	PerSecond float64 `name:"requests_per_second"`
	Failed    float64 `name:"failed_per_second"`
	// P50 and P99 are response time percentiles.
	P50 float64 `name:"p50_ms"`
	P99 float64 `name:"p99_ms"`
	// CommitP99 is the 99th percentile of the time until a batch took effect.
	CommitP99 float64 `name:"commit_p99_ms"`
	// DiskFree and DiskTotal are bytes in the data directory's file system.
	DiskFree  uint64 `name:"disk_free_bytes"`
	DiskTotal uint64 `name:"disk_total_bytes"`
}

// newLoad returns a load in the form for JSON.
func newLoad(l *client.HostLoad) Load {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	load := Load{P50: millis(l.P50), P99: millis(l.P99), CommitP99: millis(l.CommitP99), DiskFree: l.DiskFree,
		DiskTotal: l.DiskTotal}
	load.PerSecond, load.Failed = l.PerSecond()
	return load
}

// AddLoad adds the load of the host that runs with the gateway. The program calls AddLoad every five seconds, and never
// for a standalone gateway.
func (g *Gateway) AddLoad(l client.HostLoad) {
	load := newLoad(&l)
	load.At = time.Now()
	g.loads.add(load)
	select {
	case g.measured <- struct{}{}:
	default: // the load before is still being processed
	}
}

// keepWhole keeps all hosts' loads even without a viewer, so that plots show the past. If hosts only admit callers with
// tokens, the loop ends at the first rejection: a gateway has no token, and viewers add the hosts' responses.
func (g *Gateway) keepWhole() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-g.measured:
		}
		if !g.whole.due(time.Now()) {
			continue
		}
		if code := problemCode(g.askWhole()); code == http.StatusUnauthorized || code == http.StatusForbidden {
			return
		}
	}
}

func (g *Gateway) askWhole() error {
	ctx, cancel := context.WithTimeout(g.ctx, wholeEvery)
	defer cancel()
	own, err := g.callers.acquire(ctx, "", netip.Addr{})
	if err != nil {
		return err
	}
	defer g.callers.release(own)
	_, err = g.addWhole(ctx, own)
	return err
}

// loads has a host's latest measurements.
type loads struct {
	mu   sync.Mutex
	kept []Load
}

// add appends a load. A load that is younger than the newest one by less than loadEvery is merged into the newest load.
func (l *loads) add(one Load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.kept) - 1; last >= 0 && one.At.Sub(l.kept[last].At) < loadEvery {
		l.kept[last].merge(&one)
		return
	}
	l.kept = addLoad(l.kept, one)
}

// merge adds a later measurement: rates are averaged, latency percentiles are the highest, and the disk is the later.
func (l *Load) merge(later *Load) {
	l.PerSecond, l.Failed = (l.PerSecond+later.PerSecond)/2, (l.Failed+later.Failed)/2
	l.P50, l.P99, l.CommitP99 = max(l.P50, later.P50), max(l.P99, later.P99), max(l.CommitP99, later.CommitP99)
	l.DiskFree, l.DiskTotal = later.DiskFree, later.DiskTotal
}

func (l *loads) all() []Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Load{}, l.kept...)
}

// addLoad appends a load, and drops the oldest load from a full list.
func addLoad[L any](kept []L, one L) []L {
	if len(kept) >= loadKept {
		kept = append(kept[:0], kept[1:]...)
	}
	return append(kept, one)
}

// ClusterLoad is the load of all hosts: requests are summed, times are from the slowest host, and the disk is from the
// host with the least relative free space.
type ClusterLoad struct {
	Load
	Hosts int `about:"Number of hosts that reported their load"`
}

// newClusterLoad adds up the loads reported by hosts; Hosts is 0 without a report.
func newClusterLoad(hosts []client.HostStatus) (w ClusterLoad) {
	for i := range hosts {
		if hosts[i].Load == nil {
			continue
		}
		one := newLoad(hosts[i].Load)
		w.PerSecond += one.PerSecond
		w.Failed += one.Failed
		w.P50, w.P99, w.CommitP99 = max(w.P50, one.P50), max(w.P99, one.P99), max(w.CommitP99, one.CommitP99)
		if w.DiskTotal == 0 || one.DiskTotal > 0 && one.freeShare() < w.freeShare() {
			w.DiskFree, w.DiskTotal = one.DiskFree, one.DiskTotal
		}
		w.Hosts++
	}
	return w
}

func (l *Load) freeShare() float64 { return float64(l.DiskFree) / float64(l.DiskTotal) }

// wholeLoads has all hosts' latest loads.
type wholeLoads struct {
	mu   sync.Mutex
	kept []ClusterLoad
}

// add keeps a load unless the load before is too young, and returns the kept loads.
func (l *wholeLoads) add(one ClusterLoad) []ClusterLoad {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := loadGap + 1
	if len(l.kept) > 0 {
		since = one.At.Sub(l.kept[len(l.kept)-1].At)
	}
	if since > loadGap {
		l.kept = nil
	}
	if since >= loadEvery && one.Hosts > 0 {
		l.kept = addLoad(l.kept, one)
	}
	return slices.Clone(l.kept)
}

// due reports whether the newest load is old enough for the gateway to ask again.
func (l *wholeLoads) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.kept) == 0 || now.Sub(l.kept[len(l.kept)-1].At) >= wholeEvery
}

// loadRoutes are the routes for host load.
func loadRoutes() []route {
	return []route{
		answering(get, "/host/load", "Hosts", "read",
			"Returns a host's load in the last hour, every ten seconds; another host's load as often as "+
				"/v1/cluster/load",
			hostLoads),
		answering(get, "/cluster/leaders", "Hosts", "read",
			"Lists the latest leader changes that the responding host noticed, oldest first", leaderChanges),
		answering(get, "/cluster/load", "Hosts", "read",
			"Returns the load on all hosts in the last hour: every ten seconds while a client asks, "+
				"otherwise every fifteen if hosts admit anonymous callers",
			func(ctx context.Context, c *call, _ *operation.None) (l operation.List[ClusterLoad], err error) {
				l.Items, err = c.gateway.addWhole(ctx, c.caller)
				return l, err
			}),
		answering(get, "/cluster/traffic", "Hosts", "read",
			"Returns the request rate over the last minute by client and by node, on all hosts together",
			func(ctx context.Context, c *call, _ *operation.None) (*admin.Traffic, error) {
				return admin.New(c.caller.Client).Traffic(ctx)
			}),
	}
}

// addWhole asks all hosts for their loads, with a caller's rights, and returns the stored loads.
func (g *Gateway) addWhole(ctx context.Context, by *caller) ([]ClusterLoad, error) {
	hosts, err := by.Status(ctx)
	if err != nil {
		return nil, err
	}
	silent := func(h client.HostStatus) bool { return h.Err != nil }
	if i := slices.IndexFunc(hosts, silent); i >= 0 && !slices.ContainsFunc(hosts, func(h client.HostStatus) bool {
		return h.Err == nil
	}) {
		return nil, hosts[i].Err // a token that may see no host may not see the sum either
	}
	load := newClusterLoad(hosts)
	load.At = time.Now()
	g.history.add(hosts, load.At)
	return g.whole.add(load), nil
}
