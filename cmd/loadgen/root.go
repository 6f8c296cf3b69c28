package main

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/loadgen"
	"github.com/spf13/cobra"
)

// newRoot returns the root command.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "loadgen",
		Short: "Load generator: measures a Signalbox cluster and checks its guarantees",
		Long: `Puts a Signalbox cluster under load, measures its performance, and checks its
guarantees at the same time.

  loadgen list    list the workloads
  loadgen run     run a workload`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help lists the flags", err, c.CommandPath())}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRun(s), newList(s))
	return root
}

// noArguments refuses arguments after the flags.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no argument %q; run %s --help",
		c.CommandPath(), args[0], c.CommandPath())}
}

// newList returns the command that explains the workloads.
func newList(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the workloads",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			for _, x := range loadgen.Workloads() {
				fmt.Fprintf(s.out, "%s\n    %s\n    operation: %s\n    checks: %s\n",
					x.Name, x.Summary, x.Operation, x.Checks)
				if len(x.Settings) > 0 {
					fmt.Fprintf(s.out, "    settings: %s\n", strings.Join(x.Settings, ", "))
				}
			}
			return nil
		},
	}
}
