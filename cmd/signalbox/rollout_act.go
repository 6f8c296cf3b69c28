package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// actCommand is a command for an act of one verb.
type actCommand struct {
	verb     rollout.Verb
	short    string
	long     string
	examples string
	// what the command can be given
	locations, to, version, fast bool
	needs                        string // the flag that must be given
	done                         string // what is said then
}

// actCommands are the commands for acts, in the order in which an operator may need them.
var actCommands = []actCommand{
	{
		verb: rollout.Pause, short: "Keep all targets as they are",
		long: `Keeps all targets as they are, until resume: no location gets another version by
itself. Instances still reach the targets that they have, which is noted. Promote,
abort and rollback work meanwhile.`,
		examples: `  signalbox rollout pause /prod dns --reason 'errors in man'`,
		done:     "rollout %s is paused",
	},
	{
		verb: rollout.Resume, short: "End a pause, and a halt",
		long: `Ends a pause, and a halt. Deadlines count from here, and targets may be given up as
often as at first.`,
		examples: `  signalbox rollout resume /prod dns --reason 'the errors are gone'`,
		done:     "rollout %s goes on",
	},
	{
		verb: rollout.Promote, short: "Go on without waiting for delays, gates and leaders",
		long: `Gives a version to locations without waiting for delays, gates and the locations
before them: without --to, what each would get next if no delay were left. A location
that has the version already counts as having reached it. Without --location it is for
all that are not bypassed.`,
		examples: `  # man need not wait any longer
  signalbox rollout promote /prod dns --location man --reason hotfix

  # everywhere, now
  signalbox rollout promote /prod dns --to 18 --reason hotfix`,
		locations: true, to: true,
		done: "rollout %s is promoted",
	},
	{
		verb: rollout.Abort, short: "Give up what is not reached, and halt",
		long: `Gives up all targets that are not reached, and halts the rollout: no location gets
another version by itself until resume. No target changes. Use rollback to go back.`,
		examples: `  signalbox rollout abort /prod dns --reason 'version 18 loses records'`,
		done:     "rollout %s is aborted, and halted; signalbox rollout resume lets it go on",
	},
	{
		verb: rollout.Rollback, short: "Go back to a version",
		long: `Lets locations go back to a version: in their order, with their delays, or with --fast
all at once. They do not get the versions above it that there are now; what is published
later flows on. Without --location it is for all. It works while the rollout is paused
or halted.`,
		examples:  `  signalbox rollout rollback /prod dns --to 17 --fast --reason 'version 18 loses records'`,
		locations: true, to: true, fast: true, needs: "to",
		done: "rollout %s goes back",
	},
	{
		verb: rollout.Bypass, short: "Take locations out of the order",
		long: `Takes locations out of the order: they keep what they have, and the next ones follow
those before them, with the delays of both. It is for a location that is drained, or
that cannot be reached.`,
		examples:  `  signalbox rollout bypass /prod dns --location man --reason 'man is drained'`,
		locations: true, needs: "location",
		done: "rollout %s goes on without them",
	},
	{
		verb: rollout.Unbypass, short: "Put locations back into the order",
		long:      `Puts locations back into the order.`,
		examples:  `  signalbox rollout unbypass /prod dns --location man --reason 'man is back'`,
		locations: true, needs: "location",
		done: "rollout %s goes on with them",
	},
	{
		verb: rollout.Withdraw, short: "Have a version never chosen again",
		long: `Has a version never chosen again. Locations in which it is the target and not reached
give it up; where it is reached it stays: use rollback for those.`,
		examples: `  signalbox rollout withdraw /prod dns 18 --reason 'version 18 loses records'`,
		version:  true,
		done:     "the version is withdrawn from rollout %s",
	},
	{
		verb: rollout.Retry, short: "Try targets again that failed",
		long: `Assigns targets again that were given up, are stuck, or fail in some instance, and
whose version is not withdrawn. It ends a halt. Without --location it is for all.`,
		examples:  `  signalbox rollout retry /prod dns --location man --reason 'the source is back'`,
		locations: true,
		done:      "rollout %s tries again",
	},
}

// newRolloutActs returns the commands for acts.
func newRolloutActs(f *cli.Frame) []*cobra.Command {
	var list []*cobra.Command
	for i := range actCommands {
		list = append(list, actCommands[i].command(f))
	}
	return list
}

// command returns the command.
func (a *actCommand) command(f *cli.Frame) *cobra.Command {
	act, flags := rollout.Act{Verb: a.verb}, actFlags{}
	names, completions := []string{"PATH", "NAME"}, []cli.Completion{f.Paths, completeRollouts(f)}
	if a.version {
		names, completions = append(names, "VERSION"), append(completions, completeVersions(f))
	}
	c := &cobra.Command{
		Use: a.verb.String() + " " + strings.Join(names, " "), Short: a.short, Long: a.long, Example: a.examples,
		Args:              cli.Arguments(names...),
		ValidArgsFunction: f.Complete(completions...),
		RunE: func(c *cobra.Command, args []string) error {
			if a.needs != "" && !c.Flags().Changed(a.needs) {
				return misuse(c, "--%s is missing", a.needs)
			}
			if a.version {
				var err error
				if act.Seq, err = versionNumber(args[2]); err != nil {
					return err
				}
			}
			act.By = rollout.By(flags.by(f))
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				if err := rollout.Of(box, args[0], args[1]).Act(ctx, act); err != nil {
					return err
				}
				f.Say(a.done, cli.Safe(args[1]))
				return nil
			})
		},
	}
	if a.locations {
		addLocations(f, c, &act.Locations)
	}
	if a.to {
		addTo(f, c, &act.Seq)
	}
	if a.fast {
		addFast(c, &act.Fast)
	}
	flags.add(c, "rollout")
	return c
}

// addLocations adds the flag for the locations of an act.
func addLocations(f *cli.Frame, c *cobra.Command, locations *[]string) {
	c.Flags().StringSliceVar(locations, "location", nil, "the `LOCATION` that it is for; may be repeated")
	_ = c.RegisterFlagCompletionFunc("location", completeLocations(f))
}

// addTo adds the flag for the version of an act.
func addTo(f *cli.Frame, c *cobra.Command, seq *uint64) {
	c.Flags().Uint64Var(seq, "to", 0, "the `VERSION`, a number that signalbox rollout versions shows")
	_ = c.RegisterFlagCompletionFunc("to", completeVersions(f))
}

// addFast adds the flag for a roll-back that does not wait.
func addFast(c *cobra.Command, fast *bool) {
	c.Flags().BoolVar(fast, "fast", false, "go back everywhere at once, without order and delays")
}

// versionNumber reads the number of a version.
func versionNumber(text string) (uint64, error) {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 {
		return 0, cli.ExitWith(cli.ExitUsage, fmt.Errorf("%s is not the number of a version, as signalbox rollout "+
			"versions shows it", cli.Safe(text)))
	}
	return seq, nil
}
