package hosts

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newClusterPolicy(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show or change what the governor goes by",
		Long: `Shows the policy of the governor. What a flag says is changed, the rest stays as it
is; where two change it at once, neither change is lost.`,
		Example: `  signalbox cluster policy

  # across sites
  signalbox cluster policy --offline-after 30s --replace-after 1h --reason "slow links"`,
		RunE: func(c *cobra.Command, _ []string) error {
			given := false
			c.Flags().Visit(func(flag *pflag.Flag) { given = given || policyFlags(nil).Lookup(flag.Name) != nil })
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				on := admin.Of(box)
				if !given {
					cluster, err := on.Describe(ctx)
					if err != nil {
						return err
					}
					return showPolicy(f, &cluster.Policy)
				}
				p, err := on.SetPolicy(ctx, func(p *admin.Policy) {
					_ = cli.CopyGiven(c.Flags(), policyFlags(p)) // an error cannot be: the flags are of the same kinds
				}, admin.By(flags.By(f)))
				if err != nil {
					return err
				}
				return showPolicy(f, p)
			})
		},
	}
	c.Flags().AddFlagSet(policyFlags(nil))
	flags.Add(c, "history")
	return c
}

// policyFlags are flags that change a policy. Without a policy the flags only keep their values.
func policyFlags(to *admin.Policy) *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	p := cmp.Or(to, &admin.Policy{})
	fs.IntVar(&p.Voters, "voters", p.Voters, "how many replicas of a shard vote, `NUMBER`: 1, 3 or 5, and 0 for as many as fit the hosts")
	fs.DurationVar(&p.OfflineAfter, "offline-after", p.OfflineAfter, "how long a host is silent before it counts as failed: `DURATION` from 1s to 10m")
	fs.DurationVar(&p.ReplaceAfter, "replace-after", p.ReplaceAfter, "how long a failed voter keeps its vote while another could have it: `DURATION` from 10s to 720h, 0 for ever")
	fs.DurationVar(&p.StableFor, "stable-for", p.StableFor, "how long a learner is up to date before it votes: `DURATION` from 1s to 1h")
	fs.DurationVar(&p.BalanceEvery, "balance-every", p.BalanceEvery, "how long a leadership rests before it is moved to spread the load: `DURATION` from 10s to 24h, 0 moves none")
	fs.IntVar(&p.Copies, "copies", p.Copies, "how many new replicas may be filled at once, `NUMBER` from 1 to 16")
	return fs
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
	return f.Show(p, cli.Fields("voters", voters, "offline after", p.OfflineAfter, "replace after",
		never(p.ReplaceAfter), "stable for", p.StableFor, "balance every", never(p.BalanceEvery), "copies", p.Copies))
}
