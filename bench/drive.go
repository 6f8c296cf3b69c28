package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/bench/internal/doors"
	"github.com/signalbox/signalbox/bench/internal/etcd"
	"github.com/signalbox/signalbox/bench/internal/floor"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/pair"
	"github.com/signalbox/signalbox/bench/internal/redis"
	"github.com/signalbox/signalbox/bench/internal/zookeeper"
	"github.com/signalbox/signalbox/internal/timerslack"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/shard"
)

// addPlan adds flags for a run's plan.
func addPlan(c *cobra.Command) *load.Plan {
	p := new(load.Plan)
	f := c.Flags()
	f.StringVar(&p.Workload, "workload", "", "what to do")
	f.IntVar(&p.Hosts, "hosts", 1, "how many servers there are")
	f.IntVar(&p.Callers, "concurrency", 1, "how many do it at the same time")
	f.IntVar(&p.Connections, "connections", 1, "how many connections the callers share")
	f.IntVar(&p.Watchers, "watchers", 0, "how many watch")
	f.DurationVar(&p.Warmup, "warmup", 0, "how long to do it before it is measured")
	f.DurationVar(&p.Duration, "duration", 0, "how long to measure")
	return p
}

// drivers are the peers' drivers.
var drivers = map[string]func(context.Context, []string, load.Plan) (*report.Report, error){
	"etcd": etcd.Drive, "zookeeper": zookeeper.Drive, "redis": redis.Drive,
	"signalbox-http": overHTTP(doors.Signalbox()), "etcd-http": overHTTP(doors.Etcd()),
}

func overHTTP(ways map[string]doors.Way) func(context.Context, []string, load.Plan) (*report.Report, error) {
	return func(ctx context.Context, endpoints []string, plan load.Plan) (*report.Report, error) {
		return doors.Drive(ctx, endpoints, plan, ways)
	}
}

// newDrive returns the command that drives a peer's servers: a separate process for each run, like loadgen.
func newDrive() *cobra.Command {
	c := &cobra.Command{
		Use:   "drive etcd|zookeeper|redis|signalbox-http|etcd-http",
		Short: "Drive servers that run already, and print what that came to as JSON",
		Args:  cobra.ExactArgs(1),
	}
	plan := addPlan(c)
	endpoints := c.Flags().StringSlice("endpoints", nil, "addresses of the servers")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*endpoints) == 0 {
			return fmt.Errorf("drive %s: no --endpoints", args[0])
		}
		drive, ok := drivers[args[0]]
		if !ok {
			return fmt.Errorf("drive %s: it can be etcd, zookeeper or redis, or signalbox-http or etcd-http", args[0])
		}
		result, err := drive(c.Context(), *endpoints, *plan)
		if err != nil {
			return fmt.Errorf("drive %s: %w", args[0], err)
		}
		return json.NewEncoder(c.OutOrStdout()).Encode(result)
	}
	return c
}

// hostSlack is the timer slack for Signalbox hosts and bare logs.
const hostSlack = time.Millisecond

// newPropose returns the command that runs one host for bare proposals.
func newPropose() *cobra.Command {
	c := &cobra.Command{
		Use:   "propose",
		Short: "Be one of the hosts of a bare log, and print what proposals took as JSON where this one leads",
		Args:  cobra.NoArgs,
	}
	plan := addPlan(c)
	self := c.Flags().Uint64("self", 1, "the number of this host")
	dir := c.Flags().String("dir", "", "the data directory of this host")
	members := c.Flags().StringSlice("members", nil, "the addresses of all hosts, that of host 1 first")
	asked := c.Flags().Bool("asked", false, "propose once for each turn that the standard input asks for")
	c.RunE = func(c *cobra.Command, _ []string) error {
		timerslack.Ensure(hostSlack)
		all := make(map[shard.HostID]string)
		for i, address := range *members {
			all[shard.HostID(i+1)] = address
		}
		if *asked {
			host, err := floor.Open(*dir, shard.HostID(*self), all)
			if err != nil {
				return fmt.Errorf("propose: %w", err)
			}
			defer host.Close()
			return pair.Obey(&pair.Bare{Ready: host.Lead, Propose: host.Proposer(), Ctx: c.Context()}, c.InOrStdin(),
				c.OutOrStdout())
		}
		result, err := floor.Serve(c.Context(), *dir, shard.HostID(*self), all, *plan)
		if err != nil {
			return fmt.Errorf("propose: %w", err)
		}
		return json.NewEncoder(c.OutOrStdout()).Encode(result)
	}
	return c
}
