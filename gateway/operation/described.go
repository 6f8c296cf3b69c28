package operation

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol/session"
)

// DescribedOwner is an owner with its client's session details.
type DescribedOwner struct {
	client.Owner
	session.Details
}

// DescribedWaiter is a waiter with its client's session details.
type DescribedWaiter struct {
	client.Waiter
	session.Details
}

// DescribedSemaphore is a semaphore with its owners and its queue.
type DescribedSemaphore struct {
	client.SemaphoreInfo
	Owners  []DescribedOwner
	Waiters []DescribedWaiter
	Paging
}

// maxDescribed is the maximum number of sessions and semaphores described per response. Further entries only have
// numbers.
const maxDescribed = 200

// Descriptions reads session details for a response, without duplicate reads.
type Descriptions struct {
	By    *client.Client
	known map[uint64]session.Details
}

// of returns session details: nothing if the session has ended or is beyond the limit.
func (d *Descriptions) of(ctx context.Context, id uint64) session.Details {
	details, ok := d.known[id]
	if ok || len(d.known) >= maxDescribed {
		return details
	}
	if info, err := d.By.DescribeSession(ctx, id); err == nil {
		details = info.Details
	}
	if d.known == nil {
		d.known = make(map[uint64]session.Details)
	}
	d.known[id] = details
	return details
}

func (d *Descriptions) owner(ctx context.Context, o *client.Owner) DescribedOwner {
	return DescribedOwner{*o, d.of(ctx, o.SessionID)}
}

func (d *Descriptions) waiter(ctx context.Context, w *client.Waiter) DescribedWaiter {
	return DescribedWaiter{*w, d.of(ctx, w.SessionID)}
}

// Semaphore adds session details to a whole semaphore.
func (d *Descriptions) Semaphore(ctx context.Context, of *client.SemaphoreDetails) *DescribedSemaphore {
	found := &DescribedSemaphore{SemaphoreInfo: of.SemaphoreInfo}
	for i := range of.Owners {
		found.Owners = append(found.Owners, d.owner(ctx, &of.Owners[i]))
	}
	for i := range of.Waiters {
		found.Waiters = append(found.Waiters, d.waiter(ctx, &of.Waiters[i]))
	}
	return found
}
