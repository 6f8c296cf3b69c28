//go:build linux

package survival_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest/process"
)

var besideObjects = flag.Int("beside", 0,
	"how many semaphores the host of TestLocksBesideBackups has; 0: it is skipped")

// What is measured: so many callers lock and unlock at a quarter of the rate that the machine reaches.
const (
	besideCallers = 64
	besideShare   = 4
	besideTurns   = 4
	besideTime    = 10 * time.Second
)

// disturbance is something that goes on while locks are measured.
type disturbance struct {
	name string
	args []string                        // of the host
	once func(ctx context.Context) error // is called again and again; nil for nothing
}

// TestLocksBesideBackups measures locks on a host with many semaphores, in turns: alone, while backups are saved into a
// pipe, while they are saved onto the disk that the host's log is on, and while the host saves snapshots one after the
// other. It prints the medians of the turns.
func TestLocksBesideBackups(t *testing.T) {
	if *besideObjects == 0 {
		t.Skip("make beside runs it")
	}
	dir, err := os.MkdirTemp(scratch, "beside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const none = "1000000" // batches to the next snapshot
	found, err := process.Places(program, dir, []string{"a"}, "--raft-snapshot-bytes", "64GiB",
		"--raft-snapshot-batches", none)
	if err != nil {
		t.Fatal(err)
	}
	b := &besideLocks{t: t, at: &place{found[0]}}
	hosts := serveAll(t, []*place{b.at})
	b.host = hosts[0]
	newNode(t, hosts, "/start", protocol.NodeConfig{})
	fillWithObjects(t, hosts, *besideObjects, strings.Repeat("d", 26))
	file := filepath.Join(dir, "signalbox.backup")
	b.compare([]disturbance{
		{name: "alone"},
		{name: "backups into a pipe", once: func(ctx context.Context) error { return b.save(ctx, "-") }},
		{name: "backups onto the disk of the log", once: func(ctx context.Context) error { return b.save(ctx, file) }},
		{name: "snapshots of the host", args: []string{"--raft-snapshot-batches", "20000"}},
	})
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a backup has %d MiB", info.Size()>>20)
}

// besideLocks is a host whose locks are measured.
type besideLocks struct {
	t    *testing.T
	at   *place
	host *host
	args []string // of the host, besides those of every host
}

// save saves a backup by the program.
func (b *besideLocks) save(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, program.Path, "backup", "save", to, "--endpoints", b.at.Client)
	cmd.Stdout = struct{ io.Writer }{io.Discard} // no file: the process gets a pipe
	said := new(lastWords)
	cmd.Stderr = said
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("backup save %s: %w\n%s", to, err, said.text)
	}
	return nil
}

// lastWords keeps the end of what is written.
type lastWords struct{ text []byte }

// Write implements io.Writer.
func (l *lastWords) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-1000):]
	return len(p), nil
}

// compare measures locks beside each of the disturbances, in turns.
func (b *besideLocks) compare(all []disturbance) {
	b.t.Helper()
	most := b.measure(0, disturbance{})
	rate := most.PerSecond / besideShare
	b.t.Logf("%.0f locks a second are possible; they are measured at %.0f", most.PerSecond, rate)
	p50, p99 := make([][]float64, len(all)), make([][]float64, len(all))
	for range besideTurns {
		for i, d := range all {
			q := b.measure(rate, d).LatencyUS
			p50[i], p99[i] = append(p50[i], q.P50), append(p99[i], q.P99)
			b.t.Logf("%s: p50 %.2f ms, p99 %.2f ms", d.name, q.P50/1000, q.P99/1000)
		}
	}
	quiet := median(p99[0])
	for i, d := range all {
		b.t.Logf("medians of %d turns, %s: p50 %.2f ms, p99 %.2f ms, %.2f times that of the first", besideTurns, d.name,
			median(p50[i])/1000, median(p99[i])/1000, median(p99[i])/quiet)
	}
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// measure measures locks beside a disturbance, which is begun again and again; at a rate of 0, as many as can be.
func (b *besideLocks) measure(rate float64, d disturbance) *report.Report {
	b.t.Helper()
	b.restart(d.args)
	warmup := 2 * time.Second
	if d.args != nil {
		warmup = 8 * time.Second // the first snapshot has to make up for those that were not saved before
	}
	saved := b.snapshots()
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
		Duration: besideTime, Endpoints: b.at.Client,
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
	if n := b.snapshots() - saved; n > 0 {
		b.t.Logf("%d snapshots were saved", n)
	}
	return r
}

// restart starts the host again where it has other arguments.
func (b *besideLocks) restart(args []string) {
	b.t.Helper()
	if slices.Equal(args, b.args) {
		return
	}
	b.host.stop()
	with := *b.at.Place
	with.Args = append(slices.Clone(with.Args), args...)
	b.host, b.args = (&place{&with}).serve(b.t), args
	b.host.awaitReady()
}

// snapshots is how many the host has saved since its start, of the data shard.
func (b *besideLocks) snapshots() (n int) {
	b.t.Helper()
	const series = `signalbox_log_snapshots_saved_total{shard="1"} `
	_, text := b.host.Get("/metrics")
	_, rest, _ := strings.Cut(text, series)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		b.t.Fatalf("the metrics have no %s", series)
	}
	return n
}
