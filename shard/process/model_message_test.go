package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
)

func (m *model) ack(id, seq uint64) protocol.Status {
	x := m.member(id)
	switch {
	case x == nil:
		return protocol.StatusNotFound
	case seq > x.lastSeq():
		return protocol.StatusBadRequest
	}
	if m.planted == bugReconnect && seq < x.acked {
		m.state = kind.Forming
		m.change(0)
	}
	x.acked = max(x.acked, seq)
	return protocol.StatusSuccess
}

// of reports whether a member belongs to an epoch, and the epoch is the last.
func (m *model) of(id, epoch uint64) bool {
	if m.planted == bugFence && epoch != 0 {
		epoch = m.epoch
	}
	if m.planted == bugNewcomer && epoch == m.epoch && m.member(id) != nil {
		return true
	}
	return epoch == m.epoch && slices.Contains(m.view, id)
}

// takesPart is the status for a message to other members.
func (m *model) takesPart(id, epoch uint64) protocol.Status {
	switch {
	case !m.of(id, epoch) || m.state == kind.Forming || m.state == kind.Complete:
		return protocol.StatusFenced
	case m.state == kind.Preparing:
		return protocol.StatusPreconditionFailed
	}
	return protocol.StatusSuccess
}

func (m *model) prepared(id, epoch uint64) protocol.Status {
	x := m.member(id)
	if x == nil {
		return protocol.StatusNotFound
	}
	if !m.of(id, epoch) || m.state == kind.Forming {
		return protocol.StatusFenced
	}
	if x.prepared == m.epoch {
		return protocol.StatusSuccess
	}
	x.prepared = m.epoch
	if m.planted != bugAck {
		x.ackItem(kind.ItemPrepare, m.epoch)
	}
	missing := 0
	for _, id := range m.view {
		if y := m.member(id); y == nil || y.prepared != m.epoch {
			missing++
		}
	}
	if missing == 0 || m.planted == bugEarly && missing == 1 && m.state == kind.Preparing {
		m.state = kind.Running
		if c := m.member(m.coordinator); c != nil {
			c.put(modelItem{kind: kind.ItemCoordinate, epoch: m.epoch})
		}
	}
	return protocol.StatusSuccess
}

func (m *model) send(id uint64, r Request) protocol.Status {
	x := m.member(id)
	if x == nil {
		return protocol.StatusNotFound
	}
	if status := m.takesPart(id, r.Epoch); status != protocol.StatusSuccess {
		return status
	}
	e := &modelExchange{epoch: m.epoch, from: id, payload: string(r.Payload), sent: m.moment()}
	for _, to := range m.view {
		if r.Audience == kind.ToAll || r.Audience == kind.ToOthers && to != id || slices.Contains(r.To, to) {
			e.to = append(e.to, to)
		}
	}
	for _, to := range r.To {
		if !slices.Contains(m.view, to) {
			return protocol.StatusNotFound
		}
	}
	if !m.hasRoom(x, e) {
		return protocol.StatusOverloaded
	}
	if r.Timeout > 0 {
		e.deadline = e.sent + r.Timeout
	}
	m.exchanges = append(m.exchanges, e)
	e.id = uint64(len(m.exchanges))
	for _, to := range e.to {
		m.request(m.member(to), e)
	}
	if len(e.to) == 0 {
		m.end(e, kind.OutcomeAll)
	}
	return protocol.StatusSuccess
}

func (m *model) request(y *modelMember, e *modelExchange) {
	if y == nil {
		return
	}
	y.put(modelItem{kind: kind.ItemRequest, epoch: e.epoch, exchange: e, payload: e.payload})
	if n := len(y.items); m.planted == bugOrder && n > 1 && y.items[n-2].kind == kind.ItemRequest {
		last, before := y.items[n-1], y.items[n-2]
		last.exchange, before.exchange = before.exchange, last.exchange
		last.payload, before.payload = before.payload, last.payload
	}
}

