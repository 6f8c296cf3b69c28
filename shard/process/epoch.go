package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
)

// change lets the next epoch open after the delay without another change.
func (p *Process) change(at At) { p.openIn(at, field.MillisOf(p.spec.OpenDelay)) }

// openIn schedules the next epoch after a delay from now, or earlier if the maximum delay since the first change ends
// earlier.
func (p *Process) openIn(at At, delay uint64) {
	if p.changed == 0 {
		p.changed = clock.Moment(at.Now)
	}
	p.opens = min(clock.Moment(at.Now)+delay, p.changed+field.MillisOf(p.spec.MaxOpenDelay))
	p.dueBy(p.opens)
	p.changeHead(at)
}

// endRound ends an epoch's round: from now on the round's messages are refused. The open exchanges end, and the members
// are notified, only when the next epoch opens, so endRound costs the same for any number of members.
func (p *Process) endRound(at At) {
	if p.state != kind.Forming {
		p.setState(at, kind.Forming)
	}
}

// isCompleted reports whether the last epoch's round was completed, whatever followed.
func (p *Process) isCompleted() bool { return p.epoch != 0 && p.lastResult() == p.epoch }

// Due must be called when the time from NextDue has come.
func (p *Process) Due(at At) {
	if p.due == 0 || at.Now < p.due {
		return
	}
	p.checkTimeouts(at)
	if p.opens != 0 && at.Now >= p.opens {
		p.turn(at)
	}
	p.due, at.Out.Changed = p.nextDue(), true
}

// NextDue is the shard time at which time alone may change something; false for never.
func (p *Process) NextDue() (uint64, bool) { return p.due, p.due != 0 }

// turn goes from an epoch to the next. If members have come and gone, and the present members equal the round's
// members, the round goes on. With too few members, or without a candidate, the old epoch still ends.
func (p *Process) turn(at At) {
	p.changed, p.opens = 0, 0
	p.changeHead(at)
	if p.state != kind.Forming && p.unchanged() {
		return
	}
	p.close(at)
	if p.lacks() == "" {
		p.open(at)
	}
}

// gathered opens the next epoch at once if the newest member completes the minimum number, and the delay is the
// shortest. A process with so short a delay waits for members, as barriers do, and not for a pause between arrivals:
// the delay would be one more log batch.
func (p *Process) gathered(at At) {
	if n := len(p.members); n > 1 && n == p.spec.MinMembers && field.MillisOf(p.spec.OpenDelay) == 1 {
		p.turn(at)
		p.due, at.Out.Changed = p.nextDue(), true
	}
}

// unchanged reports whether the members equal the epoch's members.
func (p *Process) unchanged() bool {
	return slices.EqualFunc(p.members, p.view, func(m *Member, id uint64) bool { return m.ID == id })
}

// lacks returns the reason why an epoch cannot open, "" if it can.
func (p *Process) lacks() string {
	switch {
	case len(p.members) == 0:
		return kind.ReasonNoMembers
	case len(p.members) < p.spec.MinMembers:
		return kind.ReasonFewMembers
	case p.candidate() == nil:
		return kind.ReasonNoCandidate
	}
	return ""
}

// candidate is the next epoch's coordinator: the candidate that joined first.
func (p *Process) candidate() *Member {
	if k := slices.IndexFunc(p.members, func(m *Member) bool { return m.Candidate }); k >= 0 {
		return p.members[k]
	}
	return nil
}

// close ends the epoch. Senders first get the end items for open exchanges. Then close removes inbox items without
// further use, and adds the cancellation if the round was not completed.
func (p *Process) close(at At) {
	if len(p.view) == 0 {
		return
	}
	cancelled := !p.isCompleted()
	p.endExchanges(at)
	for _, m := range p.members {
		if _, of := p.seat(m.ID); !of {
			continue
		}
		p.dropItems(at, m)
		if cancelled {
			p.put(at, m, item{kind: kind.ItemCancel, epoch: p.epoch})
		}
	}
	p.view, p.prepared, p.completed, p.late = nil, 0, 0, false
	p.endRound(at)
	if cancelled {
		at.event(Event{Kind: eventCancelled, Epoch: p.epoch})
	}
}

