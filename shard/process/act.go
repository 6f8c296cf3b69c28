package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Audit is an act that was carried out.
type Audit struct {
	Number uint64 // of the act in this process, from 1 on
	Verb   kind.Verb
	At     uint64 // moment
	Wall   uint64 // At by the wall clock
	Epoch  uint64 // the last epoch opened before the act
	Member uint64 // of VerbKick and VerbFailed: the ID of the member
	Name   string // of VerbKick: the member's name, for people; the author of VerbFailed is the member that gave up
	By     kind.By
}

func (a *Audit) size() int { return actBytes + len(a.Name) + len(a.By.Author) + len(a.By.Reason) }

// remember records an act.
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

func checkAct(spec *kind.Spec, by *kind.By) Answer {
	if spec != nil {
		if wrong := spec.Check(); wrong != "" {
			return refuse(protocol.StatusBadRequest, "%s", wrong)
		}
	}
	if !form.FitText(kind.MaxText, by.Author, by.Reason) {
		return refuse(protocol.StatusBadRequest, "author or reason is too long, or no text")
	}
	return Answer{}
}

// Alter gives the process a new spec. The round goes on, and later deadlines of the round follow the new spec.
func (p *Process) Alter(at At, spec kind.Spec, by kind.By) Answer {
	if a := checkAct(&spec, &by); a.Status != protocol.StatusSuccess {
		return a
	}
	p.spec, p.revisions.spec = spec, at.Revision
	p.cutResults(at)
	p.remember(at, Audit{Verb: kind.VerbAltered, By: by})
	if len(p.view) == 0 {
		p.change(at)
	}
	if p.opens != 0 {
		p.opens = min(p.opens, clock.Moment(at.Now)+field.MillisOf(spec.MaxOpenDelay))
	}
	p.due = p.nextDue()
	return Answer{}
}

// Act carries an operator's command out, and records author and reason.
func (p *Process) Act(at At, act kind.Act) Answer {
	if a := checkAct(nil, &act.By); a.Status != protocol.StatusSuccess {
		return a
	}
	switch m := p.Member(act.MemberID); {
	case act.Verb == kind.VerbKick && m == nil:
		return refuse(protocol.StatusNotFound, "there is no member %d", act.MemberID)
	case act.Verb == kind.VerbKick:
		p.kick(at, m, act.By)
	case act.Verb == kind.VerbRestart && act.MemberID == 0:
		p.remember(at, Audit{Verb: kind.VerbRestart, By: act.By})
		p.endRound(at)
		p.change(at)
	default:
		return refuse(protocol.StatusBadRequest, "that is no act")
	}
	return Answer{}
}

func (p *Process) kick(at At, m *Member, by kind.By) {
	p.remember(at, Audit{Verb: kind.VerbKick, Member: m.ID, Name: m.Name, By: by})
	p.remove(at, m)
	at.Out.Removed = append(at.Out.Removed, Removal{m, by})
	at.event(Event{Kind: EventKicked, Epoch: p.epoch, Member: m.ID, Text: by.Reason})
}