// hasRoom reports whether an exchange fits. Random commands reach only two limits: requests in an inbox, and a member's
// exchanges.
func (m *model) hasRoom(x *modelMember, e *modelExchange) bool {
	open := 0
	for _, other := range m.exchanges {
		if other.from != x.id {
			continue
		}
		unread := slices.ContainsFunc(x.unread(), func(i *modelItem) bool {
			return i.kind == kind.ItemEnd && i.exchange == other
		})
		if other.outcome == kind.OutcomeOpen || unread {
			open++
		}
	}
	if open >= maxOpen {
		return false
	}
	room := true
	for _, to := range e.to {
		requests := 0
		y := m.member(to)
		for _, i := range y.unread() {
			if i.kind == kind.ItemRequest {
				requests++
			}
		}
		room = room && requests < maxUnread
	}
	if !room && m.planted == bugHalf {
		m.request(m.member(e.to[0]), e)
	}
	return room || m.planted == bugFull
}

func (m *model) reply(id uint64, r answering) protocol.Status {
	x := m.member(id)
	if x == nil {
		return protocol.StatusNotFound
	}
	if !m.of(id, r.Epoch) || m.isCompleted() {
		return protocol.StatusFenced
	}
	if r.Exchange == 0 || r.Exchange > uint64(len(m.exchanges)) {
		return protocol.StatusNotFound
	}
	e := m.exchanges[r.Exchange-1]
	waits := slices.Contains(m.waiting(e), id)
	switch {
	case e.outcome != kind.OutcomeOpen && (m.planted != bugStale || !waits):
		return protocol.StatusFenced
	case !waits && slices.Contains(e.to, id) && m.planted != bugTwice:
		return protocol.StatusFenced
	case !waits && !slices.Contains(e.to, id):
		return protocol.StatusNotFound
	}
	e.replies = append(e.replies, pictureReply{id, r.Failed, string(r.Data)})
	if len(m.waiting(e)) == 0 && e.outcome == kind.OutcomeOpen {
		m.end(e, kind.OutcomeAll)
	}
	return protocol.StatusSuccess
}

func (m *model) complete(id, epoch uint64, result string) protocol.Status {
	if m.member(id) == nil {
		return protocol.StatusNotFound
	}
	if m.state == kind.Complete && epoch == m.epoch && id == m.coordinator {
		return protocol.StatusSuccess
	}
	status := m.takesPart(id, epoch)
	early := m.planted == bugCompleteEarly && status == protocol.StatusPreconditionFailed
	if status != protocol.StatusSuccess && !early {
		return status
	}
	if id != m.coordinator && m.planted != bugAnyCompletes {
		return protocol.StatusPreconditionFailed
	}
	m.endAll()
	m.results = append(m.results, modelResult{m.epoch, result})
	m.cutResults()
	if m.planted == bugResults && len(m.results) > 1 {
		m.results = m.results[1:]
	}
	m.state = kind.Complete
	for _, id := range m.view {
		if x := m.member(id); x != nil {
			x.put(modelItem{kind: kind.ItemComplete, epoch: m.epoch, payload: result})
		}
	}
	return protocol.StatusSuccess
}

func (m *model) completed(id, epoch uint64) protocol.Status {
	x := m.member(id)
	switch {
	case x == nil:
		return protocol.StatusNotFound
	case epoch != 0 && epoch <= x.completed:
		return protocol.StatusSuccess
	}
	there := x.ackItem(kind.ItemComplete, epoch)
	last := len(m.results) > 0 && m.results[len(m.results)-1].epoch == epoch
	if !there && (!last || x.id > epoch || x.prepared < epoch) {
		return protocol.StatusFenced
	}
	x.completed = epoch
	return protocol.StatusSuccess
}

func (m *model) fail(id, epoch uint64) protocol.Status {
	x := m.member(id)
	if x == nil {
		return protocol.StatusNotFound
	}
	status := m.takesPart(id, epoch)
	unprepared := m.state == kind.Preparing && status == protocol.StatusPreconditionFailed && x.prepared != m.epoch
	switch {
	case unprepared:
	case status != protocol.StatusSuccess:
		return status
	case id != m.coordinator:
		return protocol.StatusPreconditionFailed
	}
	m.acts++
	m.state = kind.Forming
	m.change(field.MillisOf(m.spec.MaxOpenDelay))
	return protocol.StatusSuccess
}
