package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/adminclient"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Sample is what hosts did between two readings of their pages.
type Sample struct {
	At             time.Time `name:"time"`
	Seconds        float64
	Requests       []requestSample
	Waits          timesSample
	Queued         float64 `name:"waiting"`
	Hosts          []hostSample
	Semaphores     []semaphoreSample
	StillRollouts  []stillRollout `name:"stalled_rollouts"`
	StillProcesses []stillProcess `name:"stalled_processes"`

	counted bool // some node has its semaphores counted
	more    int  // semaphores that are not in the list
}

// timesSample is how often something happened, and how long it took.
type timesSample struct {
	PerSecond float64
	MeanMS    float64
	HalfMS    float64 `name:"p50_ms"`
	MostMS    float64 `name:"p99_ms"`
}

// requestSample is one request kind.
type requestSample struct {
	Kind   string
	Failed float64 `name:"failed_per_second"`
	timesSample
}

// hostSample is a host's load.
type hostSample struct {
	Name        string
	Address     string `name:"admin_address"`
	Error       string
	Ready       bool
	Leads       int
	Requests    float64 `name:"requests_per_second"`
	Connections float64
	Sessions    float64 `name:"sessions_attached"`
	Watches     float64
	SlowWatches float64 `name:"slow_watchers"`
	Commit      timesSample
}

// semaphoreSample is a semaphore's use.
type semaphoreSample struct {
	Node    string
	Name    string
	Taken   float64 `name:"count"`
	Waiters float64
}

// newSample compares two readings. A host with only one reading is included as far as possible.
func newSample(before, now []adminclient.Reading, rows int) Sample {
	l := Sample{
		At: time.Now().UTC(), StillRollouts: stillRollouts(now, rows), StillProcesses: stillProcesses(now, rows),
	}
	kinds := make(map[string]requestSum)
	var waits adminclient.Times
	for i := range now {
		h := &now[i]
		was := earlier(before, h)
		seconds := h.At.Sub(was.At).Seconds()
		if h.Err != nil || was.At.IsZero() || seconds <= 0 {
			seconds = 0
		}
		l.Hosts = append(l.Hosts, newHostSample(h, was, seconds))
		if seconds == 0 {
			continue
		}
		l.Seconds = max(l.Seconds, seconds)
		const series = "signalbox_acquire_wait_seconds"
		waits = waits.Plus(h.Metrics.Times(series).Since(was.Metrics.Times(series)))
		sumRequests(kinds, h, was)
	}
	for i := range now {
		l.addSemaphores(&now[i])
	}
	l.Waits = newTimesSample(waits, l.Seconds)
	for kind, s := range kinds {
		if s.count > 0 {
			r := requestSample{kind, rate(s.failed, l.Seconds), newTimesSample(s.times, l.Seconds)}
			r.PerSecond = rate(s.count, l.Seconds)
			l.Requests = append(l.Requests, r)
		}
	}
	slices.SortFunc(l.Requests, func(a, b requestSample) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), strings.Compare(a.Kind, b.Kind))
	})
	l.Requests = l.Requests[:min(rows, len(l.Requests))]
	slices.SortFunc(l.Semaphores, func(a, b semaphoreSample) int {
		return cmp.Or(cmp.Compare(b.Waiters, a.Waiters), cmp.Compare(b.Taken, a.Taken), strings.Compare(a.Node, b.Node),
			strings.Compare(a.Name, b.Name))
	})
	l.more = max(0, len(l.Semaphores)-rows)
	l.Semaphores = l.Semaphores[:min(rows, len(l.Semaphores))]
	return l
}

// earlier finds a host's earlier reading, or returns an empty reading.
func earlier(before []adminclient.Reading, h *adminclient.Reading) *adminclient.Reading {
	is := &h.Status.Host
	return cmp.Or(cli.Find(before, func(b *adminclient.Reading) bool {
		// A restarted host counts from its start.
		return b.Err == nil && b.Status.Host.ID == is.ID && b.Status.Host.Started.Equal(is.Started)
	}), &adminclient.Reading{})
}

// requestSum is one request kind over all hosts.
type requestSum struct {
	count, failed float64
	times         adminclient.Times
}

func sumRequests(kinds map[string]requestSum, h, was *adminclient.Reading) {
	for _, s := range h.Metrics["signalbox_requests_total"] {
		kind := s.Labels["kind"]
		x, label := kinds[kind], []string{"kind", kind}
		x.count += s.Value - was.Metrics.Sum("signalbox_requests_total", label...)
		x.failed += h.Metrics.Sum("signalbox_requests_failed_total",
			label...) - was.Metrics.Sum("signalbox_requests_failed_total", label...)
		x.times = x.times.Plus(h.Metrics.Times("signalbox_request_duration_seconds",
			label...).Since(was.Metrics.Times("signalbox_request_duration_seconds", label...)))
		kinds[kind] = x
	}
}

