package hosts

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/health"
	"github.com/signalbox/signalbox/gateway/operation"
)

// clusterCommands returns the commands for the whole cluster and its governor.
func clusterCommands(f *cli.Frame, recovery *cobra.Command) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "cluster",
		Short: "The governor: open steps, reasons, audit log",
		Long: `The governor runs on the leader of the meta shard. It brings hosts to their targets,
replaces failed replicas, and balances votes and leaderships, one small step at a time.`,
	}, newClusterDescribe(f), newClusterWhy(f), newClusterPlan(f), newClusterRebalance(f), newClusterStep(f),
		newClusterPolicy(f), recovery))
}

// hostName returns a host's name, or a text with the id for an unknown host.
func hostName(c *admin.Cluster, id uint64) string {
	if h := c.Host(id); h != nil {
		return h.Name
	}
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("host %d", id)
}

func newClusterDescribe(f *cli.Frame) *cobra.Command {
	return clusterReader(f, &cobra.Command{
		Use:   "describe",
		Short: "Show hosts, replicas, failure tolerance and health issues",
		Long: `Shows the governor, how many failures every shard tolerates, and the health issues with
their remedies. -o json includes all hosts and replicas.`,
		Example: `  signalbox cluster describe
  signalbox cluster describe -o json | jq '.shards[] | {id, voters_live, failure_tolerance}'`,
	}, func(ctx context.Context, box *client.Client, cluster *admin.Cluster, _ []string) error {
		found := cluster.HealthIssues
		if list, err := health.Read(ctx, box); err == nil {
			found = list.Items
		}
		return showCluster(f, cluster, found)
	})
}

func showCluster(f *cli.Frame, c *admin.Cluster, found []admin.HealthIssue) error {
	living := 0
	for i := range c.Hosts {
		if c.Hosts[i].Target.State != admin.Expelled {
			living++
		}
	}
	governor := hostName(c, c.Governor)
	if !c.Observed {
		governor += " (not asked, or no reports from the other hosts yet)"
	}
	fields := cli.Fields("cluster", c.ID, "generation", c.Generation, "governor", governor, "hosts", living,
		"failures tolerated", health.Tolerance(c))
	return f.Show(c, fields, health.Section(found))
}

// stepCells returns an open step as table cells.
func stepCells(s admin.Step) []any {
	text := s.LastError
	if s.Wait > 0 {
		text = fmt.Sprintf("%s; next attempt in %v", text, s.Wait.Round(100*time.Millisecond))
	}
	return []any{s.ID, s.Text, s.Age.Round(100 * time.Millisecond), s.Failures, text}
}

// reasonSection returns a table with the reasons why the governor waits.
func reasonSection(title string, reasons []admin.Reason) operation.Section {
	rows := cli.Map(reasons, func(r admin.Reason) []any {
		return []any{r.Text, r.Rule, durationCell(r.Since), durationCell(r.Left)}
	})
	return cli.Section(title, []string{"REASON", "RULE", "SINCE", "UNTIL"}, rows)
}

// durationCell formats a duration that may be unknown.
func durationCell(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(100 * time.Millisecond).String()
}

var stepTitles = []string{"ID#", "STEP", "SINCE", "FAILURES#", "LAST ERROR"}

func newClusterWhy(f *cli.Frame) *cobra.Command {
	var wait bool
	var within time.Duration
	var except []string
	c := &cobra.Command{
		Use:   "why",
		Short: "Show what the governor does and what it waits for",
		Long: `Shows the health issues, as signalbox check does, the open steps, and what the governor
waits for, such as "shard 3: d waits for its snapshot, 41 %". If there is no governor,
the command prints whether each host answers, and exits with code 69.

--wait waits until nothing is left to do, and prints a line for each new reason, with
its age and the time at which work continues. The wait ignores cordons, the pause
between leadership moves that balance load, and hosts in --except that are drained or
stopped. While slots move between shards, it prints the number of remaining slots.

--wait-timeout bounds the wait: if something is left to do by then the exit code is 69.
The governor continues.`,
		Example: `  signalbox cluster why

  # until nothing is open and nothing is due
  signalbox cluster why --wait

  # the same, for at most half an hour
  signalbox cluster why --wait-timeout 30m

  # the same, while host c is away for longer
  signalbox cluster why --wait --except c`,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flag("wait-timeout").Changed {
				if within <= 0 {
					return cli.Misuse(c, "--wait-timeout %v is invalid; give a duration above 0", within)
				}
				wait = true
				bounded, cancel := context.WithTimeoutCause(c.Context(), within, cli.Errorf(cli.ExitUnavailable,
					"something is left to do after %v; the governor continues", within))
				defer cancel()
				c.SetContext(bounded)
			}
			if wait {
				return f.Stay(c, func(ctx context.Context, _ *cli.Connection, box *client.Client) error {
					return (&waiting{frame: f, on: admin.New(box)}).untilDone(ctx, except)
				})
			}
			if len(except) > 0 {
				return cli.Misuse(c, "--except requires --wait")
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				return askWhy(ctx, f, box)
			})
		},
	}
	c.Flags().BoolVar(&wait, "wait", false,
		"Wait until no step is open or due, and report progress. --timeout does not apply")
	c.Flags().DurationVar(&within, "wait-timeout", 0,
		"Wait as with --wait, for at most this `DURATION`, such as 30m")
	c.Flags().StringSliceVar(&except, "except", nil,
		"With --wait: do not wait for `HOST`, which is drained or stopped")
	return c
}

// askWhy shows what is unhealthy, even without a governor: the error then explains why the governor cannot be asked.
func askWhy(ctx context.Context, f *cli.Frame, box *client.Client) error {
	list, err := health.Read(ctx, box)
	if err != nil {
		return err
	}
	asking, cancel := health.Patience(ctx)
	defer cancel()
	why, failed := admin.New(box).Why(asking)
	return cmp.Or(showWhy(f, operation.WhyReport{Why: why, HealthIssues: list}), failed)
}

func showWhy(f *cli.Frame, why operation.WhyReport) error {
	text := "nothing to do"
	switch {
	case why.Why == nil:
		text, why.Why = "no host governs the cluster", &admin.Why{}
	case len(why.Steps) > 0:
		text = fmt.Sprintf("%d steps are open", len(why.Steps))
	case len(why.Reasons) > 0:
		text = "it waits"
	}
	return f.Show(why, cli.Fields("governor", text), health.Section(why.Items),
		health.UnansweredSection(why.Unreachable),
		cli.Section("Open steps", stepTitles, cli.Map(why.Steps, stepCells)),
		reasonSection("Waiting for", why.Reasons))
}

func newClusterPlan(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "plan",
		Short: "Show the governor's next steps without executing them",
		Long: `Simulates the governor's steps, assuming that every step succeeds, until nothing is left
to do, and shows why the simulation ends. Nothing is changed.`,
		Example: `  signalbox cluster plan`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			plan, err := admin.New(box).Plan(ctx)
			if err != nil {
				return err
			}
			var rows [][]any
			for i, s := range plan.Steps {
				rows = append(rows, []any{i + 1, s.Text, s.Rule, durationCell(s.In)})
			}
			text := fmt.Sprintf("%d steps", len(plan.Steps))
			if plan.Cut {
				text += ", and more"
			}
			return f.Show(plan, cli.Fields("plan", text),
				cli.Section("Steps", []string{"#", "STEP", "RULE", "AFTER"}, rows),
				reasonSection("Why the plan ends", plan.Reasons))
		}),
	}
}
