// Package config implements the commands for config entries. Start at Command; edit.go runs an editor.
package config

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Command returns the commands for config entries.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "config",
		Short: "Config entries with watches: get, list, put, edit",
		Long: `A config entry is a text of up to 64 KiB that programs read and watch. The entry is
stored as the data of a persistent semaphore with limit 1, so signalbox semaphore list
and signalbox semaphore delete also work on config entries.`,
	}, newGet(f), newPut(f), newEdit(f), newWatch(f)))
}

func newGet(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "get PATH NAME",
		Short: "Print the value of a config entry",
		Long: `Prints the value of a config entry unchanged; a terminal gets escapes for unprintable
bytes. The read is linearizable. With -o json the output is an object that includes the
revision, for a conditional put. If the entry does not exist the exit code is 66.`,
		Example: `  signalbox config get /prod/jobs limits >limits.json

  # with a value where there is none
  signalbox config get /prod/jobs workers 2>/dev/null || echo 8`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			value, revision, err := config.Get(ctx, box, args[0], args[1])
			switch {
			case errors.Is(err, client.ErrSemaphoreNotFound):
				return fmt.Errorf("%w; create it with signalbox config put %s %s VALUE", err, cli.Safe(args[0]),
					cli.Safe(args[1]))
			case err != nil:
				return err
			case f.JSON():
				return f.Object(operation.ConfigValue{Exists: true, Revision: revision, Value: value})
			}
			return f.Raw(value)
		}),
	}
}

func newPut(f *cli.Frame) *cobra.Command {
	var revision uint64
	c := &cobra.Command{
		Use:   "put PATH NAME DATA",
		Short: "Set a config entry",
		Long: `Sets the value of a config entry. A missing entry is created. Watchers are notified.

With --if-revision the value is set only if the entry has the given revision, as printed
by signalbox config get -o json, or, with 0, only if the entry does not exist; otherwise
the exit code is 79.

` + cli.DataHelp,
		Example: `  signalbox config put /prod/jobs workers 8
  signalbox config put /prod/jobs limits @limits.json
  jq '.workers = 9' limits.json | signalbox config put /prod/jobs limits -

  # only if nobody else has put anything yet
  signalbox config put /prod/jobs workers 8 --if-revision 0`,
		RunE: func(c *cobra.Command, args []string) error {
			value, err := f.Data(args[2])
			if err != nil {
				return err
			}
			var guards []config.PutOption
			if c.Flags().Changed("if-revision") {
				guards = append(guards, config.IfRevision(revision))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				err := config.Put(ctx, box, args[0], args[1], value, guards...)
				if errors.Is(err, client.ErrPreconditionFailed) {
					return cli.Errorf(cli.ExitState, "cannot put %s: its revision is not %d; nothing was "+
						"changed; run signalbox config get %s %s -o json to see the revision",
						cli.Safe(args[1]), revision, cli.Safe(args[0]), cli.Safe(args[1]))
				}
				if err != nil {
					return err
				}
				return f.Done(true, "config %s now has %s", cli.Safe(args[1]), operation.Plural(len(value), "byte"))
			})
		},
	}
	c.Flags().Uint64Var(&revision, "if-revision", 0, "Write only if the entry has this revision, `NUMBER`. 0: only "+
		"if it does not exist")
	return c
}

func newWatch(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "watch PATH NAME",
		Short: "Watch a config entry",
		Long: `Prints a config entry, and prints it again after every change, until interrupted. The
node must exist; the entry may be created later. The watch survives lost connections and
leader changes. If changes arrive faster than they are read, intermediate values are
skipped.

Each value is one line with its revision; long values are shortened. With -o json each
line is an object with the whole value. Output is not buffered, and the command ends
when its reader closes the pipe.`,
		Example: `  signalbox config watch /prod/jobs limits

  # keep a file as the config is
  signalbox config watch /prod/jobs limits -o json |
    while read -r v; do jq -j .value <<<"$v" >limits.json; done`,
		RunE: func(c *cobra.Command, args []string) error {
			return cli.Print(f, c, func(ctx context.Context, box *client.Client) iter.Seq2[config.Value, error] {
				return config.Watch(ctx, box, args[0], args[1])
			}, func(v config.Value) error {
				shown := "does not exist"
				if v.Exists {
					shown = cli.Cell(v.Data)
				}
				piece := operation.ConfigValue{Exists: v.Exists, Revision: v.Revision, Value: v.Data}
				return f.Line(piece, "revision %d   %s", v.Revision, shown)
			})
		},
	}
}