func newHostSample(h, was *adminclient.Reading, seconds float64) hostSample {
	o := hostSample{Name: h.Name(), Address: h.Address}
	if h.Err != nil {
		o.Error = h.Err.Error()
		return o
	}
	m := h.Metrics
	o.Ready = h.Status.Ready
	for i := range h.Status.Shards {
		if h.Status.Shards[i].Leads {
			o.Leads++
		}
	}
	o.Requests = rate(m.Sum("signalbox_requests_total")-was.Metrics.Sum("signalbox_requests_total"), seconds)
	o.Connections = m.Sum("signalbox_connections")
	o.Sessions = m.Sum("signalbox_shard_sessions_attached")
	o.Watches = m.Sum("signalbox_shard_watches")
	o.SlowWatches = m.Sum("signalbox_shard_slow_watchers")
	const commit = "signalbox_commit_duration_seconds"
	o.Commit = newTimesSample(m.Times(commit).Since(was.Metrics.Times(commit)), seconds)
	return o
}

func (s *Sample) addSemaphores(h *adminclient.Reading) {
	for _, one := range h.Metrics["signalbox_semaphore_owned_units"] {
		s.counted = true
		node, name := one.Labels["node"], one.Labels["semaphore"]
		s.Semaphores = append(s.Semaphores, semaphoreSample{
			node, name, one.Value, h.Metrics.Sum("signalbox_semaphore_waiters", "node", node, "semaphore", name),
		})
	}
	s.Queued += leaderSum(h)
}

// leaderSum returns the number of waiters in the shards a host leads; followers count the same waiters too.
func leaderSum(h *adminclient.Reading) (sum float64) {
	for i := range h.Status.Shards {
		if s := &h.Status.Shards[i]; s.Leads && s.ShardContent != nil {
			sum += float64(s.Waiters)
		}
	}
	return sum
}

func rate(n, seconds float64) float64 {
	if seconds == 0 {
		return 0
	}
	return max(n, 0) / seconds
}

func newTimesSample(t adminclient.Times, seconds float64) timesSample {
	return timesSample{rate(t.Count, seconds), 1000 * t.Mean(), 1000 * t.Below(0.5), 1000 * t.Below(0.99)}
}

// text formats the sample as a page.
func (s *Sample) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "signalbox top   %s   the last %.1fs   waiting in queues: %.0f\n",
		s.At.Format(time.TimeOnly+" UTC"), s.Seconds, s.Queued)
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	line := func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, c)
		}
		fmt.Fprint(w, "\n")
	}
	line()
	line("REQUESTS", "/S", "FAILED/S", "MEAN", "50%", "99%")
	for i := range s.Requests {
		r := &s.Requests[i]
		line(cli.Safe(r.Kind), perSecond(r.PerSecond), perSecond(r.Failed), millisText(r.MeanMS), millisText(r.HalfMS),
			millisText(r.MostMS))
	}
	line("waits", perSecond(s.Waits.PerSecond), "", millisText(s.Waits.MeanMS), millisText(s.Waits.HalfMS),
		millisText(s.Waits.MostMS))
	w.Flush()
	line()
	line("HOST", "READY", "LEADS", "REQUESTS/S", "CONNECTIONS", "SESSIONS", "WATCHES", "SLOW", "COMMITS/S", "99%")
	for i := range s.Hosts {
		h := &s.Hosts[i]
		if h.Error != "" {
			line(cli.Safe(h.Name), "no answer")
			continue
		}
		line(cli.Safe(h.Name), cli.Cell(h.Ready), h.Leads, perSecond(h.Requests), h.Connections, h.Sessions,
			h.Watches, h.SlowWatches, perSecond(h.Commit.PerSecond), millisText(h.Commit.MostMS))
	}
	w.Flush()
	s.writeSemaphores(line)
	w.Flush()
	s.writeStill(line)
	w.Flush()
	return b.String()
}

func (s *Sample) writeSemaphores(line func(cells ...any)) {
	if !s.counted {
		return
	}
	line()
	line("SEMAPHORE", "NODE", "TAKEN", "WAITERS")
	for i := range s.Semaphores {
		one := &s.Semaphores[i]
		line(cli.Safe(one.Name), cli.Safe(one.Node), amount(one.Taken), one.Waiters)
	}
	if s.more > 0 {
		line(fmt.Sprintf("and %d more", s.more))
	}
}

// amount formats a semaphore's acquired amount. An ephemeral semaphore's full amount is too large for the pages to
// show exactly.
func amount(n float64) string {
	if n >= 1<<63 {
		return cli.Amount(^uint64(0)).String()
	}
	return fmt.Sprintf("%.0f", n)
}

func perSecond(n float64) string {
	if n == 0 || n >= 100 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

// millisText formats milliseconds, and returns an empty text for zero.
func millisText(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return duration(ms / 1000).String()
}
