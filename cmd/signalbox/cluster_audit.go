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

// entryObject is a change of the history as JSON.
type entryObject struct {
	Number   uint64    `json:"number"`
	At       time.Time `json:"at"`
	Event    string    `json:"event"`
	Host     uint64    `json:"host,omitempty"`
	HostName string    `json:"host_name,omitempty"`
	Text     string    `json:"text"`
	By       string    `json:"by,omitempty"`
	Why      string    `json:"why,omitempty"`
}

func newClusterAudit(f *cli.Frame) *cobra.Command {
	var last int
	var from uint64
	c := &cobra.Command{
		Use:   "audit",
		Short: "What was changed among the hosts, by whom and why",
		Long: `Shows the history of changes of hosts, replicas, policy and join tokens: when, what, by
whom and why. The cluster keeps the last 10,000.`,
		Example: `  signalbox cluster audit
  signalbox cluster audit --last 200
  signalbox cluster audit --from 1 -o json`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				on := admin.Of(box)
				rows := f.Rows("NUMBER#", "TIME", "EVENT", "HOST", "WHAT", "BY", "WHY")
				add := func(e admin.Entry) error {
					return rows.Add(entryObject{e.Number, e.At.UTC(), e.Event, e.Host, e.HostName, e.Text, e.By, e.Why},
						strconv.FormatUint(e.Number, 10), e.At.UTC().Format(time.RFC3339), e.Event, e.HostName, e.Text,
						e.By, e.Why)
				}
				if from > 0 {
					return cli.AddAll(rows, on.Audit(ctx, from), add)
				}
				entries, err := on.LatestAudit(ctx, last)
				if err != nil {
					return err
				}
				for _, e := range entries {
					if err := add(e); err != nil {
						return err
					}
				}
				return rows.End()
			})
		},
	}
	c.Flags().IntVar(&last, "last", 50, "the newest changes, `NUMBER` up to 1000")
	c.Flags().Uint64Var(&from, "from", 0, "all changes from this `NUMBER` on")
	c.MarkFlagsMutuallyExclusive("last", "from")
	return c
}

// policyObject is a policy as JSON.
type policyObject struct {
	Voters         int   `json:"voters"`
	OfflineAfterMS int64 `json:"offline_after_ms"`
	ReplaceAfterMS int64 `json:"replace_after_ms"`
	StableForMS    int64 `json:"stable_for_ms"`
	BalanceEveryMS int64 `json:"balance_every_ms"`
	Copies         int   `json:"copies"`
}

func newPolicyObject(p *admin.Policy) policyObject {
	return policyObject{p.Voters, cli.Millis(p.OfflineAfter), cli.Millis(p.ReplaceAfter), cli.Millis(p.StableFor),
		cli.Millis(p.BalanceEvery), p.Copies}
}

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
	return f.Fields(newPolicyObject(p), cli.Field{Name: "voters", Cell: voters},
		cli.Field{Name: "offline after", Cell: p.OfflineAfter},
		cli.Field{Name: "replace after", Cell: never(p.ReplaceAfter)},
		cli.Field{Name: "stable for", Cell: p.StableFor},
		cli.Field{Name: "balance every", Cell: never(p.BalanceEvery)}, cli.Field{Name: "copies", Cell: p.Copies})
}
