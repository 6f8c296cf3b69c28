package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/slots"
)

// A leader seals a slot for the governor, and offers every sealed slot to the other shard's leader, until the other
// shard has opened or refused the slot. All work follows from replicated state, so a new leader continues.

// moveSlots does a leader's tasks for slots. The leader offers sealed slots, asks whether other shards still have the
// slots that they opened, drops unneeded content, and gives up slots that belong to another shard.
func (t *leaderTasks) moveSlots(now time.Time) {
	r := t.r
	t.supersede()
	kept, check := 0, now.Sub(t.checkedSlots) >= checkOpenedEvery
	on := r.set.Meta.Machine.ShardRecord(hosts.ShardID(r.ID))
	leaving := on != nil && on.Phase == hosts.ShardLeaving
	for _, x := range r.Machine.AwaySlots(nil) {
		if x.State == slots.Sealed {
			r.set.moves.offer(r, x.Number)
			continue
		}
		kept += len(x.Content.Bytes)
		switch {
		case kept > maxTransferred || r.set.removed(x.To):
			r.forgetContent(&x)
		case check:
			t.checkedSlots = now
			r.set.moves.begin(func() { r.set.moves.check(r, &x, leaving) })
		}
	}
}

// forgetContent drops the content of a transferred slot.
func (r *Replica) forgetContent(x *slots.Slot) {
	r.propose(&shard.Command{Kind: shard.CmdSlotRelease, Slot: x.Number, Count: x.Generation,
		Flags: shard.FlagForget}, nil, nil)
}

// removed reports whether a shard was removed from the cluster. A removed shard kept nothing, so no slot comes back
// from it.
func (s *Set) removed(id uint64) bool {
	if s.Shard(id) != nil {
		return false
	}
	t, ok := s.Meta.Machine.Topology()
	return ok && retired(t.Records.Shard(hosts.ShardID(id))) && hosts.ShardID(id) <= t.Records.LastShard()
}

// supersede drops slots with another owner under a higher generation in the meta shard's table. A shard rebuilt from a
// lagging replica may have such slots.
func (t *leaderTasks) supersede() {
	r := t.r
	routing := r.set.Meta.Machine.Routing()
	if routing.Version == t.routing {
		return
	}
	proposed := true
	for _, g := range routing.Ranges {
		if g.Generation == 0 || uint64(g.Shard) == r.ID {
			continue
		}
		for slot := g.First; slot <= g.Last; slot++ {
			if x := r.Machine.Slot(slot); x.State == slots.Owned && x.Generation < g.Generation {
				proposed = r.propose(&shard.Command{Kind: shard.CmdSlotSupersede, Slot: slot, Count: g.Generation,
					Number: uint64(g.Shard)}, nil, nil) && proposed
			}
		}
	}
	if proposed {
		t.routing = routing.Version
	}
}

// check offers a transferred slot again if the new owner was rebuilt without the slot. If the new owner still has the
// slot after keepTransferred, check drops the content. A leaving shard drops the content as soon as every voter of the
// new owner has the slot in its log.
func (mo *moves) check(r *Replica, x *slots.Slot, leaving bool) {
	a, err := mo.send(r, &slots.Slot{Number: x.Number, To: x.To, Generation: x.Generation})
	old := r.EstimatedTime() >= x.Since+keepTransferred
	switch {
	case a.Outcome == protocol.SlotOpened && (old || leaving && a.Durable):
		r.forgetContent(x)
	case err == nil && a.Outcome == protocol.SlotNone:
		_, _ = mo.send(r, x)
	}
}

// offer begins to offer a sealed slot to the new shard, and ends the attempt according to the answer.
func (mo *moves) offer(r *Replica, slot shard.Slot) {
	key := offering{r.ID, slot}
	mo.mu.Lock()
	_, is := mo.offering[key]
	if !is && !mo.closed {
		mo.offering[key] = mo.set.Now()
		mo.calls.Go(func() {
			mo.offerSealed(r, slot)
			mo.mu.Lock()
			delete(mo.offering, key)
			mo.mu.Unlock()
		})
	}
	mo.mu.Unlock()
}

