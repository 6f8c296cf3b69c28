package replica

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/slots"
)

// A shard that has lost its quorum continues as a new replica group. When the records contain the order for the
// group, a host closes its replica in the previous group, notifies the clients of sessions what the sessions have
// lost, and then reports that it follows the order. After all hosts have reported, the group's leader begins the
// wait. Section 7 in package lease's DESIGN.md has the argument.

// Renew implements executor.Replicas. Everything that the host's replica has is applied to a separate machine,
// including entries that may never have reached a quorum. The resulting state becomes the start of the new group. A
// crash at any earlier point leaves the replica unchanged, to be renewed again.
func (s *Set) Renew(ctx context.Context, e *protocol.StepExecute) error {
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
		case on.replica > e.ReplicaID:
			return fmt.Errorf("server: shard %d: %w: replica %d runs here", at.id, shard.ErrMembershipRule, on.replica)
		}
		if err := at.stop(); err != nil {
			return err
		}
	}
	renewal, owned := renewalOf(&e.Rebuild), at.data.slots
	if renewal.Slots, err = s.slotRecords(); err != nil {
		return fmt.Errorf("server: shard %d: %w", at.id, err)
	}
	if renewal.Empty {
		owned = ownedBy(renewal.Slots, at.id)
	}
	old := machine.New(kinds.All(), atBeginning(at.id, owned))
	err = s.config.Gained.Renew(ctx, at.id, e.ReplicaID, e.Rebuild.Group, &machine.Follower{Machine: old},
		func() (shard.Saver, error) { return old.Renew(renewal) })
	if err == nil {
		at.data.left.Store(0) // the new group begins with a snapshot, which replaces what reads may rely on
		err = s.open(at)
	}
	if err != nil {
		return fmt.Errorf("server: shard %d: %w", at.id, err)
	}
	s.log.Info("a shard restarts on the host", "shard", at.id, "group", e.Rebuild.Group, "replica", e.ReplicaID)
	s.requestUpkeep()
	return nil
}

// slotRecords returns the meta shard's records of all slots. They are from after the order for the new group, and no
// move to or from the shard begins until the group grants.
func (s *Set) slotRecords() ([]machine.SlotRecord, error) {
	if !within(commandWithin, s.Meta.Confirm) {
		return nil, errors.New("the meta shard does not answer")
	}
	t, bootstrapped := s.Meta.Machine.Topology()
	if !bootstrapped {
		return nil, errors.New("the cluster has no records")
	}
	list := make([]machine.SlotRecord, shard.Slots)
	for i := range list {
		x := &list[i]
		x.Slot, x.Owner = shard.Slot(i), t.Records.Slots().Of(shard.Slot(i)).Owner
		if o := t.Records.SlotOrder(x.Slot); o != nil && o.Into != 0 {
			x.Into = slots.Owner{Shard: uint64(o.Into), Generation: t.Records.Slots().Pending(x.Slot)}
		}
	}
	return list, nil
}

// ownedBy returns the slots that a shard has by the meta shard's records.
func ownedBy(records []machine.SlotRecord, id uint64) (owned shard.SlotSet) {
	for _, x := range records {
		if x.Owner.Shard == id {
			owned.Add(x.Slot, x.Slot)
		}
	}
	return owned
}

// renewalOf returns the parameters for rebuilding a shard's machine. Counters skip everything the shard may have
// assigned since they were last counted.
func renewalOf(r *protocol.Rebuild) machine.Renewal {
	return machine.Renewal{
		Group: r.Group, Fresh: r.Fresh, Empty: r.Empty, Jump: machine.JumpOver(millis(r.CountedMillis)),
		Counted: shard.Counters{
			LastOrder: shard.OrderID(r.LastOrder), LastRevision: shard.Revision(r.LastRevision),
			LastSession: r.LastSession,
		},
		Longest: shard.Longest{Timeout: r.LongestMillis, Session: shard.SessionID(r.LongestSession)},
	}
}

// untilClosed returns a context that ends when the host closes, instead of with a call's context.
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

// stop closes a seat's replica. The state is kept for leftFor, and the data until the replica is discarded. The
// caller holds the token in changing.
func (s *seat) stop() error {
	if err := s.end.Close(); err != nil {
		return fmt.Errorf("server: shard %d: %w", s.id, err)
	}
	s.gone()
	return nil
}

// retire closes the host's replica of a shard, outside the loop, if the replica is from an earlier group.
func (s *Set) retire(id hosts.ShardID, earlier func(replica uint64) bool) {
	s.retiring.Go(func() {
		defer s.change()()
		at, known := s.seatOf(uint64(id))
		if s.closed || !known {
			return
		}
		on := at.end.on.Load()
		if on == nil || !earlier(on.replica) {
			return
		}
		if err := at.stop(); err != nil {
			s.log.Error("a replica of an earlier group is still open", "shard", at.id, "error", err)
			return
		}
		s.log.Info("a replica of an earlier group was closed", "shard", at.id, "replica", on.replica)
		s.requestUpkeep()
	})
}

// retireAnnounced closes the replica if a leader in a later group has announced itself. The records may arrive later.
func (r *Replica) retireAnnounced() {
	earlier := func(uint64) bool {
		own, known := r.Leader(), r.announced.leadership.Load()
		return known != nil && own.Leader != 0 && own.Term>>shard.GroupTermBits < known.Term>>shard.GroupTermBits
	}
	if earlier(0) {
		r.set.retire(hosts.ShardID(r.ID), earlier)
	}
}

