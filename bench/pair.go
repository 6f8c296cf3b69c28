package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/pair"
	"github.com/signalbox/signalbox/bench/internal/race"
	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/bench/internal/signalbox"
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/loadgen/report"
)

// pairWarmup is each side's first, unmeasured turn.
const pairWarmup = time.Second

// pairing are the flags for pair.
type pairing struct {
	works   []string
	callers int
	hosts   int
	pairs   int
	turn    time.Duration
	dir     string
	binary  string
	flags   []string
	beside  string
	self    string
}

func newPair() *cobra.Command {
	var o pairing
	c := &cobra.Command{
		Use:   "pair",
		Short: "Measure workloads beside their floors, or beside another build, in short turns",
		Long: `Has a workload and its floor take turns of 50 ms, in this process, and prints the median
of what each pair of them comes to. The floor of what goes through the log is a bare
proposal and an echo, one after the other: each comes after a pause as long as the
other one takes. The floor of a read is an echo.

Before each turn a tenth of it goes by that is not measured. Each side has two turns in
a pair, so that it does not matter which one is first.

With --beside, another build takes the turns of the floor: each build drives hosts of
its own from a process of its own.`,
		Example: `  bench pair
  bench pair --work handoff --hosts 3 --pairs 100
  bench pair --work lock --callers 512 --beside /tmp/before`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.works, "work", pair.Works(), "what is measured: one caller's locks, a lock that 32 callers "+
		"want (handoff), relaxed reads of 64 callers (read)")
	f.IntVar(&o.callers, "callers", 0, "other than these so many callers, with --beside")
	f.IntVar(&o.hosts, "hosts", 1, "of how many hosts a cluster is, 1 or 3")
	f.IntVar(&o.pairs, "pairs", 300, "how many pairs there are, of two turns of each side")
	f.DurationVar(&o.turn, "turn", 50*time.Millisecond, "how long a turn is measured")
	f.StringVar(&o.dir, "dir", os.TempDir(), "where a directory for all data is made; it must be on a disk")
	f.StringVar(&o.binary, "signalbox", "", "the signalbox program (default built from source)")
	f.StringSliceVar(&o.flags, "flags", nil, "flags of the hosts of this build, with commas")
	f.StringVar(&o.beside, "beside", "", "a directory with the programs bench and signalbox of another build")
	return c
}

// newSide returns the command for one side of two builds.
func newSide() *cobra.Command {
	c := &cobra.Command{
		Use:   "side",
		Short: "Drive a workload in the turns that the standard input asks for",
		Args:  cobra.NoArgs,
	}
	name := c.Flags().String("work", "", "what to do")
	callers := c.Flags().Int("callers", 0, "how many do it at the same time")
	endpoints := c.Flags().String("endpoints", "", "addresses of the hosts")
	c.RunE = func(c *cobra.Command, _ []string) error {
		work, ok := pair.WorkOf(*name)
		if !ok {
			return fmt.Errorf("side: nothing is named %q", *name)
		}
		if *callers > 0 {
			work.Callers = *callers
		}
		side, stop, err := workload(c.Context(), *endpoints, work)
		if err != nil {
			return fmt.Errorf("side: %w", err)
		}
		defer stop()
		return pair.Obey(side, c.InOrStdin(), c.OutOrStdout())
	}
	return c
}

func (p *pairing) run(ctx context.Context, out io.Writer) (err error) {
	if p.hosts != 1 && p.hosts != 3 {
		return errors.New("pair: there are 1 or 3 hosts")
	}
	if p.pairs < 1 || p.turn <= 0 {
		return errors.New("pair: the pairs and the turn must be above zero")
	}
	if p.beside == "" && (p.callers > 0 || len(p.flags) > 0) {
		return errors.New("pair: callers and flags are for --beside")
	}
	if p.self, err = os.Executable(); err != nil {
		return fmt.Errorf("pair: find this program: %w", err)
	}
	var works []pair.Work
	for _, name := range p.works {
		work, ok := pair.WorkOf(name)
		if !ok {
			return fmt.Errorf("pair: nothing is named %q; there are %s", name, strings.Join(pair.Works(), ", "))
		}
		works = append(works, work)
	}
	if p.binary == "" {
		if p.binary, err = build(ctx); err != nil {
			return fmt.Errorf("pair: %w", err)
		}
	}
	measure := p.besideFloor
	if p.beside != "" {
		measure = p.besideBuild
	}
	for _, work := range works {
		if err := measure(ctx, work, out); err != nil {
			return fmt.Errorf("pair: %s: %w", work.Name, err)
		}
	}
	return nil
}

// build builds the program signalbox.
func build(ctx context.Context) (string, error) {
	source, err := race.Source()
	if err != nil {
		return "", err
	}
	programs := race.Programs{Loadgen: "not needed"}
	programs, err = programs.Build(ctx, source, filepath.Join(filepath.Dir(source), "bin"), nil,
		func(contestant string) bool { return contestant == results.Signalbox })
	return programs.Signalbox, err
}

// callersPerConnection is for how many callers a client has a connection, as in the race.
const callersPerConnection = 128

// workload starts a workload's callers.
func workload(ctx context.Context, endpoints string, work pair.Work) (side *pair.Callers, stop func(), err error) {
	c, err := client.Open(ctx, endpoints, client.WithConnections(max(1, work.Callers/callersPerConnection)))
	if err != nil {
		return nil, nil, err
	}
	operations, err := work.Operations(ctx, c)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	side = pair.Start(ctx, operations)
	return side, func() { side.Stop(); c.Close() }, nil
}