func (mo *moves) offerSealed(r *Replica, slot shard.Slot) {
	began, counts := mo.set.Now(), mo.set.metrics
	for pause := offerAgain; ; pause = min(2*pause, offerPause) {
		x := r.Machine.Slot(slot)
		if x.State == slots.Owned && counts != nil { // returned by a cancel
			counts.SlotsKept.Inc()
			counts.SlotPause.Observe(int64(mo.set.Now().Sub(began)))
		}
		if x.State != slots.Sealed || !r.Leads() || mo.ctx.Err() != nil {
			return
		}
		end := shard.Command{Slot: slot, Count: x.Generation}
		switch a, _ := mo.send(r, &x); a.Outcome {
		case protocol.SlotOpened:
			owner := slots.Owner{Shard: x.To, Generation: x.Generation}
			mo.set.placed(slot, owner)
			r.waits.leave(slot, mo.set.towards(slot, owner))
			if counts != nil {
				counts.SlotsOpened.Inc()
				counts.SlotPause.Observe(int64(mo.set.Now().Sub(began)))
				counts = nil // once, though the release may be proposed again
			}
			end.Kind = shard.CmdSlotRelease
		case protocol.SlotKept:
			end.Kind = shard.CmdSlotCancel
		}
		if end.Kind != 0 && mo.propose(mo.ctx, r, &end).known && end.Kind == shard.CmdSlotRelease {
			return
		}
		select {
		case <-time.After(pause):
		case <-mo.ctx.Done():
		}
	}
}

// send offers a slot once. While a rebuilt shard grants nothing, its leader only asks for the outcome: earlier owners
// may still rely on their holdings in the slot.
func (mo *moves) send(r *Replica, x *slots.Slot) (protocol.SlotOfferAnswer, error) {
	m := &protocol.SlotOffer{ShardID: x.To, From: r.ID, Slot: uint64(x.Number), Generation: x.Generation}
	if x.Content != nil && !r.groupWaits() {
		m.Content = x.Content.Append(nil)
	}
	a, err := mo.ask(m)
	if err == nil && a.Outcome == protocol.SlotNone && len(a.Reason) > 0 {
		err = errors.New(string(a.Reason))
	}
	return a, err
}

// ask sends an offer to the leader of the new shard, and returns the answer.
func (mo *moves) ask(m *protocol.SlotOffer) (a protocol.SlotOfferAnswer, err error) {
	s := mo.set
	ctx, cancel := context.WithTimeout(mo.ctx, offerWithin)
	defer cancel()
	to := s.Shard(m.ShardID)
	if to == nil {
		return a, fmt.Errorf("shard %d does not exist", m.ShardID)
	}
	switch leader := to.Known().Leader; {
	case leader == s.config.Self.ID:
		return s.AnswerOffer(ctx, m), nil
	case leader == 0:
		return a, fmt.Errorf("shard %d has no leader at the moment", m.ShardID)
	case s.config.Calls == nil:
		return a, errNoHomeCalls
	default:
		payload, err := s.config.Calls.Call(ctx, leader, peerrpc.Request(m))
		if err != nil {
			return a, err
		}
		answer, err := peerrpc.Result(m.Kind(), payload)
		if err == nil {
			err = answer.Result.Err()
		}
		if err != nil {
			return a, err
		}
		return answer.SlotOffer, nil
	}
}

// AnswerOffer answers another shard's leader. An offer without content asks whether the local shard can take the slot,
// or has opened the slot already.
func (s *Set) AnswerOffer(ctx context.Context, m *protocol.SlotOffer) (a protocol.SlotOfferAnswer) {
	r, slot := s.Shard(m.ShardID), shard.Slot(m.Slot)
	reason := ""
	switch {
	case r == nil || !r.Leads() || !r.leader.ready():
		reason = fmt.Sprintf("host %s does not lead shard %d", s.config.Self.Name, m.ShardID)
	case m.Slot >= shard.Slots:
		reason = "there is no such slot"
	case len(m.Content) == 0:
		if x := r.Machine.Slot(slot); x.Seen > m.Generation || x.State == slots.Owned && x.Generation >= m.Generation {
			a.Outcome, a.Durable = protocol.SlotOpened, r.durable(ctx)
		} else if x.Seen == m.Generation {
			a.Outcome, reason = protocol.SlotKept, x.Why
		} else if reason = r.unable(); reason == "" {
			s.moves.expect(slot)
		}
	default:
		s.moves.expect(slot)
		result := s.moves.propose(ctx, r, &shard.Command{
			Kind: shard.CmdSlotOpen, Slot: slot, Count: m.Generation, Number: m.From, Body: m.Content,
		})
		a.Outcome, reason = result.outcome(), result.reason
		if a.Outcome == protocol.SlotKept {
			s.moves.expectNoMore(slot)
			s.moves.resume(slot, true)
		}
	}
	a.Reason = []byte(strings.ToValidUTF8(reason[:min(len(reason), protocol.MaxOperatorTextBytes)], ""))
	return a
}

