package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// OtherTools maps commands of etcdctl, consul, zkCli and kubectl, and words that their users try, to commands here.
var OtherTools = map[string]string{
	"get": "config get", "put": "config put", "set": "config put", "config set": "config put",
	"kv": "config", "kv get": "config get", "kv put": "config put", "kv delete": "semaphore delete",
	"del": "semaphore delete", "delete": "semaphore delete", "watch": "config watch", "ls": "node list",
	"member": "host", "members": "host list", "member list": "host list", "member remove": "host expel",
	"operator raft": "host", "operator raft list-peers": "host list", "operator raft remove-peer": "host expel",
	"endpoint": "status", "endpoint health": "check", "move-leader": "shard transfer-leader",
	"snapshot": "backup", "snapshot save": "backup save", "snapshot restore": "backup restore",
	"snapshot status": "backup show", "host delete": "host expel", "host remove": "host expel",
	"node delete": "node drop", "rollout undo": "rollout rollback", "locks": "who",
}

// NoArguments refuses arguments that remain after the flags.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return Errorf(ExitUsage, "%s takes no arguments, but got %q; run %s --help",
			c.CommandPath(), args[0], c.CommandPath())
	}
	return Errorf(ExitUsage, "unknown command %q; %s", args[0], commandHint(c, args))
}

// commandHint returns what to type instead of an unknown command, the first of args.
func commandHint(c *cobra.Command, args []string) string {
	root, above, _ := strings.Cut(c.CommandPath()+" ", " ")
	for n := len(args); n > 0; n-- {
		if here, ok := OtherTools[above+strings.Join(args[:n], " ")]; ok {
			return "use " + root + " " + here
		}
	}
	isCommand := func(below *cobra.Command) bool { return below.Name() == args[1] }
	if len(args) > 1 && slices.ContainsFunc(c.Commands(), isCommand) { // as in: host NAME drain
		return fmt.Sprintf("did you mean %s %s %s?", c.CommandPath(), args[1], args[0])
	}
	// Suggestions allow as many wrong letters as leave the word recognisable.
	if c.SuggestionsMinimumDistance = 2; len(args[0]) < 5 {
		c.SuggestionsMinimumDistance = 1
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 && len(args[0]) > 1 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return c.CommandPath() + " --help lists the commands"
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
