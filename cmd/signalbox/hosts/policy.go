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

// newClusterPolicy returns the commands for the governor's policy.
func newClusterPolicy(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "policy",
		Short: "Governor policy: get, set",
		Long: `The policy sets the number of replicas and voters per shard, the time after which a
silent host counts as failed, and how fast the governor changes the cluster.`,
	}, newPolicyGet(f), newPolicySet(f))
}

func newPolicyGet(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:     "get",
		Short:   "Show the governor policy",
		Long:    `Shows the governor policy.`,
		Example: `  signalbox cluster policy get`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, _ []string) error {
			cluster, err := admin.New(box).Describe(ctx)
			if err != nil {
				return err
			}
			return showPolicy(f, &cluster.Policy)
		}),
	}
}

func newPolicySet(f *cli.Frame) *cobra.Command {
	var flags cli.ActFlags
	c := &cobra.Command{
		Use:   "set",
		Short: "Change the governor policy",
		Long: `Changes the settings given by flags; other settings stay. Concurrent changes to
different settings are all kept.

--replicas sets the number of replicas per data shard; the default is one on every host.
A cluster with more than nine hosts needs the setting. With 1, losing a host loses its
shards: the command asks for confirmation unless --yes is given.

--meta-voter-label restricts meta shard voters to hosts with the label. The meta shard
stores nodes, hosts and the policy. To keep data shards off such hosts, use signalbox
host alter HOST --weight 0. Label at least three hosts: with fewer the meta shard
tolerates no failure, and the command warns.`,
		Example: `  # across sites
  signalbox cluster policy set --offline-after 30s --replace-after 1h --reason "slow links"

  # each data shard on three hosts of many
  signalbox cluster policy set --replicas 3

  # the meta shard on dedicated hosts
  signalbox cluster policy set --meta-voter-label role=control`,
		RunE: func(c *cobra.Command, _ []string) error {
			given := false
			c.Flags().Visit(func(flag *pflag.Flag) { given = given || policyFlags(nil).Lookup(flag.Name) != nil })
			if !given {
				return cli.Misuse(c, "no setting is given; signalbox cluster policy set --help lists the settings")
			}
			if c.Flag("replicas").Value.String() == "1" {
				if err := f.Confirmed(c, oneReplica); err != nil {
					return err
				}
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				on := admin.New(box)
				p, err := on.SetPolicy(ctx, func(p *admin.Policy) {
					_ = cli.CopyGiven(c.Flags(), policyFlags(p)) // cannot fail: the flags have the same types
				}, admin.ChangeInfo(flags.By(f)))
				if err != nil {
					return err
				}
				if c.Flag("meta-voter-label").Changed && p.Tier != "" {
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
	return "this leaves each data shard on one host: losing a host loses its shards", nil
}

// leastTier is the minimum host count for a tier that tolerates a host failure.
const leastTier = 3

// thinTier returns a warning if a tier has too few hosts to tolerate a host failure, or an empty text.
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
	return fmt.Sprintf("only %s have the label: the meta shard will have as many voters, and tolerate no failure",
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
		return fmt.Errorf("must be %s, 1, 3 or 5", onAll)
	}
	*r = replicas(n)
	return nil
}

func (*replicas) Type() string { return "NUMBER" }

// policyFlags returns flags that change a policy. Without a policy, the flags only store their values.
func policyFlags(to *admin.Policy) *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	p := cmp.Or(to, &admin.Policy{})
	fs.IntVar(&p.Voters, "voters", p.Voters, "Voters per shard, `NUMBER`: 1, 3 or 5. 0 derives the number from "+
		"the hosts")
	fs.DurationVar(&p.OfflineAfter, "offline-after", p.OfflineAfter, "Time without contact after which a host is "+
		"considered failed, `DURATION` from 1s to 10m")
	fs.DurationVar(&p.ReplaceAfter, "replace-after", p.ReplaceAfter, "Time after which a failed voter is replaced, "+
		"if another host is available: `DURATION` from 10s to 720h, 0 is never")
	fs.DurationVar(&p.StableFor, "stabilization-time", p.StableFor, "Time that a learner must be up to date before "+
		"it becomes a voter: `DURATION` from 1s to 1h")
	fs.DurationVar(&p.BalanceEvery, "leader-rebalance-interval", p.BalanceEvery, "Minimum time between leadership "+
		"transfers that balance load: `DURATION` from 10s to 24h, 0 turns them off")
	fs.Var((*replicas)(&p.Replicas), "replicas", "Replicas per data shard, `NUMBER`: 1, 3 or 5, or all for every host")
	fs.IntVar(&p.Copies, "max-replica-builds", p.Copies, "Maximum number of concurrent replica builds, `NUMBER` "+
		"from 1 to 16")
	fs.StringVar(&p.Tier, "meta-voter-label", p.Tier, "Only hosts with this `LABEL` vote in the meta shard: "+
		"KEY=VALUE as in failure domains. Empty: all hosts")
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
		voters = "derived from the hosts"
	}
	return f.Show(p, cli.Fields("voters", voters, "offline after", p.OfflineAfter, "replace after",
		never(p.ReplaceAfter), "stabilization time", p.StableFor, "leader rebalance interval", never(p.BalanceEvery),
		"max replica builds", p.Copies,
		"replicas", (*replicas)(&p.Replicas).String(), "meta voter label", cmp.Or(p.Tier, "all hosts")))
}
