package simulation

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// watcher is a loop over a streaming watch.
type watcher struct {
	process *process
	client  *client.Client
	name    string
	id      int
}

func (w *world) nextWatcher() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchers++
	return w.watchers
}

func (x *watcher) run(ctx context.Context) {
	var before []history.Link
	for v, err := range x.client.Node(path).Watch(ctx, x.name) {
		if err != nil {
			if ctx.Err() == nil {
				x.process.world.record.Note("watcher %d of %s ended: %v", x.id, x.name, err)
			}
			return
		}
		now := owners(v)
		x.process.world.record.View(history.View{
			Watcher: x.id, Semaphore: place(x.name), Broken: broken(before, now, v.Changes()),
			State: history.State{Exists: v.Exists, Limit: v.Limit, Data: string(v.Data), Revision: v.Revision, Owners: now},
		})
		before = now
	}
}

func owners(v *client.View) (links []history.Link) {
	for o := range v.Owners() {
		links = append(links, linkOf(o))
	}
	return links
}

func linkOf(o client.Owner) history.Link {
	return history.Link{Session: o.SessionID, Order: o.OrderID, Count: o.Count}
}

// broken tells how changes do not lead from the owners before to those of now.
func broken(before, now []history.Link, c client.Changes) string {
	have := make(map[uint64]history.Link)
	if !c.First {
		for _, l := range before {
			have[l.Order] = l
		}
	}
	for _, o := range c.Gone {
		if _, there := have[o.OrderID]; !there {
			return fmt.Sprintf("owner %d is gone, and was not there", o.OrderID)
		}
		delete(have, o.OrderID)
	}
	for _, o := range c.Joined {
		if _, there := have[o.OrderID]; there {
			return fmt.Sprintf("owner %d has joined, and was there", o.OrderID)
		}
		have[o.OrderID] = linkOf(o)
	}
	for _, o := range c.Changed {
		if _, there := have[o.OrderID]; !there {
			return fmt.Sprintf("owner %d has changed, and was not there", o.OrderID)
		}
		have[o.OrderID] = linkOf(o)
	}
	for _, l := range now {
		if have[l.Order] != l {
			return fmt.Sprintf("%v owns, and by the changes %v", l, have[l.Order])
		}
	}
	if len(now) != len(have) {
		return fmt.Sprintf("%d own, and by the changes %d", len(now), len(have))
	}
	return ""
}
