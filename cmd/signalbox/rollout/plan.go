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
	var dry rollout.PlanOptions
	var act rollout.Action
	var verb string
	c := &cobra.Command{
		Use:   "plan PATH NAME",
		Short: "Show when each location would get each version",
		Long: `Shows when each location would get each version. The plan assumes that all leaders in a
location reach a version within --assume-duration, every gate passes then, and nothing
else happens. A location without leaders stays without leaders. --publish assumes a new
version now; --action assumes an operator's action first, with --location, --to and
--all-at-once as for the action itself. Nothing is changed.`,
		Example: `  # what is on its way?
  signalbox rollout plan /prod dns

  # how long would a new version take, where each location needs a minute for it?
  signalbox rollout plan /prod dns --publish --assume-duration 1m

  # what would going back do?
  signalbox rollout plan /prod dns --action rollback --to 17`,
		RunE: func(c *cobra.Command, args []string) error {
			if verb != "" {
				i := slices.Index(verbNames(), verb)
				if i < 0 {
					return cli.Misuse(c, "--action %s is unknown; actions are "+
						"%s", cli.Safe(verb), strings.Join(verbNames(), ", "))
				}
				act.Kind, dry.Act = rollout.Pause+rollout.ActionKind(i), &act
			} else if len(act.Locations) > 0 || act.Seq != 0 || act.Fast {
				return cli.Misuse(c, "--location, --to and --all-at-once require --action")
			}
			if dry.Takes < 0 {
				return cli.Misuse(c, "--assume-duration must not be negative, but is %v", dry.Takes)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				steps, err := rollout.New(box, args[0], args[1]).Plan(ctx, dry)
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
	c.Flags().DurationVar(&dry.Takes, "assume-duration", time.Second, "Assumed time for leaders to reach a target, "+
		"`DURATION`")
	c.Flags().BoolVar(&dry.Publish, "publish", false, "Plan as if a version were published now")
	c.Flags().StringVar(&verb, "action", "", "Plan as if an operator took this `ACTION` first, such as promote")
	c.Flags().StringSliceVar(&act.Locations, "location", nil, "`LOCATION` for the action. May be repeated")
	c.Flags().Uint64Var(&act.Seq, "to", 0, "`VERSION` number, as shown by signalbox rollout versions")
	c.Flags().BoolVar(&act.Fast, "all-at-once", false, "Roll back all locations at once, without order and delays")
	_ = c.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(verbNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// verbNames returns the action names.
func verbNames() (names []string) {
	for v := rollout.Pause; v <= rollout.Retry; v++ {
		names = append(names, v.String())
	}
	return names
}
