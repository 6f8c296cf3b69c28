package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Wait is a session in a semaphore's queue, with the owners. Waited is measured with this machine's clock.
type Wait struct {
	Node   string
	Name   string
	Waited time.Duration
	operation.DescribedWaiter
	Owners []operation.DescribedOwner
}

// wait is a waiter with its semaphore.
type wait struct {
	path   string
	d      *operation.DescribedSemaphore
	waiter *operation.DescribedWaiter
}

func newWho(f *cli.Frame) *cobra.Command {
	return f.Command(&cobra.Command{
		Use:   "who [PATH|NAME-PREFIX]",
		Short: "Show who waits for locks and semaphores, and who holds them",
		Long: `Shows the waiters in all visible nodes, longest wait first: semaphore, wait
time, owner, and the owner's age and address. Sessions are shown by their description;
the commands of this tool describe process and machine. A session without a description
is shown by its client name. -o wide shows session ids, for signalbox session end.
An argument with a leading / is a node path: it selects the node and the nodes below.
Any other argument selects semaphores by the start of their names.

Locks without waiters are not shown: signalbox semaphore list shows all locks, and
signalbox semaphore describe shows the owners of a lock.

signalbox rollout why explains what a rollout waits for, signalbox process why what a
round waits for.

If there are several owners the table shows the first; -o json has all. Wait times
compare the local clock with the host's clock.`,
		Example: `  signalbox who
  signalbox who nightly
  signalbox who /prod

  # where do those who keep others waiting come from?
  signalbox who -o json | jq -r '.owners[].client.address'`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			waits, held, err := allWaits(ctx, box, append(args, "")[0])
			if err == nil && len(waits) == 0 && !f.JSON() {
				f.Say("signalbox: no waiters; signalbox semaphore %s", cmp.Or(held, "list shows all semaphores"))
			}
			return printWaits(f, waits, time.Now(), err)
		}),
	})
}

// allWaits returns the waiters below a path or for names with a prefix, longest wait first, and a command that shows
// who holds a semaphore without waiters. With an error, it returns those found until then.
func allWaits(ctx context.Context, box *client.Client, of string) (waits []wait, held string, err error) {
	path, prefix, found := "/", of, true
	if strings.HasPrefix(of, "/") {
		path, prefix, found = strings.TrimRight(of, "/")+"/", "", false
	}
	semaphores := operation.EachNode(ctx, box, "", "", func(node, _ string) iter.Seq2[*client.SemaphoreInfo, error] {
		if !strings.HasPrefix(node+"/", path) {
			return func(func(*client.SemaphoreInfo, error) bool) {}
		}
		found = true
		return box.Node(node).Semaphores(ctx, client.Prefix(prefix))
	})
	words := &operation.Descriptions{By: box}
	for s, err := range semaphores {
		if err == nil && s.Item.WaiterCount == 0 {
			if held == "" && s.Item.OwnerCount > 0 {
				held = fmt.Sprintf("describe %s %s shows the owners", cli.Safe(s.Node), cli.Safe(s.Item.Name))
			}
			continue
		}
		var d *client.SemaphoreDetails
		if err == nil {
			d, err = box.Node(s.Node).Describe(ctx, s.Item.Name, client.WithOwners(), client.WithWaiters())
		}
		if errors.Is(err, client.ErrSemaphoreNotFound) || errors.Is(err, client.ErrNodeNotFound) {
			continue // the semaphore was deleted meanwhile
		}
		if err != nil {
			return sorted(waits), "", err
		}
		described := words.Semaphore(ctx, d)
		for i := range described.Waiters {
			waits = append(waits, wait{s.Node, described, &described.Waiters[i]})
		}
	}
	if !found {
		return nil, "", cli.Errorf(cli.ExitNotFound, "no node %s and none below; signalbox node list shows the nodes",
			cli.Safe(of))
	}
	return sorted(waits), held, nil
}

// sorted sorts waits, longest first.
func sorted(waits []wait) []wait {
	slices.SortStableFunc(waits, func(a, b wait) int {
		return cmp.Or(a.waiter.Since.Compare(b.waiter.Since), cmp.Compare(a.path, b.path),
			cmp.Compare(a.d.Name, b.d.Name),
			cmp.Compare(a.waiter.OrderID, b.waiter.OrderID))
	})
	return waits
}

// printWaits prints the waiters found before an error, if any, and returns the error.
func printWaits(f *cli.Frame, waits []wait, now time.Time, err error) error {
	rows := f.Rows("WAITED#", "NODE", "SEMAPHORE", "WHO", "FROM", "+SESSION#", "+CLIENT", "OWNER", "SINCE",
		"OWNER FROM", "+OWNER SESSION#", "+OWNER CLIENT")
	for _, w := range waits {
		o := Wait{Node: w.path, Name: w.d.Name, DescribedWaiter: *w.waiter, Owners: w.d.Owners}
		waited := ""
		if since := w.waiter.Since; !since.IsZero() {
			o.Waited = max(now.Sub(since), 0)
			waited = o.Waited.Truncate(time.Second).String()
		}
		var owner operation.DescribedOwner
		who, session := "", any("")
		if len(w.d.Owners) > 0 {
			owner = w.d.Owners[0]
			who, session = sessionText(owner.Description, owner.Client, owner.SessionID), owner.SessionID
			if n := len(w.d.Owners); n > 1 {
				who += fmt.Sprintf(" and %d more", n-1)
			}
		}
		rows.Add(o, waited, w.path, w.d.Name,
			sessionText(w.waiter.Description, w.waiter.Client, w.waiter.SessionID), w.waiter.Client.Address,
			w.waiter.SessionID, operation.ClientText(w.waiter.Client),
			who, owner.Since, owner.Client.Address, session, operation.ClientText(owner.Client))
	}
	return rows.EndAfter(err)
}

// sessionText names a session's owner: the description, the client's name, or else the session number.
func sessionText(description string, c client.ClientInfo, id uint64) string {
	return cmp.Or(description, operation.ClientText(c), strconv.FormatUint(id, 10))
}
