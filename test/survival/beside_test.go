//go:build linux

package survival_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// TestLocksBesideBackups is a measurement, run only if -beside sets a number of objects.
var (
	besideObjects   = flag.Int("beside", 0, "how many semaphores the host of TestLocksBesideBackups has; 0: none runs")
	besideSessions  = flag.Int("beside-sessions", 0, "how many sessions it has besides")
	besideTurnCount = flag.Int("beside-turns", 4, "how many turns TestLocksBesideBackups takes")
	besideTime      = flag.Duration("beside-time", 10*time.Second, "how long it measures each time")
	besideOnly      = flag.String("beside-only", "", "which disturbances it measures besides: those whose names match")
	besideRates     = flag.String("beside-rates", "", "at which rates backups are saved besides, such as 4MiB,8MiB")
)

// Measured: besideCallers callers lock and unlock at a quarter of the machine's maximum rate.
const (
	besideCallers = 64
	besideShare   = 4
)

// disturbance is an activity during the lock measurement.
type disturbance struct {
	name string
	args []string                        // of the host
	env  []string                        // of the host
	bare bool                            // measured on an empty host instead
	once func(ctx context.Context) error // is called again and again; nil for nothing
}

// TestLocksBesideBackups measures locks on a host with many semaphores, in turns: undisturbed, on an empty host, with a
// garbage collection in every turn, during backups into a pipe, during backups onto the log's disk, with snapshots at
// the default interval, and with more frequent snapshots. It prints the turns' medians, and the p99 over all turns
// together, because a single turn's p99 depends on whether the host collects garbage in the turn.
func TestLocksBesideBackups(t *testing.T) {
	if *besideObjects == 0 {
		t.Skip("make beside runs it")
	}
	dir, err := os.MkdirTemp(scratch, "beside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var places []*place
	for _, name := range []string{"full", "bare"} {
		found, err := process.Places(program, dir, []string{name}, append([]string{"--raft-snapshot-bytes", "64GiB",
			"--pprof"}, roomForAll...)...)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, &place{found[0]})
	}
	b := &besideLocks{t: t, at: places[0]}
	b.host, b.bare = b.at.serve(t), places[1].serve(t)
	hosts := []*host{b.host}
	b.host.awaitReady()
	b.bare.awaitReady()
	fillWithObjects(t, hosts, *besideObjects, strings.Repeat("d", 26))
	for from := 0; from < *besideSessions; from += perNode {
		startSessions(t, b.host, objectNode(from), min(perNode, *besideSessions-from))
	}
	file := filepath.Join(dir, "signalbox.backup")
	saving := func(to string, flags ...string) func(context.Context) error {
		return func(ctx context.Context) error { return b.save(ctx, to, flags...) }
	}
	all := []disturbance{
		{name: "alone"},
		{name: "on a host that has nothing", bare: true},
		{name: "a collection of garbage every five seconds", once: b.collect},
		{name: "collections that come by themselves, each after a growth of 4 percent", env: []string{"GOGC=4"}},
		{name: "backups into a pipe", once: saving("-")},
		{name: "backups onto the disk of the log", once: saving(file)},
	}
	for rate := range strings.FieldsFuncSeq(*besideRates, func(r rune) bool { return r == ',' }) {
		all = append(all, disturbance{name: "backups onto the disk, " + rate, once: saving(file, "--max-rate", rate)})
	}
	all = append(all,
		disturbance{name: "snapshots by default", args: []string{"--raft-snapshot-bytes", "0"}},
		disturbance{name: "snapshots one after the other", args: []string{"--raft-snapshot-bytes", "32MiB"}})
	only := regexp.MustCompile(*besideOnly)
	b.compare(slices.DeleteFunc(all, func(d disturbance) bool {
		return d.name != "alone" && !only.MatchString(d.name)
	}))
	if info, err := os.Stat(file); err == nil {
		t.Logf("a backup has %d MiB", info.Size()>>20)
	}
}

// besideLocks is a host with measured locks.
type besideLocks struct {
	t    *testing.T
	at   *place
	host *host
	bare *host       // that has nothing
	with disturbance // the host's current arguments and environment
}

// collect has the host collect garbage, every five seconds.
func (b *besideLocks) collect(ctx context.Context) error {
	if code, text := b.host.Get("/debug/pprof/heap?gc=1"); code != http.StatusOK {
		return fmt.Errorf("collect garbage: %d %s", code, text)
	}
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
	}
	return nil
}

