package process

import (
	"fmt"
	"slices"
	"unicode/utf8"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// maxItems is above the number of items in an inbox: requests, exchange ends, and a few items from the last rounds.
const maxItems = maxUnread + maxOpen + 8

// end is above every number that is issued: a counter that restarts would issue a number twice.
const end = 1 << 60

// check validates loaded values against the assumptions in the rest of the package, so corrupt bytes never produce a
// process that breaks later.
func (p *Process) check(c *codec.Coder) {
	wrong := p.spec.Check()
	c.Must(wrong == "", "%s", wrong)
	c.Must(p.epoch < end && p.lastExchange < end, "a counter is too high")
	c.Must(p.since < end && p.opened < end && p.changed < end && p.opens < end, "a time is too late")
	rev := &p.revisions
	c.Must(rev.whole < end && max(rev.head, rev.results, rev.spec) <= rev.whole && rev.spec <= rev.head,
		"a part has changed after the whole")
	c.Must(ascending(p.view, func(id uint64) uint64 { return id }), "the view is out of order")
	c.Must(len(p.view) == 0 || p.epoch > p.view[len(p.view)-1], "the epoch is older than its members")
	_, coordinates := p.seat(p.coordinator)
	c.Must(len(p.view) == 0 || coordinates, "the coordinator is not of the epoch")
	c.Must(p.state == kind.Forming || len(p.view) > 0, "a round has no members")
	c.Must((p.state == kind.Complete) == (p.state != kind.Forming && p.isCompleted()), "a round is complete, or is not")
	c.Must((p.changed == 0) == (p.opens == 0), "an epoch is to open without a change")
	c.Must(p.state != kind.Forming || len(p.view) == 0 || p.opens != 0, "an epoch is over, and never closes")
	c.Must(!p.late || p.epoch != 0, "no epoch is late")
	c.Must(ascending(p.results, func(r *Result) uint64 { return r.Epoch }), "the results are out of order")
	c.Must(len(p.results) <= p.spec.KeepResults, "there are more results than are kept")
	c.Must(p.lastResult() <= p.epoch, "there is a result of a later epoch")
	act := uint64(0)
	for k := range p.audit {
		a := &p.audit[k]
		c.Must(a.Number > act && a.Number < end, "the acts are out of order")
		act = a.Number
		c.Must(a.Verb != 0 && a.At != 0 && codec.FitText(kind.MaxText, a.Name, a.By.Author, a.By.Reason),
			"an act is none")
	}
	c.Must(ascending(p.exchanges, func(e *Exchange) uint64 { return e.id }), "the exchanges are out of order")
	for _, e := range p.exchanges {
		p.checkExchangeForm(c, e)
	}
	least := p.nextDue()
	c.Must(least == 0 || p.due != 0 && p.due <= least, "what is due at %d is due at %d", least, p.due)
}

func (p *Process) checkExchangeForm(c *codec.Coder, e *Exchange) {
	c.Must(e.id <= p.lastExchange && e.epoch != 0 && e.epoch <= p.epoch && e.sent != 0 && e.sent < end &&
		e.deadline < end, "exchange %d is none", e.id)
	if e.outcome == kind.OutcomeOpen {
		_, of := p.seat(e.from)
		c.Must(e.epoch == p.epoch && of && !p.isCompleted(), "exchange %d is open, and its round is over", e.id)
		c.Must(len(e.waiting) == words(len(p.view)) && e.waiting.count() == e.missing && e.missing > 0 &&
			len(e.missed) == 0, "exchange %d waits for nothing", e.id)
		for seat := range e.waiting.all() {
			c.Must(seat < len(p.view), "exchange %d waits for no member", e.id)
		}
	} else {
		c.Must(len(e.waiting) == 0 && (e.outcome == kind.OutcomeAll) == (e.missing == 0) &&
			len(e.missed) == min(e.missing, maxMissed), "exchange %d has ended otherwise", e.id)
	}
	seen := make(map[uint64]bool, len(e.replies))
	for k := range e.replies {
		r := &e.replies[k]
		c.Must(!seen[r.From], "exchange %d has two replies of member %d", e.id, r.From)
		c.Must(!r.Failed || len(r.Data) <= kind.MaxFailure && utf8.Valid(r.Data), "a failure is no text")
		seen[r.From] = true
		if seat, of := p.seat(r.From); e.outcome == kind.OutcomeOpen {
			c.Must(of && !e.waiting.has(seat), "exchange %d waits for who has replied", e.id)
		}
	}
}

// ascending reports whether a list's numbers grow.
func ascending[T any](list []T, number func(T) uint64) bool {
	last := uint64(0)
	for _, x := range list {
		if number(x) <= last {
			return false
		}
		last = number(x)
	}
	return true
}

// count computes derived values from loaded values, except for the members' values.
func (p *Process) count() {
	p.size = Bytes
	for _, e := range p.exchanges {
		e.held = exchangeBytes + wordBytes*(len(e.waiting)+len(e.missed)) + len(e.payload)
		for k := range e.replies {
			e.held += e.replies[k].size()
		}
		p.held += e.held
	}
	for _, r := range p.results {
		p.size += r.size()
	}
	for k := range p.audit {
		p.size += p.audit[k].size()
	}
	p.size += p.held
}

// check compares a loaded member's values with one another.
func (m *Member) check(c *codec.Coder) {
	c.Must(m.Name != "" && codec.FitText(kind.MaxText, m.Name) && m.Joined != 0 && m.Joined < end, "the member is none")
	c.Must(m.acked <= m.lastSeq && m.lastSeq < end, "more is acknowledged than there was")
	before := uint64(0)
	for k := range m.items {
		i := &m.items[k]
		c.Must(i.seq >= uint64(i.parts) && i.firstSeq() > before && i.seq > m.acked && i.seq <= m.lastSeq &&
			i.kind != 0 && i.epoch != 0, "item %d is none", i.seq)
		c.Must(i.parts == 1 || i.kind == kind.ItemEnd, "item %d has parts", i.seq)
		before = i.seq
	}
	c.Must(m.Completed <= m.Prepared, "a round was completed that was not prepared")
}

// Attach puts back a member that had joined when the process was saved. Members may be attached in any order.
func (p *Process) Attach(m *Member) error {
	k, there := p.place(m.ID)
	switch {
	case there || m.ID == 0:
		return fmt.Errorf("process: member %d is there twice: %w", m.ID, ErrForm)
	case len(p.members) >= kind.MaxMembers:
		return fmt.Errorf("process: there are more than %d members: %w", kind.MaxMembers, ErrForm)
	case m.Prepared > p.epoch:
		return fmt.Errorf("process: member %d is prepared for a later epoch: %w", m.ID, ErrForm)
	}
	for n := range m.items {
		if err := p.attachItem(m, &m.items[n]); err != nil {
			return err
		}
	}
	p.members = slices.Insert(p.members, k, m)
	if _, of := p.seat(m.ID); of && m.Prepared == p.epoch {
		p.prepared++
		if m.Completed == p.epoch {
			p.completed++
		}
	}
	return nil
}

// attachItem connects an item to the process's exchange, and counts the item.
func (p *Process) attachItem(m *Member, i *item) error {
	_, of := p.seat(m.ID)
	ok := i.epoch <= p.epoch
	switch i.kind {
	case kind.ItemPrepare:
		ok = of && i.epoch == p.epoch && m.Prepared != p.epoch
	case kind.ItemCoordinate:
		ok = of && i.epoch == p.epoch && m.ID == p.coordinator && m.Prepared == p.epoch
	case kind.ItemComplete:
		ok = p.lastResult() == i.epoch && m.Completed < i.epoch
	case kind.ItemRequest, kind.ItemEnd:
		e := p.exchange(i.exchange.id)
		if ok = e != nil && e.epoch == i.epoch; !ok {
			break
		}
		i.exchange = e
		if i.kind == kind.ItemEnd {
			ok = e.from == m.ID && e.outcome != kind.OutcomeOpen && int(i.parts) == e.parts()
			m.open++
		} else {
			ok = of && e.epoch == p.epoch
		}
		p.refer(m, i)
	}
	if !ok {
		return fmt.Errorf("process: item %d of member %d is none: %w", i.seq, m.ID, ErrForm)
	}
	return nil
}

// Attached ends the loading, after every member is back.
func (p *Process) Attached() error {
	if p.state != kind.Forming && p.state != kind.Complete {
		for k, id := range p.view {
			if k >= len(p.members) || p.members[k].ID != id {
				return fmt.Errorf("process: a round runs without member %d: %w", id, ErrForm)
			}
		}
	}
	if prepared := p.prepared == len(p.view); prepared != (p.state == kind.Running) &&
		(p.state == kind.Running || p.state == kind.Preparing) {
		return fmt.Errorf("process: a round is %v, and %d of %d are prepared: %w", p.state, p.prepared, len(p.view),
			ErrForm)
	}
	for _, e := range p.exchanges {
		m := p.Member(e.from)
		switch {
		case e.outcome == kind.OutcomeOpen && m != nil:
			m.open++
		case e.outcome != kind.OutcomeOpen && e.refs == 0:
			return fmt.Errorf("process: exchange %d has ended, and is kept: %w", e.id, ErrForm)
		}
	}
	return nil
}
