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

// HelpCommand is the command that shows the help of a command, or a page of help that belongs to no command.
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
				return Errorf(ExitUsage, "there is no help about %q; %s --help lists the commands and topics",
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
	// Screen is how many lines --help prints at most, without the list of the commands below.
	Screen = 40
	// SettingsNote is the annotation of a command that describes its flags itself: the lines about the flags in --help.
	SettingsNote = "settings"

	briefExamples = 2
)

// wholeHelp is all that is said about a command.
func wholeHelp(c *cobra.Command) string {
	if c.IsAdditionalHelpTopicCommand() {
		return c.Long + "\n\n"
	}
	return c.Long + "\n\n" + c.UsageString()
}

// Help writes what --help says: everything if a screen has room for that, and otherwise the first paragraph, two
// examples and the first words about each flag.
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
	fmt.Fprintf(w, "%s help%s tells all of it.\n", c.Root().Name(), name)
}

// briefly is the first sentence about a flag, up to a semicolon.
func briefly(flag pflag.Flag) *pflag.Flag {
	flag.Usage, _, _ = strings.Cut(flag.Usage, "; ")
	flag.Usage, _, _ = strings.Cut(flag.Usage, ". ")
	flag.Hidden = flag.Hidden || flag.Name == "help"
	return &flag
}

func wholly(flag pflag.Flag) *pflag.Flag { return &flag }

// Usage writes the help of a command after its description: the line of use, examples, the commands below and the
// flags. The flags of all commands are only named, since a page of help describes the flags.
func (f *Frame) Usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	writeUses(w, c)
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	writeCommands(w, c)
	f.writeFlags(w, c, wholly)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help tells more about a command.\n", c.CommandPath())
	}
	return nil
}

// writeUses writes how a command is called.
func writeUses(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, "Usage:\n")
	if c.Runnable() && (c.HasParent() || !c.HasAvailableSubCommands()) {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", c.CommandPath())
	}
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
			shown.DefValue = "" // no list is no default that needs saying
		}
		own.AddFlag(shown)
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
