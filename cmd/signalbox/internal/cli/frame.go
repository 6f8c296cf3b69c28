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

// Frame is shared by all commands for a cluster. A program has a single Frame.
type Frame struct {
	Streams
	flags   *pflag.FlagSet // connection flags and --output; shared by all commands
	context string
	output  string
	format  string // value of output, after the command started
}

// NewFrame returns the frame for one program's commands.
func NewFrame(s Streams) *Frame {
	f := &Frame{Streams: s, format: formatTable}
	f.flags = pflag.NewFlagSet("connection", pflag.ContinueOnError)
	addSettings(f.flags)
	f.flags.StringVar(&f.context, contextFlag, "", "Context `NAME`. signalbox context list lists the contexts")
	f.flags.StringVarP(&f.output, outputFlag, "o", "", "Output `FORMAT`: table, json, or wide for a table with "+
		"more columns")
	return f
}

// Command adds the connection flags to a command and its subcommands. The help describes these flags in one place.
func (f *Frame) Command(c *cobra.Command) *cobra.Command {
	c.PersistentFlags().AddFlagSet(f.flags)
	c.PersistentPreRunE = func(*cobra.Command, []string) error { return f.chooseFormat() }
	_ = c.RegisterFlagCompletionFunc(contextFlag, f.contexts)
	_ = c.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// AddBefore allows the shared flags before the command name too, so that --tls there does not take the command name
// as its value.
func (f *Frame) AddBefore(root *cobra.Command) { root.Flags().AddFlagSet(f.flags) }

// chooseFormat reads --output and its variable.
func (f *Frame) chooseFormat() error {
	f.format = cmp.Or(f.output, f.Variable(OutputVariable), formatTable)
	if !slices.Contains(formats, f.format) {
		return Errorf(ExitUsage, "unknown output format %s; formats are "+
			"%s", Safe(f.format), strings.Join(formats, ", "))
	}
	return nil
}

// slowAfter is the time after which a command reports that there is no answer yet: clients of a newly created cluster
// retry until the cluster is complete.
const slowAfter = time.Second

// Ask runs a command that asks the cluster, prints and ends. --timeout limits the whole work, and a signal ends it;
// the error then names the cause.
func (f *Frame) Ask(c *cobra.Command, do func(ctx context.Context, box *client.Client) error) error {
	return f.Stay(c, func(ctx context.Context, k *Connection, box *client.Client) error {
		within, cancel := k.Within(ctx)
		defer cancel()
		defer time.AfterFunc(slowAfter, func() {
			if end, bounded := within.Deadline(); bounded && within.Err() == nil {
				f.Say("signalbox: no answer from the cluster yet; waiting for %v more",
					time.Until(end).Round(time.Second))
			}
		}).Stop()
		return EndedBy(within, do(within, box))
	})
}

// Asking is Ask for a command without preparation.
func (f *Frame) Asking(
	do func(ctx context.Context, box *client.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return f.Ask(c, func(ctx context.Context, box *client.Client) error { return do(ctx, box, args) })
	}
}

// Stay runs a long-running command: --timeout limits only the connection time, and whatever uses Connection.Within. A
// signal ends the context. If do then returns nil, or ErrReaderGone, the command succeeds.
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

// Follow is Stay for a command that prints as long as its output is read. Follow ends, successfully, on an interrupt
// or when the reader is gone, even if there is nothing to print at the time.
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

// Print follows an endless list, and prints every item.
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

// EndedBy replaces an error caused by the context's end with the cause for that end.
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

// Group returns a command that only has subcommands; alone it shows its help.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = NoArguments
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// Local prepares a command that prints like all others, but needs no cluster.
func (f *Frame) Local(c *cobra.Command) *cobra.Command {
	output := *f.flags.Lookup(outputFlag) // a separate flag, for the help, with a shared value
	c.Flags().AddFlag(&output)
	c.PreRunE = func(*cobra.Command, []string) error { return f.chooseFormat() }
	_ = c.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// Reader returns a command that reads an object returned by of. The arguments are PATH, NAME and more.
func Reader[H any](f *Frame, c *cobra.Command, of func(c *client.Client, path, name string) H,
	read func(ctx context.Context, handle H, more []string) error) *cobra.Command {
	c.RunE = f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
		return read(ctx, of(box, args[0], args[1]), args[2:])
	})
	return c
}

// Why prints why an object is stalled: one line per reason, formatted by text, or returns the error.
func Why[R any](f *Frame, name string, reasons []R, err error, text func(*R) string) error {
	for i := 0; i < len(reasons) && err == nil; i++ {
		err = f.Line(&reasons[i], "%s", Safe(text(&reasons[i])))
	}
	if err == nil && len(reasons) == 0 {
		f.Say("nothing delays %s", Safe(name))
	}
	return err
}
