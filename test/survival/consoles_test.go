//go:build linux

package survival_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
)

var openConsoles = flag.Int("consoles", 0,
	"how many overviews TestOpenConsolesAndThoseWhoLock has open, at most 256; 0: it is skipped")

// overviewStream is the request of a browser showing the overview.
const overviewStream = "/v1/events?watch=/v1/cluster&watch=/v1/hosts&watch=/v1/why" +
	"&watch=/v1/host/load&watch=/v1/cluster/load&watch=/v1/cluster/traffic"

// TestOpenConsolesAndThoseWhoLock has 64 callers lock and unlock at a quarter of the host's maximum rate, with and
// without open consoles, alternating five times, and logs latency and host processor time of both. It fails if an
// operation fails, or a console receives nothing.
func TestOpenConsolesAndThoseWhoLock(t *testing.T) {
	if *openConsoles == 0 {
		t.Skip("make consoles runs it")
	}
	const turns = 5
	at := newPlaces(t, "a")[0]
	at.HTTP = newPlaces(t, "b")[0].Client // a reserved address
	serveAll(t, []*place{at})
	lock := func(rate float64) *report.Report {
		t.Helper()
		r, err := loadgen.Run(t.Context(), loadgen.Config{
			Workload: "lock", Callers: 64, Rate: rate, Warmup: time.Second, Duration: 5 * time.Second,
			Endpoints: at.Client, Admin: []string{"http://" + at.Admin},
		})
		if err != nil || len(r.Errors) > 0 || len(r.Violations) > 0 {
			t.Fatalf("%v %+v", err, r)
		}
		return r
	}
	most := lock(0).PerSecond
	t.Logf("%.0f cycles a second at the most; from here on a quarter of it", most)
	var alone, beside [][3]float64
	for range turns {
		alone = append(alone, figuresOf(lock(most/4)))
		closeAll := watchOverviews(t, at.HTTP, *openConsoles)
		beside = append(beside, figuresOf(lock(most/4)))
		closeAll()
		t.Logf("p50 and p99 in us, seconds of the host's processor a second: alone %.3f, beside consoles %.3f",
			alone[len(alone)-1], beside[len(beside)-1])
	}
	for _, one := range []struct {
		what string
		of   [][3]float64
	}{{"alone", alone}, {fmt.Sprintf("beside %d consoles", *openConsoles), beside}} {
		m := mediansOf(one.of)
		t.Logf("%s: p50 %.0f us, p99 %.0f us, processor of the host %.3f s each second", one.what, m[0], m[1], m[2])
	}
}

// figuresOf are the median latency and the 99th percentile in microseconds, and the host's processor time a second.
func figuresOf(r *report.Report) [3]float64 {
	return [3]float64{r.LatencyUS.P50, r.LatencyUS.P99, *r.ServerCPUSeconds / r.Seconds}
}

// mediansOf returns the median of each figure.
func mediansOf(of [][3]float64) (m [3]float64) {
	for i := range m {
		var all []float64
		for _, figures := range of {
			all = append(all, figures[i])
		}
		m[i] = median(all)
	}
	return m
}

// watchOverviews opens streams and returns when each has received data.
func watchOverviews(t *testing.T, address string, n int) (closeAll func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	shown := make(chan error, n)
	for range n {
		reading.Go(func() { shown <- watchOverview(ctx, address, &reading) })
	}
	for range n {
		select {
		case err := <-shown:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("a console is shown nothing")
		}
	}
	return func() {
		cancel()
		reading.Wait()
	}
}

// watchOverview opens a stream, and returns after its first answer. The rest is read until the context ends.
func watchOverview(ctx context.Context, address string, reading *sync.WaitGroup) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+overviewStream, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(answer.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			answer.Body.Close()
			return fmt.Errorf("%s: %w", answer.Status, err)
		}
		if strings.HasPrefix(line, "data:") {
			break
		}
	}
	reading.Go(func() {
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, lines)
	})
	return nil
}
