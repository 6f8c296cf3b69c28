//go:build linux

package chaos

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// noticePatience is how long a one-shot watch may take to tell, when everything is healed.
const noticePatience = 10 * time.Second

// notice is a one-shot watch that a session has left.
type notice struct {
	session  *client.Session
	scene    scene
	revision uint64 // of the description that left it
	told     atomic.Bool
}

// await describes a semaphore and leaves a one-shot watch.
func (q *program) await(ctx context.Context, s scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	n := &notice{session: q.session, scene: s}
	d := q.start(history.Operation{Kind: history.Describe}, s)
	found, err := q.semaphore(s).Describe(ctx, client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict),
		client.OnChanged(func(bool, bool) { n.told.Store(true) }))
	q.saw(d, found, err)
	if err == nil {
		n.revision = found.Revision
		q.crew.leaveNotice(n)
	}
}

// leaveNotice remembers a one-shot watch. A session has one of a semaphore: it takes the place of the one before,
// which has told that.
func (x *crew) leaveNotice(n *notice) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notices[noticed{n.session, n.scene.name}] = n
}

// noticed is what a one-shot watch is of.
type noticed struct {
	session *client.Session
	name    string
}

// checkNotices looks for one-shot watches that do not tell of a change that there was.
func (x *crew) checkNotices() {
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, cancel := awake(context.Background(), noticePatience)
	defer cancel()
	for _, n := range x.notices {
		for n.missed(ctx, x.client.Node(x.orders.Node)) {
			if !sleep(ctx, askAgain) {
				x.scribe.note("session %x described %s at revision %d and was never told that it changed", n.session.ID(), n.scene.name, n.revision)
				break
			}
		}
	}
}

// missed tells whether the watch has not told of a change.
func (n *notice) missed(ctx context.Context, node *client.Node) bool {
	if n.told.Load() || n.session.Context().Err() != nil {
		return false
	}
	d, err := node.Describe(ctx, n.scene.name, client.WithConsistency(client.Strict))
	// What cannot be described has changed too: it is gone, or it cannot be said.
	return (err != nil || d.Revision != n.revision) && !n.told.Load()
}
