package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newSemaphore returns the commands about semaphores.
func newSemaphore(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "semaphore",
		Short: "Locks and counters: create, describe, list, acquire, watch and more",
		Long: `A semaphore has a limit, and owners who together hold at most that much of it; who
asks for more than is free waits in one queue, first come, first served. With a
limit of 1 it is a lock, without a limit a list of who is there. Its owners and
itself can have data for others to read.

A persistent semaphore is created and deleted. An ephemeral one comes with its
first owner and goes with its last, and has no limit: who takes all of it has it
alone.`,
	}, newSemaphoreCreate(f), newSemaphoreUpdate(f), newSemaphoreResize(f), newSemaphoreDelete(f),
		newSemaphoreDescribe(f), newSemaphoreList(f), newSemaphoreAcquire(f), newSemaphoreRelease(f),
		newSemaphoreWatch(f)))
}

// semaphoreObject is a semaphore as it is printed.
type semaphoreObject struct {
	Path        string     `json:"path"`
	Name        string     `json:"name"`
	Limit       cli.Amount `json:"limit"`
	Count       cli.Amount `json:"count"`
	OwnerCount  int        `json:"owner_count"`
	WaiterCount int        `json:"waiter_count"`
	Ephemeral   bool       `json:"ephemeral"`
	Revision    uint64     `json:"revision"`
	cli.Payload
}

// newSemaphoreObject returns a semaphore as it is printed; without data if that was not asked for.
func newSemaphoreObject(path string, s *client.SemaphoreInfo, withData bool) semaphoreObject {
	o := semaphoreObject{path, s.Name, cli.Amount(s.Limit), cli.Amount(s.Count), s.OwnerCount, s.WaiterCount,
		s.Ephemeral, s.Revision, cli.Payload{}}
	if withData {
		o.Payload = cli.NewPayload(s.Data)
	}
	return o
}

// ownerObject is an owner as it is printed.
type ownerObject struct {
	OrderID   uint64     `json:"order_id"`
	SessionID cli.ID     `json:"session_id"`
	Count     cli.Amount `json:"count"`
	cli.Payload
	clientObject
}

func newOwnerObject(o client.Owner) ownerObject {
	return ownerObject{o.OrderID, cli.ID(o.SessionID), cli.Amount(o.Count), cli.NewPayload(o.Data),
		newClientObject(o.Since, o.Client)}
}

func newOwnerObjects(owners []client.Owner) []ownerObject {
	objects := make([]ownerObject, 0, len(owners))
	for _, o := range owners {
		objects = append(objects, newOwnerObject(o))
	}
	return objects
}

// waiterObject is a waiter as it is printed. One that waits for as long as its session lives has no timeout.
type waiterObject struct {
	OrderID   uint64     `json:"order_id"`
	SessionID cli.ID     `json:"session_id"`
	Count     cli.Amount `json:"count"`
	TimeoutMS *int64     `json:"timeout_ms,omitempty"`
	cli.Payload
	clientObject
}

func newWaiterObject(w client.Waiter) waiterObject {
	o := waiterObject{w.OrderID, cli.ID(w.SessionID), cli.Amount(w.Count), nil, cli.NewPayload(w.Data),
		newClientObject(w.Since, w.Client)}
	if w.Timeout >= 0 {
		ms := cli.Millis(w.Timeout)
		o.TimeoutMS = &ms
	}
	return o
}

// semaphoreDetails is a semaphore with its owners and waiters.
type semaphoreDetails struct {
	semaphoreObject
	Owners  []ownerObject  `json:"owners"`
	Waiters []waiterObject `json:"waiters"`
}

func newSemaphoreDescribe(f *cli.Frame) *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use:   "describe PATH NAME",
		Short: "Show a semaphore with its owners and waiters",
		Long: `Shows a semaphore: its limit, how much of it is owned, its data, and its owners and
waiters in the order in which they came, since when, and from which address (with
-o wide also what their clients call themselves). The order id of an owner is its
fencing token; the revision grows with every change that a watch can see.

What is shown may be a moment old, unless there is --strict.`,
		Example: `  signalbox semaphore describe /prod/jobs workers

  # who has the lock?
  signalbox semaphore describe /prod/jobs nightly -o json | jq -r '.owners[0].session_id'`,
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths, f.Names),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				return showSemaphore(ctx, f, box, args, strict)
			})
		},
	}
	c.Flags().BoolVar(&strict, "strict", false,
		"miss nothing that was answered before; it costs a round among the hosts")
	return c
}

