package cli

import "github.com/spf13/cobra"

// Local makes a command one that prints as the others do, and speaks to no cluster.
func (f *Frame) Local(c *cobra.Command) *cobra.Command {
	output := *f.flags.Lookup(outputFlag) // a flag of its own, for the help, with the same value
	c.Flags().AddFlag(&output)
	c.PreRunE = func(*cobra.Command, []string) error { return f.chooseFormat() }
	_ = c.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return c
}
