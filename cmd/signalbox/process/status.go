package process

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/screen"
)

func newStatus(f *cli.Frame) *cobra.Command {
	return object.Status(f, &cobra.Command{
		Use:   "status PATH NAME",
		Short: "Show a process: its round, its members, and why it does not move",
		Long: `Shows a process: the phase, the epoch and who coordinates it, the members, whom the
round waits for, and when the last rounds were complete.

  forming      there is no round: members are missing, or the next epoch opens soon
  preparing    an epoch has opened, and not all of its members are prepared
  running      all are: the coordinator and the members exchange requests
  complete     the coordinator has completed the round

A member waits (for the next epoch), is preparing, prepared, handles the completion, or
has completed the round. Of many members those are shown that are waited for, and the
first of the others; signalbox process members lists all.

With --watch it stays on the screen and follows what happens, until it is interrupted.
Lost connections and changes of leader do not end it. On what is no terminal it prints
what changes, a line each; with -o json each change is an object on a line.`,
		Example: `  signalbox process status /prod counter
  signalbox process status /prod counter --watch

  # until the round is complete
  signalbox process status /prod counter -w -o json | jq --unbuffered -n 'first(inputs | select(.phase == "complete"))'`,
	})
}

func newWatch(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "watch PATH NAME",
		Short: "Print what happens in a process, a line each",
		Long: `Prints what happens in a process, a line for each thing, until it is interrupted: who
joins and leaves, which epochs open, run and are complete, what operators do, and what
holds a round up for too long. Of what happens at once the last is printed. Lost
connections and changes of leader do not end it.

signalbox process status --watch is the same as a screen.`,
		Example: `  signalbox process watch /prod counter
  signalbox process watch /prod counter -o json | jq --unbuffered '{phase, epoch}'`,
		RunE: func(c *cobra.Command, args []string) error { return object.Lines(f, c, args) },
	}
}

// object is how commands show processes.
var object = screen.Kind[*process.State, *view]{
	Describe: func(ctx context.Context, box *client.Client, path, name string) (*process.State, error) {
		return process.Of(box, path, name).Describe(ctx, process.WithReasons())
	},
	States: func(ctx context.Context, box *client.Client, path, name string) iter.Seq2[*process.State, error] {
		return process.Of(box, path, name).Watch(ctx, screen.ReasonsEvery)
	},
	Object: func(path, name string, s *process.State, elapsed time.Duration) *view {
		return &view{s, screen.After(elapsed), path, name}
	},
}
