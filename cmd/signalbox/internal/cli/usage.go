package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagWidth is the maximum width of the flag list.
const flagWidth = 100

// HelpCommand returns the command that shows a command's help, or a help page that belongs to no command.
func HelpCommand(root *cobra.Command) *cobra.Command {
	find := func(args []string) (*cobra.Command, bool) {
		c, rest, err := root.Find(args)
		return c, err == nil && len(rest) == 0
	}
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command or a topic",
		Long:  "Prints the help of a command, or a topic that belongs to no single command.",
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
				return Errorf(ExitUsage, "no help about %q; %s --help lists the commands and topics",
					strings.Join(args, " "), root.Name())
			}
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			_, err := io.WriteString(c.OutOrStdout(), wholeHelp(c))
			return err
		},
	}
}

const (
	// Screen is the maximum number of lines that --help prints, without the list of subcommands.
	Screen = 40
	// SettingsNote is the annotation for a command that describes its flags itself: it contains --help's lines about
	// the flags.
	SettingsNote = "settings"

	briefExamples = 2
)

// wholeHelp returns a command's complete help.
func wholeHelp(c *cobra.Command) string {
	if c.IsAdditionalHelpTopicCommand() {
		return c.Long + "\n\n"
	}
	return c.Long + "\n\n" + c.UsageString()
}

// Help writes --help's output: everything if it fits on a screen, otherwise the first paragraph, two examples and the
// first words about every flag.
func (f *Frame) Help(c *cobra.Command, _ []string) {
	w := c.OutOrStdout()
	whole := wholeHelp(c)
	if strings.Count(whole, "\n") <= Screen+len(c.Commands()) {
		_, _ = io.WriteString(w, whole)
		return
	}
	first, _, _ := strings.Cut(c.Long, "\n\n")
	fmt.Fprintf(w, "%s\n\n", first)
	writeUses(w, c)
	examples := strings.Split(c.Example, "\n\n")
	fmt.Fprintf(w, "\nExamples:\n%s\n", strings.Join(examples[:min(briefExamples, len(examples))], "\n\n"))
	if note := c.Annotations[SettingsNote]; note != "" {
		fmt.Fprintf(w, "\n%s\n", note)
	} else {
		f.writeFlags(w, c, briefly)
	}
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name())
	fmt.Fprintf(w, "%s help%s shows the full help.\n", c.Root().Name(), name)
}

// briefly returns a flag's first sentence, up to a semicolon.
func briefly(flag pflag.Flag) *pflag.Flag {
	flag.Usage, _, _ = strings.Cut(flag.Usage, "; ")
	flag.Usage, _, _ = strings.Cut(flag.Usage, ". ")
	flag.Hidden = flag.Hidden || flag.Name == "help"
	return &flag
}

func wholly(flag pflag.Flag) *pflag.Flag { return &flag }

// Usage writes a command's help after its description: the usage line, examples, subcommands and flags. The shared
// flags are only named, because a help page describes them.
func (f *Frame) Usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	writeUses(w, c)
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	writeCommands(w, c)
	f.writeFlags(w, c, wholly)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun %s COMMAND --help for help about a command.\n", c.CommandPath())
	}
	return nil
}

// writeUses writes a command's usage lines.
func writeUses(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, "Usage:\n")
	if c.Runnable() && (c.HasParent() || !c.HasAvailableSubCommands()) {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", c.CommandPath())
	}
}

// writeCommands writes the subcommands, in their groups.
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
	write("More help: signalbox help", (*cobra.Command).IsAdditionalHelpTopicCommand)
}

// writeFlags writes the command's own flags.
func (f *Frame) writeFlags(w io.Writer, c *cobra.Command, said func(pflag.Flag) *pflag.Flag) {
	own := pflag.NewFlagSet("own", pflag.ContinueOnError)
	shared := false
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if f.flags.Lookup(flag.Name) == flag {
			shared = true
			return
		}
		shown := said(*flag)
		if shown.DefValue == "[]" && shown.Value.Type() == "stringToInt" {
			shown.DefValue = "" // an empty list need not be shown as the default
		}
		own.AddFlag(shown)
	})
	if own.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", own.FlagUsagesWrapped(flagWidth))
	}
	if shared {
		fmt.Fprintf(w, "\nGlobal flags: --endpoints, --context, --timeout, --output and others. For details, run\n"+
			"signalbox help connection and signalbox help output.\n")
	}
}

// ConnectionFlags describes all connection settings, for a help page.
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
