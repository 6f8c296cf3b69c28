//go:build linux

package chaos

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/workload"
)

// noticePatience is how long a one-shot watch may take to tell, when everything is healed.
const noticePatience = 10 * time.Second

// checkNotices looks for one-shot watches that do not tell of a change that there was.
func (x *crew) checkNotices() {
	ctx, cancel := awake(context.Background(), noticePatience)
	defer cancel()
	for _, q := range x.programs {
		for n := range q.Notices() {
			for x.missed(ctx, n) {
				if !workload.Sleep(ctx, askAgain) {
					x.scribe.Note("session %x described %s at revision %d and was never told that it changed", n.Session.ID(), n.Name, n.Revision)
					break
				}
			}
		}
	}
}

// missed tells whether a one-shot watch has not told of a change.
func (x *crew) missed(ctx context.Context, n *workload.Notice) bool {
	if !n.Open() {
		return false
	}
	d, err := x.client.Node(x.orders.Node).Describe(ctx, n.Name, client.WithConsistency(client.Strict))
	// What cannot be described has changed too: it is gone, or it cannot be said.
	return (err != nil || d.Revision != n.Revision) && n.Open()
}
