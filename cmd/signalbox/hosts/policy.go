package hosts

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

func newClusterPolicy(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "policy",
		Short: "Show or change what the governor goes by",
		Long: `Shows the policy of the governor. What a flag says is changed, the rest stays as it
is; where two change it at once, neither change is lost.

With --replicas a data shard is on as many hosts as that, and not on every host; then
a cluster may have more than nine hosts. With 1 a shard is lost with its host: the
command asks, unless there is --yes.

With --tier only hosts that have a label vote in the meta shard, which has the
nodes, the hosts and the policy: a few hosts that are kept for it, say. Beside it,
signalbox host alter HOST --weight 0 keeps data shards away from them. Label three
hosts at least: of fewer the meta shard bears no loss, and the command says so.`,
		Example: `  signalbox cluster policy

  # across sites
  signalbox cluster policy --offline-after 30s --replace-after 1h --reason "slow links"

  # each data shard on three hosts of many
  signalbox cluster policy --replicas 3

  # the meta shard on hosts that are kept for it
  signalbox cluster policy --tier role=control`,
		RunE: func(c *cobra.Command, _ []string) error {
			given := false
			c.Flags().Visit(func(flag *pflag.Flag) { given = given || policyFlags(nil).Lookup(flag.Name) != nil })
			if c.Flag("replicas").Value.String() == "1" {
				if err := f.Confirmed(c, oneReplica); err != nil {
					return err
				}
			}
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
				if c.Flag("tier").Changed && p.Tier != "" {
					cluster, err := on.Describe(ctx)
					if err != nil {
						return err
					}
					if warning := thinTier(cluster, p.Tier); warning != "" {
						f.Say("signalbox: %s", warning)
					}
				}
				return showPolicy(f, p)
			})
		},
	}
	c.Flags().AddFlagSet(policyFlags(nil))
	flags.Add(c, "history")
	cli.AddYes(c)
	return c
}

func oneReplica(context.Context, *client.Client) (string, error) {
	return "this leaves each data shard on one host, and a shard is lost with its host", nil
}

// leastTier is the least number of hosts of a tier of which one may be lost.
const leastTier = 3

// thinTier returns a warning if a tier has too few hosts for the loss of one, or an empty text.
func thinTier(c *admin.Cluster, tier string) string {
	n := 0
	key, value, _ := strings.Cut(tier, "=")
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Target.State != admin.Expelled && h.Domain.Value(key) == value {
			n++
		}
	}
	if n >= leastTier {
		return ""
	}
	return fmt.Sprintf("the tier has only %s: the meta shard will have as many votes, and bear no loss",
		operation.Plural(n, "host"))
}

// replicas is a number of replicas as a flag.
type replicas int

const onAll = "all"

func (r *replicas) String() string {
	if *r == 0 {
		return onAll
	}
	return strconv.Itoa(int(*r))
}

func (r *replicas) Set(text string) error {
	*r = 0
	if text == onAll {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n != 1 && n != 3 && n != 5 {
		return fmt.Errorf("give %s, 1, 3 or 5", onAll)
	}
	*r = replicas(n)
	return nil
}

func (*replicas) Type() string { return "NUMBER" }

// policyFlags are flags that change a policy. Without a policy the flags only keep their values.
func policyFlags(to *admin.Policy) *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	p := cmp.Or(to, &admin.Policy{})
	fs.IntVar(&p.Voters, "voters", p.Voters, "how many replicas of a shard vote, `NUMBER`: 1, 3 or 5, and 0 for as many as fit the hosts")
	fs.DurationVar(&p.OfflineAfter, "offline-after", p.OfflineAfter, "how long a host is silent before it counts as failed: `DURATION` from 1s to 10m")
	fs.DurationVar(&p.ReplaceAfter, "replace-after", p.ReplaceAfter, "how long a failed voter keeps its vote while another could have it: `DURATION` from 10s to 720h, 0 for ever")
	fs.DurationVar(&p.StableFor, "stable-for", p.StableFor, "how long a learner is up to date before it votes: `DURATION` from 1s to 1h")
	fs.DurationVar(&p.BalanceEvery, "balance-every", p.BalanceEvery, "how long a leadership rests before it is moved to spread the load: `DURATION` from 10s to 24h, 0 moves none")
	fs.Var((*replicas)(&p.Replicas), "replicas", "on how many hosts a data shard has a replica, `NUMBER`: 1, 3 or 5, and all for every host")
	fs.IntVar(&p.Copies, "copies", p.Copies, "how many new replicas may be filled at once, `NUMBER` from 1 to 16")
	fs.StringVar(&p.Tier, "tier", p.Tier, "the `LABEL` of the hosts that vote in the meta shard, KEY=VALUE as in their failure domains; empty for all hosts")
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
		never(p.ReplaceAfter), "stable for", p.StableFor, "balance every", never(p.BalanceEvery), "copies", p.Copies,
		"replicas", (*replicas)(&p.Replicas).String(), "tier", cmp.Or(p.Tier, "all hosts")))
}
