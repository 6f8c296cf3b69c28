package main

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/access"
	"github.com/signalbox/signalbox/cmd/signalbox/backup"
	"github.com/signalbox/signalbox/cmd/signalbox/config"
	"github.com/signalbox/signalbox/cmd/signalbox/conform"
	"github.com/signalbox/signalbox/cmd/signalbox/contexts"
	"github.com/signalbox/signalbox/cmd/signalbox/discover"
	"github.com/signalbox/signalbox/cmd/signalbox/hosts"
	"github.com/signalbox/signalbox/cmd/signalbox/inspect"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/lease"
	"github.com/signalbox/signalbox/cmd/signalbox/node"
	"github.com/signalbox/signalbox/cmd/signalbox/optable"
	"github.com/signalbox/signalbox/cmd/signalbox/process"
	"github.com/signalbox/signalbox/cmd/signalbox/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/semaphore"
	"github.com/signalbox/signalbox/cmd/signalbox/serve"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
	"github.com/signalbox/signalbox/cmd/signalbox/token"
)

// Command groups in the help.
const (
	groupHost    = "host"
	groupUse     = "use"
	groupState   = "look"
	groupObjects = "objects"
	groupSet     = "set"
	groupClients = "clients"
)

// newRoot returns the root of the command tree.
func newRoot(s cli.Streams) *cobra.Command {
	s.Version = programVersion()
	root := &cobra.Command{
		Use:   "signalbox",
		Short: "Coordination service: locks, semaphores, leader election, service discovery, configuration",
		Long: `Signalbox coordinates processes on many machines: distributed locks and counting
semaphores with fencing tokens, sessions that expire when their client dies, leader
election, service discovery, and small configuration with watches.

Start with one host:

  signalbox serve

It needs no settings, stores its data in ./signalbox-data, and prints its addresses. For
a cluster, run the same command on three machines with a list of the three (signalbox
serve --help).`,
		Version:       s.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("signalbox {{.Version}}\n")
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Use a cluster"},
		&cobra.Group{ID: groupObjects, Title: "Inspect and change a cluster"},
		&cobra.Group{ID: groupState, Title: "Monitor a cluster"},
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
	add(groupObjects, node.Command(f), discover.Command(f), config.Command(f), rollout.Command(f), process.Command(f))
	add(groupObjects, semaphore.Commands(f)...)
	add(groupHost, token.Command(s), backup.Command(f), access.Command(f), inspect.Command(f))
	add(groupHost, serve.Commands(s)...)
	add(groupHost, hosts.Commands(f, backup.Recover(f))...)
	add(groupUse, lease.Commands(f)...)
	add(groupState, status.Commands(f)...)
	add(groupSet, contexts.Command(f), newVersion(f))
	add(groupClients, conform.Command(s))
	root.AddCommand(newTopics(f)...)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // cobra's own shows its help for an unknown shell, and succeeds
			cli.Group(c)
		}
	}
	optable.Add(f, root)
	f.Prepare(root)
	return root
}
