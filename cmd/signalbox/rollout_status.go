package main

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newRolloutStatus(f *cli.Frame) *cobra.Command {
	var watch bool
	c := &cobra.Command{
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
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths, completeRollouts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			path, name := args[0], args[1]
			if !watch {
				return f.Ask(c, func(ctx context.Context, box *client.Client) error {
					return showRollout(ctx, f, box, path, name)
				})
			}
			return rolloutWatch(f, path, name).run(c)
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "follow what happens, until interrupted")
	return c
}

// showRollout prints a rollout.
func showRollout(ctx context.Context, f *cli.Frame, box *client.Client, path, name string) error {
	s, err := rollout.Of(box, path, name).Describe(ctx, rollout.WithReasons())
	if err != nil {
		return err
	}
	if f.JSON() {
		return f.Object(s)
	}
	columns, _, _ := f.TerminalSize()
	return f.Write([]byte(viewRollout(path, name, s, 0).page(f, columns)))
}

// rolloutWatch shows a rollout as it changes.
func rolloutWatch(f *cli.Frame, path, name string) *objectWatch[*rollout.State, *rolloutView] {
	return &objectWatch[*rollout.State, *rolloutView]{
		f: f,
		states: func(ctx context.Context, box *client.Client) iter.Seq2[*rollout.State, error] {
			return rollout.Of(box, path, name).Watch(ctx, reasonsEvery)
		},
		object: func(s *rollout.State, elapsed time.Duration) *rolloutView {
			return viewRollout(path, name, s, elapsed)
		},
	}
}

// sameAs reports whether nothing but ages is other.
func (v *rolloutView) sameAs(other *rolloutView) bool {
	same := v.Revision == other.Revision && v.Exists == other.Exists && v.Phase == other.Phase &&
		len(v.Reasons) == len(other.Reasons)
	for i := 0; same && i < len(v.Reasons); i++ {
		same = v.Reasons[i].Code == other.Reasons[i].Code && v.Reasons[i].Location == other.Reasons[i].Location
	}
	return same
}
