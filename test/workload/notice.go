package workload

import (
	"context"
	"iter"
	"maps"
	"sync/atomic"

	"github.com/signalbox/signalbox/client"
)

// Notice is a one-shot watch that a session has left.
type Notice struct {
	Session  *client.Session
	Name     string // of the semaphore
	Revision uint64 // of the description that left it
	told     atomic.Bool
}

// Open tells whether the watch has to tell of a change: it has not yet, and its session lives.
func (n *Notice) Open() bool { return !n.told.Load() && n.Session.Context().Err() == nil }

// await describes a semaphore and leaves a one-shot watch. A session has one of a semaphore: it takes the place of
// the one before, which has told that.
func (q *Program) await(ctx context.Context, s Scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	n := &Notice{Session: q.session, Name: s.Name}
	state := q.look(ctx, s, client.Strict, client.OnChanged(func(bool, bool) { n.told.Store(true) }))
	if state != nil && state.Exists {
		n.Revision = state.Revision
		q.notices[s.Name] = n
	}
}

// Notices are the one-shot watches of the latest session, when Run has returned.
func (q *Program) Notices() iter.Seq[*Notice] { return maps.Values(q.notices) }
