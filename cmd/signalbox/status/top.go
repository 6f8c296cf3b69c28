package status

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/adminclient"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	"github.com/signalbox/signalbox/server/settings"
)

// minTopInterval is the minimum pause between two samples: for every sample, hosts write all their series.
const minTopInterval = 200 * time.Millisecond

// topCommand is one run of top.
type topCommand struct {
	*cli.Frame
	admin    []string
	interval time.Duration
	once     bool
	rows     int
}

// newTop returns the command top.
func newTop(f *cli.Frame) *cobra.Command {
	t := &topCommand{Frame: f}
	c := &cobra.Command{
		Use:   "top",
		Short: "Show the load of a cluster, live",
		Long: `Shows the cluster load and updates it every --interval, until q is typed or the command
is interrupted.

  requests     rate and latency by kind
  waits        acquires that waited in a queue, and for how long
  hosts        requests, leaderships and disk latency per host
  semaphores   semaphores with most waiters; ephemeral semaphores only in nodes that
               count them (signalbox node alter PATH --metrics-level aggregated)
  rollouts     rollouts that need an operator, and for how long
  processes    processes with a waiting round, the first missing member, and the time

The figures come from the hosts' admin pages: the pages in --admin-endpoints, and those
of all hosts known there. Without --admin-endpoints, the hosts in --endpoints or in the
context give the addresses of their pages, which often are reachable only from the
hosts' machines. Latency buckets are powers of two: "8.19ms" in the column 99% means
that 99 of 100 requests took less than 8.19 ms, and more than half as much.

With -o json each sample is an object on one line. If the output is not a terminal,
samples follow each other.

Exit codes: 69 no admin page can be read; 0 interrupted, or done with --once. signalbox
help exit-codes lists the others.`,
		Example: `  signalbox top

  # hosts that are elsewhere, every five seconds
  signalbox top --admin-endpoints a.example:7422 --interval 5s

  # one look, for a program
  signalbox top --once -o json | jq '.requests[] | select(.kind == "acquire")'`,
		RunE: func(c *cobra.Command, _ []string) error { return t.run(c) },
	}
	c.Flags().StringSliceVar(&t.admin, "admin-endpoints", []string{settings.DefaultAdminListen}, "`ADDRESSES` of "+
		"the admin pages of some hosts. The other hosts are found through them")
	c.Flags().DurationVar(&t.interval, "interval", 2*time.Second, "Sampling interval, `DURATION` from 200ms")
	c.Flags().BoolVar(&t.once, "once", false, "Show one sample and exit")
	c.Flags().IntVar(&t.rows, "rows", 10, "Maximum `NUMBER` of rows per list")
	return f.Command(c)
}

// findPages asks the cluster for its hosts' admin pages, if a cluster is specified without a page: the default page
// may belong to another cluster.
func (t *topCommand) findPages(c *cobra.Command) error {
	k, err := t.Settings()
	if err != nil || c.Flags().Changed("admin-endpoints") || !k.NamesCluster() {
		return err
	}
	return t.Ask(c, func(ctx context.Context, box *client.Client) error {
		cluster, err := admin.New(box).Describe(ctx, admin.Relaxed())
		if err != nil {
			return err
		}
		t.admin = nil
		for i := range cluster.Hosts {
			if page := cluster.Hosts[i].AdminAddress; page != "" {
				t.admin = append(t.admin, page)
			}
		}
		if len(t.admin) == 0 {
			return cli.Errorf(cli.ExitUnavailable, "the hosts at %s do not report the addresses of their admin "+
				"pages; give one with --admin-endpoints", cli.Safe(k.Endpoints()))
		}
		return nil
	})
}

// run shows successive samples.
func (t *topCommand) run(c *cobra.Command) error {
	if t.interval < minTopInterval || t.rows < 1 {
		return cli.Errorf(cli.ExitUsage, "--interval %v or --rows %d is too small; give at least %v, and at "+
			"least 1", t.interval, t.rows,
			minTopInterval)
	}
	if err := t.findPages(c); err != nil {
		return err
	}
	ctx, stop := cli.UntilInterrupted(context.Background())
	defer stop()
	if !t.once && !t.JSON() && cli.IsTerminal(t.Out) {
		var restore func()
		ctx, restore = t.UntilKey(ctx, 'q')
		defer restore()
	}
	before, err := t.read(ctx)
	if err != nil {
		return interruptedIsDone(ctx, err)
	}
	screen := liveview.New(t.Frame, t.once || t.JSON())
	defer screen.Restore()
	for {
		if !cli.SleepFor(ctx, t.interval) {
			return nil
		}
		now, err := t.read(ctx)
		if err != nil {
			return interruptedIsDone(ctx, err)
		}
		s := newSample(before, now, t.rows)
		if t.JSON() {
			err = t.Object(s)
		} else {
			err = screen.Show(s.text())
		}
		if err != nil || t.once {
			return err
		}
		before = now
	}
}

// read reads all hosts' pages.
func (t *topCommand) read(ctx context.Context) ([]adminclient.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, max(t.interval, time.Second))
	defer cancel()
	hosts := adminclient.Read(ctx, t.admin)
	if slices.ContainsFunc(hosts, func(r adminclient.Reading) bool { return r.Err == nil }) {
		return hosts, nil
	}
	return nil, cli.Errorf(cli.ExitUnavailable, "cannot read the admin pages of %s: %w; give reachable pages "+
		"with --admin-endpoints", hosts[0].Address, hosts[0].Err)
}

// interruptedIsDone turns an interrupted command's error into success.
func interruptedIsDone(ctx context.Context, err error) error {
	if cli.WasInterrupted(ctx) {
		return nil
	}
	return err
}
