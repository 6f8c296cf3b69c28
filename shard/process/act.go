package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Verb is what was done to a process.
type Verb uint8

// The verbs. All but the last are of operators.
const (
	VerbCreate Verb = 1 + iota
	VerbAlter
	VerbKick
	VerbRestart
	VerbFail // a member gave the round up
	verbs
)

var verbNames = [verbs]string{
	VerbCreate: "create", VerbAlter: "alter", VerbKick: "kick", VerbRestart: "restart", VerbFail: "fail",
}

// String returns the verb as people write it.
func (v Verb) String() string { return verbNames[v] }

// Audit is an act that was carried out.
type Audit struct {
	Number         uint64 // of the act in this process, from 1 on
	Verb           Verb
	At             uint64 // moment
	Wall           uint64 // the same by the wall clock
	Epoch          uint64 // the last that had opened
	Member         uint64 // of VerbKick and VerbFail: its ID
	Name           string // of VerbKick: the member's, for people; who gave up is the author
	Author, Reason string
}

func (a *Audit) size() int { return actBytes + len(a.Name) + len(a.Author) + len(a.Reason) }

// remember writes an act down.
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

func checkAct(spec *Spec, author, reason string) Answer {
	if spec != nil {
		if wrong := spec.Check(); wrong != "" {
			return refuse(protocol.StatusBadRequest, "%s", wrong)
		}
	}
	if !form.FitText(MaxText, author, reason) {
		return refuse(protocol.StatusBadRequest, "author or reason is too long, or no text")
	}
	return Answer{}
}

// Alter gives the process another spec. The round goes on; what is due in it is due by the new one.
func (p *Process) Alter(at At, spec Spec, author, reason string) Answer {
	if a := checkAct(&spec, author, reason); a.Status != protocol.StatusSuccess {
		return a
	}
	p.spec, p.revisions.spec = spec, at.Revision
	p.cutResults(at)
	p.remember(at, Audit{Verb: VerbAlter, Author: author, Reason: reason})
	if len(p.view) == 0 {
		p.change(at)
	}
	if p.opens != 0 {
		p.opens = min(p.opens, clock.Moment(at.Now)+spec.MaxOpenDelay)
	}
	p.due = p.nextDue()
	return Answer{}
}

// Act is what an operator does to a process besides giving it another spec.
type Act struct {
	// Verb is VerbRestart: the round ends, and another epoch opens; or VerbKick: a member is put out, whose session may
	// join again.
	Verb           Verb
	Member         uint64 // of VerbKick: its ID
	Author, Reason string
}

// Act carries an operator's command out, and writes down who did it and why.
func (p *Process) Act(at At, act Act) Answer {
	if a := checkAct(nil, act.Author, act.Reason); a.Status != protocol.StatusSuccess {
		return a
	}
	switch m := p.Member(act.Member); {
	case act.Verb == VerbKick && m == nil:
		return refuse(protocol.StatusNotFound, "there is no member %d", act.Member)
	case act.Verb == VerbKick:
		p.kick(at, m, act.Author, act.Reason)
	case act.Verb == VerbRestart && act.Member == 0:
		p.remember(at, Audit{Verb: VerbRestart, Author: act.Author, Reason: act.Reason})
		p.endRound(at)
		p.change(at)
	default:
		return refuse(protocol.StatusBadRequest, "that is no act")
	}
	return Answer{}
}

func (p *Process) kick(at At, m *Member, author, reason string) {
	p.remember(at, Audit{Verb: VerbKick, Member: m.ID, Name: m.Name, Author: author, Reason: reason})
	p.remove(at, m)
	at.Out.Removed = append(at.Out.Removed, Removal{m, author, reason})
	at.event(Event{Kind: EventKicked, Epoch: p.epoch, Member: m.ID, Text: reason})
}