// save saves a backup by the program.
func (b *besideLocks) save(ctx context.Context, to string, flags ...string) error {
	args := append([]string{"backup", "save", to, "--endpoints", b.at.Client}, flags...)
	cmd := exec.CommandContext(ctx, program.Path, args...)
	cmd.Stdout = struct{ io.Writer }{io.Discard} // no file: the process gets a pipe
	said := new(lastWords)
	cmd.Stderr = said
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("backup save %s: %w\n%s", to, err, said.text)
	}
	return nil
}

// lastWords keeps the end of the written text.
type lastWords struct{ text []byte }

// Write implements io.Writer.
func (l *lastWords) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-1000):]
	return len(p), nil
}

// besideTurns are the turns for one disturbance.
type besideTurns struct {
	p50, p99  []float64
	spectra   [][]report.Spectral
	collected int // garbage collections in all turns
}

// compare measures locks for each disturbance, in turns. Every second turn reverses the order, so that no disturbance
// always follows the same one.
func (b *besideLocks) compare(all []disturbance) {
	b.t.Helper()
	most, _ := b.measure(0, disturbance{})
	rate := most.PerSecond / besideShare
	b.t.Logf("%.0f locks a second are possible; they are measured at %.0f", most.PerSecond, rate)
	turns := make([]besideTurns, len(all))
	for turn := range *besideTurnCount {
		for i := range all {
			if turn%2 == 1 {
				i = len(all) - 1 - i
			}
			r, collected := b.measure(rate, all[i])
			q, x := r.LatencyUS, &turns[i]
			x.p50, x.p99 = append(x.p50, q.P50), append(x.p99, q.P99)
			x.spectra, x.collected = append(x.spectra, r.Spectrum), x.collected+collected
			b.t.Logf("%s: p50 %.2f ms, p99 %.2f ms", all[i].name, q.P50/1000, q.P99/1000)
		}
	}
	quiet, together := median(turns[0].p99), pooled(turns[0].spectra, 99)
	for i, d := range all {
		x := &turns[i]
		p99 := pooled(x.spectra, 99)
		b.t.Logf("%d turns, %s: median p50 %.2f ms, median p99 %.2f ms, %.2f times that of the first; p99 of all "+
			"turns together %.2f ms, %.2f times; garbage was collected %d times", *besideTurnCount, d.name,
			median(x.p50)/1000, median(x.p99)/1000, median(x.p99)/quiet, p99/1000, p99/together, x.collected)
	}
}

// pooled returns a percentile of all operation times, in microseconds, from the distributions of turns with equal
// operation counts.
func pooled(turns [][]report.Spectral, percent float64) float64 {
	var times []float64
	for _, turn := range turns {
		for _, x := range turn {
			times = append(times, x.Micros)
		}
	}
	slices.Sort(times)
	at, _ := slices.BinarySearchFunc(times, percent, func(micros, percent float64) int {
		sum := 0.0
		for _, turn := range turns {
			sum += percentWithin(turn, micros)
		}
		return cmp.Compare(sum/float64(len(turns)), percent)
	})
	return times[at]
}

// percentWithin is the percentage of operations within a time, with linear interpolation.
func percentWithin(points []report.Spectral, micros float64) float64 {
	after := slices.IndexFunc(points, func(x report.Spectral) bool { return x.Micros > micros })
	switch after {
	case -1:
		return 100
	case 0:
		return 0
	}
	from, to := points[after-1], points[after]
	return from.Percent + (to.Percent-from.Percent)*(micros-from.Micros)/(to.Micros-from.Micros)
}

