package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// rolloutReader returns a command that reads a rollout. The arguments are PATH, NAME and more.
func rolloutReader(f *cli.Frame, c *cobra.Command,
	read func(ctx context.Context, r *rollout.Rollout, more []string) error, more ...cli.Completion) *cobra.Command {
	return objectReader(f, c, rollout.Of, read, append([]cli.Completion{completeRollouts(f)}, more...)...)
}

// objectReader returns a command that reads an object, which of returns. The arguments are PATH, NAME and more.
func objectReader[H any](f *cli.Frame, c *cobra.Command, of func(c *client.Client, path, name string) H,
	read func(ctx context.Context, handle H, more []string) error, completions ...cli.Completion) *cobra.Command {
	c.Args = cli.Arguments(strings.Fields(c.Use)[1:]...)
	c.ValidArgsFunction = f.Complete(append([]cli.Completion{f.Paths}, completions...)...)
	c.RunE = func(c *cobra.Command, args []string) error {
		return f.Ask(c, func(ctx context.Context, box *client.Client) error {
			return read(ctx, of(box, args[0], args[1]), args[2:])
		})
	}
	return c
}

func newRolloutWhy(f *cli.Frame) *cobra.Command {
	return rolloutReader(f, &cobra.Command{
		Use:   "why PATH NAME",
		Short: "Say why a rollout does not move, with names",
		Long: `Says why a rollout does not move, a line for each reason: which instances a location
waits for and what they do, which gate is not passed, whose delay is not over, who has
paused it. It prints nothing where every location has the newest version.`,
		Example: `  signalbox rollout why /prod dns

  # only what neither time nor the instances can do away with
  signalbox rollout why /prod dns -o json | jq -r 'select(.blocked) | .text'`,
	}, func(ctx context.Context, r *rollout.Rollout, _ []string) error {
		reasons, err := r.Why(ctx)
		if err != nil {
			return err
		}
		for _, reason := range reasons {
			o := ages{}.reason(reason)
			if err := f.Line(o, "%s", cli.Safe(o.line())); err != nil {
				return err
			}
		}
		if len(reasons) == 0 {
			f.Say("nothing holds %s up", cli.Safe(r.Name()))
		}
		return nil
	})
}

func newRolloutHistory(f *cli.Frame) *cobra.Command {
	return rolloutReader(f, &cobra.Command{
		Use:   "history PATH NAME [LOCATION]",
		Short: "List the versions that locations had, and when",
		Long: `Lists the targets that a location had, or all locations: the oldest that is kept first,
with how long ago each was assigned, reached and given up, and why. Ages are by the time
of the shard, which stands still while no host leads it; -o wide has the times of a wall
clock as well.`,
		Example: `  signalbox rollout history /prod dns
  signalbox rollout history /prod dns man -o wide

  # how long did each version take to reach man?
  signalbox rollout history /prod dns man -o json | jq '[.version, .assigned_age_ms - .reached_age_ms]'`,
	}, func(ctx context.Context, r *rollout.Rollout, more []string) error {
		state, err := r.Describe(ctx)
		if err != nil {
			return err
		}
		labels := labelsOf(state.Versions)
		rows := f.Rows("LOCATION", "VERSION#", "LABEL", "CAUSE", "ASSIGNED#", "REACHED#", "GIVEN UP#", "+GENERATION#",
			"+ASSIGNED AT", "+REACHED AT", "+GIVEN UP AT", "NOTE")
		err = eachLocation(state, more, func(location string) error {
			history, err := r.History(ctx, location)
			for _, row := range history {
				o := historyObject{location, ages{}.target(row, labels)}
				err = errors.Join(err, rows.Add(o, location, o.Version, o.Label, o.Cause, ago(o.AssignedMS),
					ago(o.ReachedMS), ago(o.GivenUpMS), o.Generation, sinceOf(o.AssignedAt), sinceOf(o.ReachedAt),
					sinceOf(o.GivenUpAt), o.Note))
			}
			return err
		})
		return endOf(rows, err)
	}, completeLocations(f))
}

// endOf ends a list, which broke off where there is an error.
func endOf(rows *cli.Rows, err error) error {
	if err != nil {
		return errors.Join(err, rows.EndBroken())
	}
	return rows.End()
}

