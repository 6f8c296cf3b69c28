package replica

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// unknownFor is how long the home says nothing of a session that it lost with its majority.
const unknownFor = 30 * time.Minute

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
	if on := at.end.on.Load(); on != nil {
		switch {
		case on.replica == e.ReplicaID:
			return nil
		case on.replica > e.ReplicaID && e.ReplicaID >= hosts.FirstReplica:
			return fmt.Errorf("server: shard %d: %w: replica %d runs here", at.id, shard.ErrMembershipRule, on.replica)
		}
		if err := at.end.Close(); err != nil {
			return fmt.Errorf("server: shard %d: %w", at.id, err)
		}
		at.gone()
	}
	old := shard.New(shard.Options{Shard: at.id, Slots: at.data.slots})
	err = s.config.Gained.Renew(ctx, at.id, e.ReplicaID, e.Renewal.Group, &shard.Follower{Machine: old},
		func() (shard.Saver, error) { return old.Renew(renewalOf(&e.Renewal)) })
	if err == nil {
		err = at.empty()
	}
	if err == nil {
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
	return shard.Renewal{
		Group: r.Group, Quiet: r.QuietMillis, Unknown: uint64(unknownFor.Milliseconds()),
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