// showSemaphore prints the semaphore that the arguments PATH and NAME are of.
func showSemaphore(ctx context.Context, f *cli.Frame, box *client.Client, args []string, strict bool) error {
	path, options := args[0], []client.DescribeOption{client.WithOwners(), client.WithWaiters()}
	if strict {
		options = append(options, client.WithConsistency(client.Strict))
	}
	d, err := box.Node(path).Describe(ctx, args[1], options...)
	if err != nil {
		return err
	}
	object := semaphoreDetails{newSemaphoreObject(path, &d.SemaphoreInfo, true), newOwnerObjects(d.Owners),
		[]waiterObject{}}
	for _, w := range d.Waiters {
		object.Waiters = append(object.Waiters, newWaiterObject(w))
	}
	kind := "persistent"
	if d.Ephemeral {
		kind = "ephemeral"
	}
	err = f.Fields(object,
		cli.Field{Name: "semaphore", Cell: d.Name},
		cli.Field{Name: "node", Cell: path},
		cli.Field{Name: "kind", Cell: kind},
		cli.Field{Name: "limit", Cell: cli.Amount(d.Limit)},
		cli.Field{Name: "owned", Cell: fmt.Sprintf("%v by %s", cli.Amount(d.Count), plural(d.OwnerCount, "session"))},
		cli.Field{Name: "waiting", Cell: d.WaiterCount},
		cli.Field{Name: "revision", Cell: d.Revision},
		cli.Field{Name: "data", Cell: d.Data},
	)
	if err != nil {
		return err
	}
	var owners, waiters [][]any
	for _, o := range d.Owners {
		owners = append(owners, []any{
			o.OrderID, o.SessionID, cli.Amount(o.Count), sinceCell(o.Since),
			o.Client.Address, clientCell(o.Client), o.Data,
		})
	}
	for _, w := range d.Waiters {
		waits := "for ever"
		if w.Timeout >= 0 {
			waits = w.Timeout.String()
		}
		waiters = append(waiters, []any{
			w.OrderID, w.SessionID, cli.Amount(w.Count), waits, sinceCell(w.Since),
			w.Client.Address, clientCell(w.Client), w.Data,
		})
	}
	return errors.Join(
		f.Section("Owners:", []string{"ORDER#", "SESSION#", "COUNT#", "SINCE", "FROM", "+CLIENT", "DATA"}, owners),
		f.Section("Waiters:", []string{"ORDER#", "SESSION#", "COUNT#", "WAITS", "SINCE", "FROM", "+CLIENT", "DATA"},
			waiters))
}

func newSemaphoreList(f *cli.Frame) *cobra.Command {
	var withData bool
	c := &cobra.Command{
		Use:   "list [PATH] [PREFIX]",
		Short: "List the semaphores of a node, or of all",
		Long: `Lists the semaphores of a node whose names begin with PREFIX, letter by letter; all
without it. Without PATH it lists those of all nodes that you may see. With -o wide
the table has their data as well; --data adds it to -o json.`,
		Example: `  signalbox semaphore list /prod/jobs
  signalbox semaphore list /prod/jobs object/ -o wide
  signalbox semaphore list

  # what is waited for
  signalbox semaphore list /prod/jobs -o json | jq 'select(.waiter_count > 0) | .name'`,
		Args:              cli.Arguments("[PATH]", "[PREFIX]"),
		ValidArgsFunction: f.Complete(f.Paths, f.Names),
		RunE: func(c *cobra.Command, args []string) error {
			var options []client.ListOption
			if len(args) > 1 {
				options = append(options, client.Prefix(args[1]))
			}
			if withData || f.Wide() {
				options = append(options, client.WithData())
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				node := "+NODE"
				if len(args) == 0 {
					node = "NODE"
				}
				rows := f.Rows(node, "NAME", "LIMIT#", "OWNED#", "OWNERS#", "WAITERS#", "+EPHEMERAL", "+REVISION#",
					"+DATA")
				semaphores := eachInNodes(ctx, box, args, func(n *client.Node) iter.Seq2[*client.SemaphoreInfo, error] {
					return n.Semaphores(ctx, options...)
				})
				return cli.AddAll(rows, semaphores, func(p inNode[*client.SemaphoreInfo]) error {
					s := p.thing
					return rows.Add(newSemaphoreObject(p.path, s, withData), p.path, s.Name,
						cli.Amount(s.Limit), cli.Amount(s.Count),
						s.OwnerCount, s.WaiterCount, s.Ephemeral, s.Revision, s.Data)
				})
			})
		},
	}
	c.Flags().BoolVar(&withData, "data", false, "fetch the data too")
	return c
}

// millis is the duration of a field in milliseconds.
func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
