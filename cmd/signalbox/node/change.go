package node

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func newCreate(f *cli.Frame) *cobra.Command {
	var flags nodeFlags
	var ifAbsent bool
	c := &cobra.Command{
		Use:   "create PATH",
		Short: "Create a node",
		Long: `Creates a node and shows it. Parent nodes need not exist. A path has segments of up to
255 bytes, separated by slashes.

If the node exists the exit code is 73, and nothing changes. With --if-not-exists an
existing node is not an error.`,
		Example: `  signalbox node create /prod/jobs

  # reads that miss nothing that was answered before, at the price of a round among the hosts
  signalbox node create /prod/ledger --read-consistency strict

  # in a script that may run again
  signalbox node create /prod/jobs --if-not-exists`,
		RunE: func(c *cobra.Command, args []string) error {
			config, err := flags.config()
			if err != nil {
				return err
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				n, err := box.CreateNode(ctx, args[0], config)
				if err == nil && n.Existed && !ifAbsent {
					return cli.Errorf(cli.ExitExists, "cannot create node %s: it already exists; use "+
						"--if-not-exists to accept an existing node, or signalbox node alter to change "+
						"it", n.Path)
				}
				return printNode(f, n, err)
			})
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&ifAbsent, "if-not-exists", false, "Succeed without a change if the node exists")
	return c
}

func newAlter(f *cli.Frame) *cobra.Command {
	var flags nodeFlags
	var version uint64
	c := &cobra.Command{
		Use:   "alter PATH",
		Short: "Change a node's config",
		Long: `Changes the settings given by flags, and shows the node. With --if-revision the change
is made only if the config has the given revision; otherwise the exit code is 79.`,
		Example: `  signalbox node alter /prod/jobs --session-grace-period 15s

  # only if nobody has changed it since it was looked at
  signalbox node alter /prod/jobs --metrics-level detailed --if-revision 3`,
		RunE: func(c *cobra.Command, args []string) error {
			config, err := flags.config()
			if err != nil {
				return err
			}
			if config == (client.NodeConfig{}) {
				return cli.Errorf(cli.ExitUsage,
					"no change is given; signalbox node alter --help lists the flags")
			}
			var guards []client.AlterOption
			if c.Flags().Changed("if-revision") {
				guards = append(guards, client.IfConfigRevision(version))
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				n, err := box.AlterNode(ctx, args[0], config, guards...)
				return printNode(f, n, err)
			})
		},
	}
	flags.add(c)
	c.Flags().Uint64Var(&version, "if-revision", 0, "Change the node only if its config has this revision, `NUMBER`")
	return c
}
