package process

import (
	"context"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
)

func newWhy(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "why PATH NAME",
		Short: "Explain why a round does not make progress",
		Long: `Explains why a round does not make progress, one reason per line: unprepared members,
missing replies with their waiting times, and why no epoch opens. Prints nothing if the
round is complete and all members have handled the completion.`,
		Example: `  signalbox process why /prod counter

  # only what neither time nor the members can do away with
  signalbox process why /prod counter -o json | jq -r 'select(.blocked) | .message'`,
	}, process.New, func(ctx context.Context, p *process.Process, _ []string) error {
		reasons, err := p.Why(ctx)
		return cli.Why(f, p.Name(), reasons, err, func(r *process.BlockReason) string {
			return stopText(liveview.Ages{}, r)
		})
	})
}

func newMembers(f *cli.Frame) *cobra.Command {
	return cli.Reader(f, &cobra.Command{
		Use:   "members PATH NAME",
		Short: "List members and their progress",
		Long: `Lists the members in the order in which they joined. A member is prepared for the epoch,
waits for the next epoch, or has handled the completion of the round. The list also
shows how many inbox items a member has not acknowledged. signalbox session show shows a
member's session.`,
		Example: `  signalbox process members /prod counter
  signalbox process members /prod counter -o wide

  # those with a backlog
  signalbox process members /prod counter -o json | jq 'select(.unread > 10) | .name'`,
	}, process.New, func(ctx context.Context, p *process.Process, _ []string) error {
		s, err := p.Describe(ctx)
		if err != nil {
			return err
		}
		o := &view{State: s}
		return cli.List(memberRows(f), s.Members, func(m process.MemberState) []any { return o.cells(&m) })
	})
}

// lastEpoch is the word for the most recently completed epoch.
const lastEpoch = "last"

// WholeResult is a result with its data.
type WholeResult struct {
	*process.Result
	Data []byte
}

func newResults(f *cli.Frame) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "results PATH NAME [EPOCH]",
		Short: "List the results of rounds, or print one",
		Long: `Lists the results that coordinators stored when they completed rounds, oldest first.
With --watch, later results are printed too, one per line, until interrupted.

With EPOCH, a number or the word last, prints the raw result of the epoch; a terminal
gets escapes for unprintable bytes. If the result is no longer kept the exit code is 66.`,
		Example: `  signalbox process results /prod counter
  signalbox process results /prod counter last

  # what comes of each round
  signalbox process results /prod counter --watch -o json | jq --unbuffered .data`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case watch && len(args) > 2:
				return cli.Misuse(c, "--watch cannot be combined with epoch %s", cli.Safe(args[2]))
			case watch:
				return watchResults(f, c, args[0], args[1])
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				results, err := process.New(box, args[0], args[1]).Results(ctx)
				if err != nil {
					return err
				}
				if len(args) > 2 {
					return printResult(f, results, args[2])
				}
				rows := f.Rows("EPOCH#", "AGE#", "+AT", "BYTES#", "RESULT")
				for i := range results {
					r := &results[i]
					rows.Add(WholeResult{r, r.Bytes()}, r.Epoch, liveview.Ages{}.Ago(r.At),
						r.At.Wall, r.Size, r.Bytes())
				}
				return rows.End()
			})
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "Keep printing new entries until interrupted")
	return c
}

// printResult prints an epoch's result.
func printResult(f *cli.Frame, results []process.Result, epoch string) error {
	if epoch == lastEpoch && len(results) > 0 {
		return f.Raw(results[len(results)-1].Bytes())
	}
	number, err := strconv.ParseUint(epoch, 10, 64)
	if err != nil && epoch != lastEpoch {
		return cli.Errorf(cli.ExitUsage, "%s is not an epoch; give a number or %s", cli.Safe(epoch),
			lastEpoch)
	}
	if r := cli.Find(results, func(r *process.Result) bool { return r.Epoch == number }); r != nil {
		return f.Raw(r.Bytes())
	}
	return cli.Errorf(cli.ExitNotFound, "epoch %s has no stored result; signalbox process results lists the "+
		"stored results", epoch)
}

// watchResults prints results as they arrive.
func watchResults(f *cli.Frame, c *cobra.Command, path, name string) error {
	return cli.Print(f, c, func(ctx context.Context, box *client.Client) iter.Seq2[*process.Result, error] {
		return process.New(box, path, name).WatchResults(ctx)
	}, func(result *process.Result) error {
		o := WholeResult{result, result.Bytes()}
		return f.Line(o, "%d   %s", o.Epoch, cli.Cell(o.Data))
	})
}
