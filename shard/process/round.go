package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Result is a round's result, from its coordinator.
type Result struct {
	Epoch   uint64
	At      uint64 // timestamp
	Wall    uint64 // At as wall clock time
	Payload []byte
}

func (r *Result) size() int { return resultBytes + len(r.Payload) }

// Prepared confirms that a member is prepared for the epoch, and has handled all earlier inbox items. After the last
// member the coordinator is asked to coordinate. Prepared is idempotent.
func (p *Process) Prepared(at At, m *Member, epoch uint64) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	if _, of := p.seat(m.ID); epoch != p.epoch || p.state == kind.Forming || !of {
		return p.fenced(epoch)
	}
	if m.Prepared == epoch {
		return Answer{}
	}
	at.Caller.touch(m)
	m.Prepared = epoch
	p.changeMember(at, m)
	p.ackTo(at, m, m.find(kind.ItemPrepare, epoch))
	if p.prepared++; p.prepared < len(p.view) {
		return Answer{}
	}
	p.setState(at, kind.Running)
	p.put(at, p.Member(p.coordinator), item{kind: kind.ItemCoordinate, epoch: epoch})
	at.event(Event{Kind: eventRunning, Epoch: epoch})
	return Answer{}
}

// Complete ends the epoch's round successfully, and keeps its result. Open exchanges end as cancelled before.
func (p *Process) Complete(at At, m *Member, epoch uint64, result []byte) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	if len(result) > p.spec.MaxPayload {
		return refuse(protocol.StatusBadRequest, "a result has at most %d bytes", p.spec.MaxPayload)
	}
	if epoch == p.epoch && p.state == kind.Complete && m.ID == p.coordinator {
		return Answer{}
	}
	if a := p.takesPart(m, epoch); a.Status != protocol.StatusSuccess {
		return a
	}
	if m.ID != p.coordinator {
		return refuse(protocol.StatusPreconditionFailed, "%s (%d) coordinates epoch %d", p.Member(p.coordinator).Name,
			p.coordinator, epoch)
	}
	r := &Result{Epoch: epoch, At: clock.Moment(at.Now), Wall: at.Wall, Payload: slices.Clone(result)}
	if !at.Caller.MayGrow(r.size() + len(p.view)*itemBytes) {
		return noRoomFor("the result")
	}
	p.endExchanges(at)
	p.keepResult(at, r)
	p.setState(at, kind.Complete)
	for _, m := range p.members[:len(p.view)] {
		p.put(at, m, item{kind: kind.ItemComplete, epoch: epoch})
	}
	at.event(Event{Kind: eventComplete, Epoch: epoch})
	return Answer{}
}

func (p *Process) keepResult(at At, r *Result) {
	p.results = append(p.results, r)
	p.changeResult(at, r)
	p.grow(at, r.size())
	p.cutResults(at)
}

// cutResults drops the oldest results. The last result stays, because inboxes may refer to it.
func (p *Process) cutResults(at At) {
	n := max(0, len(p.results)-p.spec.KeepResults)
	for _, r := range p.results[:n] {
		p.changeResult(at, r)
		p.grow(at, -r.size())
	}
	p.results = slices.Delete(p.results, 0, n)
}

// lastResult is the last completed epoch.
func (p *Process) lastResult() uint64 {
	if n := len(p.results); n > 0 {
		return p.results[n-1].Epoch
	}
	return 0
}

// Completed confirms that a member has handled an epoch's completion, and all earlier inbox items. The next epoch may
// have opened meanwhile. Completed is idempotent.
func (p *Process) Completed(at At, m *Member, epoch uint64) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	seq := m.find(kind.ItemComplete, epoch)
	switch {
	case epoch != 0 && m.Completed >= epoch:
		return Answer{}
	case seq == 0 && (epoch != p.lastResult() || m.ID > epoch || m.Prepared < epoch):
		return p.fenced(epoch)
	}
	at.Caller.touch(m)
	m.Completed = epoch
	p.changeMember(at, m)
	p.ackTo(at, m, seq)
	if _, of := p.seat(m.ID); of && epoch == p.epoch {
		p.completed++
	}
	return Answer{}
}

// Fail fails the round: the coordinator cannot go on, or a member cannot prepare. The next epoch opens after the
// maximum delay, so a round that fails repeatedly costs little.
func (p *Process) Fail(at At, m *Member, epoch uint64, text string) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	if !codec.FitText(kind.MaxFailure, text) {
		return refuse(protocol.StatusBadRequest, "a failure has a text of at most %d bytes", kind.MaxFailure)
	}
	a := p.takesPart(m, epoch)
	switch {
	case p.state == kind.Preparing && a.Status == protocol.StatusPreconditionFailed && m.Prepared != epoch:
	case a.Status != protocol.StatusSuccess:
		return a
	case m.ID != p.coordinator:
		return refuse(protocol.StatusPreconditionFailed, "%s (%d) coordinates epoch %d", p.Member(p.coordinator).Name,
			p.coordinator, epoch)
	}
	text = codec.Cut(text, kind.MaxText)
	p.remember(at, Audit{Verb: kind.ActionFailed, Epoch: epoch, Member: m.ID,
		By: kind.ChangeInfo{Author: m.Name, Reason: text}})
	at.event(Event{Kind: eventFailed, Epoch: epoch, Member: m.ID, Text: text})
	p.endRound(at)
	p.openIn(at, field.MillisOf(p.spec.MaxOpenDelay))
	return Answer{}
}
