package workload

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync/atomic"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Watch is a watcher: it records every view of a semaphore, until the context ends.
func Watch(ctx context.Context, c Client, of history.Semaphore, watcher int, to Recorder) {
	err := c.Watch(ctx, of, func(v history.View) {
		v.Watcher = watcher
		to.View(v)
	})
	if ctx.Err() == nil {
		to.Note("watcher %d of %s ended: %v", watcher, of.Name, err)
	}
}

func owners(v *client.View) (links []history.Link) {
	for o := range v.Owners() {
		links = append(links, linkOf(o))
	}
	return links
}

// inconsistency describes how changes fail to lead from the owners before to the owners now, empty if they do.
func inconsistency(before, now []history.Link, c client.Changes) string {
	have := make(map[uint64]history.Link)
	if !c.First {
		for _, l := range before {
			have[l.Order] = l
		}
	}
	for _, o := range c.Left {
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

// OneShotWatch is a one-shot watch left by a session.
type OneShotWatch struct {
	Session  Session
	Name     string // of the semaphore
	Revision uint64 // of the description
	fired    atomic.Bool
}

// Armed reports whether the watch must fire at a change: it has not fired, and its session has not ended.
func (o *OneShotWatch) Armed() bool { return !o.fired.Load() && o.Session.Context().Err() == nil }

// Watches are the latest session's one-shot watches, after Run has returned.
func (p *Program) Watches() iter.Seq[*OneShotWatch] { return maps.Values(p.watches) }