// TestTheQuantileOfSeveralTurnsIsThatOfAllTheirOperations: the percentile is that of all operations, not the median or
// mean of the turns' percentiles.
func TestTheQuantileOfSeveralTurnsIsThatOfAllTheirOperations(t *testing.T) {
	// In one turn operations take 1 to 100 us, in the other 1,000 times as long.
	var fast, slow []report.Spectral
	for percent := 0.0; percent <= 100; percent++ {
		fast = append(fast, report.Spectral{Percent: percent, Micros: percent})
		slow = append(slow, report.Spectral{Percent: percent, Micros: 1000 * percent})
	}
	for percent, want := range map[float64]float64{25: 50, 75: 50_000, 99: 98_000, 100: 100_000} {
		if got := pooled([][]report.Spectral{fast, slow}, percent); math.Abs(got-want) > want/20 {
			t.Errorf("%g percent: %g us, want %g", percent, got, want)
		}
	}
	for _, percent := range []float64{50, 99} {
		if got := pooled([][]report.Spectral{fast}, percent); got != percent {
			t.Errorf("%g percent of one turn: %g us", percent, got)
		}
	}
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// measure measures locks during a disturbance, which is restarted continuously. A rate of 0 means the maximum. It also
// returns the host's garbage collection count.
func (b *besideLocks) measure(rate float64, d disturbance) (_ *report.Report, collected int) {
	b.t.Helper()
	warmup := 2 * time.Second
	if !d.bare && b.restart(d) {
		warmup = 8 * time.Second // the log is applied, and a snapshot is due
	}
	on := b.host
	if d.bare {
		on = b.bare
	}
	saved, before := b.snapshots(on), b.figures(on)
	ctx, stop := context.WithCancel(b.t.Context())
	ended, times := make(chan error, 1), 0
	go func() {
		var err error
		for d.once != nil && ctx.Err() == nil && err == nil {
			err = d.once(ctx)
			times++
		}
		ended <- err
	}()
	r, err := loadgen.Run(ctx, loadgen.Config{
		Workload: "lock", Callers: besideCallers, Connections: 1, Rate: rate, Warmup: warmup,
		Duration: *besideTime, Endpoints: on.Place.Client,
	})
	stop()
	if failed := <-ended; err == nil {
		err = failed
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if d.once != nil {
		b.t.Logf("begun %d times", times)
	}
	if n := b.snapshots(on) - saved; n > 0 {
		b.t.Logf("%d snapshots were saved", n)
	}
	after := b.figures(on)
	b.logFigures(before, after)
	return r, after.collected - before.collected
}

// restart restarts the host if its arguments or environment change, and reports whether it did.
func (b *besideLocks) restart(d disturbance) bool {
	b.t.Helper()
	if slices.Equal(d.args, b.with.args) && slices.Equal(d.env, b.with.env) {
		return false
	}
	b.host.stop()
	with := *b.at.Place
	with.Args = append(slices.Clone(with.Args), d.args...)
	with.Program.Env = append(slices.Clone(with.Program.Env), d.env...)
	b.host, b.with = (&place{&with}).serve(b.t), d
	b.host.awaitReady()
	return true
}

// snapshots is the count of data shard snapshots saved since the host's start.
func (b *besideLocks) snapshots(h *host) (n int) {
	b.t.Helper()
	const series = `signalbox_snapshots_saved_total{shard="1"} `
	_, text := h.Get("/metrics")
	_, rest, _ := strings.Cut(text, series)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		b.t.Fatalf("the metrics have no %s", series)
	}
	return n
}

// besideFigures are a host's figures since its start.
type besideFigures struct {
	syncs     map[float64]float64 // log syncs, by upper time bound in seconds
	processor float64             // seconds
	garbage   float64             // seconds of them
	collected int                 // times
}

func (b *besideLocks) figures(h *host) besideFigures {
	b.t.Helper()
	_, text := h.Get("/metrics")
	f := besideFigures{syncs: make(map[float64]float64)}
	for line := range strings.Lines(text) {
		var within, n float64
		if _, err := fmt.Sscanf(line, `signalbox_wal_fsync_duration_seconds_bucket{le="%g"} %g`, &within,
			&n); err == nil {
			f.syncs[within] = n
		}
		_, _ = fmt.Sscanf(line, "process_cpu_seconds_total %g", &f.processor)
		_, _ = fmt.Sscanf(line, "go_gc_cpu_seconds_total %g", &f.garbage)
		_, _ = fmt.Sscanf(line, "go_gc_duration_seconds_count %d", &f.collected)
	}
	return f
}

// logFigures logs the host's work between two times.
func (b *besideLocks) logFigures(from, to besideFigures) {
	within := slices.Sorted(maps.Keys(to.syncs))
	syncs := func(le float64) float64 { return to.syncs[le] - from.syncs[le] }
	quantile := func(q float64) float64 {
		for _, le := range within {
			if syncs(le) >= q*syncs(within[len(within)-1]) {
				return le * 1000
			}
		}
		return 0
	}
	b.t.Logf("%.0f syncs of the log, half within %.2f ms, 99 of 100 within %.2f ms, 9,999 of 10,000 within %.0f ms, "+
		"all within %.0f ms; %.1f s of the host's processors, %.1f s of them for %d collections of garbage",
		syncs(within[len(within)-1]), quantile(0.5), quantile(0.99), quantile(0.9999), quantile(1),
		to.processor-from.processor, to.garbage-from.garbage, to.collected-from.collected)
}
