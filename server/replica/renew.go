package replica

import (
	"context"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Renew implements executor.Replicas. Whatever the host's replica has of the shard is applied to a machine of its own,
// with the entries that no majority may have agreed to. The renewed state becomes the beginning of the new group; a
// crash at any place before leaves the replica as it was, to be renewed again.
func (s *Set) Renew(ctx context.Context, e *protocol.StepEffect) error {
	ctx, cancel := s.untilClosed(ctx)
	defer cancel()
	defer s.change()()
	at, err := s.seat(hosts.ShardID(e.ShardID))
	if err == nil && at.data == nil {
		err = shard.ErrNotMember
	}
	if err != nil {
		return err
	}
	renewal := renewalOf(&e.Renewal)
	if on := at.end.on.Load(); on != nil {
		switch {
		case on.replica == e.ReplicaID:
			return nil
		case on.replica > e.ReplicaID:
			return fmt.Errorf("server: shard %d: %w: replica %d runs here", at.id, shard.ErrMembershipRule, on.replica)
		}
		if err := at.end.Close(); err != nil {
			return fmt.Errorf("server: shard %d: %w", at.id, err)
		}
		at.gone()
		renewal.Committed = at.data.Machine
	}
	old := shard.New(shard.Options{Shard: at.id, Slots: at.data.slots})
	err = s.config.Gained.Renew(ctx, at.id, e.ReplicaID, e.Renewal.Group, &shard.Follower{Machine: old},
		func() (shard.Saver, error) { return old.Renew(renewal) })
	if err == nil {
		at.data.left.Store(0) // the new group begins with a snapshot, which takes the place of what reads may rely on
		err = s.open(at)
	}
	if err != nil {
		return fmt.Errorf("server: shard %d: %w", at.id, err)
	}
	s.log.Info("a shard begins anew at this host", "shard", at.id, "group", e.Renewal.Group, "replica", e.ReplicaID)
	s.requestUpkeep()
	return nil
}

// renewalOf returns how the machine of a shard is renewed. Counters jump over all that the shard may have given since
// they were counted last.
func renewalOf(r *protocol.Renewal) shard.Renewal {
	unknown := uint64(shard.MaxSessionTimeout.Milliseconds()) + r.QuietMillis/2
	return shard.Renewal{
		Group: r.Group, Quiet: r.QuietMillis, Unknown: unknown,
		Jump: shard.JumpOver(millis(r.CountedMillis)),
		Counted: shard.Counters{
			LastOrder: shard.OrderID(r.LastOrder), LastRevision: shard.Revision(r.LastRevision),
			LastSession: r.LastSession,
		},
	}
}

// untilClosed returns a context that ends when the host closes, and not with the context of a call.
func (s *Set) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// hearGroups has the clients of this host's sessions look at what they hold once a shard has begun anew by the records:
// only the replicas that were lost may have known of some of the sessions there.
func (s *Set) hearGroups(records *hosts.Records) {
	groups := make(map[hosts.ShardID]uint64)
	anew := false
	for _, on := range records.Shards() {
		last, known := s.groups[on.ID]
		groups[on.ID] = on.Group
		if known && on.Founder() != nil {
			groups[on.ID] = last
		}
		anew = anew || known && groups[on.ID] > last
	}
	if s.groups = groups; !anew {
		return
	}
	for _, r := range s.Replicas {
		if !r.Leads() {
			continue
		}
		reachable := make(map[shard.SessionID]struct{})
		for _, id := range append(r.boundSessions(), r.Leases.Attached()...) {
			reachable[id] = struct{}{}
		}
		for id := range reachable {
			r.pushLook(id, func(c Conn) { c.Flush(false) })
		}
	}
}
