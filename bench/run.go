package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/bench/internal/race"
	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/bench/internal/zookeeper"
	"github.com/signalbox/signalbox/loadgen/report"
)

// options are the flags for run.
type options struct {
	settings race.Settings
	choice   race.Choice
	programs race.Programs
	jar      string
	bin      string
	output   string
}

func newRun() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the matrix, or a part of it, and report",
		Long: `Runs every workload by everybody who can do it, in turn, round after round, and
writes report.txt, report.json and report.html.

What it needs it builds: Signalbox from the source around it, etcd from the version
that go.mod names. ZooKeeper and Redis must be installed (apt-get install zookeeper
redis-server); which is not, is skipped.`,
		Example: `  bench run
  bench run --rounds 1 --duration 2s --workloads 'lock-*,handoff-32' --hosts 1
  bench run --workloads lock-128 --contestants signalbox,etcd`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.IntVar(&o.settings.Rounds, "rounds", 3, "how often everything is run")
	f.DurationVar(&o.settings.Duration, "duration", 5*time.Second, "how long each run is measured")
	f.DurationVar(&o.settings.Warmup, "warmup", time.Second, "how long each run goes on before it is measured")
	f.DurationVar(&o.settings.JavaWarmup, "java-warmup", 6*time.Second,
		"the same for servers in Java, which are slow at first")
	f.IntVar(&o.settings.Connections, "connections", 8,
		"connections of all callers together, where a peer can share them")
	f.IntVar(&o.settings.Kills, "kills", 20, "how many leaders are killed in each round of fail-overs")
	f.IntVar(&o.settings.Growth.Objects, "objects", 1_000_000, "how many semaphores or keys a server that grows has")
	f.IntVar(&o.settings.Growth.Sessions, "sessions", 100_000, "how many sessions a server that grows has")
	f.DurationVar(&o.settings.SyncDelay, "sync-delay", 0,
		"Additional time of every sync of a file, for all contestants, such as 1ms. Needs Linux and a C compiler.")
	f.DurationVar(&o.settings.LinkDelay, "link-delay", 0,
		"Time of every message between hosts in each direction, for all contestants, such as 1ms.")
	f.StringVar(&o.settings.Dir, "dir", os.TempDir(), "where a directory for all data is made; it must be on a disk")
	addChoice(c, &o.choice)
	f.StringVar(&o.programs.Signalbox, "signalbox", "", "the signalbox program (default built from source)")
	f.StringVar(&o.programs.Loadgen, "loadgen", "", "the loadgen program (default built from source)")
	f.StringVar(&o.programs.Etcd, "etcd", "", "the etcd program (default built from its module)")
	f.StringVar(&o.jar, "zookeeper-jar", zookeeper.DefaultJar, "the jar of ZooKeeper's server")
	f.StringVar(&o.bin, "bin", "", "where programs are built (default the directory bin of the source)")
	f.StringVar(&o.output, "output", "",
		"the directory for the report (default results in the directory bench of the source, or here)")
	return c
}

// addChoice adds the flags that select matrix cells.
func addChoice(c *cobra.Command, choice *race.Choice) {
	f := c.Flags()
	f.StringSliceVar(&choice.Cells, "workloads", nil,
		"names of workloads with their callers or watchers, such as lock-512, or patterns, such as lock-* "+
			"(default all)")
	f.IntSliceVar(&choice.Hosts, "hosts", nil, "sizes of clusters: 1, 3 (default both)")
	f.StringSliceVar(&choice.Contestants, "contestants", nil, "signalbox, etcd, zookeeper, redis, floor (default all)")
}

func newMatrix() *cobra.Command {
	var choice race.Choice
	c := &cobra.Command{
		Use:   "matrix",
		Short: "List the workloads, who does them, and on how many hosts",
		Args:  cobra.NoArgs,
	}
	addChoice(c, &choice)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cells, err := choice.From(race.Matrix())
		for _, cell := range cells {
			fmt.Fprintf(c.OutOrStdout(), "%-18s hosts %v  %v\n", cell.Name, cell.Hosts, cell.Contestants)
		}
		return err
	}
	return c
}

