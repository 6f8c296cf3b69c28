package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// semaphoresRequest asks for one node's or all nodes' semaphores. Data can be large, so lists include semaphore data
// only on demand.
type semaphoresRequest struct {
	objectsRequest
	Data bool `about:"Include data" flag:"with-data" help:"Include the data" wide:"true"`
}

// createRequest creates a persistent semaphore. The command's default limit is 1, because most semaphores are locks.
type createRequest struct {
	Named
	Limit uint64 `need:"true" default:"1" about:"Limit: maximum owned units. 1 for a lock" help:"Limit of the semaphore, from 1, or all"`
	Data  []byte `help:"Semaphore data: 'TEXT', @FILE, or - for standard input"`
}

// updateRequest replaces a semaphore's data, with or without owners. With IfRevision the request fails after a
// concurrent change by another caller.
type updateRequest struct {
	Named
	Data       []byte
	IfRevision uint64 `about:"Update only if the semaphore has this revision" help:"Update only if the semaphore has this revision, 'NUMBER'"`
}

// resizeRequest changes a semaphore's limit. Owners keep their units; a lower limit only delays new owners.
type resizeRequest struct {
	Named
	Limit      uint64 `need:"true" about:"Limit: maximum owned units"`
	IfRevision uint64 `about:"Resize only if the semaphore has this revision" help:"Resize only if the semaphore has this revision, 'NUMBER'"`
}

// semaphoreRequest asks for a semaphore with a page of owners and waiters.
type semaphoreRequest struct {
	objectRequest
	Page
}

// ownersRequest asks for a semaphore with a page of owners.
type ownersRequest struct {
	Named
	Page
}

// OwnersView is a semaphore as shown by watches.
type OwnersView struct {
	Exists    bool
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Count     uint64
	Data      []byte
	Owners    []client.Owner
	Paging
}

// addOwner adds an owner to the page, and ends the page if the owner does not fit.
func (ov *OwnersView) addOwner(p *page, o client.Owner) (fits bool, err error) {
	if fits, err = p.add(&o); fits {
		ov.Owners = append(ov.Owners, o)
	} else if err == nil {
		ov.end(ov.Owners[len(ov.Owners)-1].OrderID)
	}
	return fits, err
}

// owners returns a page of a semaphore's owners. A missing semaphore has none.
func owners(ctx context.Context, c *client.Client, q *ownersRequest) (shown OwnersView, err error) {
	after, err := q.behindOrder()
	if err != nil {
		return shown, err
	}
	p := fill(ctx, q.Size())
	for part, err := range c.Node(q.Node).DescribeParts(ctx, q.Name, after, client.WithOwners()) {
		switch {
		case errors.Is(err, client.ErrSemaphoreNotFound):
			return OwnersView{}, nil
		case err != nil:
			return shown, err
		}
		shown.Exists, shown.Revision, shown.Ephemeral = true, part.Revision, part.Ephemeral
		shown.Limit, shown.Count = part.Limit, part.Count
		if shown.Data == nil {
			shown.Data = part.Data
			if err := p.head(part.Data); err != nil {
				return shown, err
			}
		}
		for _, o := range part.Owners {
			if fits, err := shown.addOwner(p, o); !fits {
				return shown, err
			}
		}
	}
	return shown, nil
}

// ownersOf shows a watched view, or ErrLong if the view is longer than a page.
func ownersOf(q *ownersRequest, v *client.View) (revision uint64, answer any, err error) {
	shown := OwnersView{
		Exists: v.Exists, Revision: v.Revision, Ephemeral: v.Ephemeral, Limit: v.Limit, Count: v.Count(), Data: v.Data,
	}
	p := &page{room: endless{}, most: q.Size()}
	for o := range v.Owners() {
		if fits, err := shown.addOwner(p, o); !fits {
			return 0, nil, cmp.Or(err, ErrLong)
		}
	}
	return v.Revision, shown, nil
}

