package cli

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
)

const (
	// completeWithin is the maximum time a user waits after pressing the tab key.
	completeWithin = time.Second
	// completeMost is the maximum number of requested completions.
	completeMost = 200
)

// Completion completes an argument.
type Completion = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// complete returns a function that completes arguments: the first argument with the first completion, and so on.
func complete(by []Completion) Completion {
	return func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(by) || by[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return by[len(args)](c, args, begun)
	}
}

// completionOf returns the completion for a placeholder in the command's usage, such as PATH, nil if there is none.
// NAME completes existing objects of the command's noun; there is no completion for a new object's name.
func (f *Frame) completionOf(c *cobra.Command, word string) Completion {
	switch word {
	case "PATH", "PATH|NAME-PREFIX":
		return f.CompleteBy(paths)
	case "HOST", "OLD", "NEW":
		return f.CompleteBy(hosts)
	case "LOCATION":
		return f.PartsOfRollout(func(s *rollout.State) []string {
			return Map(s.Locations, func(l rollout.LocationState) string { return l.Name })
		})
	case "VERSION":
		return f.PartsOfRollout(func(s *rollout.State) []string {
			return Map(s.Versions, func(v rollout.Version) string { return strconv.FormatUint(v.Seq, 10) })
		})
	case "MEMBER", "MEMBERS":
		return f.CompleteBy(members)
	case "NAME", "PREFIX":
		noun := append(strings.Fields(c.CommandPath()), "")[1]
		if noun == "context" {
			return f.contexts
		}
		if by := namesOf[noun]; by != nil && c.Name() != "create" {
			return f.CompleteBy(by)
		}
	}
	return nil
}

// possible lists the possible arguments, given the preceding arguments.
type possible = func(ctx context.Context, box *client.Client, args []string, begun string) iter.Seq[string]

// namesOf lists object names for every noun, in the node whose path is the first argument.
var namesOf = map[string]possible{
	"node": paths, "rollout": rollouts, "process": processes, "barrier": processes, "semaphore": semaphores,
	"slot": semaphores, "discover": semaphores, "config": semaphores, "lock": semaphores, "elect": semaphores,
}

// names yields the names of a list's items, up to the first error.
func names[T any](list iter.Seq2[T, error], name func(T) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item, err := range list {
			if err != nil || !yield(name(item)) {
				return
			}
		}
	}
}

// nodeIn returns the node path in the arguments, empty before the path is typed.
func nodeIn(args []string) string { return append(args, "")[0] }

func paths(ctx context.Context, box *client.Client, _ []string, begun string) iter.Seq[string] {
	return names(box.ListNodes(ctx, begun), func(n *client.NodeInfo) string { return n.Path })
}

func semaphores(ctx context.Context, box *client.Client, args []string, begun string) iter.Seq[string] {
	return names(box.Node(nodeIn(args)).Semaphores(ctx, client.Prefix(begun)),
		func(s *client.SemaphoreInfo) string { return s.Name })
}

func rollouts(ctx context.Context, box *client.Client, args []string, begun string) iter.Seq[string] {
	return names(rollout.List(ctx, box, nodeIn(args), rollout.Prefix(begun)),
		func(s *rollout.Summary) string { return s.Name })
}

func processes(ctx context.Context, box *client.Client, args []string, begun string) iter.Seq[string] {
	return names(process.List(ctx, box, nodeIn(args), process.Prefix(begun)),
		func(s *process.Summary) string { return s.Name })
}

func members(ctx context.Context, box *client.Client, args []string, _ string) iter.Seq[string] {
	var list []process.MemberState
	if len(args) > 1 {
		list, _ = process.New(box, args[0], args[1]).Members(ctx)
	}
	return slices.Values(Map(list, func(m process.MemberState) string { return m.Name }))
}

func hosts(ctx context.Context, box *client.Client, _ []string, _ string) iter.Seq[string] {
	var found []string
	if cluster, err := admin.New(box).Describe(ctx, admin.Relaxed()); err == nil {
		for i := range cluster.Hosts {
			if h := &cluster.Hosts[i]; h.Target.State != admin.Expelled {
				found = append(found, h.Name)
			}
		}
	}
	return slices.Values(found)
}

// PartsOfRollout completes a part of the rollout the first two arguments name.
func (f *Frame) PartsOfRollout(parts func(*rollout.State) []string) Completion {
	return f.CompleteBy(func(ctx context.Context, box *client.Client, args []string, _ string) iter.Seq[string] {
		var found []string
		if len(args) > 1 {
			if s, err := rollout.New(box, args[0], args[1]).Describe(ctx); err == nil {
				found = parts(s)
			}
		}
		return slices.Values(found)
	})
}

// CompleteBy returns a completion that asks the cluster, within a time that does not disturb the user. Arguments
// without the typed prefix are omitted. If the cluster does not answer quickly, there are no completions, and no
// error is shown.
func (f *Frame) CompleteBy(list possible) Completion {
	const none = cobra.ShellCompDirectiveNoFileComp
	return func(c *cobra.Command, args []string, begun string) (found []string, _ cobra.ShellCompDirective) {
		k, err := f.Connection()
		if err != nil {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(cmp.Or(c.Context(), context.Background()), completeWithin)
		defer cancel()
		box, err := k.Open(ctx)
		if err != nil {
			return nil, none
		}
		defer box.Close()
		for text := range list(ctx, box, args, begun) {
			if strings.HasPrefix(text, begun) && Safe(text) == text { // a shell cannot type the rest
				found = append(found, text)
			}
			if len(found) == completeMost {
				break
			}
		}
		return found, none
	}
}

// contexts completes a context name.
func (f *Frame) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	contexts, err := f.LoadContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return contexts.Names(), cobra.ShellCompDirectiveNoFileComp
}
