package loadgen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Host metric names used here.
const (
	seriesResident = "process_resident_memory_bytes"
	seriesHeap     = "go_memstats_heap_alloc_bytes"
	seriesCPU      = "process_cpu_seconds_total"
)

// collect is the host profiler page that first collects garbage. The page exists if the host was started with
// --pprof, like the hosts this package starts.
const collect = "/debug/pprof/heap?gc=1"

// gauges read host metrics.
type gauges []string

func newGauges(addresses []string) gauges {
	g := make(gauges, len(addresses))
	for i, address := range addresses {
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		g[i] = strings.TrimRight(address, "/")
	}
	return g
}

// usage is the sum over all hosts.
type usage struct {
	resident, heap, cpu float64
}

// read asks all hosts. With collected, hosts with a profiler collect their garbage first.
func (g gauges) read(ctx context.Context, collected bool) (usage, error) {
	var all usage
	for _, host := range g {
		u, err := readHost(ctx, host, collected)
		if err != nil {
			return all, fmt.Errorf("the metrics of %s: %w", host, err)
		}
		all.resident += u.resident
		all.heap += u.heap
		all.cpu += u.cpu
	}
	return all, nil
}

// readHost reads a host's metrics, after a garbage collection if requested.
func readHost(ctx context.Context, host string, collected bool) (u usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if collected {
		// Twice: objects with a finalizer, or in a pool, are freed by the second collection.
		for range 2 {
			if err := get(ctx, host+collect, discard); err != nil {
				break // a host without a profiler: garbage counts
			}
		}
	}
	err = get(ctx, host+"/metrics", u.parse)
	return u, err
}

func discard(from io.Reader) error {
	_, err := io.Copy(io.Discard, from)
	return err
}

// parse adds up the required series.
func (u *usage) parse(from io.Reader) error {
	found := make(map[string]float64)
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		switch name {
		case seriesResident, seriesHeap, seriesCPU:
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if !ok || err != nil {
				return fmt.Errorf("%s is %q", name, value)
			}
			found[name] += n
		}
	}
	for _, name := range []string{seriesResident, seriesHeap, seriesCPU} {
		if _, ok := found[name]; !ok {
			return fmt.Errorf("there is no %s: is this the admin address of a signalbox host?", name)
		}
	}
	*u = usage{resident: found[seriesResident], heap: found[seriesHeap], cpu: found[seriesCPU]}
	return lines.Err()
}

// get reads a page.
func get(ctx context.Context, url string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := pages.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	return read(answer.Body)
}

var pages = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