// describe returns a semaphore with a page of owners and waiters; for a command with all owners and waiters, at one
// moment.
func describe(ctx context.Context, c *client.Client, q *semaphoreRequest) (*DescribedSemaphore, error) {
	node, words := c.Node(q.Node), &Descriptions{By: c}
	options := []client.DescribeOption{client.WithOwners(), client.WithWaiters(),
		client.WithConsistency(q.consistency())}
	if q.whole(ctx) {
		found, err := node.Describe(ctx, q.Name, options...)
		if err != nil {
			return nil, err
		}
		return words.Semaphore(ctx, found), nil
	}
	after, err := q.behindOrder()
	if err != nil {
		return nil, err
	}
	d, p := &DescribedSemaphore{}, fill(ctx, q.Size())
	for part, err := range node.DescribeParts(ctx, q.Name, after, options...) {
		if err != nil {
			return nil, err
		}
		data := d.Data // only the first section has data
		if d.SemaphoreInfo = part.SemaphoreInfo; data != nil {
			d.Data = data
		} else if err := p.head(d.Data); err != nil {
			return nil, err
		}
		for i := range part.Owners {
			o := words.owner(ctx, &part.Owners[i])
			if fits, err := p.add(&o); !fits {
				d.end(after)
				return d, err
			}
			d.Owners, after = append(d.Owners, o), o.OrderID
		}
		for i := range part.Waiters {
			w := words.waiter(ctx, &part.Waiters[i])
			if fits, err := p.add(&w); !fits {
				d.end(after)
				return d, err
			}
			d.Waiters, after = append(d.Waiters, w), w.OrderID
		}
	}
	return d, nil
}

// Guarded returns the options for a change to a specific revision, or none for revision 0.
func Guarded(revision uint64) []client.UpdateOption {
	return given(revision != 0, client.IfRevision(revision))
}

