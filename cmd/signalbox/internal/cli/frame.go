package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/client"
)

// Frame is the part that all commands of a cluster share. A program has a single Frame.
type Frame struct {
	Streams
	flags   *pflag.FlagSet // how the cluster is reached, and --output; the same for all commands
	context string
	output  string
	format  string // what output is, once the command runs
}

// NewFrame returns the frame for the commands of one program.
func NewFrame(s Streams) *Frame {
	f := &Frame{Streams: s, format: formatTable}
	f.flags = pflag.NewFlagSet("connection", pflag.ContinueOnError)
	addSettings(f.flags)
	f.flags.StringVar(&f.context, contextFlag, "", "`NAME` of the context to go by; signalbox context list shows them")
	f.flags.StringVarP(&f.output, outputFlag, "o", "", "`FORMAT` of what is printed: table, json, or wide for a table with more columns")
	return f
}

// Command adds the flags of the connection to a command and to the commands below. Help describes the flags in one
// place.
func (f *Frame) Command(c *cobra.Command) *cobra.Command {
	c.PersistentFlags().AddFlagSet(f.flags)
	c.PersistentPreRunE = func(*cobra.Command, []string) error { return f.chooseFormat() }
	_ = c.RegisterFlagCompletionFunc(contextFlag, f.contexts)
	_ = c.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// AddBefore lets the flags of all commands stand before the command as well: so --tls there is not taken for a flag
// whose value is the command's name.
func (f *Frame) AddBefore(root *cobra.Command) { root.Flags().AddFlagSet(f.flags) }

// chooseFormat reads --output and its variable.
func (f *Frame) chooseFormat() error {
	f.format = cmp.Or(f.output, f.Variable(OutputVariable), formatTable)
	if !slices.Contains(formats, f.format) {
		return Errorf(ExitUsage, "there is no output %s; give %s", Safe(f.format), strings.Join(formats, ", "))
	}
	return nil
}

// slowAfter is how long a command asks before the command says that there is no answer yet: a cluster that was only
// just made has clients ask again until the cluster is whole.
const slowAfter = time.Second

// Ask is the work of a command that asks the cluster, prints and is done. --timeout bounds all of the work, and a
// signal ends the work; the error then names the cause.
func (f *Frame) Ask(c *cobra.Command, do func(ctx context.Context, box *client.Client) error) error {
	return f.Stay(c, func(ctx context.Context, k *Connection, box *client.Client) error {
		within, cancel := k.Within(ctx)
		defer cancel()
		defer time.AfterFunc(slowAfter, func() {
			if end, bounded := within.Deadline(); bounded && within.Err() == nil {
				f.Say("signalbox: the cluster has not answered this yet; it is asked for %v more",
					time.Until(end).Round(time.Second))
			}
		}).Stop()
		return EndedBy(within, do(within, box))
	})
}

// Asking is Ask for a command that has nothing to do before.
func (f *Frame) Asking(
	do func(ctx context.Context, box *client.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return f.Ask(c, func(ctx context.Context, box *client.Client) error { return do(ctx, box, args) })
	}
}

// Stay is what a command does that stays: --timeout bounds only the connecting, and what is bounded with
// Connection.Within. A signal ends the context. If the function returns nil after that, or ErrReaderGone, the
// command ends with success.
func (f *Frame) Stay(c *cobra.Command, do func(ctx context.Context, k *Connection, box *client.Client) error) error {
	k, err := f.Connection()
	if err != nil {
		return err
	}
	ctx, stop := UntilInterrupted(c.Context())
	defer stop()
	opening, cancel := k.Within(ctx)
	box, err := k.Open(opening)
	cancel()
	if err != nil {
		return err
	}
	defer box.Close()
	go ReportOutages(ctx, box, f.Say)
	err = EndedBy(ctx, do(ctx, k, box))
	if errors.Is(err, ErrReaderGone) {
		return nil
	}
	return err
}

// Follow is Stay for what prints as long as its output is read. An interrupt ends it, and so does the end of the
// reader, though there may be nothing to print at the moment; either is a success.
func (f *Frame) Follow(c *cobra.Command, do func(ctx context.Context, k *Connection, box *client.Client) error) error {
	return f.Stay(c, func(ctx context.Context, k *Connection, box *client.Client) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() { // until the process ends
			if awaitReaderGone(f.Out) {
				cancel(ErrReaderGone)
			}
		}()
		err := do(ctx, k, box)
		if WasInterrupted(ctx) {
			return nil
		}
		return EndedBy(ctx, err)
	})
}

// Print follows a list without an end, and prints each item.
func Print[T any](f *Frame, c *cobra.Command, list func(ctx context.Context, box *client.Client) iter.Seq2[T, error],
	each func(T) error,
) error {
	return f.Follow(c, func(ctx context.Context, _ *Connection, box *client.Client) error {
		for item, err := range list(ctx, box) {
			if err == nil {
				err = each(item)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EndedBy makes an error that is due to the end of the context say why that ended.
func EndedBy(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// Group makes a command that only has commands below; alone the command shows its help.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = NoArguments
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// Local makes a command that prints as all commands do, and speaks to no cluster.
func (f *Frame) Local(c *cobra.Command) *cobra.Command {
	output := *f.flags.Lookup(outputFlag) // a flag of its own, for the help, with a shared value
	c.Flags().AddFlag(&output)
	c.PreRunE = func(*cobra.Command, []string) error { return f.chooseFormat() }
	_ = c.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// Reader returns a command that reads an object, which of returns. The arguments are PATH, NAME and more.
func Reader[H any](f *Frame, c *cobra.Command, of func(c *client.Client, path, name string) H,
	read func(ctx context.Context, handle H, more []string) error) *cobra.Command {
	c.RunE = f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
		return read(ctx, of(box, args[0], args[1]), args[2:])
	})
	return c
}

// Why says why an object does not move: a line for each reason, with the words of text, or the error.
func Why[R any](f *Frame, name string, reasons []R, err error, text func(*R) string) error {
	for i := 0; i < len(reasons) && err == nil; i++ {
		err = f.Line(&reasons[i], "%s", Safe(text(&reasons[i])))
	}
	if err == nil && len(reasons) == 0 {
		f.Say("nothing holds %s up", Safe(name))
	}
	return err
}
