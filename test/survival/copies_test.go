//go:build linux

package survival_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var joinTurns = flag.Int("joins", 0,
	"how many turns TestLocksBesideAJoin and TestLocksWithCopies measure; 0: they are skipped")

// Measured: joinCallers callers lock and unlock over one connection.
const (
	joinCallers = 64
	joinTime    = 5 * time.Second
	joinObjects = 200_000
	// joinLine is a slow line's bandwidth.
	joinLine = 1 << 20
)

// TestLocksBesideAJoin measures locks on three hosts at a quarter of their maximum rate: alone, while a fourth host
// joins, and afterwards; then again with a slow line to the joining host. Each turn has a new cluster.
func TestLocksBesideAJoin(t *testing.T) {
	if *joinTurns == 0 {
		t.Skip("make joins runs it")
	}
	for _, slow := range []bool{false, true} {
		p50, p99 := make(map[string][]float64), make(map[string][]float64)
		const alone, beside, after = "three hosts", "while a fourth joins", "with a fourth"
		for range *joinTurns {
			places, hosts := grown(t, 3, "a", "b", "c", "d")
			newNode(t, hosts, "/start", protocol.NodeConfig{})
			furnish(t, places[:3], joinObjects)
			most := locks(t, hosts, 0, joinTime/2)
			for _, when := range []string{alone, beside, after} {
				ready := make(chan *host, 1)
				if when == beside {
					if slow {
						places[3].throttled(t).Throttle(joinLine)
					}
					began := time.Now()
					d := places[3].serve(t)
					go func() {
						if d.AwaitReady(patience) == nil {
							t.Logf("it was ready after %v", time.Since(began).Round(time.Millisecond))
						}
						ready <- d
					}()
				}
				q := locks(t, hosts, most.PerSecond/4, joinTime).LatencyUS
				p50[when], p99[when] = append(p50[when], q.P50), append(p99[when], q.P99)
				if when == beside {
					hosts = append(hosts, <-ready)
				}
			}
			for _, h := range hosts {
				h.stop()
			}
		}
		for _, when := range []string{alone, beside, after} {
			t.Logf("slow line %t, medians of %d turns, %s: p50 %.2f ms, p99 %.2f ms, %.2f times that of three", slow,
				*joinTurns, when, median(p50[when])/1000, median(p99[when])/1000, median(p99[when])/median(p99[alone]))
		}
	}
}

// TestLocksWithCopies measures locks on clusters with several sizes, and their cost at the leader.
func TestLocksWithCopies(t *testing.T) {
	if *joinTurns == 0 {
		t.Skip("make joins runs it")
	}
	sizes := []int{1, 3, 5, 9}
	rate, p50, cost := make(map[int][]float64), make(map[int][]float64), make(map[int][]float64)
	for range *joinTurns {
		for _, n := range sizes {
			_, hosts := grown(t, n, "a", "b", "c", "d", "e", "f", "g", "h", "i")
			r := locks(t, hosts, 0, joinTime/2)
			rate[n], p50[n] = append(rate[n], r.PerSecond), append(p50[n], r.LatencyUS.P50)
			cost[n] = append(cost[n], 1e6**r.ServerCPUSeconds/float64(r.Operations))
			for _, h := range hosts {
				h.stop()
			}
		}
	}
	for _, n := range sizes {
		t.Logf("%d hosts, medians of %d turns: %.0f locks a second, p50 %.2f ms, %.1f us of the leader's time each",
			n, *joinTurns, median(rate[n]), median(p50[n])/1000, median(cost[n]))
	}
}

// grown starts a cluster's first hosts with one data shard, and waits until all intended voters vote.
func grown(t *testing.T, n int, names ...string) (places []*place, hosts []*host) {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "joins-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	found, err := process.Growing(program, dir, names, "--shards", "1")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		places = append(places, &place{p})
	}
	hosts = []*host{places[0].begin(t)}
	for _, p := range places[1:n] {
		hosts = append(hosts, p.serve(t))
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	votes := []int{0, 1, 1, 3, 3, 5}[min(n, 5)]
	if n > 2 {
		awaitVotes(hosts, 2*(votes-1))
	}
	return places, hosts
}

// locks measures locks; a rate of 0 means the maximum.
func locks(t *testing.T, hosts []*host, rate float64, during time.Duration) *report.Report {
	t.Helper()
	r, err := loadgen.Run(t.Context(), loadgen.Config{
		Workload: "lock", Callers: joinCallers, Connections: 1, Rate: rate, Warmup: time.Second, Duration: during,
		Endpoints: strings.Join(addresses(hosts), ","), Admin: []string{"http://" + leading(t, hosts).Place.Admin},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// furnish makes semaphores, many at a time.
func furnish(t *testing.T, places []*place, n int) {
	t.Helper()
	const callers = 256
	node := newCounter(t, places).box.Node("/start")
	failed := make(chan error, callers)
	for i := range callers {
		go func() {
			var err error
			for at := i; at < n && err == nil; at += callers {
				err = node.Create(t.Context(), objectName(at), 1, nil)
				if errors.Is(err, sdk.ErrUnavailable) { // unknown outcome: the leader has changed
					at, err = at-callers, nil
				}
				if errors.Is(err, sdk.ErrAlreadyExists) {
					err = nil
				}
			}
			failed <- err
		}()
	}
	for range callers {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
}

// leading returns the data shard's leader.
func leading(t *testing.T, hosts []*host) (leader *host) {
	t.Helper()
	hosts[0].await("a host leads the data shard", func() bool {
		for _, h := range hosts {
			status, err := h.Status()
			if err == nil && slices.ContainsFunc(status.Shards, func(s admin.ShardStatus) bool {
				return s.ID == 1 && s.Leads
			}) {
				leader = h
			}
		}
		return leader != nil
	})
	return leader
}
