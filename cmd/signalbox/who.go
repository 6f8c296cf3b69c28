package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// waitObject is a session that waits for a semaphore, with the owners of that.
type waitObject struct {
	Path string `json:"path"`
	Name string `json:"name"`
	// WaitedMS is by the clock of this machine.
	WaitedMS *int64 `json:"waited_ms,omitempty"`
	waiterObject
	Owners []ownerObject `json:"owners"`
}

// wait is a waiter with the semaphore that it waits for.
type wait struct {
	path   string
	d      *client.SemaphoreDetails
	waiter *client.Waiter
}

func newWho(f *cli.Frame) *cobra.Command {
	return f.Command(&cobra.Command{
		Use:   "who [NAME-PREFIX]",
		Short: "Show who waits for what, and who has it",
		Long: `Shows who waits in all nodes that you may see, the longest wait first: for what, for
how long, which session owns it, since when and from where. With NAME-PREFIX only
semaphores whose names begin with it, letter by letter.

signalbox rollout why shows what a rollout waits for, signalbox process why what the
round of a process does.

Of several owners the table shows the one that came first; -o json has all. How long
somebody waits is by the clock of this machine against that of a host. What began
before the cluster's feature level 2 has no time, and comes first.`,
		Example: `  signalbox who
  signalbox who nightly

  # where do those who keep others waiting come from?
  signalbox who -o json | jq -r '.owners[].address'`,
		Args: cli.Arguments("[NAME-PREFIX]"),
		RunE: func(c *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				waits, err := allWaits(ctx, box, prefix)
				return errors.Join(err, printWaits(f, waits, time.Now()))
			})
		},
	})
}

// allWaits returns the waiters, the longest wait first, and with an error those that were found until then.
func allWaits(ctx context.Context, box *client.Client, prefix string) ([]wait, error) {
	semaphores := eachInNodes(ctx, box, nil, func(n *client.Node) iter.Seq2[*client.SemaphoreInfo, error] {
		return n.Semaphores(ctx, client.Prefix(prefix))
	})
	var waits []wait
	for s, err := range semaphores {
		if err == nil && s.thing.WaiterCount == 0 {
			continue
		}
		var d *client.SemaphoreDetails
		if err == nil {
			d, err = box.Node(s.path).Describe(ctx, s.thing.Name, client.WithOwners(), client.WithWaiters())
		}
		if errors.Is(err, client.ErrSemaphoreNotFound) || errors.Is(err, client.ErrNodeNotFound) {
			continue // it went meanwhile
		}
		if err != nil {
			return sorted(waits), err
		}
		for i := range d.Waiters {
			waits = append(waits, wait{s.path, d, &d.Waiters[i]})
		}
	}
	return sorted(waits), nil
}

// sorted puts the longest wait first.
func sorted(waits []wait) []wait {
	slices.SortStableFunc(waits, func(a, b wait) int {
		return cmp.Or(a.waiter.Since.Compare(b.waiter.Since), cmp.Compare(a.path, b.path),
			cmp.Compare(a.d.Name, b.d.Name),
			cmp.Compare(a.waiter.OrderID, b.waiter.OrderID))
	})
	return waits
}

func printWaits(f *cli.Frame, waits []wait, now time.Time) error {
	rows := f.Rows("WAITED#", "NODE", "SEMAPHORE", "SESSION#", "FROM", "+CLIENT", "OWNER#", "SINCE", "OWNER FROM",
		"+OWNER CLIENT")
	for _, w := range waits {
		o := waitObject{Path: w.path, Name: w.d.Name, waiterObject: newWaiterObject(*w.waiter),
			Owners: newOwnerObjects(w.d.Owners)}
		waited := ""
		if since := w.waiter.Since; !since.IsZero() {
			long := max(now.Sub(since), 0)
			ms := cli.Millis(long)
			o.WaitedMS, waited = &ms, long.Truncate(time.Second).String()
		}
		var owner client.Owner
		who := ""
		if len(w.d.Owners) > 0 {
			owner = w.d.Owners[0]
			who = cli.ID(owner.SessionID).String()
			if n := len(w.d.Owners); n > 1 {
				who += fmt.Sprintf(" and %d more", n-1)
			}
		}
		if err := rows.Add(o, waited, w.path, w.d.Name, w.waiter.SessionID, w.waiter.Client.Address,
			clientCell(w.waiter.Client),
			who, sinceCell(owner.Since), owner.Client.Address, clientCell(owner.Client)); err != nil {
			return errors.Join(err, rows.EndBroken())
		}
	}
	return rows.End()
}