// hearGroups acts on the shard groups in the records. hearGroups returns the version of the last order for a waiting
// group, and whether the local host has acted on all orders. Called on the host's loop.
func (s *Set) hearGroups(records *hosts.Records) (ordered uint64, heard bool) {
	heard = true
	groups := make(map[hosts.ShardID]uint64)
	var lost, begun []protocol.LostHoldings
	for _, on := range records.Shards() {
		if groups[on.ID] = on.Group; on.Waits {
			ordered = max(ordered, on.Ordered)
			slots := records.Endangered(on.ID)
			lost = append(lost, protocol.LostHoldings{Fence: uint64(on.Fence), Slots: slots.Bytes()})
			if on.Group > s.groups[on.ID] {
				begun = append(begun, lost[len(lost)-1])
			}
		}
		if r := s.holding(on.ID); r != nil && r.replica < on.First {
			heard = false
			s.retire(on.ID, func(replica uint64) bool { return replica < on.First })
		}
	}
	s.lost.Store(&lost) // before the sessions are listed: a later attach reads it
	s.groups = groups
	for i := range begun {
		for _, r := range s.All() {
			r.pushLost(&begun[i])
		}
	}
	return ordered, heard
}

// holding returns a data shard's running replica, or nil.
func (s *Set) holding(id hosts.ShardID) *running {
	if r := s.Shard(uint64(id)); r != nil {
		return r.end.on.Load()
	}
	return nil
}

// Lost returns what sessions have lost in rebuilt shards that wait.
func (s *Set) Lost() []protocol.LostHoldings {
	if lost := s.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

// pushLost notifies the clients of sessions with this home shard about losses in a rebuilt shard. The push precedes
// every later answer to a ping.
func (r *Replica) pushLost(lost *protocol.LostHoldings) {
	reachable := make(map[shard.SessionID]struct{})
	for _, id := range append(r.set.Sessions.boundOf(r), r.Leases.Attached()...) {
		reachable[id] = struct{}{}
	}
	for id := range reachable {
		m := protocol.HoldingLost{SessionID: uint64(id), OrderID: lost.Fence, Slots: lost.Slots}
		r.set.Sessions.pushLoss(&m, func(c Conn) { c.Flush(false) })
	}
}

// beginWait begins a rebuilt shard's wait after all hosts follow the order for the group, and reports the end of the
// wait. An operator may end the wait earlier.
func (t *leaderTasks) beginWait(term uint64, now time.Time) {
	r, m := t.r, t.r.set.Meta
	g := r.Machine.Group()
	if g.Number == 0 || now.Sub(t.waitTried) < waitEvery {
		return
	}
	on := m.Machine.ShardRecord(hosts.ShardID(r.ID))
	if on == nil || on.Group != g.Number || !on.Waits {
		return
	}
	c := shard.Command{Kind: shard.CmdGroupWait, Term: term, Count: g.Number}
	switch {
	case !g.Waits(r.Machine.Time()):
		t.waitTried = now
		m.request(meta.NewCommand(&meta.ShardGrants{Shard: on.ID, Group: g.Number},
			r.set.Origin("host "+r.set.config.Self.Name, "the wait is over")))
		return
	case on.Overlap:
		c.Flags = shard.FlagOperator
	case g.Until == 0 && m.seenByAll() >= on.Ordered:
		c.Timeout = max(m.Machine.LongestTimeout().Timeout, g.Longest.Timeout) + r.set.LongestGrace()
	default:
		return
	}
	t.waitTried = now
	r.propose(&c, nil, func(*shard.Effect, protocol.Status) {})
}

// waitEvery is the time between attempts to begin or end a wait.
const waitEvery = 200 * time.Millisecond

// endWait is called when batches are applied. When the rebuild wait is over, sessions from before the rebuild have
// ended without an event.
func (r *Replica) endWait() {
	if r.rebuilding = r.groupWaits(); r.rebuilding {
		return
	}
	r.reportMissedEnds()
	for _, x := range r.set.All() {
		x.leader.recheck()
	}
}

func (r *Replica) groupWaits() bool {
	g := r.Machine.Group()
	return g.Waits(r.Machine.Time())
}

// WaitsFor returns why a rebuilt shard grants nothing yet, and the minimum remaining time. The reason is empty if the
// shard grants.
func (r *Replica) WaitsFor() (why string, left time.Duration) {
	g, now := r.Machine.Group(), r.EstimatedTime()
	if !g.Waits(now) {
		return "", 0
	}
	if left = millis(min(g.Left(now), math.MaxInt32)); g.Until == 0 {
		why = "hosts that may act for the earlier group: " + r.set.Meta.unheardOf(hosts.ShardID(r.ID)) + "; then "
	}
	if g.Longest.Session != 0 {
		why += fmt.Sprintf("session %v, whose timeout is %v", g.Longest.Session, millis(g.Longest.Timeout))
	} else {
		why += fmt.Sprintf("a session whose timeout may be %v", millis(g.Longest.Timeout))
	}
	return why, left
}

// unheardOf names the hosts that do not follow the order for a shard's current group.
func (m *Meta) unheardOf(id hosts.ShardID) (names string) {
	on := m.Machine.ShardRecord(id)
	for _, h := range m.Machine.Hosts() {
		if on != nil && h.Current != protocol.HostExpelled && h.Seen < on.Ordered {
			if names != "" {
				names += ", "
			}
			names += h.Name
		}
	}
	return names
}
