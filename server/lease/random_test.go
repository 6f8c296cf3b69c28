package lease_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// happen applies one random event to a table and to its twin.
func (d *duel) happen(c *contestant) error {
	w := c.twin
	switch roll := d.IntN(1000); {
	case roll < 250:
		steps := []time.Duration{1, time.Microsecond, 10 * time.Millisecond, 300 * time.Millisecond, second}
		d.now = d.now.Add(time.Duration(d.IntN(1000)) * steps[d.IntN(len(steps))] / 1000)
		if d.IntN(300) == 0 {
			d.now = d.now.Add(twinStall)
		}
	case roll < 400:
		h := d.holder()
		h.real.Heard(d.now)
		h.heard = append(h.heard, d.now)
	case roll < 450:
		return d.ping(d.holder())
	case roll < 500:
		h := d.holder()
		h.real.Reported(h.debt)
		h.debt = 0
	case roll < 580:
		return d.start(c)
	case roll < 720:
		id, h, seq := c.some(d), d.holder(), uint64(d.IntN(6))
		now := d.stale()
		lost, v := c.table.Attach(id, h.real, seq, now)
		wantLost, want := w.attach(id, h, seq, now)
		d.tally[v.String()]++
		if lost != nil {
			d.tally["lost"]++
		}
		if v != want || lost != wantLost {
			return fmt.Errorf("attach of %v: %v, from %p; the twin says %v, from %p", id, v, lost, want, wantLost)
		}
	case roll < 750:
		id, timeout := c.some(d), d.timeout()
		now := d.stale()
		c.table.SetTimeout(id, timeout, now)
		if s := w.sessions[id]; s != nil {
			s.timeout, s.left = timeout, 0
			s.signs = append(s.signs, sign{now, 0})
			if !s.expiring {
				s.retryAfter = time.Time{} // activity ends the wait, too
			}
		}
	case roll < 765:
		d.hangUp()
	case roll < 780:
		return d.detach(c)
	case roll < 790:
		id := c.some(d)
		c.over[id] = true
		if lost, want := c.table.Remove(id), w.remove(id); lost != want {
			return fmt.Errorf("%v was removed from %p; the twin says %p", id, lost, want)
		}
	case roll < 880:
		d.outcome(c)
	case roll < 883 && w.leading:
		c.table.Unlead()
		w.unlead()
	case roll < 886: // no call of Due for a long time
		d.now = d.now.Add(twinStall + d.timeout())
	case roll < 889:
		term := w.term + uint64(d.IntN(2))
		c.table.Seen(term)
		w.seen(term)
	case roll < 891:
		d.rely(c)
	case roll < 895:
		d.changeGrace(c)
	case roll < 920:
		w.rounds = append(w.rounds, &twinRound{
			real: c.table.Begin(d.now), begun: d.now, term: w.term, windows: []time.Duration{w.window},
		})
	case roll < 965 && len(w.rounds) > 0:
		r := w.rounds[len(w.rounds)-1-d.IntN(min(len(w.rounds), 3))]
		seen := w.term + uint64(d.IntN(20)/19)
		changes := w.changes + uint64(d.IntN(20)/19)
		if got, want := c.table.Succeeded(r.real, seen, changes), w.succeeded(r, seen, changes); got != want {
			return fmt.Errorf("the round counts: %v; the twin says %v", got, want)
		}
	case roll < 975:
		return d.moveSlot(c)
	case roll < 987:
		c.table.Restored()
		w.restoring = false
	default:
		d.lead(c)
	}
	return nil
}

// stale returns a slightly old time, as read by a slow goroutine.
func (d *duel) stale() time.Time {
	if d.IntN(4) > 0 {
		return d.now
	}
	return d.now.Add(-time.Duration(d.IntN(2_000)) * time.Millisecond)
}

func (d *duel) holder() *twinHolder { return d.holders[d.IntN(len(d.holders))] }

func (d *duel) timeout() time.Duration {
	return []time.Duration{0, time.Millisecond, second, second, 3 * second, 3 * second, 7 * second,
		30 * second}[d.IntN(8)]
}

// detach detaches a session, mostly over its attached connection.
func (d *duel) detach(c *contestant) error {
	id, h, left, now := c.some(d), d.holder(), d.timeout(), d.stale()
	if s := c.twin.sessions[id]; s != nil && s.holder != nil && d.IntN(4) > 0 {
		h = s.holder
	}
	got, want := c.table.Detach(id, h.real, left, now), c.twin.detach(id, h, left, now)
	d.tally[map[bool]string{true: "detached", false: "not detached"}[got]]++
	if got != want {
		return fmt.Errorf("%v was detached: %v; the twin says %v", id, got, want)
	}
	return nil
}

func (d *duel) node() shard.NodeID { return shard.NodeID(1 + d.IntN(3)) }

// some returns a session id, mostly an existing one.
func (c *contestant) some(d *duel) (any shard.SessionID) {
	for range 6 {
		any = c.id(1 + c.last - min(c.last, uint64(d.IntN(40))))
		if c.twin.sessions[any] != nil {
			break
		}
	}
	return any
}

// id returns the contestant's session n.
func (c *contestant) id(n uint64) shard.SessionID {
	return shard.NewSessionID(shard.Slot(n%duelSlots), c.base+n)
}

