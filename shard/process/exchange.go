package process

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
)

// Exchange is a request to some members in an epoch, and their replies. All inboxes share the exchange, and so its
// payload.
type Exchange struct {
	id, epoch, from uint64
	payload         []byte
	sent            uint64 // timestamp
	deadline        uint64 // time at which the sender stops waiting, 0 for never
	late            bool   // late replies were reported
	waiting         set    // members without a reply, by position in the view; empty after the end
	replies         []Reply
	outcome         kind.Outcome
	missing         int      // number of members without a reply
	missed          []uint64 // after the end: the first members without a reply

	refs int // items that refer to the exchange
	held int // bytes
}

// Reply is a member's answer to a request.
type Reply struct {
	From uint64
	// Failed is set if the member could not serve the request; Data is a text with the cause.
	Failed bool
	Data   []byte
}

func (r *Reply) size() int { return replyBytes + len(r.Data) }

// Request is a member's request.
type Request struct {
	Epoch    uint64
	Audience kind.Audience
	To       []uint64 // ToMembers: the IDs, in any order
	Payload  []byte
	// Timeout is how long the sender waits for replies, in milliseconds; 0 waits until the round ends.
	Timeout uint64
}

// Send begins an exchange: the request goes into the inboxes of the whole audience, or into no inbox.
func (p *Process) Send(at At, m *Member, r Request) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	switch {
	case len(r.Payload) > p.spec.MaxPayload:
		return refuse(protocol.StatusBadRequest, "a request has at most %d bytes", p.spec.MaxPayload)
	case r.Audience >= kind.Audiences || (r.Audience != kind.ToMembers && len(r.To) > 0) || len(r.To) > kind.MaxMembers:
		return refuse(protocol.StatusBadRequest, "a request goes to at most %d members, to all, or to all others",
			kind.MaxMembers)
	case r.Timeout > field.MillisOf(kind.MaxTimeout):
		return refuse(protocol.StatusBadRequest, "a timeout is at most %d ms", field.MillisOf(kind.MaxTimeout))
	}
	if a := p.takesPart(m, r.Epoch); a.Status != protocol.StatusSuccess {
		return a
	}
	to, a := p.audience(m, &r)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	e := &Exchange{
		epoch: p.epoch, from: m.ID, sent: clock.Moment(at.Now), waiting: to, missing: to.count(),
		held: exchangeBytes + wordBytes*len(to) + len(r.Payload),
	}
	if a := p.room(at, m, e, len(r.Payload)); a.Status != protocol.StatusSuccess {
		return a
	}
	p.begin(at, m, e, &r)
	return Answer{Exchange: e.id}
}

// takesPart refuses messages from a member outside the epoch, or for an epoch that is not running.
func (p *Process) takesPart(m *Member, epoch uint64) Answer {
	_, of := p.seat(m.ID)
	switch {
	case epoch != p.epoch || p.state == kind.Forming || !of:
		return p.fenced(epoch)
	case p.state == kind.Preparing:
		return refuse(protocol.StatusPreconditionFailed, "%d of %d members are prepared", p.prepared, len(p.view))
	case p.state == kind.Complete:
		a := refuse(protocol.StatusFenced, "the round in epoch %d is complete", epoch)
		a.Epoch = p.epoch
		return a
	}
	return Answer{}
}

func (p *Process) fenced(epoch uint64) Answer {
	a := refuse(protocol.StatusFenced, "epoch %d is over, or the member does not belong to the epoch; the last "+
		"epoch is %d", epoch, p.epoch)
	a.Epoch = p.epoch
	return a
}

// audience returns the positions of the members that get a request.
func (p *Process) audience(m *Member, r *Request) (set, Answer) {
	to := newSet(len(p.view))
	for _, id := range r.To {
		seat, of := p.seat(id)
		if !of {
			return nil, refuse(protocol.StatusNotFound, "epoch %d has no member %d", p.epoch, id)
		}
		to.add(seat)
	}
	if r.Audience != kind.ToMembers {
		for seat := range p.view {
			to.add(seat)
		}
	}
	if r.Audience == kind.ToOthers {
		seat, _ := p.seat(m.ID)
		to.remove(seat)
	}
	return to, Answer{}
}

