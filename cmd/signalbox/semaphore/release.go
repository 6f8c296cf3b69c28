package semaphore

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// holder identifies an owner or waiter of a semaphore.
type holder struct{ session, order uint64 }

func newRelease(f *cli.Frame) *cobra.Command {
	var who holder
	c := &cobra.Command{
		Use:   "release PATH NAME (--session SESSION | --order-id ORDER)",
		Short: "Release a semaphore that another session owns or waits for",
		Long: `Takes a semaphore from an owner or waiter, given by its session or its order id (an
owner's fencing token); signalbox semaphore describe shows both.

Only the owning session can release a semaphore; signalbox semaphore acquire does so
when interrupted. This command therefore ends the session, which also loses all its
other holdings. The command prints the holdings and asks for confirmation unless --yes
is given. If the session does not hold the semaphore, nothing happens, and the exit code
is 66.`,
		Example: `  signalbox semaphore describe /prod/jobs nightly
  signalbox semaphore release /prod/jobs nightly --order-id 17

  # in a script
  signalbox semaphore release /prod/jobs nightly --session 13245086504096628737 --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			if (who.session == 0) == (who.order == 0) {
				return cli.Errorf(cli.ExitUsage,
					"the owner or waiter is missing; give --session or --order-id, as shown by signalbox "+
						"semaphore describe")
			}
			describe := func(ctx context.Context, box *client.Client) (string, error) {
				id, err := who.find(ctx, box, args[0], args[1])
				if err != nil {
					return "", err
				}
				d, err := describeSession(ctx, box, id)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("releasing %s ends session %d%s, which %s",
					cli.Safe(args[1]), id, described(d.Description), holdingWords(d.Holdings)), nil
			}
			return f.AskConfirmed(c, describe, func(ctx context.Context, box *client.Client) error {
				id, err := who.find(ctx, box, args[0], args[1])
				if err != nil {
					return err
				}
				if err := box.DestroySession(ctx, id); err != nil {
					return err
				}
				return f.Done(true, "%s is released: session %d has ended", cli.Safe(args[1]), id)
			})
		},
	}
	c.Flags().Uint64Var(&who.session, "session", 0, "`SESSION` that owns or waits")
	c.Flags().Uint64Var(&who.order, "order-id", 0, "`ORDER` id of the owner or waiter")
	cli.AddYes(c)
	return c
}

// find returns the owner's or waiter's session, if it currently holds or waits for the semaphore.
func (h holder) find(ctx context.Context, box *client.Client, path, name string) (session uint64, err error) {
	d, err := box.Node(path).Describe(ctx, name, client.WithOwners(), client.WithWaiters(),
		client.WithConsistency(client.Strict))
	if err != nil {
		return 0, err
	}
	for _, o := range d.Owners {
		if o.SessionID == h.session || o.OrderID == h.order {
			return o.SessionID, nil
		}
	}
	for _, w := range d.Waiters {
		if w.SessionID == h.session || w.OrderID == h.order {
			return w.SessionID, nil
		}
	}
	who := fmt.Sprintf("order id %d", h.order)
	if h.session != 0 {
		who = fmt.Sprintf("session %d", h.session)
	}
	return 0, cli.Errorf(cli.ExitNotFound, "cannot release %s: %s neither owns it nor waits for it; nothing was done",
		cli.Safe(name), who)
}
