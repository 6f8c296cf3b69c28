// Package discover implements the commands for endpoint lists. Start at Command.
package discover

import (
	"context"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Command returns the commands for endpoint lists.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "discover",
		Short: "Service discovery: register, list, watch",
		Long: `An endpoint list contains the endpoints of a service. An endpoint is on the list while
the process that registered it lives, and leaves when the process's session ends: at
once after a clean stop, after the session timeout after a crash.

Internally a list is a semaphore without a limit, and an endpoint is an owner's data.
signalbox semaphore describe shows the list too.`,
	}, newRegister(f), newWatch(f)))
}

func newRegister(f *cli.Frame) *cobra.Command {
	var session cli.SessionFlags
	var metadata map[string]string
	c := &cobra.Command{
		Use:   "register PATH NAME ADDRESS",
		Short: "Register an endpoint until interrupted",
		Long: `Adds an address to the list NAME of the node, and keeps it there until the command gets
SIGINT or SIGTERM. Then the command removes the address and exits with code 0. A missing
list is created.

If the cluster is unreachable for so long that the session expires, the address leaves
the list, and is added again when the cluster is reachable.`,
		Example: `  signalbox discover register /prod api 10.0.0.7:8080

  # with what callers may want to know
  signalbox discover register /prod api 10.0.0.7:8080 --metadata zone=b,weight=3

  # beside a server that knows nothing of it
  ./server & server=$!
  signalbox discover register /prod api "$(hostname):8080" & registered=$!
  wait $server; kill $registered`,
		RunE: func(c *cobra.Command, args []string) error {
			endpoint := discovery.Endpoint{Address: args[2], Metadata: metadata}
			return session.Stay(f, c, args, func(ctx context.Context, k *cli.Connection, s *client.Session) error {
				within, cancel := k.Within(ctx)
				r, err := discovery.Register(within, s, args[1], endpoint)
				err = cli.EndedBy(within, err)
				cancel()
				if err != nil {
					return err
				}
				return keepRegistered(ctx, f, s, r, args[1], endpoint)
			}, client.Recreate())
		},
	}
	session.Add(c)
	c.Flags().StringToStringVar(&metadata, "metadata", nil,
		"Metadata for callers, `KEY=VALUE,...`. May be repeated")
	return c
}

// keepRegistered prints a registration and keeps it until the context ends or the registration ends permanently.
func keepRegistered(ctx context.Context, f *cli.Frame, s *client.Session, r *discovery.Registration, name string,
	endpoint discovery.Endpoint) error {
	endpoint.SessionID, endpoint.OrderID = s.ID(), r.Fence()
	err := f.Line(endpoint, "registered %s as %s: order %d, session %d",
		cli.Safe(endpoint.Address), cli.Safe(name), endpoint.OrderID, endpoint.SessionID)
	if err == nil {
		select {
		case <-ctx.Done():
		case <-r.Done():
			return cli.Errorf(cli.ExitLost, "%s is no longer on the list %s: %w", cli.Safe(endpoint.Address),
				cli.Safe(name), r.Err())
		}
	}
	cli.CleanUp(ctx, f, "remove the address from the list", r.Close)
	f.Say("withdrawn")
	return err
}

func newWatch(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "watch PATH NAME",
		Short: "Watch an endpoint list",
		Long: `Prints the endpoints of a list, then each endpoint that joins or leaves, one per line,
until interrupted. The node must exist; the list may be created later. The watch
survives lost connections and leader changes.

With -o json each line is an object with all endpoints; joined, changed and left have
the differences from the line before. Output is not buffered, and the command ends when
the reader closes the pipe.`,
		Example: `  signalbox discover watch /prod api

  # write the addresses to a file whenever they change
  signalbox discover watch /prod api -o json |
    while read -r set; do jq -r '.endpoints[].address' <<<"$set" >backends; done`,
		RunE: func(c *cobra.Command, args []string) error {
			first := true
			return cli.Print(f, c, func(ctx context.Context, box *client.Client) iter.Seq2[*discovery.Set, error] {
				return discovery.Watch(ctx, box, args[0], args[1])
			}, func(s *discovery.Set) error {
				defer func() { first = false }()
				return printSet(f, s, first)
			})
		},
	}
}

// printSet prints what has changed in a list.
func printSet(f *cli.Frame, s *discovery.Set, first bool) error {
	if f.JSON() {
		return f.Object(s)
	}
	if first && len(s.Endpoints) == 0 {
		return f.Write([]byte("no endpoints\n"))
	}
	for _, part := range []struct {
		what      string
		endpoints []discovery.Endpoint
	}{{"left   ", s.Left}, {"changed", s.Changed}, {"joined ", s.Joined}} {
		for _, e := range part.endpoints {
			metadata := cli.Safe(operation.MetadataText(e.Metadata))
			line := strings.TrimRight(part.what+"   "+cli.Cell(e.Address)+"   "+metadata, " ")
			if err := f.Write([]byte(line + "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}
