package client

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
)

// A lease can be lost without its session: when its semaphore is deleted by force. The owner is told, but not
// while it has no connection. So after each gap a session asks each shard what it holds there, and sends the
// acquire of what is missing again, under its number: that is answered from the state.

// doubtfulLease is a lease that may have been lost in a gap.
type doubtfulLease struct {
	lease  *Lease
	name   string
	number uint64
}

// check starts to verify the leases, where there are any. The lock is held.
func (x *life) check() {
	if x.checking || x.cause != nil {
		return
	}
	for _, l := range x.lanes {
		if l.lease != nil {
			x.checking = x.client.spawn(x.verifying)
			return
		}
	}
}

// verifying runs until no gap is left in what is known of the leases.
func (x *life) verifying() {
	var r retries
	for {
		x.mu.Lock()
		gaps := x.gaps
		x.mu.Unlock()
		err := x.verify()
		if err != nil && !x.pauseAfter(&r, err, nil, nil) {
			return
		}
		x.mu.Lock()
		if err == nil && gaps == x.gaps || x.cause != nil {
			x.checking = false
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
	}
}

// verify makes sure of all leases that are older than the call. The error says why it could not.
func (x *life) verify() error {
	r := x.client.cluster.routes.Load()
	byShard := make(map[*shardRoute][]doubtfulLease)
	x.mu.Lock()
	for _, l := range x.lanes {
		if l.lease != nil && l.lease.cause == nil {
			s := r.of(x.slot(l.name))
			byShard[s] = append(byShard[s], doubtfulLease{l.lease, l.name, l.lease.number})
		}
	}
	x.mu.Unlock()
	for s, leases := range byShard {
		if err := x.verifyAt(s, leases); err != nil {
			return err
		}
	}
	return nil
}

func (x *life) verifyAt(s *shardRoute, leases []doubtfulLease) error {
	held, err := x.heldAt(s, leases[0].name)
	if err != nil && (isTransport(err) || again(statusOf(err)) || x.ctx.Err() != nil) {
		return err
	}
	// Where the host does not tell, each lease is asked for.
	for _, d := range leases {
		if held[d.name] != d.lease.order {
			if err := x.ask(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// heldAt asks the leader of a shard what the session owns there: order ids by name.
func (x *life) heldAt(s *shardRoute, name string) (map[string]uint64, error) {
	l, _, err := x.linkFor(x.ctx, x.slot(name), nil)
	if err != nil || s == nil {
		return nil, err
	}
	held := make(map[string]uint64)
	m := &protocol.SessionHoldings{SessionID: x.id, ShardID: s.id}
	for {
		next := uint64(0)
		err := l.roundTrip(x.ctx, m, func(_ *link, a *protocol.Answer) {
			for h := range a.SessionHoldings.Holdings.All() {
				if !h.Waiting {
					held[string(h.Name)] = h.OrderID
				}
			}
			next = a.SessionHoldings.Next
		})
		if err != nil || next == 0 {
			return held, err
		}
		m.After = next
	}
}

// ask sends the acquire of a lease again. It is a repetition, so it changes nothing.
func (x *life) ask(d doubtfulLease) error {
	l, err := x.enter(x.ctx, d.name)
	if err != nil {
		return err
	}
	defer x.leave(l)
	x.mu.Lock()
	if l.lease != d.lease || d.lease.cause != nil || d.lease.number != d.number {
		x.mu.Unlock()
		return nil // it was changed since, so the host was asked
	}
	m := x.mutation(l)
	a := m.useAcquire()
	a.Count, a.Data, a.Ephemeral = d.lease.count, d.lease.data, d.lease.ephemeral
	m.numbers.Number, m.changes = d.number, true
	x.mu.Unlock()
	_, _, err = m.try(x.ctx, nil)
	if err != nil {
		switch status := statusOf(err); {
		case isTransport(err), x.ctx.Err() != nil:
			return err
		case status == protocol.StatusBadSession:
			x.stray(m.link, &retries{})
			return &transportError{address: m.link.address, err: err}
		case status == protocol.StatusAborted, status == protocol.StatusStale, status == protocol.StatusNotFound:
			x.lose(l, d.lease, overtaken(err))
			return nil
		case again(status):
			return err
		}
		return nil // the host does not say
	}
	x.mu.Lock()
	where, order := m.phase, m.order
	x.mu.Unlock()
	if where == owned && order == d.lease.order {
		return nil
	}
	if where == owned || where == queued {
		// The host did not know the acquire, and took it for a new one.
		x.sendRelease(l, order)
	}
	x.lose(l, d.lease, nil)
	return nil
}

// lose ends a lease that the host knows nothing of.
func (x *life) lose(l *lane, lease *Lease, why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	cause := ErrLeaseLost
	if why != nil {
		cause = fmt.Errorf("%w: %w", ErrLeaseLost, why)
	}
	lease.lose(cause)
	if l.lease == lease {
		l.lease = nil
	}
}
