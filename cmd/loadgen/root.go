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
		Short: "Puts a Signalbox cluster under load, measures it, and checks what it promises",
		Long: `Puts a Signalbox cluster under load, measures how it does, and checks what it
promises while it does.

  loadgen list    what can be done
  loadgen run     do it`,
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
	return usageError{fmt.Errorf("%s does not know what to do with %q; %s --help shows how it is called",
		c.CommandPath(), args[0], c.CommandPath())}
}

// newList returns the command that explains the workloads.
func newList(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Explain the workloads",
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
