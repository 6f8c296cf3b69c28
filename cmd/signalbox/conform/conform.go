// Package conform implements the conformance command, which plays hosts to a client driver in any language.
package conform

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/conformance"
)

// command is a run of the command.
type command struct {
	cli.Streams
	names []string
	list  bool
	all   bool
	conformance.Options
}

// Command returns the command that plays hosts to a client.
func Command(s cli.Streams) *cobra.Command {
	r := &command{Streams: s}
	c := &cobra.Command{
		Use:   "conformance [flags] -- DRIVER [ARGUMENT...]",
		Short: "Test that a client implementation conforms to the protocol",
		Long: `Tests a client in any language against scripted hosts that are late, silent, wrong or
gone. A script defines what the client may do, what the client must do, and by when.

DRIVER is a program around the client. DRIVER reads commands from standard input and
writes results to standard output, as lines of JSON. Each script starts DRIVER once.
docs/conformance.md describes drivers and scripts.

A failed script is printed with all events and with the standard error output of DRIVER.
Scripts that need features missing in DRIVER are skipped and counted. Scripts run in
real time, many in parallel, because most time is spent waiting.

Exit codes: 0 the client conforms; 1 a script failed; 66 the script does not exist; 64
the command line is wrong. signalbox help exit-codes lists the others.`,
		Example: `  signalbox conformance -- ./driver

  # which scripts there are, and why
  signalbox conformance --list

  # one of them, with all that happened
  signalbox conformance --script a-paused-client-looks-at-its-clock-first --verbose -- python3 driver.py`,
		RunE: func(c *cobra.Command, args []string) error { return r.run(c, args) },
	}
	flags := c.Flags()
	flags.StringSliceVar(&r.names, "script", nil, "Play only the script with this `NAME`, or the scripts in this "+
		"file. May be repeated")
	flags.BoolVar(&r.list, "list", false, "List the scripts without playing them")
	flags.BoolVar(&r.all, "verbose", false, "Print the record of successful scripts too, including pings")
	flags.IntVar(&r.Beside, "parallel", 16, "Scripts to play concurrently, `NUMBER`")
	flags.DurationVar(&r.Slack, "timing-tolerance", 250*time.Millisecond, "`DURATION` added to all time limits, for "+
		"busy "+
		"machines")
	return c
}

func (c *command) run(cmd *cobra.Command, args []string) error {
	scripts, err := conformance.Load(protocol.Scripts())
	if err != nil {
		return err
	}
	for _, name := range c.names {
		if !slices.ContainsFunc(scripts, func(s *conformance.Script) bool { return s.Is(name) }) {
			return cli.Errorf(cli.ExitNotFound, "script %q does not exist; --list lists all scripts", name)
		}
	}
	if len(c.names) > 0 {
		scripts = slices.DeleteFunc(scripts, func(s *conformance.Script) bool {
			return !slices.ContainsFunc(c.names, s.Is)
		})
	}
	if c.list {
		for _, s := range scripts {
			_, err = fmt.Fprintf(c.Out, "%s: %s\n", s.Name, s.About)
		}
		return err
	}
	switch {
	case cmd.ArgsLenAtDash() != 0 || len(args) == 0:
		return cli.Misuse(cmd, "the driver is missing; give its command after --")
	case c.Beside < 1 || c.Slack < 0:
		return cli.Misuse(cmd, "--parallel must be at least 1, and --timing-tolerance must not be negative")
	}
	c.Driver, c.Verbose = args, c.all
	c.Done = func(o conformance.Outcome) { c.print(o) }
	failed, skipped := conformance.Run(scripts, c.Options)
	if failed > 0 {
		return fmt.Errorf("%d of %d scripts failed, %d were skipped", failed, len(scripts), skipped)
	}
	_, err = fmt.Fprintf(c.Out, "%d scripts, %d skipped: the client conforms\n", len(scripts), skipped)
	return err
}

// print prints an outcome.
func (c *command) print(o conformance.Outcome) {
	took := o.Took.Round(10 * time.Millisecond)
	switch {
	case o.Skipped != "":
		fmt.Fprintf(c.Out, "skipped  %s: needs the feature %q\n", o.Script.Name, o.Skipped)
		return
	case o.Err == nil:
		fmt.Fprintf(c.Out, "ok       %s (%v)\n", o.Script.Name, took)
		if !c.all {
			return
		}
	default:
		fmt.Fprintf(c.Out, "failed   %s (%v): %v\n         %s\n         docs/protocol.md#%s\n", o.Script.Name, took,
			o.Err, o.Script.About, o.Script.See)
	}
	indent(c.Out, o.Record)
	if errors := strings.TrimSpace(o.Errors); errors != "" {
		indent(c.Out, append([]string{"standard error of the driver:"}, strings.Split(errors, "\n")...))
	}
}

func indent(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(out, "         %s\n", line)
	}
}
