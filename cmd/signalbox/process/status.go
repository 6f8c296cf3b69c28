package process

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
)

func newStatus(f *cli.Frame) *cobra.Command {
	return object.Status(f, &cobra.Command{
		Use:   "status PATH NAME",
		Short: "Show the round and the members of a process, and why it does not make progress",
		Long: `Shows a process: phase, epoch, coordinator, members, the members that the round waits
for, and the times of the last completed rounds.

  forming      there is no round: members are missing, or the next epoch opens soon
  preparing    an epoch has opened, and some members are not prepared
  running      all members are prepared, and exchange requests and replies
  complete     the coordinator has completed the round

A member waits for the next epoch, is preparing, is prepared, handles the completion, or
has completed the round. A long list is shortened to the members that the round waits
for and some others; signalbox process members lists all.

With --watch the screen updates until interrupted, across lost connections and leader
changes. If the output is not a terminal, each change is a line; with -o json each
change is an object on one line.`,
		Example: `  signalbox process status /prod counter
  signalbox process status /prod counter --watch

  # until the round is complete
  signalbox process status /prod counter -w -o json | jq --unbuffered -n 'first(inputs | select(.phase == "complete"))'`,
	})
}

func newWatch(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "watch PATH NAME",
		Short: "Print the events of a process, one per line",
		Long: `Prints process events, one per line, until interrupted: members that join and leave;
epochs that open, run and complete; operators' actions; and delays of a round. If
several events happen at once the last event is printed. The command survives lost
connections and leader changes.

signalbox process status --watch shows the same as a screen.`,
		Example: `  signalbox process watch /prod counter
  signalbox process watch /prod counter -o json | jq --unbuffered '{phase, epoch}'`,
		RunE: func(c *cobra.Command, args []string) error { return object.Lines(f, c, args) },
	}
}

// object defines how commands show processes.
var object = liveview.Kind[*process.State, *view]{
	Describe: func(ctx context.Context, box *client.Client, path, name string) (*process.State, error) {
		return process.New(box, path, name).Describe(ctx, process.WithReasons())
	},
	States: func(ctx context.Context, box *client.Client, path, name string) iter.Seq2[*process.State, error] {
		return process.New(box, path, name).Watch(ctx, liveview.ReasonsEvery)
	},
	Object: func(path, name string, s *process.State, elapsed time.Duration) *view {
		return &view{s, liveview.After(elapsed), path, name}
	},
}
