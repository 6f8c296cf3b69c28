package rollout

import (
	"context"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/screen"
)

func newStatus(f *cli.Frame) *cobra.Command {
	return object.Status(f, &cobra.Command{
		Use:   "status PATH NAME",
		Short: "Show a rollout: its locations, and why it does not move",
		Long: `Shows a rollout: the phase, the locations in their order with the version of each, how
many of its leaders have reached it, what comes next and when, the gates, and why the
rollout does not move.

  idle           every location has reached the newest version that it may have
  rolling        versions are on their way
  blocked        something has to come from outside, which is said
  rolling back   locations go back to a version
  paused         an operator paused it
  halted         it halted, and waits for an operator

With --watch it stays on the screen and follows what happens, until it is interrupted.
Lost connections and changes of leader do not end it. On what is no terminal it prints
what changes, a line each; with -o json each change is an object on a line.`,
		Example: `  signalbox rollout status /prod dns
  signalbox rollout status /prod dns --watch

  # until everything has the newest version
  signalbox rollout status /prod dns -w -o json | jq --unbuffered -n 'first(inputs | select(.phase == "idle"))'`,
	})
}

// object is how commands show rollouts.
var object = screen.Kind[*rollout.State, *view]{
	Describe: func(ctx context.Context, box *client.Client, path, name string) (*rollout.State, error) {
		return rollout.Of(box, path, name).Describe(ctx, rollout.WithReasons())
	},
	States: func(ctx context.Context, box *client.Client, path, name string) iter.Seq2[*rollout.State, error] {
		return rollout.Of(box, path, name).Watch(ctx, screen.ReasonsEvery)
	},
	Object: newView,
}

// SameAs reports whether nothing but ages is other.
func (v *view) SameAs(other *view) bool {
	return v.Revision == other.Revision && v.Exists == other.Exists && v.Phase == other.Phase &&
		slices.EqualFunc(v.Reasons, other.Reasons, func(r, other rollout.StopReason) bool {
			return r.Code == other.Code && r.Location == other.Location
		})
}
