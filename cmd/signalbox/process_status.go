package main

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newProcessStatus(f *cli.Frame) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status PATH NAME",
		Short: "Show a process: its round, its members, and why it does not move",
		Long: `Shows a process: the phase, the epoch and who coordinates it, the members, whom the round
waits for, and when the last rounds were complete.

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
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths, completeProcesses(f)),
		RunE: func(c *cobra.Command, args []string) error {
			if watch {
				return processWatch(f, args[0], args[1]).run(c)
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				return showProcess(ctx, f, box, args[0], args[1])
			})
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "follow what happens, until interrupted")
	return c
}

func newProcessWatch(f *cli.Frame) *cobra.Command {
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
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths, completeProcesses(f)),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Follow(c, processWatch(f, args[0], args[1]).lines)
		},
	}
}

// showProcess prints a process.
func showProcess(ctx context.Context, f *cli.Frame, box *client.Client, path, name string) error {
	s, err := process.Of(box, path, name).Describe(ctx, process.WithReasons())
	if err != nil {
		return err
	}
	if f.JSON() {
		return f.Object(s)
	}
	columns, _, _ := f.TerminalSize()
	return f.Write([]byte((&processView{s, ages{}, path, name}).page(f, columns)))
}

// processWatch shows a process as it changes.
func processWatch(f *cli.Frame, path, name string) *objectWatch[*process.State, *processView] {
	return &objectWatch[*process.State, *processView]{
		f: f,
		states: func(ctx context.Context, box *client.Client) iter.Seq2[*process.State, error] {
			return process.Of(box, path, name).Watch(ctx, reasonsEvery)
		},
		object: func(s *process.State, elapsed time.Duration) *processView {
			return &processView{s, ages{elapsed}, path, name}
		},
	}
}
