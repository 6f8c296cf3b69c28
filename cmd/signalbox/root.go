package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot returns the command that all others are below.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "signalbox",
		Short: "A coordination service: locks, semaphores, elections, discovery, configuration",
		Long: `Signalbox lets many processes on many machines agree on who may do what: counting
semaphores and locks with fencing tokens, sessions that end by themselves when
their owner dies, leader election, service discovery, and small configuration
that is watched.

One host is enough to begin:

  signalbox serve

It needs no settings, keeps its data in ./signalbox-data, and says where it
listens. A cluster is the same command on three machines with a list of the
three (signalbox serve --help).`,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("signalbox {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return exitWith(exitUsage, fmt.Errorf("%w; %s --help lists the flags", err, c.CommandPath()))
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newServe(s),
		newToken(s),
	)
	return root
}

// noArguments refuses what is left of a command line after its flags.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return exitWith(exitUsage, fmt.Errorf("%s takes no arguments, and there is %q; %s --help shows how it is called",
			c.CommandPath(), args[0], c.CommandPath()))
	}
	hint := c.CommandPath() + " --help lists the commands"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return exitWith(exitUsage, fmt.Errorf("there is no command %q; %s", args[0], hint))
}
