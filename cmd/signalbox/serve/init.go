package serve

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/settings"
)

// newInit returns the command init, which creates a cluster with a single host.
func newInit(s cli.Streams) *cobra.Command {
	var flags *settings.Flags
	c := &cobra.Command{
		Use:   "init",
		Short: "Create a new cluster of one host that others can join",
		Long: `Creates the data directory for the first host of a new cluster. The command starts no
host: run signalbox serve with the same settings.

Run the command once, for a host that other machines can reach. Such a host does not
create a cluster on an empty directory by itself, because an earlier directory may have
been lost with its disk. The command is not needed for a host that only its own machine
can reach, and for hosts with a list of initial hosts, which bootstrap when all initial
hosts have started.

The settings are the settings of signalbox serve, as flags, environment variables and a
file. Host name and cluster name cannot be changed later. --shards is the number of data
shards at bootstrap: signalbox shard add and signalbox shard remove change it later.

Exit codes: 0 created; 73 the directory already belongs to a host; 64 the settings are
wrong; 65 the data directory cannot be used.`,
		Example: `  # once
  signalbox init --config /etc/signalbox/signalbox.yaml

  # from now on
  signalbox serve --config /etc/signalbox/signalbox.yaml`,
		RunE: func(*cobra.Command, []string) error { return initialize(flags, s) },
	}
	flags = settings.AddFlags(c.Flags())
	c.SetUsageFunc(func(c *cobra.Command) error {
		fmt.Fprintf(c.OutOrStderr(), "Usage:\n  signalbox init [flags]\n\nExamples:\n%s\n\nThe flags are those of "+
			"signalbox serve.\n", c.Example)
		return nil
	})
	return c
}

// initialize creates the directory named by the settings.
func initialize(flags *settings.Flags, s cli.Streams) error {
	given, err := settings.Load(settings.Sources{Flags: flags, Environment: s.Environment})
	if err != nil {
		return cli.ExitWith(cli.ExitUsage, err)
	}
	cli.KeepPrivate()
	id, err := host.Init(host.Options{Settings: given, Version: s.Version})
	if errors.Is(err, host.ErrExists) {
		return cli.ExitWith(cli.ExitExists, err)
	}
	if err != nil {
		return cli.ExitWith(hostCodes[host.KindOf(err)], err)
	}
	fmt.Fprintf(s.Out, "%s is host %s of the new cluster %s. Start it with signalbox serve and the same settings.\n",
		given.DataDir, id.HostName, id.Cluster)
	return nil
}
