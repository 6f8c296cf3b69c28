package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newNodeCreate(f *cli.Frame) *cobra.Command {
	var flags nodeFlags
	var ifAbsent bool
	c := &cobra.Command{
		Use:   "create PATH",
		Short: "Create a node",
		Long: `Creates a node and shows it. Nodes above it need not exist. A path has parts of
letters, digits and signs with slashes between them, up to 255 bytes each.

If the path exists the command ends with code 73 and changes nothing; with
--if-absent that is no error.`,
		Example: `  signalbox node create /prod/jobs

  # reads that miss nothing that was answered before, at the price of a round among the hosts
  signalbox node create /prod/ledger --read-consistency strict

  # in a script that may run again
  signalbox node create /prod/jobs --if-absent`,
		Args: cli.Arguments("PATH"),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := flags.config()
			if err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				n, err := box.CreateNode(ctx, args[0], config)
				if err != nil {
					return err
				}
				if n.Existed && !ifAbsent {
					return cli.Errorf(cli.ExitExists, "create node %s: it is there already, and was not changed; "+
						"--if-absent lets that be no error, signalbox node alter changes it", n.Path)
				}
				return printNode(f, n)
			})
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&ifAbsent, "if-absent", false, "it is no error if the node is there; it stays as it is")
	return c
}

func newNodeAlter(f *cli.Frame) *cobra.Command {
	var flags nodeFlags
	var version uint64
	c := &cobra.Command{
		Use:   "alter PATH",
		Short: "Change a node's config",
		Long: `Changes what the flags say in the config of a node, leaves the rest as it is, and
shows the node. With --if-version nothing changes unless the config has that
version; the command ends with code 79 then.`,
		Example: `  signalbox node alter /prod/jobs --session-grace-period 15s

  # only if nobody has changed it since it was looked at
  signalbox node alter /prod/jobs --counters detailed --if-version 3`,
		Args:              cli.Arguments("PATH"),
		ValidArgsFunction: f.Complete(f.Paths),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := flags.config()
			if err != nil {
				return err
			}
			if config == (client.NodeConfig{}) {
				return cli.Errorf(cli.ExitUsage,
					"nothing is to be changed; signalbox node alter --help lists the flags")
			}
			var guards []client.AlterOption
			if c.Flags().Changed("if-version") {
				guards = append(guards, client.IfVersion(version))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				n, err := box.AlterNode(ctx, args[0], config, guards...)
				if err != nil {
					return err
				}
				return printNode(f, n)
			})
		},
	}
	flags.add(c)
	c.Flags().Uint64Var(&version, "if-version", 0, "change it only if the config has this version, `NUMBER`")
	return c
}

func newNodeDrop(f *cli.Frame) *cobra.Command {
	c := &cobra.Command{
		Use:   "drop PATH",
		Short: "Drop a node with all that is in it",
		Long: `Drops a node with its semaphores, and ends its sessions: whoever holds a lock in it
loses it. Nodes below its path stay. Nothing guards a node that is in use, so the
command says what is in it and asks, unless there is --yes.`,
		Example: `  signalbox node drop /test/jobs

  # in a script
  signalbox node drop /test/jobs --yes`,
		Args:              cli.Arguments("PATH"),
		ValidArgsFunction: f.Complete(f.Paths),
		RunE: func(c *cobra.Command, args []string) error {
			describe := func(ctx context.Context, box *client.Client) (string, error) {
				n, err := box.DescribeNode(ctx, args[0])
				if err != nil {
					return "", err
				}
				semaphores, sessions, err := contents(ctx, box.Node(n.Path))
				return fmt.Sprintf("this drops node %s with %s and %s", n.Path, semaphores, sessions), err
			}
			return f.AskConfirmed(c, describe, func(ctx context.Context, box *client.Client) error {
				if err := box.DropNode(ctx, args[0]); err != nil {
					return err
				}
				f.Say("node %s is dropped", cli.Safe(args[0]))
				return nil
			})
		},
	}
	cli.AddYes(c)
	return c
}

// countMost is where counting for a question ends.
const countMost = 10_000

// contents says what is in a node.
func contents(ctx context.Context, node *client.Node) (semaphores, sessions string, err error) {
	n := 0
	for _, err := range node.Semaphores(ctx) {
		if err != nil {
			return "", "", err
		}
		if n++; n > countMost {
			break
		}
	}
	semaphores, n = counted(n, "semaphore"), 0
	for _, err := range node.Sessions(ctx) {
		if err != nil {
			return "", "", err
		}
		if n++; n > countMost {
			break
		}
	}
	return semaphores, counted(n, "session"), nil
}

// counted is a number of things that were counted up to countMost, in words.
func counted(n int, noun string) string {
	if n > countMost {
		return "more than " + plural(countMost, noun)
	}
	return plural(n, noun)
}

// plural is a number of things, in words.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
