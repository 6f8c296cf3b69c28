package rollout

import (
	"context"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
)

func newStatus(f *cli.Frame) *cobra.Command {
	return object.Status(f, &cobra.Command{
		Use:   "status PATH NAME",
		Short: "Show the locations of a rollout, and why it does not make progress",
		Long: `Shows a rollout: the phase, the locations in order with their versions and the number of
leaders that have reached them, the next step and its time, the gates, and why the
rollout does not make progress.

  idle           every location has reached the newest version that it may have
  rolling        a version is being delivered
  blocked        progress needs something from outside, which is shown
  rolling back   locations return to an earlier version
  paused         an operator paused the rollout
  halted         the rollout halted, and waits for an operator

With --watch the screen updates until interrupted, across lost connections and leader
changes. If the output is not a terminal, each change is a line; with -o json each
change is an object on one line.`,
		Example: `  signalbox rollout status /prod dns
  signalbox rollout status /prod dns --watch

  # until everything has the newest version
  signalbox rollout status /prod dns -w -o json | jq --unbuffered -n 'first(inputs | select(.phase == "idle"))'`,
	})
}

// object defines how commands show rollouts.
var object = liveview.Kind[*rollout.State, *view]{
	Describe: func(ctx context.Context, box *client.Client, path, name string) (*rollout.State, error) {
		return rollout.New(box, path, name).Describe(ctx, rollout.WithReasons())
	},
	States: func(ctx context.Context, box *client.Client, path, name string) iter.Seq2[*rollout.State, error] {
		return rollout.New(box, path, name).Watch(ctx, liveview.ReasonsEvery)
	},
	Object: newView,
}

// SameAs reports whether only ages differ.
func (v *view) SameAs(other *view) bool {
	return v.Revision == other.Revision && v.Exists == other.Exists && v.Phase == other.Phase &&
		slices.EqualFunc(v.Reasons, other.Reasons, func(r, other rollout.BlockReason) bool {
			return r.Code == other.Code && r.Location == other.Location
		})
}