// room refuses an exchange that exceeds the process's capacity. The refusal affects the sender alone.
func (p *Process) room(at At, m *Member, e *Exchange, payload int) Answer {
	switch {
	case m.open >= maxOpen:
		return refuse(protocol.StatusOverloaded, "member %s has %d open or unacknowledged exchanges",
			m.Name, m.open)
	case len(p.exchanges) >= maxExchanges || p.held+e.held > maxHeld:
		return refuse(protocol.StatusOverloaded, "the process has %d exchanges with %d bytes", len(p.exchanges), p.held)
	case p.requests+e.missing > maxRequests:
		return refuse(protocol.StatusOverloaded, "%d requests wait in the process inboxes", p.requests)
	}
	for seat := range e.waiting.all() {
		to := p.members[seat]
		if to.unread >= maxUnread || to.unreadBytes+payload > maxUnreadBytes {
			return refuse(protocol.StatusOverloaded, "the inbox of %s (%d) is full: %d requests with %d bytes", to.Name,
				to.ID, to.unread, to.unreadBytes)
		}
	}
	if !at.Caller.MayGrow(e.held + (e.missing+1)*itemBytes) {
		return noRoomFor("the request")
	}
	return Answer{}
}

// begin records an exchange, and puts the request into inboxes. While a round runs, its members come first in the
// member list: no member has left, and later members follow. So a view position is also an index into the member list.
func (p *Process) begin(at At, m *Member, e *Exchange, r *Request) {
	p.lastExchange++
	e.id = p.lastExchange
	e.payload = slices.Clone(r.Payload)
	if r.Timeout > 0 {
		e.deadline = e.sent + r.Timeout
		p.dueBy(e.deadline)
	}
	p.exchanges = append(p.exchanges, e)
	p.hold(at, e.held)
	m.open++
	at.Out.Changed = true
	for seat := range e.waiting.all() {
		p.put(at, p.members[seat], item{kind: kind.ItemRequest, epoch: e.epoch, exchange: e})
	}
	if by, ok := p.replyBy(e); ok {
		p.dueBy(by)
	}
	if e.missing == 0 {
		p.endExchange(at, e, kind.OutcomeAll)
	}
}

// answering is a reply to an exchange.
type answering struct {
	Epoch, Exchange uint64
	Failed          bool
	Data            []byte
}

// Reply answers a request. Replies may come in any order. A reply beyond the process's capacity counts as a failure
// with that cause.
func (p *Process) Reply(at At, m *Member, r answering) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	if len(r.Data) > p.spec.MaxPayload || r.Failed && (len(r.Data) > kind.MaxFailure || !utf8.Valid(r.Data)) {
		return refuse(protocol.StatusBadRequest, "a reply has at most %d bytes, a failure text at most %d",
			p.spec.MaxPayload, kind.MaxFailure)
	}
	seat, of := p.seat(m.ID)
	if r.Epoch != p.epoch || !of || p.isCompleted() {
		return p.fenced(r.Epoch)
	}
	e := p.exchange(r.Exchange)
	switch {
	case e == nil && (r.Exchange == 0 || r.Exchange > p.lastExchange):
		return refuse(protocol.StatusNotFound, "there was no exchange %d", r.Exchange)
	case e == nil || e.outcome != kind.OutcomeOpen:
		return refuse(protocol.StatusFenced, "the exchange %d has ended", r.Exchange)
	case !e.waiting.has(seat) && e.repliedBy(m.ID):
		return refuse(protocol.StatusFenced, "the member has replied already")
	case !e.waiting.has(seat):
		return refuse(protocol.StatusNotFound, "exchange %d has no request for this member", r.Exchange)
	}
	return p.record(at, e, seat, Reply{From: m.ID, Failed: r.Failed, Data: slices.Clone(r.Data)})
}

