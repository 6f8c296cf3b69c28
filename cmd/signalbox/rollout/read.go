package rollout

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	"github.com/signalbox/signalbox/gateway/operation"
)

func newWhy(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "why PATH NAME",
		Short: "Explain why a rollout does not make progress",
		Long: `Explains why a rollout does not make progress, one reason per line: instances that a
location waits for, with their state, gates that have not passed, delays that are not
over, or who paused the rollout. Prints nothing if every location has the newest
version.`,
		Example: `  signalbox rollout why /prod dns

  # only what neither time nor the instances can do away with
  signalbox rollout why /prod dns -o json | jq -r 'select(.blocked) | .message'`,
	}, rollout.New, func(ctx context.Context, r *rollout.Rollout, _ []string) error {
		reasons, err := r.Why(ctx)
		return cli.Why(f, r.Name(), reasons, err, func(r *rollout.BlockReason) string {
			return reasonText(liveview.Ages{}, r)
		})
	})
}

// PastTarget is a target in a location's history.
type PastTarget struct {
	Location string
	rollout.Row
}

func newHistory(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "history PATH NAME [LOCATION]",
		Short: "List the versions that locations had, with times",
		Long: `Lists the targets of a location, or of all locations, oldest first: when each target was
assigned, reached and abandoned, and why. Ages are in shard time, which stops while the
shard has no leader; -o wide adds wall clock times.`,
		Example: `  signalbox rollout history /prod dns
  signalbox rollout history /prod dns man -o wide

  # how long did each version take to reach man?
  signalbox rollout history /prod dns man -o json | jq 'select(.reached.set) | [.version, .reached.shard_time_ms - .assigned.shard_time_ms]'`,
	}, rollout.New, func(ctx context.Context, r *rollout.Rollout, more []string) error {
		state, err := r.Describe(ctx)
		if err != nil {
			return err
		}
		labels := labelsOf(state.Versions)
		rows := f.Rows("LOCATION", "VERSION#", "LABEL", "CAUSE", "ASSIGNED#", "REACHED#", "GIVEN UP#", "+GENERATION#",
			"+ASSIGNED AT", "+REACHED AT", "+ABANDONED AT", "NOTE")
		err = eachLocation(state, more, func(location string) error {
			history, err := r.History(ctx, location)
			for _, t := range history {
				ago := liveview.Ages{}.Ago
				rows.Add(PastTarget{location, t}, location, t.Seq, labels[t.Seq], t.Cause, ago(t.Assigned),
					ago(t.Reached), ago(t.Abandoned), t.Generation, t.Assigned.Wall, t.Reached.Wall, t.Abandoned.Wall,
					t.Note)
			}
			return err
		})
		return rows.EndAfter(err)
	})
}

// eachLocation visits a rollout's locations in order, or only the given one.
func eachLocation(state *rollout.State, given []string, visit func(location string) error) error {
	if len(given) > 0 {
		if state.Location(given[0]) == nil {
			return cli.Errorf(cli.ExitNotFound, "location %s does not exist; signalbox rollout status lists the "+
				"locations", cli.Safe(given[0]))
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
		Short: "List instances and their progress",
		Long: `Lists the instances in a location, or in all locations: version in use, role, and
progress with the target. A leader counts for progress; a follower gets targets, but
delays nothing. signalbox session show shows an instance's session.`,
		Example: `  signalbox rollout instances /prod dns
  signalbox rollout instances /prod dns man -o wide

  # those that fail
  signalbox rollout instances /prod dns -o json | jq 'select(.report.status == "failed") | .name'`,
	}, rollout.New, func(ctx context.Context, r *rollout.Rollout, more []string) error {
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
		Short: "Print the payload of a version",
		Long: `Prints the raw payload of a version; a terminal gets escapes for unprintable bytes. If
the version is no longer kept the exit code is 66.`,
		Example: `  signalbox rollout payload /prod dns 17 >zones.json`,
	}, rollout.New, func(ctx context.Context, r *rollout.Rollout, more []string) error {
		seq, err := versionNumber(more[0])
		if err != nil {
			return err
		}
		v, err := r.Payload(ctx, seq)
		if errors.Is(err, rollout.ErrNotFound) {
			if _, missing := r.Describe(ctx); missing == nil {
				return cli.Errorf(cli.ExitNotFound, "version %d is not stored; signalbox rollout versions lists "+
					"the stored versions", seq)
			}
		}
		if err != nil {
			return err
		}
		return f.Raw(v.Payload)
	})
}

// versionNumber parses a version number.
func versionNumber(text string) (uint64, error) {
	return cli.Number(text, "a version number, as shown by signalbox rollout versions")
}
