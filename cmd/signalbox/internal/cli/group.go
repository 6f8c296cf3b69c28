package cli

import "github.com/spf13/cobra"

// Group makes a command that only has others below it: by itself it shows its help.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = NoArguments
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}
