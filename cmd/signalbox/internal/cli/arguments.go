package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoArguments refuses arguments that are left after the flags.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return Errorf(ExitUsage, "%s takes no arguments, and there is %q; %s --help shows how it is called",
			c.CommandPath(), args[0], c.CommandPath())
	}
	hint := c.CommandPath() + " --help lists the commands"
	// As many letters may be wrong as leave the word to be seen.
	if c.SuggestionsMinimumDistance = 2; len(args[0]) < 5 {
		c.SuggestionsMinimumDistance = 1
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Errorf(ExitUsage, "there is no command %q; %s", args[0], hint)
}

// Arguments takes exactly the arguments of those names, such as "PATH", "NAME". A name in brackets, "[NAME]", may
// be left out, with all after it. Only what is named DATA may be empty.
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
			return Errorf(ExitUsage, "%s is missing; call it as: %s", names[len(args)], c.UseLine())
		case len(args) > len(names):
			return Errorf(ExitUsage, "%q is too much; call it as: %s", args[len(names)], c.UseLine())
		}
		for i, arg := range args {
			if name := strings.Trim(names[i], "[]"); arg == "" && name != "DATA" {
				return Errorf(ExitUsage, "%s is empty; call it as: %s", name, c.UseLine())
			}
		}
		return nil
	}
}

// Prepare gives a command, and the commands below, the meaning of their lines of use: the check of the arguments, and
// the completion of arguments and flags by their words. A check or a completion of a command stays. A command that runs
// a further command checks its arguments itself.
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
				_ = c.RegisterFlagCompletionFunc(flag.Name, by) // an error says that the flag has a completion
			}
		}
	})
}

// argumentsIn are the words for arguments in a line of use, which end where flags begin.
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

// Misuse is the error of a command line that is wrong.
func Misuse(c *cobra.Command, format string, args ...any) error {
	return ExitWith(ExitUsage, fmt.Errorf(format+"; %s --help shows how it is called",
		append(args, c.CommandPath())...))
}