// semaphores are the operations on semaphores without a session.
func semaphores() []Operation {
	return group("Semaphores",
		overNodes("/semaphores", protocol.KindSemaphoreList, "Lists semaphores in one node, or in all nodes",
			func(ctx context.Context, c *client.Client, q *semaphoresRequest, node, after string,
			) iter.Seq2[*client.SemaphoreInfo, error] {
				options := append(given(q.Data, client.WithData()), client.Prefix(q.Prefix), client.After(after))
				return c.Node(node).Semaphores(ctx, options...)
			},
			func(s *client.SemaphoreInfo) string { return s.Name },
			Face{
				Use:   "semaphore list [PATH] [PREFIX] [--with-data]",
				Short: "List the semaphores in a node, or in all nodes",
				Long: `Lists the semaphores in a node, or, without PATH, in all nodes that you may see. PREFIX
selects names that start with it. -o wide adds data to the table, --with-data to -o
json.`,
				Example: `  signalbox semaphore list /prod/jobs
  signalbox semaphore list /prod/jobs object/ -o wide
  signalbox semaphore list

  # what is waited for
  signalbox semaphore list /prod/jobs -o json | jq 'select(.waiter_count > 0) | .name'`,
				Table: table(func(p apijson.InNode[*client.SemaphoreInfo]) []any {
					s := p.Item
					return []any{p.Node, s.Name, Amount(s.Limit), Amount(s.Count), s.OwnerCount, s.WaiterCount,
						s.Ephemeral, s.Revision, s.Data}
				}, "+NODE", "NAME", "LIMIT#", "OWNED#", "OWNERS#", "WAITERS#", "+EPHEMERAL", "+REVISION#", "+DATA"),
			}),
		read("/semaphore", protocol.KindSemaphoreDescribe, "Describes a semaphore, its owners and its queue",
			describe,
			Face{
				Use: "semaphore describe PATH NAME [--strict]", Short: "Show a semaphore with its owners and waiters",
				Long: `Shows a semaphore: limit, units in use, data, and the owners and waiters in order of
arrival, with times and client addresses (-o wide adds client names). An owner's order
id is its fencing token; the revision grows with every change visible to watches.

The output may be slightly stale unless --strict is given.`,
				Example: `  signalbox semaphore describe /prod/jobs workers

  # who has the lock?
  signalbox semaphore describe /prod/jobs nightly -o json | jq -r '.owners[0].session_id'`,
				Show: show(showSemaphore),
			}),
		followPage(read("/semaphore/owners", protocol.KindWatch,
			"Returns a semaphore with its owners; usable with /v1/events", owners),
			func(ctx context.Context, c *client.Client, q *ownersRequest) iter.Seq2[*client.View, error] {
				return c.Node(q.Node).Watch(ctx, q.Name)
			},
			ownersOf),
		read("/contention", protocol.KindSemaphoreList,
			"Lists waiting sessions in all nodes, longest wait first", locks),
		apply("/semaphore/create", protocol.KindSemaphoreCreate, "Creates a semaphore",
			func(ctx context.Context, c *client.Client, q *createRequest) error {
				return c.Node(q.Node).Create(ctx, q.Name, q.Limit, q.Data)
			},
			Face{
				Use: "semaphore create PATH NAME [--limit] [--data]", Short: "Create a persistent semaphore",
				Long: `Creates a semaphore with a limit, and shows it. The semaphore stays until it is deleted.
With limit 1 a semaphore is a lock; "all" means no limit. "semaphore resize" changes the
limit.

If the semaphore exists the exit code is 73, and nothing changes.

` + DataHelp,
				Example: `  # a lock, and slots for three workers at a time
  signalbox semaphore create /prod/jobs nightly
  signalbox semaphore create /prod/jobs workers --limit 3

  # with data
  signalbox semaphore create /prod/jobs limits --data @limits.json`,
				Then: "semaphore describe",
			}),
		apply("/semaphore/update", protocol.KindSemaphoreUpdate, "Replaces a semaphore's data",
			func(ctx context.Context, c *client.Client, q *updateRequest) error {
				return c.Node(q.Node).Update(ctx, q.Name, q.Data, Guarded(q.IfRevision)...)
			},
			Face{
				Use: "semaphore update PATH NAME DATA [--if-revision]", Short: "Replace the data of a semaphore",
				Long: `Replaces a semaphore's data, whoever owns it. With --if-revision the data is
replaced only if the semaphore has the given revision; otherwise the exit code is 79.

` + DataHelp,
				Example: `  signalbox semaphore update /prod/jobs workers 'eu-1'
  signalbox semaphore update /prod/jobs limits @limits.json

  # only if it is as it was looked at
  r=$(signalbox semaphore describe /prod/jobs limits -o json | jq -r .revision)
  signalbox semaphore update /prod/jobs limits @limits.json --if-revision $r`,
				Done: "semaphore NAME now has DATA of data",
			}),
		apply("/semaphore/resize", protocol.KindSemaphoreResize, "Changes a semaphore's limit",
			func(ctx context.Context, c *client.Client, q *resizeRequest) error {
				return c.Node(q.Node).Resize(ctx, q.Name, q.Limit, Guarded(q.IfRevision)...)
			},
			Face{
				Use: "semaphore resize PATH NAME LIMIT [--if-revision]", Short: "Change the limit of a semaphore",
				Long: `Changes the limit of a persistent semaphore, and shows it. A higher limit admits waiters
in their order. A lower limit takes nothing away: owners keep their units, and nobody is
admitted until enough units are released. A waiter for more units than the limit is
rejected at its turn. "all" removes the limit.

With --if-revision the limit is changed only if the semaphore has the given revision;
otherwise the exit code is 79. Programs that acquire with the old limit continue under
the new limit.`,
				Example: `  signalbox semaphore resize /prod/jobs workers 5

  # only if it is as it was looked at
  r=$(signalbox semaphore describe /prod/jobs workers -o json | jq -r .revision)
  signalbox semaphore resize /prod/jobs workers 5 --if-revision $r`,
				Then: "semaphore describe",
			}),
		apply("/semaphore/delete", protocol.KindSemaphoreDelete, "Deletes a semaphore",
			func(ctx context.Context, c *client.Client, q *deleteRequest) error {
				return c.Node(q.Node).Delete(ctx, q.Name, given(q.Force, client.Force())...)
			},
			Face{
				Use: "semaphore delete PATH NAME [--force]", Short: "Delete a semaphore",
				Long: `Deletes a semaphore. A semaphore with owners or waiters is not deleted (exit code 79)
unless --force is given: then owners lose their units, waiters are rejected, and all are
notified. The command prints the owners and waiters and asks for confirmation unless
--yes is given.`,
				Example: `  signalbox semaphore delete /prod/jobs workers

  # though it is in use
  signalbox semaphore delete /prod/jobs workers --force
  signalbox semaphore delete /prod/jobs workers --force --yes`,
				Done: "semaphore NAME is deleted",
				Confirm: confirm(func(ctx context.Context, c *client.Client, q *deleteRequest) (string, error) {
					d, err := c.Node(q.Node).Describe(ctx, q.Name)
					if err != nil {
						return "", err
					}
					return fmt.Sprintf("this deletes semaphore %s in node %s with %s and %s", q.Name, q.Node,
						Plural(d.OwnerCount, "owner"), Plural(d.WaiterCount, "waiter")), nil
				}),
			}),
	)
}