// besideFloor measures a workload beside its floor.
func (p *pairing) besideFloor(ctx context.Context, work pair.Work, out io.Writer) error {
	dir, err := os.MkdirTemp(p.dir, "signalbox-pair-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cluster, err := signalbox.Start(ctx, p.binary, dir, p.hosts, 0)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	endpoints := strings.Join(cluster.Endpoints, ",")
	above, stop, err := workload(ctx, endpoints, work)
	if err != nil {
		return err
	}
	defer stop()
	echoes, err := client.Open(ctx, endpoints)
	if err != nil {
		return err
	}
	defer echoes.Close()
	var below pair.Side
	if work.Log {
		log, stop, err := p.bareLog(ctx, filepath.Join(dir, "floor"))
		if err != nil {
			return err
		}
		defer stop()
		below = &pair.Floor{Log: log, Echo: echoes.Ping, Ctx: ctx}
	} else {
		callers := pair.Start(ctx, slices.Repeat([]load.Operation{echoes.Ping}, work.Callers))
		defer callers.Stop()
		below = callers
	}
	pairs, err := p.measure(ctx, below, above)
	if err != nil {
		return err
	}
	times := pair.Of(pairs, func(p pair.Pair) float64 { return float64(p.Above) / float64(p.Below) / work.Floors })
	verdict := "met"
	if times.At(0.5) > work.Goal {
		verdict = "not met"
	}
	return p.write(out, pairs, times, [][2]string{
		{work.What, duration(pairs, func(p pair.Pair) float64 { return float64(p.Above) })},
		{work.Floor, duration(pairs, func(p pair.Pair) float64 { return float64(p.Below) * work.Floors })},
		{"the floor's rate is reached by", fmt.Sprintf("%.0f %%", 100/times.At(0.5))},
		{fmt.Sprintf("times the floor, at most %v", work.Goal), verdict},
	})
}

// bareLog starts the hosts for a bare log, and returns the first host's side.
func (p *pairing) bareLog(ctx context.Context, dir string) (log *pair.Child, stop func(), err error) {
	ports, err := subprocess.ReservePorts(p.hosts)
	if err != nil {
		return nil, nil, err
	}
	var hosts []*pair.Child
	stop = func() {
		for _, host := range hosts {
			_ = host.Stop()
		}
		ports.Close()
	}
	for i := range p.hosts {
		name := fmt.Sprint(i + 1)
		host, err := pair.Launch(ctx, p.self, "propose", "--asked", "--self", name,
			"--dir", filepath.Join(dir, name), "--members", strings.Join(ports.Addresses, ","))
		if err != nil {
			stop()
			return nil, nil, err
		}
		hosts = append(hosts, host)
	}
	return hosts[0], stop, nil
}

// besideBuild measures a workload in this build beside another build.
func (p *pairing) besideBuild(ctx context.Context, work pair.Work, out io.Writer) error {
	ours, stop, err := p.side(ctx, p.self, p.binary, work, p.flags)
	if err != nil {
		return err
	}
	defer stop()
	theirs, stop, err := p.side(ctx, filepath.Join(p.beside, "bench"), filepath.Join(p.beside, "signalbox"), work, nil)
	if err != nil {
		return err
	}
	defer stop()
	pairs, err := p.measure(ctx, ours, theirs)
	if err != nil {
		return err
	}
	times := pair.Of(pairs, func(p pair.Pair) float64 { return float64(p.Above) / float64(p.Below) })
	return p.write(out, pairs, times, [][2]string{
		{work.Name + ", this build", duration(pairs, func(p pair.Pair) float64 { return float64(p.Below) })},
		{"the other build", duration(pairs, func(p pair.Pair) float64 { return float64(p.Above) })},
		{"times the other's rate", ""},
	})
}

// side starts a build's hosts, and its callers in a separate process.
func (p *pairing) side(ctx context.Context, bench, binary string, work pair.Work, flags []string) (side *pair.Child,
	stop func(), err error) {
	cluster, err := signalbox.Start(ctx, binary, p.dir, p.hosts, 0, flags...)
	if err != nil {
		return nil, nil, err
	}
	side, err = pair.Launch(ctx, bench, "side", "--work", work.Name, "--callers", fmt.Sprint(p.callers),
		"--endpoints", strings.Join(cluster.Endpoints, ","))
	if err != nil {
		cluster.Stop()
		return nil, nil, err
	}
	return side, func() { _ = side.Stop(); cluster.Stop() }, nil
}

// measure measures after both sides have warmed up.
func (p *pairing) measure(ctx context.Context, below, above pair.Side) ([]pair.Pair, error) {
	for _, side := range []pair.Side{below, above} {
		if _, _, err := side.Turn(pairWarmup); err != nil {
			return nil, err
		}
	}
	return pair.Measure(ctx, p.pairs, p.turn, below, above)
}

// duration formats the median operation time.
func duration(pairs []pair.Pair, value func(pair.Pair) float64) string {
	micros := pair.Of(pairs, value).At(0.5) / float64(time.Microsecond)
	if micros < 100 {
		return fmt.Sprintf("%.1f us", micros) // with many callers, an operation's share of a turn
	}
	return report.Duration(micros)
}

// write writes a table; the last row has the pairs' ratio.
func (p *pairing) write(out io.Writer, pairs []pair.Pair, times pair.Quantile, rows [][2]string) error {
	least, most := times.MedianWithin()
	fmt.Fprintf(out, "hosts: %d; %d pairs, of two turns of %v of each side; medians\n", p.hosts, len(pairs), p.turn)
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, row := range rows {
		if i == len(rows)-1 {
			row[1] = fmt.Sprintf("%.3f (95 %% sure: %.3f to %.3f; half of the pairs: %.2f to %.2f)  %s", times.At(0.5),
				least, most, times.At(0.25), times.At(0.75), row[1])
		}
		fmt.Fprintf(columns, "  %s\t%s\n", row[0], strings.TrimSpace(row[1]))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