// moveSlot has a slot leave, or arrive with some of its sessions.
func (d *duel) moveSlot(c *contestant) error {
	slot, now := shard.Slot(d.IntN(duelSlots)), d.stale()
	if c.away[slot] = !c.away[slot] && d.IntN(2) == 0; c.away[slot] {
		d.tally["slot left"]++
		return d.slotLeft(c, slot)
	}
	d.tally["slot arrived"]++
	c.twin.slotArrived(slot, now)
	c.table.SlotArrived(slot, c.twin.changes, now)
	for range d.IntN(10) {
		if id := c.some(d); id.Slot() == slot {
			d.restore(c, id, now)
		}
	}
	return nil
}

func (d *duel) slotLeft(c *contestant, slot shard.Slot) error {
	want := c.twin.forgetSlot(slot)
	lost := c.table.SlotLeft(slot, c.twin.changes)
	for _, l := range lost {
		d.tally["lost with a slot"]++
		ids := want[l.Holder]
		slices.Sort(ids)
		slices.Sort(l.Sessions)
		if !slices.Equal(ids, l.Sessions) {
			return fmt.Errorf("slot %d: %p has lost %v; the twin says %v", slot, l.Holder, l.Sessions, ids)
		}
	}
	if len(lost) != len(want) {
		return fmt.Errorf("slot %d: %d holders have lost sessions; the twin says %d", slot, len(lost), len(want))
	}
	return nil
}

func (d *duel) start(c *contestant) error {
	c.last++
	id := c.id(c.last)
	if c.away[id.Slot()] || c.over[id] {
		return nil
	}
	s := c.twin.sessions[id] // restored already, perhaps
	if s == nil {
		s = &twinSession{node: d.node(), timeout: d.timeout()}
	}
	h, seq, want := d.holder(), uint64(d.IntN(4)), lease.Attached
	v := c.table.Start(id, s.node, s.timeout, h.real, seq, d.now)
	switch {
	case !c.twin.judges():
		want = lease.NotLeading
	case s.expiring:
		want = lease.Expiring
	case s.holder != nil:
		want = lease.OutOfSequence
	default:
		s.seq, s.retryAfter, s.left, s.signs = seq, time.Time{}, 0, append(s.signs, sign{d.now, 0})
		c.twin.sessions[id] = s
		if s.holder = h; h.closed {
			s.holder, want = nil, lease.Closed
		}
	}
	if v != want {
		return fmt.Errorf("start of %v: %v; the twin says %v", id, v, want)
	}
	return nil
}

func (d *duel) ping(h *twinHolder) error {
	got := h.real.MayPong(d.now)
	h.heard = append(h.heard, d.now)
	want := h.debt == 0
	for _, c := range d.sides {
		for _, s := range c.twin.sessions {
			if s.holder == h && !c.twin.fresh(d.now) {
				want = false
			}
		}
	}
	d.tally[map[bool]string{true: "pong", false: "no pong"}[got]]++
	if got != want {
		return fmt.Errorf("may pong: %v; the twin says %v", got, want)
	}
	return nil
}

// hangUp closes a connection. It remains for late callers for a while before a new connection replaces it.
func (d *duel) hangUp() {
	at := d.IntN(len(d.holders))
	h := d.holders[at]
	if h.closed {
		d.holders[at] = d.newHolder()
		return
	}
	now := d.stale()
	h.real.Close(now)
	h.closed = true
	for _, c := range d.sides {
		c.twin.close(h, now)
	}
}

// outcome reports a proposal's outcome.
func (d *duel) outcome(c *contestant) {
	if len(c.proposals) == 0 {
		return
	}
	at := d.IntN(len(c.proposals))
	p := c.proposals[at]
	c.proposals = append(c.proposals[:at], c.proposals[at+1:]...)
	kind := d.IntN(3)
	switch kind {
	case 0:
		c.table.Dropped(p.by, p.ids, d.now)
	case 1:
		c.table.Undecided(p.by, p.ids, d.now)
	}
	for i, id := range p.ids {
		if kind == 2 {
			c.table.RemoveExpired(p.by, id)
		}
		switch s := c.twin.sessions[id]; {
		case s != p.records[i]:
			d.tally["outcome for an earlier record"]++
		case kind == 2:
			c.over[id] = true
			c.twin.remove(id)
		case p.by.Term == c.twin.term && c.twin.judges():
			c.twin.unexpire(s, d.now, kind == 1)
		}
	}
}

// lead starts a new leadership and restores some sessions; more come later.
func (d *duel) lead(c *contestant) {
	if c.twin.deposed {
		c.table.Unlead()
		c.twin.unlead()
	}
	if !c.twin.leading {
		c.twin.lead(d.now)
		c.table.Lead(c.twin.term, c.twin.changes, d.now)
	}
	for range d.IntN(10) {
		d.restore(c, c.some(d), d.now)
	}
}

func (d *duel) restore(c *contestant, id shard.SessionID, now time.Time) {
	node, timeout := d.node(), d.timeout()
	if c.over[id] || c.away[id.Slot()] {
		return
	}
	c.table.Restore(id, node, timeout, now)
	if c.twin.sessions[id] == nil && c.twin.judges() {
		c.twin.sessions[id] = &twinSession{node: node, timeout: timeout, signs: []sign{
			{c.twin.floor, c.twin.grace[node]}, {now, 0},
		}}
	}
}

func (d *duel) rely(c *contestant) {
	grace := time.Duration(1+d.IntN(10)) * second
	c.table.Rely(grace)
	c.twin.rely(grace)
}

func (d *duel) changeGrace(c *contestant) {
	for n := range shard.NodeID(3) {
		c.twin.grace[n+1] = time.Duration(d.IntN(10)) * second
	}
}