// showSemaphore shows a semaphore with the owners and the waiters.
func showSemaphore(q *semaphoreRequest, d *DescribedSemaphore) Shown {
	kind := "persistent"
	if d.Ephemeral {
		kind = "ephemeral"
	}
	owners := Section{"Owners:", []string{"ORDER#", "SESSION#", "COUNT#", "SINCE", "FROM", "+CLIENT", "DATA"}, nil}
	for _, o := range d.Owners {
		owners.Rows = append(owners.Rows, []any{o.OrderID, o.SessionID, Amount(o.Count), o.Since, o.Client.Address,
			ClientText(o.Client), o.Data})
	}
	waiters := Section{"Waiters:",
		[]string{"ORDER#", "SESSION#", "COUNT#", "WAITS", "SINCE", "FROM", "+CLIENT", "DATA"}, nil}
	for _, w := range d.Waiters {
		waits := "for ever"
		if w.Wait >= 0 {
			waits = w.Wait.String()
		}
		waiters.Rows = append(waiters.Rows, []any{w.OrderID, w.SessionID, Amount(w.Count), waits, w.Since,
			w.Client.Address, ClientText(w.Client), w.Data})
	}
	return Shown{
		Fields: []Field{{"semaphore", d.Name}, {"node", q.Node}, {"kind", kind}, {"limit", Amount(d.Limit)},
			{"owned", fmt.Sprintf("%v by %s", Amount(d.Count), Plural(d.OwnerCount, "session"))},
			{"waiting", d.WaiterCount}, {"revision", d.Revision}, {"data", d.Data}},
		Sections: []Section{owners, waiters},
	}
}

// contention is a semaphore with waiting sessions, without its data.
type contention struct {
	Node string `omit:"never"`
	client.SemaphoreInfo
	Owner  *DescribedOwner  `about:"Owner for the longest time"`
	Waiter *DescribedWaiter `about:"Waiter for the longest time"`
}

// locksRequest asks for semaphores in use.
type locksRequest struct {
	Prefix             string `about:"Only nodes with this path prefix"`
	Limit              int    `about:"Maximum items, up to 10000. Default: 1000. A list ends at 4 MiB"`
	IncludeUncontended bool   `about:"Include semaphores without waiters"`
}

// lists reports whether a semaphore is in the list. Config and endpoints count as locks only if sessions use them as
// locks.
func (lr *locksRequest) lists(s *client.SemaphoreInfo) bool {
	kind := lookupKind(s)
	return s.WaiterCount > 0 || lr.IncludeUncontended && (kind == "" || kind == lookupConfig && s.OwnerCount > 0)
}

// lockRoom is a semaphore's memory while all nodes' locks are compared, and unsortedLocks is how many beyond the
// response are kept meanwhile.
const (
	lockRoom      = 2 << 10
	unsortedLocks = 1000
)

// locks lists semaphores with waiting sessions.
func locks(ctx context.Context, c *client.Client, q *locksRequest) (l List[*contention], err error) {
	var found []*contention // those with the most waiting sessions
	room, limit, reserved := itemsRoom(ctx), (&Page{Limit: q.Limit}).Size(), 0
	sorted := func() []*contention {
		slices.SortStableFunc(found, func(a, b *contention) int { return cmp.Compare(b.WaiterCount, a.WaiterCount) })
		return found[:min(len(found), limit+1)]
	}
	data := given(q.IncludeUncontended, client.WithData()) // only data distinguishes config from an idle lock
	for node, err := range c.ListNodes(ctx, q.Prefix) {
		if err != nil {
			return l, err
		}
		for info, err := range c.Node(node.Path).Semaphores(ctx, data...) {
			if err != nil {
				return l, err
			}
			if !q.lists(info) {
				continue
			}
			info.Data = nil
			found = append(found, &contention{Node: node.Path, SemaphoreInfo: *info})
			if len(found) == limit+unsortedLocks {
				found = sorted()
			}
			if len(found) > reserved && room != nil {
				if reserved++; !room.Grow(lockRoom) {
					return l, ErrNoRoom
				}
			}
		}
	}
	found = sorted()
	words := &Descriptions{By: c}
	for _, item := range found[:min(len(found), limit, maxDescribed)] {
		item.describe(ctx, words)
	}
	if l, err = collect(ctx, ready(found), limit, nil); err != nil {
		return l, err
	}
	slices.SortStableFunc(l.Items, func(a, b *contention) int { return a.begin().Compare(b.begin()) })
	return l, nil
}

// describe adds the oldest owner and the oldest waiter. A semaphore that is gone by now stays as listed.
func (co *contention) describe(ctx context.Context, words *Descriptions) {
	for _, side := range []client.DescribeOption{client.WithOwners(), client.WithWaiters()} {
		for part, err := range words.By.Node(co.Node).DescribeParts(ctx, co.Name, 0, side, client.Most(1)) {
			if err != nil {
				return
			}
			if len(part.Owners) > 0 {
				co.Owner = new(words.owner(ctx, &part.Owners[0]))
			}
			if len(part.Waiters) > 0 {
				co.Waiter = new(words.waiter(ctx, &part.Waiters[0]))
			}
			break
		}
	}
}

// begin returns the start of the longest wait; in the far future if there is none.
func (co *contention) begin() time.Time {
	if co.Waiter == nil || co.Waiter.Since.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return co.Waiter.Since
}
