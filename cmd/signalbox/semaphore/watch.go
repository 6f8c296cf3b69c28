package semaphore

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// ChangedView is a semaphore after a change, with the change. Data is set if the data has changed.
type ChangedView struct {
	Node       string
	Name       string
	Exists     bool
	Revision   uint64
	Ephemeral  bool
	Limit      uint64
	Count      uint64
	OwnerCount int
	Data       []byte
	client.Changes
}

func newWatch(f *cli.Frame) *cobra.Command {
	var dataOnly, ownersOnly bool
	c := &cobra.Command{
		Use:   "watch PATH NAME",
		Short: "Watch a semaphore",
		Long: `Prints the state of a semaphore and then each change, one per line, until interrupted.
The node must exist; the semaphore may be created later. The watch survives lost
connections and leader changes without losing changes; if changes arrive faster than the
reader reads, intermediate states are skipped.

With -o json each line is an object with the current state; joined, changed and gone
have the owners that differ from the line before. The first line has first: true and all
owners in joined. Output is not buffered, and the command ends when the reader closes
the pipe.`,
		Example: `  signalbox semaphore watch /prod/jobs workers

  # how many owners there are
  signalbox semaphore watch /prod/jobs workers -o json | jq --unbuffered .owner_count

  # until somebody has it
  signalbox semaphore watch /prod/jobs nightly -o json | jq --unbuffered -n 'first(inputs | select(.owner_count > 0))'`,
		RunE: func(c *cobra.Command, args []string) error {
			var options []client.WatchOption
			switch {
			case dataOnly && ownersOnly:
				return cli.Errorf(cli.ExitUsage,
					"--data-only and --owners-only cannot be combined")
			case dataOnly:
				options = append(options, client.DataOnly())
			case ownersOnly:
				options = append(options, client.OwnersOnly())
			}
			return cli.Print(f, c, func(ctx context.Context, box *client.Client) iter.Seq2[*client.View, error] {
				return box.Node(args[0]).Watch(ctx, args[1], options...)
			}, func(v *client.View) error { return printView(f, args[0], args[1], v) })
		},
	}
	c.Flags().BoolVar(&dataOnly, "data-only", false, "Report only data changes")
	c.Flags().BoolVar(&ownersOnly, "owners-only", false, "Report only owner changes")
	return c
}

// printView prints what has changed in a view.
func printView(f *cli.Frame, path, name string, v *client.View) error {
	ch := v.Changes()
	if f.JSON() {
		o := ChangedView{path, name, v.Exists, v.Revision, v.Ephemeral, v.Limit, v.Count(), v.Len(), nil, ch}
		if v.Exists && (ch.First || ch.DataChanged) {
			o.Data = v.Data
		}
		return f.Object(o)
	}
	for _, line := range viewLines(v, ch) {
		if err := f.Write(fmt.Appendf(nil, "revision %d   %s\n", v.Revision, line)); err != nil {
			return err
		}
	}
	return nil
}

// viewLines describes what has changed in a view, one line per change.
func viewLines(v *client.View, ch client.Changes) []string {
	var lines []string
	if ch.Deleted {
		lines = append(lines, "deleted")
	}
	switch {
	case ch.First && !v.Exists:
		return append(lines, "does not exist")
	case v.Exists && (ch.First || ch.Created):
		what := "created"
		if ch.First {
			what = "exists"
		}
		lines = append(lines, fmt.Sprintf("%-7s   limit %v, data %s", what, cli.Amount(v.Limit), cli.Cell(v.Data)))
	case v.Exists:
		if ch.LimitChanged {
			lines = append(lines, fmt.Sprintf("limit     %v", cli.Amount(v.Limit)))
		}
		if ch.DataChanged {
			lines = append(lines, "data      "+cli.Cell(v.Data))
		}
	}
	for _, part := range []struct {
		what   string
		owners []client.Owner
	}{{"gone   ", ch.Left}, {"changed", ch.Changed}, {"joined ", ch.Joined}} {
		for _, o := range part.owners {
			lines = append(lines, fmt.Sprintf("%s   order %d, session %d, count %v, data %s", part.what, o.OrderID,
				o.SessionID, cli.Amount(o.Count), cli.Cell(o.Data)))
		}
	}
	return lines
}
