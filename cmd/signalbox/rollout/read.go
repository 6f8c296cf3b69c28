package rollout

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/screen"
	"github.com/signalbox/signalbox/gateway/operation"
)

func newWhy(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "why PATH NAME",
		Short: "Say why a rollout does not move, with names",
		Long: `Says why a rollout does not move, a line for each reason: which instances a location
waits for and what they do, which gate is not passed, whose delay is not over, who has
paused it. It prints nothing where every location has the newest version.`,
		Example: `  signalbox rollout why /prod dns

  # only what neither time nor the instances can do away with
  signalbox rollout why /prod dns -o json | jq -r 'select(.blocked) | .message'`,
	}, rollout.Of, func(ctx context.Context, r *rollout.Rollout, _ []string) error {
		reasons, err := r.Why(ctx)
		return cli.Why(f, r.Name(), reasons, err, func(r *rollout.StopReason) string {
			return reasonText(screen.Ages{}, r)
		})
	})
}

// PastTarget is a target in the history of a location.
type PastTarget struct {
	Location string
	rollout.Row
}

func newHistory(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "history PATH NAME [LOCATION]",
		Short: "List the versions that locations had, and when",
		Long: `Lists the targets that a location had, or all locations: the oldest that is kept first,
with how long ago each was assigned, reached and given up, and why. Ages are by the time
of the shard, which stands still while no host leads it; -o wide has the times of a wall
clock as well.`,
		Example: `  signalbox rollout history /prod dns
  signalbox rollout history /prod dns man -o wide

  # how long did each version take to reach man?
  signalbox rollout history /prod dns man -o json | jq 'select(.reached.set) | [.version, .reached.shard_time_ms - .assigned.shard_time_ms]'`,
	}, rollout.Of, func(ctx context.Context, r *rollout.Rollout, more []string) error {
		state, err := r.Describe(ctx)
		if err != nil {
			return err
		}
		labels := labelsOf(state.Versions)
		rows := f.Rows("LOCATION", "VERSION#", "LABEL", "CAUSE", "ASSIGNED#", "REACHED#", "GIVEN UP#", "+GENERATION#",
			"+ASSIGNED AT", "+REACHED AT", "+GIVEN UP AT", "NOTE")
		err = eachLocation(state, more, func(location string) error {
			history, err := r.History(ctx, location)
			for _, t := range history {
				ago := screen.Ages{}.Ago
				rows.Add(PastTarget{location, t}, location, t.Seq, labels[t.Seq], t.Cause, ago(t.Assigned),
					ago(t.Reached), ago(t.Abandoned), t.Generation, t.Assigned.Wall, t.Reached.Wall, t.Abandoned.Wall,
					t.Note)
			}
			return err
		})
		return rows.EndAfter(err)
	})
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

func newInstances(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "instances PATH NAME [LOCATION]",
		Short: "List who takes part, and how each gets on",
		Long: `Lists the instances of a location, or of all: which version each uses, whether it is a
leader, which counts, or a follower, which gets the targets and holds nothing up, and
how it gets on with its target. signalbox session show shows the session of one.`,
		Example: `  signalbox rollout instances /prod dns
  signalbox rollout instances /prod dns man -o wide

  # those that fail
  signalbox rollout instances /prod dns -o json | jq 'select(.report.status == "failed") | .name'`,
	}, rollout.Of, func(ctx context.Context, r *rollout.Rollout, more []string) error {
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
				role, said := "follower", &i.Report
				if i.Leader {
					role = "leader"
				}
				rows.Add(i, location, i.Name, role, operation.OrNothing(said.Current), said.Status, i.Since,
					said.Attempts, said.Code, operation.OrNothing(said.Generation), operation.OrNothing(i.Sent),
					i.SessionID, said.Text, i.Attributes)
			}
			return nil
		})
		return rows.EndAfter(err)
	})
}

func newPayload(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "payload PATH NAME VERSION",
		Short: "Print what was published as a version",
		Long: `Prints what was published as a version: its bytes and nothing else, but for a terminal,
where what is not printable is written as an escape. A version that is not kept any
more ends the command with code 66.`,
		Example: `  signalbox rollout payload /prod dns 17 >zones.json`,
	}, rollout.Of, func(ctx context.Context, r *rollout.Rollout, more []string) error {
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
	})
}

// versionNumber reads the number of a version.
func versionNumber(text string) (uint64, error) {
	return cli.Number(text, "the number of a version, as signalbox rollout versions shows it")
}