// durable reports whether every voter's log has all entries that the leader has applied. durable waits briefly for
// lagging voters.
func (r *Replica) durable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, durableWithin)
	defer cancel()
	applied := r.AppliedIndex()
	for !r.votersHave(applied) {
		select {
		case <-time.After(durableAgain):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// durableWithin is the maximum time that a leader waits for the voters, and durableAgain the interval between two
// checks.
const durableWithin, durableAgain = 200 * time.Millisecond, 20 * time.Millisecond

// votersHave reports whether every voter has acknowledged an index to the shard's leader.
func (r *Replica) votersHave(index uint64) bool {
	on, own := r.set.Meta.Machine.ShardRecord(hosts.ShardID(r.ID)), r.end.on.Load()
	if on == nil || own == nil {
		return false
	}
	progress := r.end.Progress()
	for i := range on.Replicas {
		p := &on.Replicas[i]
		has := func(x shard.Progress) bool { return x.Replica == p.ID && x.Index >= index }
		if p.Role == hosts.RoleVoter && p.ID != own.replica && !slices.ContainsFunc(progress, has) {
			return false
		}
	}
	return true
}

// unable returns why the shard cannot take a slot now, or "".
func (r *Replica) unable() string {
	g := r.Machine.Group()
	switch err := r.Guard(); {
	case err != nil:
		return err.Error()
	case g.Waits(r.Machine.Time()):
		return fmt.Sprintf("shard %d was rebuilt, and grants nothing yet", r.ID)
	case !r.fresh.confirmed(offerWithin):
		return fmt.Sprintf("the leader of shard %d cannot confirm that it leads", r.ID)
	}
	return ""
}

// slotResult is a slot command's result. If the result is unknown, reason explains why.
type slotResult struct {
	known  bool
	status protocol.Status
	reason string
}

// outcome returns the attempt's outcome from the result of an open or a refuse.
func (sr *slotResult) outcome() protocol.SlotOutcome {
	switch {
	case sr.known && sr.status == protocol.StatusSuccess:
		return protocol.SlotOpened
	case sr.known && sr.status == protocol.StatusPreconditionFailed:
		return protocol.SlotKept
	}
	return protocol.SlotNone
}

// propose proposes a command about a slot, and waits for its result.
func (mo *moves) propose(ctx context.Context, r *Replica, c *shard.Command) slotResult {
	results := make(chan slotResult, 1)
	r.propose(c, nil, func(e *shard.Effect, failed protocol.Status) {
		if e == nil {
			results <- slotResult{reason: "the change has an unknown outcome: " + failed.String()}
			return
		}
		results <- slotResult{true, e.Status, e.Body}
	})
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	select {
	case result := <-results:
		return result
	case <-ctx.Done():
		return slotResult{reason: "the change was not applied in time"}
	}
}

// Slot implements executor.Replicas.
func (s *Set) Slot(ctx context.Context, e *protocol.StepExecute) (protocol.SlotOutcome, string, error) {
	r, slot := s.Shard(e.ShardID), shard.Slot(e.Slot)
	switch {
	case r == nil || e.Slot >= shard.Slots:
		return 0, "", fmt.Errorf("server: shard %d, slot %d: %w", e.ShardID, e.Slot, shard.ErrNotMember)
	case !r.Leads() || !r.leader.ready():
		return 0, "", fmt.Errorf("server: shard %d: %w", e.ShardID, shard.ErrNotLeader)
	}
	switch e.Effect {
	case protocol.EffectMoveSlot:
		return s.moves.move(ctx, r, slot, e)
	case protocol.EffectRefuseSlot:
		result := s.moves.propose(ctx, r, &shard.Command{Kind: shard.CmdSlotRefuse, Slot: slot, Count: e.Generation,
			Number: e.Into})
		if outcome := result.outcome(); outcome != protocol.SlotNone {
			s.moves.resume(slot, true)
			return outcome, result.reason, nil
		}
		return 0, "", fmt.Errorf("server: shard %d, slot %d: %s", e.ShardID, e.Slot, result.reason)
	default:
		return s.moves.cancelSeal(ctx, r, slot, e.Generation, "the move was cancelled")
	}
}

// move seals a slot, and waits until the attempt is over.
func (mo *moves) move(ctx context.Context, r *Replica, slot shard.Slot, e *protocol.StepExecute) (
	protocol.SlotOutcome, string, error,
) {
	for {
		if outcome, over := ended(r.Machine.Slot(slot), e.Generation); over {
			return outcome, "", nil
		}
		end := mo.end(slot)
		if x := r.Machine.Slot(slot); x.State != slots.Sealed {
			if err := r.Guard(); err != nil {
				return 0, "", err
			}
			if _, err := mo.send(r, &slots.Slot{Number: slot, To: e.Into, Generation: e.Generation}); err != nil {
				return 0, "", fmt.Errorf("server: slot %d stays in shard %d: %w", slot, r.ID, err)
			}
			seal := &shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: e.Generation, Number: e.Into}
			if e.Large {
				seal.Flags = shard.FlagForce
			}
			switch result := mo.propose(ctx, r, seal); {
			case !result.known, result.status == protocol.StatusOverloaded:
				return 0, "", fmt.Errorf("server: slot %d stays in shard %d: %s", slot, r.ID, result.reason)
			case result.status != protocol.StatusSuccess:
				if outcome, over := ended(r.Machine.Slot(slot), e.Generation); over {
					return outcome, "", nil
				}
				return mo.cancelSeal(ctx, r, slot, e.Generation, result.reason)
			}
		}
		select {
		case <-end:
		case <-time.After(offerPause):
		case <-ctx.Done():
			return 0, "", ctx.Err()
		}
		if !r.Leads() {
			return 0, "", shard.ErrNotLeader
		}
	}
}

// end returns a channel that is closed with the next change to a slot.
func (mo *moves) end(slot shard.Slot) <-chan struct{} {
	end := make(chan struct{})
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.ends[slot] = append(mo.ends[slot], end)
	return end
}

// ended returns the outcome of an attempt, from the slot's record in the old shard.
func ended(x slots.Slot, generation uint64) (_ protocol.SlotOutcome, over bool) {
	switch {
	case x.State == slots.Owned && x.Generation > generation:
		return protocol.SlotKept, true
	case (x.State == slots.Transferred || x.State == slots.Released) && x.Generation >= generation:
		return protocol.SlotOpened, true
	}
	return protocol.SlotNone, false
}

// cancelSeal ends an attempt that was refused by the other shard or never sealed. A rebuilt shard may refuse a slot
// that its lost replicas had opened: then this shard takes the kept content back.
func (mo *moves) cancelSeal(ctx context.Context, r *Replica, slot shard.Slot, generation uint64, why string) (
	protocol.SlotOutcome, string, error,
) {
	back := shard.Command{Kind: shard.CmdSlotCancel, Slot: slot, Count: generation}
	if r.Machine.Slot(slot).State == slots.Transferred {
		back.Kind, back.Number = shard.CmdSlotReturn, generation+1
	}
	result := mo.propose(ctx, r, &back)
	if result.known && result.status == protocol.StatusSuccess {
		return protocol.SlotKept, why, nil
	}
	if outcome, over := ended(r.Machine.Slot(slot), generation); over {
		return outcome, why, nil
	}
	return 0, "", fmt.Errorf("server: slot %d in shard %d: %s", slot, r.ID, result.reason)
}