func (o *options) run(ctx context.Context, out, progress io.Writer) error {
	if o.settings.Rounds < 1 || o.settings.Duration <= 0 || o.settings.Warmup < 0 || o.settings.Connections < 1 ||
		o.settings.Kills < 1 || o.settings.Growth.Objects < 1 || o.settings.Growth.Sessions < 1 {
		return errors.New("run: rounds, duration, connections, kills, objects and sessions must be above zero, " +
			"and the warm-up not below it")
	}
	if o.settings.SyncDelay < 0 || o.settings.LinkDelay < 0 {
		return errors.New("run: --sync-delay and --link-delay must not be below zero")
	}
	if p := o.programs; o.settings.SyncDelay > 0 && (p.Signalbox != "" || p.Etcd != "") {
		return errors.New("run: --sync-delay delays the syncs of programs that this command builds; " +
			"leave --signalbox and --etcd out")
	}
	cells, err := o.choice.From(race.Matrix())
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	dir, err := os.MkdirTemp(o.settings.Dir, "signalbox-bench-")
	if err != nil {
		return fmt.Errorf("run: make a directory for data: %w", err)
	}
	defer os.RemoveAll(dir)
	o.settings.Dir = dir

	r := &results.Report{Machine: results.ThisMachine(dir), Command: os.Args}
	if r.Machine.SyncsNothing() {
		fmt.Fprintf(progress,
			"WARNING: %s is in memory, where a sync costs nothing: name a directory on a disk with --dir\n", dir)
	}
	contestants, err := o.contestants(ctx, cells, r, progress)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	fmt.Fprintf(progress, "%d rounds; all of it takes about %v\n", o.settings.Rounds,
		o.settings.Estimate(cells, contestants).Round(time.Minute/2))
	failed := 0
	race.Run(ctx, cells, contestants, o.settings, r,
		func(round int, t race.Task, contestant string, took time.Duration, result *report.Report, err error) {
			if err != nil {
				failed++
			}
			progressLine(progress, o.settings.Rounds, round, t, contestant, took, result, err)
		})
	if err := o.write(r, out); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	switch {
	case r.Ended != "":
		return fmt.Errorf("run: it ended early: %s", r.Ended)
	case failed > 0:
		return fmt.Errorf("run: %d runs failed, see above", failed)
	}
	return nil
}

// progressLine writes one line for a finished run.
func progressLine(w io.Writer, rounds, round int, t race.Task, contestant string, took time.Duration,
	result *report.Report,
	err error) {
	var what string
	switch {
	case err != nil:
		what = "FAILED: " + err.Error()
	case result.EventsPerSecond != nil:
		what = fmt.Sprintf("%.0f events/s", *result.EventsPerSecond)
	case len(result.Figures) > 0:
		what = result.Figures[0].Words()
	default:
		what = fmt.Sprintf("%.0f/s", result.PerSecond)
	}
	fmt.Fprintf(w, "round %d of %d  %-16s hosts %d  %-10s %6.1f s  %s\n",
		round, rounds, t.Name, t.Hosts, contestant, took.Seconds(), what)
}

// write writes the report to its files, and the text to out as well.
func (o *options) write(r *results.Report, out io.Writer) error {
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return err
	}
	for name, form := range map[string]func(io.Writer) error{
		"report.txt": r.Text, "report.json": r.JSON, "report.html": r.HTML,
	} {
		if err := writeFile(filepath.Join(o.output, name), form); err != nil {
			return err
		}
	}
	if err := r.Text(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nreport.txt, report.json and report.html are in %s\n", o.output)
	return err
}

func writeFile(name string, form func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := form(file); err != nil {
		file.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return file.Close()
}
