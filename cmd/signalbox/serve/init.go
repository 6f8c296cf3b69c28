package serve

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/host"
	"github.com/signalbox/signalbox/server/settings"
)

// newInit returns the command init, which makes a cluster of a single host.
func newInit(s cli.Streams) *cobra.Command {
	var flags *settings.Flags
	c := &cobra.Command{
		Use:   "init",
		Short: "Make a new cluster of one host, which others may join",
		Long: `Makes a data directory for the first host of a new cluster, and starts nothing:
signalbox serve does that, with the same settings.

A host that other machines can reach does not make a cluster by itself when its
directory is empty: it may have been in use before, and have lost its disk. So it
is said once, by this command. It is needed neither for a host that only its own
machine can reach, nor for hosts that are given a list of each other: those are
born when all of them have been started.

It takes the settings of signalbox serve, as flags, variables and a file. What it
makes has the name of the host, the name of the cluster and the number of shards;
none of the three can be changed later.

Exit codes: 0 made; 73 the directory belongs to a host of a cluster already; 64 the
settings are wrong; 65 the data directory cannot be used.`,
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

// initialize makes the directory that the settings name.
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
