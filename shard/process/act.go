package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Audit is an audit entry for an action that was carried out.
type Audit struct {
	Number uint64 // action number in this process, from 1 on
	Verb   kind.ActionKind
	At     uint64 // timestamp
	Wall   uint64 // At as wall clock time
	Epoch  uint64 // the last epoch opened before the act
	Member uint64 // ActionEvict and ActionFailed: the member's ID
	Name   string // ActionEvict: the member's name; for ActionFailed the author is the member
	By     kind.ChangeInfo
}

func (a *Audit) size() int { return actBytes + len(a.Name) + len(a.By.Author) + len(a.By.Reason) }

// remember records an audit entry.
func (p *Process) remember(at At, a Audit) {
	a.At, a.Wall, a.Epoch = clock.Moment(at.Now), at.Wall, p.epoch
	a.Number = p.lastActNumber() + 1
	if len(p.audit) >= MaxAudit {
		p.grow(at, -p.audit[0].size())
		p.audit = slices.Delete(p.audit, 0, 1)
	}
	p.audit = append(p.audit, a)
	p.grow(at, a.size())
	p.changeHead(at)
}

func (p *Process) lastActNumber() uint64 {
	if n := len(p.audit); n > 0 {
		return p.audit[n-1].Number
	}
	return 0
}

func checkAct(spec *kind.Spec, by *kind.ChangeInfo) Answer {
	if spec != nil {
		if wrong := spec.Check(); wrong != "" {
			return refuse(protocol.StatusBadRequest, "%s", wrong)
		}
	}
	if !codec.FitText(kind.MaxText, by.Author, by.Reason) {
		return refuse(protocol.StatusBadRequest, "author or reason is too long, or no text")
	}
	return Answer{}
}

// Alter gives the process a new spec. The round goes on, and its later deadlines follow the new spec.
func (p *Process) Alter(at At, spec kind.Spec, by kind.ChangeInfo) Answer {
	if a := checkAct(&spec, &by); a.Status != protocol.StatusSuccess {
		return a
	}
	p.spec, p.revisions.spec = spec, at.Revision
	p.cutResults(at)
	p.remember(at, Audit{Verb: kind.ActionAltered, By: by})
	if len(p.view) == 0 {
		p.change(at)
	}
	if p.opens != 0 {
		p.opens = min(p.opens, clock.Moment(at.Now)+field.MillisOf(spec.MaxOpenDelay))
	}
	p.due = p.nextDue()
	return Answer{}
}

// Act carries out an operator's command, and records author and reason.
func (p *Process) Act(at At, act kind.Action) Answer {
	if a := checkAct(nil, &act.By); a.Status != protocol.StatusSuccess {
		return a
	}
	switch m := p.Member(act.MemberID); {
	case act.Kind == kind.ActionEvict && m == nil:
		return refuse(protocol.StatusNotFound, "there is no member %d", act.MemberID)
	case act.Kind == kind.ActionEvict:
		p.kick(at, m, act.By)
	case act.Kind == kind.ActionRestart && act.MemberID == 0:
		p.remember(at, Audit{Verb: kind.ActionRestart, By: act.By})
		p.endRound(at)
		p.change(at)
	default:
		return refuse(protocol.StatusBadRequest, "that is no act")
	}
	return Answer{}
}

func (p *Process) kick(at At, m *Member, by kind.ChangeInfo) {
	p.remember(at, Audit{Verb: kind.ActionEvict, Member: m.ID, Name: m.Name, By: by})
	p.remove(at, m)
	at.Out.Removed = append(at.Out.Removed, removal{m, by})
	at.event(Event{Kind: eventKicked, Epoch: p.epoch, Member: m.ID, Text: by.Reason})
}