// eachLocation visits the locations of a rollout in their order, or the one that is given.
func eachLocation(state *rollout.State, given []string, visit func(location string) error) error {
	if len(given) > 0 {
		if state.Location(given[0]) == nil {
			return cli.Errorf(cli.ExitNotFound, "there is no location %s; signalbox rollout status shows those that "+
				"there are", cli.Safe(given[0]))
		}
		return visit(given[0])
	}
	for i := range state.Locations {
		if err := visit(state.Locations[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func newRolloutInstances(f *cli.Frame) *cobra.Command {
	return rolloutReader(f, &cobra.Command{
		Use:   "instances PATH NAME [LOCATION]",
		Short: "List who takes part, and how each gets on",
		Long: `Lists the instances of a location, or of all: which version each uses, whether it is a
leader, which counts, or a follower, which gets the targets and holds nothing up, and
how it gets on with its target. signalbox session show shows the session of one.`,
		Example: `  signalbox rollout instances /prod dns
  signalbox rollout instances /prod dns man -o wide

  # those that fail
  signalbox rollout instances /prod dns -o json | jq 'select(.status == "failed") | .instance'`,
	}, func(ctx context.Context, r *rollout.Rollout, more []string) error {
		state, err := r.Describe(ctx)
		if err != nil {
			return err
		}
		rows := f.Rows("LOCATION", "INSTANCE", "ROLE", "VERSION#", "STATUS", "FOR#", "ATTEMPTS#", "CODE",
			"+GENERATION#", "+HEARD OF#", "+SESSION#", "TEXT", "+ATTRIBUTES")
		err = eachLocation(state, more, func(location string) error {
			for i, err := range r.Instances(ctx, location) {
				if err != nil {
					return err
				}
				o := newInstanceObject(location, i)
				if err := rows.Add(o, location, o.Instance, o.Role, orNothing(o.Version), o.Status, ago(o.AgeMS),
					o.Attempts, o.Code, orNothing(o.Generation), orNothing(o.Heard), o.SessionID, o.Text,
					i.Attributes); err != nil {
					return err
				}
			}
			return nil
		})
		return endOf(rows, err)
	}, completeLocations(f))
}

func newRolloutVersions(f *cli.Frame) *cobra.Command {
	return rolloutReader(f, &cobra.Command{
		Use:   "versions PATH NAME",
		Short: "List the versions that are kept",
		Long: `Lists the versions of a rollout that are kept, the oldest first: when each was published,
by whom and why, and where it was given up. signalbox rollout payload prints one.`,
		Example: `  signalbox rollout versions /prod dns
  signalbox rollout versions /prod dns -o json | jq 'select(.given_up_in != [])'`,
	}, func(ctx context.Context, r *rollout.Rollout, _ []string) error {
		versions, err := r.Versions(ctx)
		if err != nil {
			return err
		}
		rows := f.Rows("VERSION#", "LABEL", "STATE", "BYTES#", "AGE#", "+AT", "AUTHOR", "REASON")
		for i := range versions {
			o := newVersionObject(&versions[i])
			err = errors.Join(err, rows.Add(o, o.Version, o.Label, o.state(), o.Bytes, shortTime(o.AgeMS),
				sinceOf(o.At), o.Author, o.Reason))
		}
		return errors.Join(err, rows.End())
	})
}

// state says in words how a version is.
func (v *versionObject) state() string {
	switch {
	case v.Withdrawn:
		return "withdrawn"
	case len(v.GivenUpIn) > 0:
		return "given up in " + strings.Join(v.GivenUpIn, ", ")
	}
	return "published"
}

func newRolloutActList(f *cli.Frame) *cobra.Command {
	return rolloutReader(f, &cobra.Command{
		Use:   "acts PATH NAME",
		Short: "List what operators did: who, when and why",
		Long:  `Lists what operators did with a rollout, the oldest that is kept first.`,
		Example: `  signalbox rollout acts /prod dns

  # who went back?
  signalbox rollout acts /prod dns -o json | jq 'select(.act == "rollback") | .author'`,
	}, func(ctx context.Context, r *rollout.Rollout, _ []string) error {
		acts, err := r.Acts(ctx)
		if err != nil {
			return err
		}
		rows := f.Rows("+NUMBER#", "AGE#", "+AT", "ACT", "LOCATIONS", "VERSION#", "AUTHOR", "REASON")
		for _, p := range acts {
			o := ages{}.act(p)
			err = errors.Join(err, rows.Add(o, o.Number, shortTime(o.AgeMS), sinceOf(o.At), o.what(),
				strings.Join(o.Locations, ","), orNothing(o.Version), o.Author, o.Reason))
		}
		return errors.Join(err, rows.End())
	})
}

func newRolloutPayload(f *cli.Frame) *cobra.Command {
	return rolloutReader(f, &cobra.Command{
		Use:   "payload PATH NAME VERSION",
		Short: "Print what was published as a version",
		Long: `Prints what was published as a version: its bytes and nothing else, but for a terminal,
where what is not printable is written as an escape. A version that is not kept any
more ends the command with code 66.`,
		Example: `  signalbox rollout payload /prod dns 17 >zones.json`,
	}, func(ctx context.Context, r *rollout.Rollout, more []string) error {
		seq, err := versionNumber(more[0])
		if err != nil {
			return err
		}
		v, err := r.Payload(ctx, seq)
		if errors.Is(err, rollout.ErrNotFound) {
			if _, missing := r.Describe(ctx); missing == nil {
				return cli.Errorf(cli.ExitNotFound, "version %d is not kept; signalbox rollout versions shows those "+
					"that are", seq)
			}
		}
		if err != nil {
			return err
		}
		return f.Raw(v.Payload)
	}, completeVersions(f))
}
