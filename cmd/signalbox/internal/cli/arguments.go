package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoArguments refuses arguments that remain after the flags.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return Errorf(ExitUsage, "%s takes no arguments, but got %q; run %s --help",
			c.CommandPath(), args[0], c.CommandPath())
	}
	hint := c.CommandPath() + " --help lists the commands"
	// Suggestions allow as many wrong letters as leave the word recognisable.
	if c.SuggestionsMinimumDistance = 2; len(args[0]) < 5 {
		c.SuggestionsMinimumDistance = 1
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Errorf(ExitUsage, "unknown command %q; %s", args[0], hint)
}

// Arguments accepts exactly the named arguments, such as "PATH", "NAME". A name in brackets, "[NAME]", may be
// omitted, with all after it. Only DATA may be empty.
func Arguments(names ...string) cobra.PositionalArgs {
	least := 0
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			least++
		}
	}
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Errorf(ExitUsage, "%s is missing; usage: %s", names[len(args)], c.UseLine())
		case len(args) > len(names):
			return Errorf(ExitUsage, "unexpected argument %q; usage: %s", args[len(names)], c.UseLine())
		}
		for i, arg := range args {
			if name := strings.Trim(names[i], "[]"); arg == "" && name != "DATA" {
				return Errorf(ExitUsage, "%s is empty; usage: %s", name, c.UseLine())
			}
		}
		return nil
	}
}

// Prepare derives argument checks from the usage line for a command and its subcommands, and the completion of
// arguments and flags from their words. Existing checks and completions are kept. A command that runs another command
// checks its arguments itself.
func (f *Frame) Prepare(c *cobra.Command) {
	for _, below := range c.Commands() {
		f.Prepare(below)
	}
	words := argumentsIn(c.Use)
	switch {
	case c.Args != nil || !c.Runnable() || strings.Contains(c.Use, "-- "):
	case len(words) == 0:
		c.Args = NoArguments
	default:
		c.Args = Arguments(words...)
	}
	by, known := make([]Completion, len(words)), false
	for i, word := range words {
		by[i] = f.completionOf(c, strings.Trim(word, "[]"))
		known = known || by[i] != nil
	}
	if c.ValidArgsFunction == nil && known {
		c.ValidArgsFunction = complete(by)
	}
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if word, _ := pflag.UnquoteUsage(flag); word != "NAME" {
			if by := f.completionOf(c, word); by != nil {
				_ = c.RegisterFlagCompletionFunc(flag.Name, by) // an error means that the flag has a completion
			}
		}
	})
}

// argumentsIn returns the argument words in a usage line, which end where flags begin.
func argumentsIn(use string) []string {
	words := strings.Fields(use)[1:]
	end := slices.IndexFunc(words, func(word string) bool {
		return strings.HasPrefix(word, "(") || strings.Contains(word, "--") || word == "[flags]"
	})
	if end >= 0 {
		words = words[:end]
	}
	return words
}

// Misuse returns an error for a wrong command line.
func Misuse(c *cobra.Command, format string, args ...any) error {
	return ExitWith(ExitUsage, fmt.Errorf(format+"; run %s --help",
		append(args, c.CommandPath())...))
}
