package main

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/conform"
	"github.com/signalbox/signalbox/cmd/signalbox/inspect"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/token"
)

// The groups in which the help lists the commands.
const (
	groupHost    = "host"
	groupUse     = "use"
	groupState   = "look"
	groupObjects = "objects"
	groupSet     = "set"
	groupClients = "clients"
)

// newRoot returns the command that all others are below.
func newRoot(s cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "signalbox",
		Short: "A coordination service: locks, semaphores, elections, discovery, configuration",
		Long: `Signalbox lets many processes on many machines agree on who may do what: counting
semaphores and locks with fencing tokens, sessions that end by themselves when
their owner dies, leader election, service discovery, and small configuration
that is watched.

One host is enough to begin:

  signalbox serve

It needs no settings, keeps its data in ./signalbox-data, and says where it
listens. A cluster is the same command on three machines with a list of the
three (signalbox serve --help).`,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.NoArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("signalbox {{.Version}}\n")
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Use a cluster"},
		&cobra.Group{ID: groupObjects, Title: "Look into a cluster, and change it"},
		&cobra.Group{ID: groupState, Title: "See how a cluster is"},
		&cobra.Group{ID: groupHost, Title: "Run a cluster"},
		&cobra.Group{ID: groupSet, Title: "Set up this program"},
		&cobra.Group{ID: groupClients, Title: "Write a client"},
	)
	root.SetHelpCommand(cli.HelpCommand(root))
	root.SetHelpCommandGroupID(groupSet)
	root.SetCompletionCommandGroupID(groupSet)
	f := cli.NewFrame(s)
	f.AddBefore(root)
	root.SetUsageFunc(f.Usage)
	root.SetHelpFunc(f.Help)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupObjects, newNode(f), newSession(f), newSemaphore(f), newDiscover(f), newConfig(f),
		newRollout(f), newProcess(f))
	add(groupHost, newServe(s), newInit(s), token.Command(s), newHost(f), newShard(f), newClusterCommands(f),
		newBackup(f), newAccess(f))
	add(groupUse, newLock(f), newElect(f), newBarrier(f))
	add(groupState, newStatus(f), newTop(f), newWho(f), newCheck(f))
	add(groupHost, inspect.Command(f))
	add(groupSet, newContext(f))
	add(groupSet, newVersion(f))
	add(groupClients, conform.Command(s))
	root.AddCommand(newTopics(f)...)
	addFaces(f, root)
	return root
}
