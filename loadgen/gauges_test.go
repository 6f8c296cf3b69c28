package loadgen

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/signalbox/signalbox/loadgen/report"
)

const metrics = `signalbox_shard_sessions{shard="1"} 10
go_memstats_heap_alloc_bytes 5000
process_cpu_seconds_total 1.5
process_resident_memory_bytes 9000
process_resident_memory_peak_bytes 99000
`

func TestUsageIsThatOfAllHosts(t *testing.T) {
	var collected atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metrics) })
	mux.HandleFunc("/debug/pprof/heap", func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("gc") == "1" {
			collected.Add(1)
		}
	})
	a, b := httptest.NewServer(mux), httptest.NewServer(mux)
	defer a.Close()
	defer b.Close()
	g := newGauges([]string{a.URL + "/", strings.TrimPrefix(b.URL, "http://")})
	u, err := g.read(t.Context(), false)
	check(t, err)
	if u != (usage{resident: 18_000, heap: 10_000, cpu: 3}) {
		t.Errorf("%+v", u)
	}
	if n := collected.Load(); n != 0 {
		t.Errorf("hosts were told %d times to collect, and nobody wanted that", n)
	}
	_, err = g.read(t.Context(), true)
	check(t, err)
	if n := collected.Load(); n != 4 {
		t.Errorf("two hosts were told %d times to collect", n)
	}
}

func TestAHostWithoutAProfilerIsRead(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metrics) })
	s := httptest.NewServer(mux)
	defer s.Close()
	u, err := newGauges([]string{s.URL}).read(t.Context(), true)
	check(t, err)
	if u.heap != 5000 {
		t.Errorf("%+v", u)
	}
}

func TestAnAddressOfNoHostIsReported(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, err := newGauges([]string{s.URL}).read(t.Context(), false)
	wantError(t, err, "404")
	var u usage
	wantError(t, u.parse(strings.NewReader("up 1\n")), "is this the admin address of a signalbox host?")
	wantError(t, u.parse(strings.NewReader(seriesCPU+" many\n")), `"many"`)
}

func TestNoHostToAsk(t *testing.T) {
	u, err := gauges(nil).read(t.Context(), true)
	check(t, err)
	r := &report.Report{}
	addUsage(r, usage{}, u)
	if r.ServerRSSBytes != nil {
		t.Error("nobody was asked, and something is reported")
	}
}
