package http

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
)

type semaphoresRequest struct {
	atNode
	paged
	Data bool `about:"with the data of each"`
}

type semaphoreRequest struct {
	named
	Strict bool `about:"nothing that was answered before may be missing"`
}

type createRequest struct {
	named
	Limit uint64 `need:"true" about:"how much of it can be owned at once; 1 for a lock"`
	Data  []byte
}

type updateRequest struct {
	named
	Data       []byte
	IfRevision uint64 `about:"only if it has this revision"`
}

type resizeRequest struct {
	named
	Limit      uint64 `need:"true" about:"how much of it can be owned at once"`
	IfRevision uint64 `about:"only if it has this revision"`
}

type deleteRequest struct {
	named
	Force bool `about:"also where sessions own it or wait for it"`
}

// ownersView is a semaphore as watches show it.
type ownersView struct {
	Exists    bool
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Count     uint64
	Data      []byte
	Owners    []client.Owner
}

func ownersOf(v *client.View) ownersView {
	return ownersView{
		Exists: v.Exists, Revision: v.Revision, Ephemeral: v.Ephemeral, Limit: v.Limit, Count: v.Count(), Data: v.Data,
		Owners: slices.Collect(v.Owners()),
	}
}

// guarded are the options of a change that is for one revision.
func guarded(revision uint64) []client.UpdateOption {
	if revision == 0 {
		return nil
	}
	return []client.UpdateOption{client.IfRevision(revision)}
}

// semaphoreRoutes are about semaphores, without a session.
func semaphoreRoutes() []route {
	const group = "Semaphores"
	return []route{
		get("/semaphores", group, "see", "Lists the semaphores of a node",
			func(ctx context.Context, c *call, q *semaphoresRequest) (list[*client.SemaphoreInfo], error) {
				options := []client.ListOption{client.Prefix(q.Prefix)}
				if q.Data {
					options = append(options, client.WithData())
				}
				return collect(c.caller.Node(q.Node).Semaphores(ctx, options...), q.Limit)
			}),
		get("/semaphore", group, "see", "Describes a semaphore with its owners and its queue", describeSemaphore),
		followed(get("/semaphore/owners", group, "see", "Shows a semaphore with its owners; events by its revisions",
			func(ctx context.Context, c *call, q *named) (shown ownersView, err error) {
				for v, err := range c.caller.Node(q.Node).Watch(ctx, q.Name) {
					if err != nil {
						return shown, err
					}
					return ownersOf(v), nil
				}
				return shown, ctx.Err()
			}), followOwners),
		get("/locks", group, "see", "Lists what sessions wait for in all nodes, the longest wait first", listLocks),
		post("/semaphore/create", group, "write", "Creates a semaphore",
			func(ctx context.Context, c *call, q *createRequest) (done, error) {
				return done{true}, c.caller.Node(q.Node).Create(ctx, q.Name, q.Limit, q.Data)
			}),
		post("/semaphore/update", group, "write", "Replaces the data of a semaphore",
			func(ctx context.Context, c *call, q *updateRequest) (done, error) {
				return done{true}, c.caller.Node(q.Node).Update(ctx, q.Name, q.Data, guarded(q.IfRevision)...)
			}),
		post("/semaphore/resize", group, "write", "Gives a semaphore another limit",
			func(ctx context.Context, c *call, q *resizeRequest) (done, error) {
				return done{true}, c.caller.Node(q.Node).Resize(ctx, q.Name, q.Limit, guarded(q.IfRevision)...)
			}),
		post("/semaphore/delete", group, "delete", "Deletes a semaphore",
			func(ctx context.Context, c *call, q *deleteRequest) (done, error) {
				var options []client.DeleteOption
				if q.Force {
					options = append(options, client.Force())
				}
				return done{true}, c.caller.Node(q.Node).Delete(ctx, q.Name, options...)
			}),
	}
}

func describeSemaphore(ctx context.Context, c *call, q *semaphoreRequest) (*client.SemaphoreDetails, error) {
	options := []client.DescribeOption{client.WithOwners(), client.WithWaiters()}
	if q.Strict {
		options = append(options, client.WithConsistency(client.Strict))
	}
	return c.caller.Node(q.Node).Describe(ctx, q.Name, options...)
}

func followOwners(ctx context.Context, c *call, q *named, publish publisher) error {
	for v, err := range c.caller.Node(q.Node).Watch(ctx, q.Name) {
		if err != nil {
			return err
		}
		publish(v.Revision, ownersOf(v))
	}
	return ctx.Err()
}

// contention is a semaphore that sessions wait for.
type contention struct {
	Node string
	client.SemaphoreInfo
	Owner  *client.Owner  `about:"the one that has owned for longest"`
	Waiter *client.Waiter `about:"the one that has waited for longest"`
}

// locksRequest asks for semaphores that are in use.
type locksRequest struct {
	paged
	Idle bool `about:"those too that are not waited for"`
}

// maxDescribed is how many semaphores a list of locks describes. Of those behind there are numbers only.
const maxDescribed = 200

// listLocks lists semaphores that sessions wait for.
func listLocks(ctx context.Context, c *call, q *locksRequest) (l list[*contention], err error) {
	limit := cmp.Or(min(max(q.Limit, 0), maxPage), defaultPage)
	for node, err := range c.caller.ListNodes(ctx, q.Prefix) {
		if err != nil {
			return l, err
		}
		for info, err := range c.caller.Node(node.Path).Semaphores(ctx) {
			if err != nil {
				return l, err
			}
			if info.WaiterCount > 0 || q.Idle {
				l.Items = append(l.Items, &contention{Node: node.Path, SemaphoreInfo: *info})
			}
		}
	}
	slices.SortStableFunc(l.Items, func(a, b *contention) int { return cmp.Compare(b.WaiterCount, a.WaiterCount) })
	l.More = len(l.Items) > limit
	l.Items = l.Items[:min(len(l.Items), limit)]
	for _, item := range l.Items[:min(len(l.Items), maxDescribed)] {
		item.describe(ctx, c.caller)
	}
	slices.SortStableFunc(l.Items, func(a, b *contention) int { return a.begin().Compare(b.begin()) })
	return l, nil
}

// describe adds who has owned and waited for longest. A semaphore that is gone by now stays as it was listed.
func (co *contention) describe(ctx context.Context, by *caller) {
	d, err := by.Node(co.Node).Describe(ctx, co.Name, client.WithOwners(), client.WithWaiters())
	if err != nil {
		return
	}
	if len(d.Owners) > 0 {
		co.Owner = &d.Owners[0]
	}
	if len(d.Waiters) > 0 {
		co.Waiter = &d.Waiters[0]
	}
}

// begin is since when the longest wait has been; in the far future where there is none.
func (co *contention) begin() time.Time {
	if co.Waiter == nil || co.Waiter.Since.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return co.Waiter.Since
}