// open opens the next epoch.
func (p *Process) open(at At) {
	epoch := at.Caller.NextOrder()
	if epoch <= p.epoch {
		panic("process: an epoch is not above the one before it")
	}
	before := p.epoch
	p.epoch, p.coordinator, p.opened = epoch, p.candidate().ID, clock.Moment(at.Now)
	p.setState(at, kind.Preparing)
	p.view = make([]uint64, len(p.members))
	for k, m := range p.members {
		p.view[k] = m.ID
		if m.ID > before {
			p.changeMember(at, m) // the member's row shows that the member is in an epoch
		}
		p.put(at, m, item{kind: kind.ItemPrepare, epoch: epoch})
	}
	at.event(Event{Kind: eventOpened, Epoch: epoch})
}

// dueBy makes sure that Due is called at the given time or earlier.
func (p *Process) dueBy(when uint64) {
	if p.due == 0 || when < p.due {
		p.due = when
	}
}

// nextDue is the time at which time alone changes something.
func (p *Process) nextDue() uint64 {
	due := p.opens
	at := func(when uint64, ok bool) {
		if ok && (due == 0 || when < due) {
			due = when
		}
	}
	at(p.prepareBy())
	for _, e := range p.exchanges {
		at(p.replyBy(e))
		at(e.deadline, p.state == kind.Running && e.outcome == kind.OutcomeOpen && e.deadline != 0)
	}
	return due
}

// prepareBy is the time from which unprepared members are late, replyBy the time from which members without a reply are
// late.
func (p *Process) prepareBy() (uint64, bool) {
	d := field.MillisOf(p.spec.ReplyTimeout)
	return p.opened + d, p.state == kind.Preparing && d != 0 && !p.late
}

func (p *Process) replyBy(e *Exchange) (uint64, bool) {
	d := field.MillisOf(p.spec.ReplyTimeout)
	return e.sent + d, p.state == kind.Running && d != 0 && !e.late && e.outcome == kind.OutcomeOpen
}

// checkTimeouts applies the spec's rule to members that have not answered in time.
func (p *Process) checkTimeouts(at At) {
	if by, ok := p.prepareBy(); ok && at.Now >= by {
		p.late = true
		at.event(Event{Kind: eventLate, Epoch: p.epoch})
		if p.spec.OnTimeout == kind.TimeoutEvict {
			p.kickSilent(at, "it was not prepared in time", p.isUnprepared)
		}
	}
	for _, e := range slices.Clone(p.exchanges) {
		if p.state == kind.Running && e.outcome == kind.OutcomeOpen {
			p.checkExchange(at, e)
		}
	}
}

// checkExchange ends an exchange if the sender no longer waits, or applies the spec's rule to members without a reply.
// Evicting such members ends the round, and with the round the timeouts for all other exchanges.
func (p *Process) checkExchange(at At, e *Exchange) {
	if d := field.MillisOf(p.spec.ReplyTimeout); d != 0 && !e.late && at.Now >= e.sent+d {
		e.late = true
		at.event(Event{Kind: eventLate, Epoch: p.epoch, Exchange: e.id})
		switch p.spec.OnTimeout {
		case kind.TimeoutEvict:
			p.kickSilent(at, "it did not reply in time", e.waitsFor)
			return
		case kind.TimeoutFail:
			p.endExchange(at, e, kind.OutcomeLate)
			return
		}
	}
	if e.deadline != 0 && at.Now >= e.deadline {
		p.endExchange(at, e, kind.OutcomeLate)
	}
}

// The functions below forecast whether a command only contributes to a group of similar commands from other members:
// applied after the given number of such commands, it has no further consequence.

// joinGathers reports whether too few members would have joined.
func (p *Process) joinGathers(others int) bool { return len(p.members)+others+1 < p.spec.MinMembers }

// leaveGathers reports whether the round is complete, some members would remain, and the remaining members would be too
// few for another epoch.
func (p *Process) leaveGathers(others int) bool {
	left := len(p.members) - others - 1
	return p.state == kind.Complete && left > 0 && left < p.spec.MinMembers
}

// preparedGathers reports whether members would still be unprepared.
func (p *Process) preparedGathers(others int) bool {
	return p.state == kind.Preparing && p.prepared+others+1 < len(p.view)
}

func (p *Process) isUnprepared(m *Member, _ int) bool { return m.Prepared != p.epoch }

func (e *Exchange) waitsFor(_ *Member, seat int) bool { return e.waiting.has(seat) }

// kickSilent evicts the epoch's members that have not answered.
func (p *Process) kickSilent(at At, why string, silent func(*Member, int) bool) {
	for seat, id := range p.view {
		if m := p.Member(id); m != nil && silent(m, seat) {
			p.kick(at, m, kind.ChangeInfo{Author: "reply timeout", Reason: why})
		}
	}
}