// noRoom replaces a member's reply if the process has no capacity for it.
var noRoom = []byte("the process has no room for the reply")

func (p *Process) record(at At, e *Exchange, seat int, r Reply) (a Answer) {
	if p.held+r.size() > maxHeld {
		r.Failed, r.Data = true, noRoom
		a = refuse(protocol.StatusPreconditionFailed, "%s: the sender gets a failure instead", noRoom)
	}
	e.waiting.remove(seat)
	e.missing--
	if e.replies == nil {
		e.replies = make([]Reply, 0, 1+e.missing)
	}
	e.replies = append(e.replies, r)
	e.held += r.size()
	p.hold(at, r.size())
	at.Out.Changed = true
	if e.missing == 0 {
		p.endExchange(at, e, kind.OutcomeAll)
	}
	return a
}

func (e *Exchange) repliedBy(id uint64) bool {
	return slices.ContainsFunc(e.replies, func(r Reply) bool { return r.From == id })
}

// exchange returns the exchange with an ID, nil if unknown.
func (p *Process) exchange(id uint64) *Exchange {
	if k, ok := p.exchangePlace(id); ok {
		return p.exchanges[k]
	}
	return nil
}

func (p *Process) exchangePlace(id uint64) (int, bool) {
	return slices.BinarySearchFunc(p.exchanges, id, func(e *Exchange, id uint64) int { return cmp.Compare(e.id, id) })
}

// endExchange ends an exchange: the sender, if still a member, gets the replies.
func (p *Process) endExchange(at At, e *Exchange, o kind.Outcome) {
	before := e.held
	e.outcome = o
	for seat := range e.waiting.all() {
		if len(e.missed) == maxMissed {
			break
		}
		e.missed = append(e.missed, p.view[seat])
	}
	e.held += wordBytes * (len(e.missed) - len(e.waiting))
	e.waiting = nil
	p.hold(at, e.held-before)
	at.Out.Changed = true
	if m := p.Member(e.from); m != nil {
		p.put(at, m, item{kind: kind.ItemEnd, epoch: e.epoch, exchange: e, parts: uint16(e.parts())})
	}
	p.forget(at, e)
}

// endExchanges ends all open exchanges, because their epoch is over or the round is complete.
func (p *Process) endExchanges(at At) {
	for _, e := range slices.Clone(p.exchanges) {
		if e.outcome == kind.OutcomeOpen {
			p.endExchange(at, e, kind.OutcomeCancelled)
		}
	}
}

// forget deletes an exchange that has ended, if no item refers to it.
func (p *Process) forget(at At, e *Exchange) {
	if e.outcome == kind.OutcomeOpen || e.refs > 0 {
		return
	}
	if k, ok := p.exchangePlace(e.id); ok {
		p.exchanges = slices.Delete(p.exchanges, k, k+1)
		p.hold(at, -e.held)
	}
}

// hold adds to the total exchange size, in bytes.
func (p *Process) hold(at At, n int) {
	p.held += n
	p.grow(at, n)
}

// parts is the number of parts the replies are split into, at least 1.
func (e *Exchange) parts() int {
	n := 1
	e.cut(func(int) bool { n++; return true })
	return n
}

func (e *Exchange) part(number int) []Reply {
	from, to := 0, len(e.replies)
	n := 0
	e.cut(func(k int) bool {
		n++
		if n == number {
			from = k
		}
		if n > number {
			to = k
		}
		return n <= number
	})
	return e.replies[from:to]
}

// cut calls a function with the index of each part's first reply, except for the first part.
func (e *Exchange) cut(next func(place int) bool) {
	bytes := 0
	for k := range e.replies {
		n := e.replies[k].size()
		if bytes > 0 && bytes+n > partBytes {
			if !next(k) {
				return
			}
			bytes = 0
		}
		bytes += n
	}
}
