package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
)

const (
	// completeWithin is how long a user who presses the tabulator waits at the most.
	completeWithin = time.Second
	// completeMost is how many completions are asked for.
	completeMost = 200
)

// Completion completes an argument.
type Completion = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// Complete returns the function that completes arguments: the first by the first of those given, and so on. Where
// the cluster cannot be asked quickly there are no completions, and no error is shown.
func (f *Frame) Complete(by ...Completion) Completion {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(by) || by[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return by[len(args)](c, args, begun)
	}
}

// Paths completes the path of a node.
func (f *Frame) Paths(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return f.complete(c, func(ctx context.Context, box *client.Client, add func(string) bool) {
		for n, err := range box.ListNodes(ctx, begun) {
			if err != nil || !add(n.Path) {
				return
			}
		}
	})
}

// Names completes the name of a semaphore in the node that the first argument is the path of.
func (f *Frame) Names(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return f.complete(c, func(ctx context.Context, box *client.Client, add func(string) bool) {
		for s, err := range box.Node(args[0]).Semaphores(ctx, client.Prefix(begun)) {
			if err != nil || !add(s.Name) {
				return
			}
		}
	})
}

// CompleteBy returns a completion that asks the cluster: ask adds what an argument can be, after those that are there,
// until add returns false. What does not begin with what the user has typed is left out.
func (f *Frame) CompleteBy(ask func(ctx context.Context, box *client.Client, args []string, begun string,
	add func(text string) bool)) Completion {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return f.complete(c, func(ctx context.Context, box *client.Client, add func(string) bool) {
			ask(ctx, box, args, begun, func(text string) bool { return !strings.HasPrefix(text, begun) || add(text) })
		})
	}
}

// complete asks the cluster, within a time that does not disturb the user.
func (f *Frame) complete(c *cobra.Command, ask func(ctx context.Context, box *client.Client,
	add func(string) bool)) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	k, err := f.Connection()
	if err != nil {
		return nil, none
	}
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	box, err := k.Open(ctx)
	if err != nil {
		return nil, none
	}
	defer box.Close()
	var found []string
	ask(ctx, box, func(text string) bool {
		if Safe(text) == text { // what a shell cannot type is not offered
			found = append(found, text)
		}
		return len(found) < completeMost
	})
	return found, none
}

// completeContexts completes the name of a context.
func (f *Frame) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	contexts, err := f.LoadContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return contexts.Names(), cobra.ShellCompDirectiveNoFileComp
}

// Contexts completes the name of a context, as an argument.
func (f *Frame) Contexts(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return f.completeContexts(c, args, begun)
}
