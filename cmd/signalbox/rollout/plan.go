package rollout

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

func newPlan(f *cli.Frame) *cobra.Command {
	var dry rollout.Dry
	var act rollout.Act
	var verb string
	c := &cobra.Command{
		Use:   "plan PATH NAME",
		Short: "Say who would get what when, and change nothing",
		Long: `Says which location would get which version when, if all its leaders reached each in the
time that --takes says, every gate passed then, and nothing else happened. A location
without leaders stays without. With --publish it is as if a version was published now,
with --act as if an operator did that first; --location, --to and --fast are those of
the act. Nothing is changed.`,
		Example: `  # what is on its way?
  signalbox rollout plan /prod dns

  # how long would a new version take, where each location needs a minute for it?
  signalbox rollout plan /prod dns --publish --takes 1m

  # what would going back do?
  signalbox rollout plan /prod dns --act rollback --to 17`,
		RunE: func(c *cobra.Command, args []string) error {
			if verb != "" {
				i := slices.Index(verbNames(), verb)
				if i < 0 {
					return cli.Misuse(c, "--act %s: there are %s", cli.Safe(verb), strings.Join(verbNames(), ", "))
				}
				act.Verb, dry.Act = rollout.Pause+rollout.Verb(i), &act
			} else if len(act.Locations) > 0 || act.Seq != 0 || act.Fast {
				return cli.Misuse(c, "--location, --to and --fast go with --act")
			}
			if dry.Takes < 0 {
				return cli.Misuse(c, "--takes %v is below zero", dry.Takes)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				steps, err := rollout.Of(box, args[0], args[1]).Plan(ctx, dry)
				if err != nil {
					return err
				}
				if len(steps) == 0 {
					f.Say("no location would get another version")
				}
				return cli.List(f.Rows("IN#", "LOCATION", "VERSION#", "CAUSE"), steps, func(s rollout.Step) []any {
					return []any{operation.ShortTime(s.After), s.Location, s.Seq, s.Cause}
				})
			})
		},
	}
	c.Flags().DurationVar(&dry.Takes, "takes", time.Second, "how long leaders take to reach a target: `DURATION`")
	c.Flags().BoolVar(&dry.Publish, "publish", false, "as if a version was published now")
	c.Flags().StringVar(&verb, "act", "", "as if an operator did this first: `ACT`, such as promote")
	c.Flags().StringSliceVar(&act.Locations, "location", nil, "the `LOCATION` that it is for; may be repeated")
	c.Flags().Uint64Var(&act.Seq, "to", 0, "the `VERSION`, a number that signalbox rollout versions shows")
	c.Flags().BoolVar(&act.Fast, "fast", false, "go back everywhere at once, without order and delays")
	_ = c.RegisterFlagCompletionFunc("act", cobra.FixedCompletions(verbNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// verbNames are the acts.
func verbNames() (names []string) {
	for v := rollout.Pause; v <= rollout.Retry; v++ {
		names = append(names, v.String())
	}
	return names
}
