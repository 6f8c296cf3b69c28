package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newClusterPolicy(f *cli.Frame) *cobra.Command {
	var to admin.Policy
	var flags actFlags
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show or change what the governor goes by",
		Long: `Shows the policy of the governor. What a flag says is changed, the rest stays as it
is; where two change it at once, neither change is lost.`,
		Example: `  signalbox cluster policy

  # across sites
  signalbox cluster policy --offline-after 30s --replace-after 1h --reason "slow links"`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			changes := policyChanges(c, &to)
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				on := admin.Of(box)
				if len(changes) == 0 {
					cluster, err := on.Describe(ctx)
					if err != nil {
						return err
					}
					return showPolicy(f, &cluster.Policy)
				}
				p, err := on.SetPolicy(ctx, func(p *admin.Policy) {
					for _, change := range changes {
						change(p)
					}
				}, admin.By(flags.by(f)))
				if err != nil {
					return err
				}
				return showPolicy(f, p)
			})
		},
	}
	c.Flags().IntVar(&to.Voters, "voters", 0, "how many replicas of a shard vote, `NUMBER`: 1, 3 or 5, and 0 for as many as fit the hosts")
	c.Flags().DurationVar(&to.OfflineAfter, "offline-after", 0, "how long a host is silent before it counts as failed: `DURATION` from 1s to 10m")
	c.Flags().DurationVar(&to.ReplaceAfter, "replace-after", 0, "how long a failed voter keeps its vote while another could have it: `DURATION` from 10s to 720h, 0 for ever")
	c.Flags().DurationVar(&to.StableFor, "stable-for", 0, "how long a learner is up to date before it votes: `DURATION` from 1s to 1h")
	c.Flags().DurationVar(&to.BalanceEvery, "balance-every", 0, "how long a leadership rests before it is moved to spread the load: `DURATION` from 10s to 24h, 0 moves none")
	c.Flags().IntVar(&to.Copies, "copies", 0, "how many new replicas may be filled at once, `NUMBER` from 1 to 16")
	flags.add(c, "history")
	return c
}

// policyChanges are those that the flags of a command ask for.
func policyChanges(c *cobra.Command, to *admin.Policy) (list []func(*admin.Policy)) {
	for name, change := range map[string]func(*admin.Policy){
		"voters":        func(p *admin.Policy) { p.Voters = to.Voters },
		"offline-after": func(p *admin.Policy) { p.OfflineAfter = to.OfflineAfter },
		"replace-after": func(p *admin.Policy) { p.ReplaceAfter = to.ReplaceAfter },
		"stable-for":    func(p *admin.Policy) { p.StableFor = to.StableFor },
		"balance-every": func(p *admin.Policy) { p.BalanceEvery = to.BalanceEvery },
		"copies":        func(p *admin.Policy) { p.Copies = to.Copies },
	} {
		if c.Flags().Changed(name) {
			list = append(list, change)
		}
	}
	return list
}

func showPolicy(f *cli.Frame, p *admin.Policy) error {
	never := func(d time.Duration) string {
		if d == 0 {
			return "never"
		}
		return d.String()
	}
	voters := strconv.Itoa(p.Voters)
	if p.Voters == 0 {
		voters = "as many as fit the hosts"
	}
	return f.Fields(p, cli.Field{Name: "voters", Cell: voters},
		cli.Field{Name: "offline after", Cell: p.OfflineAfter},
		cli.Field{Name: "replace after", Cell: never(p.ReplaceAfter)},
		cli.Field{Name: "stable for", Cell: p.StableFor},
		cli.Field{Name: "balance every", Cell: never(p.BalanceEvery)}, cli.Field{Name: "copies", Cell: p.Copies})
}
