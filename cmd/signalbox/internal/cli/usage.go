package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagWidth is how wide the list of flags may be.
const flagWidth = 100

// HelpCommand is the command that shows the help of another one, or a page that belongs to none.
func HelpCommand(root *cobra.Command) *cobra.Command {
	find := func(args []string) (*cobra.Command, bool) {
		c, rest, err := root.Find(args)
		return c, err == nil && len(rest) == 0
	}
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Tell more about a command, or about one of the topics below",
		Long:  "Tells how a command is used, or tells about a topic that belongs to no single command.",
		Example: `  signalbox help semaphore acquire
  signalbox help exit-codes`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if c, ok := find(args); ok {
				for _, below := range c.Commands() {
					if below.IsAvailableCommand() || below.IsAdditionalHelpTopicCommand() {
						names = append(names, below.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, ok := find(args)
			if !ok {
				return Errorf(ExitUsage, "there is no help about %q; %s --help lists the commands and topics",
					strings.Join(args, " "), root.Name())
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// Usage writes what the help of a command says after its description: how it is called, examples, the commands
// below it and its flags. The flags that all commands share are only named, since they have a page of their own.
func (f *Frame) Usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n")
	if c.Runnable() && (c.HasParent() || !c.HasAvailableSubCommands()) {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	writeCommands(w, c)
	f.writeFlags(w, c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help tells more about a command.\n", c.CommandPath())
	}
	return nil
}

// writeCommands writes the commands below, in their groups.
func writeCommands(w io.Writer, c *cobra.Command) {
	width := 0
	for _, sub := range c.Commands() {
		width = max(width, len(sub.Name()))
	}
	write := func(title string, belongs func(*cobra.Command) bool) {
		for _, sub := range c.Commands() {
			if !belongs(sub) {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s:\n", title)
				title = ""
			}
			fmt.Fprintf(w, "  %-*s   %s\n", width, sub.Name(), sub.Short)
		}
	}
	for _, g := range c.Groups() {
		write(g.Title, func(sub *cobra.Command) bool { return sub.GroupID == g.ID && sub.IsAvailableCommand() })
	}
	write("Commands", func(sub *cobra.Command) bool { return sub.GroupID == "" && sub.IsAvailableCommand() })
	write("More help, with signalbox help", (*cobra.Command).IsAdditionalHelpTopicCommand)
}

// writeFlags writes the flags of a command itself.
func (f *Frame) writeFlags(w io.Writer, c *cobra.Command) {
	own := pflag.NewFlagSet("own", pflag.ContinueOnError)
	shared := false
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if f.flags.Lookup(flag.Name) == flag {
			shared = true
			return
		}
		own.AddFlag(flag)
	})
	if own.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", own.FlagUsagesWrapped(flagWidth))
	}
	if shared {
		fmt.Fprintf(w, "\nWhich cluster, and how to print: --endpoints, --context, --timeout, --output and "+
			"others;\nsignalbox help connection and signalbox help output tell of them.\n")
	}
}

// ConnectionFlags describes all settings that say how a cluster is reached, for a page of help.
func (f *Frame) ConnectionFlags() string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "  --%s %s\n        %s\n        variable %s", s.name, s.hint, s.help, s.variable)
		if s.fallback != "" {
			fmt.Fprintf(&b, "; by default %s", s.fallback)
		}
		b.WriteString("\n")
	}
	return b.String()
}
