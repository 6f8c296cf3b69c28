package process

import (
	"fmt"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Reason is a reason why a round is stalled.
type Reason struct {
	Code    string // a kind.Reason
	Blocked bool
	Epoch   uint64
	// Exchange is the exchange that waits for replies. From is the request's sender, or the coordinator.
	Exchange uint64
	From     Named
	// Waiting is how many of Of members the reason waits for; Members are the first of them.
	Waiting, Of int
	Members     []Named
	Since       uint64 // timestamp from which the reason holds
	Until       uint64 // shard time at which time alone ends the reason, 0 for never
	Late        bool   // the reply timeout has passed
	Text        string // why the last epoch ended, if known
}

// Named is a member in a reason.
type Named struct {
	ID     uint64
	Name   string
	Unread int // the member's unacknowledged items
}

// String formats the member for people.
func (n Named) String() string {
	s := fmt.Sprintf("%s (%d", n.Name, n.ID)
	if n.Name == "" {
		s = fmt.Sprintf("member %d (gone", n.ID)
	}
	if n.Unread > 0 {
		s += fmt.Sprintf(", %d not acknowledged", n.Unread)
	}
	return s + ")"
}

// Describe formats the reason for people, at a time.
func (re *Reason) Describe(now uint64) string {
	s := re.What()
	if re.Code != kind.ReasonOpening {
		s += ", for " + codec.Time(now-min(now, re.Since))
	} else {
		s += " in " + codec.Time(re.Until-min(now, re.Until))
	}
	if re.Late {
		s += ", longer than the reply timeout"
	}
	if re.Text != "" {
		s += "; " + re.Text
	}
	return s
}

// What formats the reason for people, without the time since when.
func (re *Reason) What() string {
	switch re.Code {
	case kind.ReasonNoMembers:
		return "no session has joined"
	case kind.ReasonFewMembers:
		return fmt.Sprintf("%d members have joined, but %d are required", re.Waiting, re.Of)
	case kind.ReasonNoCandidate:
		return fmt.Sprintf("no candidate for coordinating among %d members", re.Of)
	case kind.ReasonOpening:
		return "the next epoch opens"
	case kind.ReasonPrepare:
		return fmt.Sprintf("epoch %d waits for %d of %d members to be prepared: %s", re.Epoch, re.Waiting, re.Of,
			re.names())
	case kind.ReasonReply:
		return fmt.Sprintf("%v waits for %d of %d replies: %s", re.From, re.Waiting, re.Of, re.names())
	case kind.ReasonCoordinator:
		return fmt.Sprintf("%v coordinates epoch %d, and waits for no reply", re.From, re.Epoch)
	case kind.ReasonComplete:
		return fmt.Sprintf("epoch %d is complete with %d members; %d have not handled the completion: %s", re.Epoch,
			re.Of, re.Waiting, re.names())
	}
	return re.Code
}

func (re *Reason) names() string { return codec.Named(re.Members, re.Waiting) }

func (p *Process) named(id uint64) Named {
	m := p.Member(id)
	if m == nil {
		return Named{ID: id}
	}
	return Named{ID: id, Name: m.Name, Unread: len(m.items)}
}

// Why returns the reasons why the round is stalled: what the next epoch lacks, and the members the round waits for. Why
// only reads, and looks at every member.
func (p *Process) Why() []Reason {
	var list []Reason
	switch {
	case p.opens != 0:
		re := Reason{Code: kind.ReasonOpening, Epoch: p.epoch, Since: p.changed, Until: p.opens, Text: p.lastAct()}
		list = append(list, re)
	case len(p.view) == 0:
		re := Reason{Code: p.lacks(), Blocked: true, Epoch: p.epoch, Since: p.since, Text: p.lastAct()}
		re.Waiting = len(p.members)
		if re.Of = len(p.members); re.Code == kind.ReasonFewMembers {
			re.Of = p.spec.MinMembers
		}
		list = append(list, re)
	}
	switch p.state {
	case kind.Preparing:
		re := Reason{Code: kind.ReasonPrepare, Since: p.opened, Late: p.late}
		list = append(list, p.nameThose(re, p.isUnprepared))
	case kind.Running:
		list = p.whyRunning(list)
	case kind.Complete:
		re := Reason{Code: kind.ReasonComplete, Since: p.since}
		re = p.nameThose(re, func(m *Member, _ int) bool { return m.Completed != p.epoch })
		if re.Waiting > 0 {
			list = append(list, re)
		}
	}
	return list
}

// whyRunning appends the exchanges that wait for replies, and the coordinator if none of its exchanges waits.
func (p *Process) whyRunning(list []Reason) []Reason {
	asks := false
	for _, e := range p.exchanges {
		if e.outcome != kind.OutcomeOpen {
			continue
		}
		asks = asks || e.from == p.coordinator
		if len(list) > MaxReasons {
			continue
		}
		re := Reason{Code: kind.ReasonReply, Exchange: e.id, Since: e.sent, Until: e.deadline, Late: e.late}
		re.From = p.named(e.from)
		re = p.nameThose(re, e.waitsFor)
		re.Of = e.missing + len(e.replies)
		list = append(list, re)
	}
	if asks {
		return list
	}
	return append(list, Reason{
		Code: kind.ReasonCoordinator, Epoch: p.epoch, From: p.named(p.coordinator), Of: len(p.view), Since: p.since,
	})
}

// nameThose counts the epoch's members a reason waits for, and names the first ones.
func (p *Process) nameThose(re Reason, waited func(*Member, int) bool) Reason {
	re.Epoch, re.Of = p.epoch, len(p.view)
	for seat, id := range p.view {
		m := p.Member(id)
		if m == nil || !waited(m, seat) {
			continue
		}
		if re.Waiting++; len(re.Members) < kind.MaxNamed {
			re.Members = append(re.Members, p.named(id))
		}
	}
	return re
}

// lastAct returns the action that ended the last epoch, if an action did.
func (p *Process) lastAct() string {
	if len(p.audit) == 0 {
		return ""
	}
	a := &p.audit[len(p.audit)-1]
	if a.Epoch != p.epoch || a.Verb == kind.ActionCreated || a.Verb == kind.ActionAltered {
		return ""
	}
	s := a.Verb.String()
	if a.Verb == kind.ActionFailed {
		s = "fail"
	}
	if a.Name != "" {
		s += " of " + a.Name
	}
	s += " by " + a.By.Author
	if a.By.Reason != "" {
		s += ": " + a.By.Reason
	}
	return s
}
