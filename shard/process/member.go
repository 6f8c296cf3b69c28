package process

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Member is a joined session. The caller owns the member, keeps it at a fixed address while it is joined, sets ID and
// Ref, and changes nothing else.
type Member struct {
	ID         uint64 // set by the caller: the order of joining, never reused
	Name       string
	Attributes string
	Candidate  bool   // the member may coordinate
	Joined     uint64 // timestamp
	Prepared   uint64 // the last epoch the member has prepared for
	Completed  uint64 // the last epoch with a completion handled by the member
	// Ref is set by the caller, for finding the session. Ref is not saved.
	Ref uint64

	inbox
}

// Join lets a session take part from the next epoch on. A joined session may change its attributes and its candidacy,
// without opening an epoch.
func (p *Process) Join(at At, m *Member, j kind.Joining) Answer {
	if j.Name == "" || !codec.FitText(kind.MaxText, j.Name) || len(j.Attributes) > kind.MaxAttributes {
		return refuse(protocol.StatusBadRequest, "a member has a name of 1 to %d bytes, and %d of attributes",
			kind.MaxText, kind.MaxAttributes)
	}
	k, joined := p.place(m.ID)
	switch {
	case !joined && len(p.members) >= kind.MaxMembers:
		return refuse(protocol.StatusPreconditionFailed, "%d members have joined already", kind.MaxMembers)
	case !joined:
		joining := Member{
			ID: m.ID, Ref: m.Ref, Name: j.Name, Attributes: string(j.Attributes), Candidate: j.Candidate,
			Joined: clock.Moment(at.Now),
		}
		if !at.Caller.MayGrow(joining.Size()) {
			return noRoomFor("another member")
		}
		*m = joining
		p.members = slices.Insert(p.members, k, m)
		p.changeMember(at, m)
		p.change(at)
	case m.Name != j.Name:
		return refuse(protocol.StatusPreconditionFailed, "the session has joined as %s: leave first", m.Name)
	case len(j.Attributes) > len(m.Attributes) && !at.Caller.MayGrow(len(j.Attributes)-len(m.Attributes)):
		return noRoomFor("more attributes")
	case m.Attributes != string(j.Attributes) || m.Candidate != j.Candidate:
		at.Caller.touch(m)
		at.Out.Grown += len(j.Attributes) - len(m.Attributes)
		m.Attributes = string(j.Attributes)
		p.changeMember(at, m)
		if j.Candidate && !m.Candidate && len(p.view) == 0 {
			p.change(at) // an epoch that only lacked a candidate may open now
		}
		m.Candidate = j.Candidate
	}
	return Answer{}
}

// Leave removes a member: the member left, or its session ended. The caller forgets the member.
func (p *Process) Leave(at At, m *Member) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	p.remove(at, m)
	return Answer{}
}

// Gone is the answer to commands from a session that is no longer a member, or never was.
func (p *Process) Gone(id uint64) Answer {
	for k := len(p.audit) - 1; k >= 0; k-- {
		if a := &p.audit[k]; a.Verb == kind.ActionEvict && a.Member == id {
			r := removal{By: a.By}
			return Answer{Status: protocol.StatusNotFound, Text: r.Text()}
		}
	}
	return refuse(protocol.StatusNotFound, "the session is no member %d: join again", id)
}

func (p *Process) joined(m *Member) Answer {
	if p.Member(m.ID) != m {
		return p.Gone(m.ID)
	}
	return Answer{}
}

// remove removes a member. If the member was in the epoch, the epoch has lost its view: its messages are no longer
// accepted.
func (p *Process) remove(at At, m *Member) {
	at.Caller.touch(m)
	k, _ := p.place(m.ID)
	p.members = slices.Delete(p.members, k, k+1)
	p.releaseItems(at, m, len(m.items))
	m.items, m.shared = nil, false
	if m.listed {
		m.listed = false
		at.Out.Inbox = slices.DeleteFunc(at.Out.Inbox, func(x *Member) bool { return x == m })
	}
	p.changeMember(at, m)
	if _, of := p.seat(m.ID); of {
		if m.Prepared == p.epoch {
			p.prepared--
		}
		if m.Completed == p.epoch {
			p.completed--
		}
		if p.state != kind.Complete {
			p.endRound(at)
		}
	}
	p.change(at)
}

// Acked is the seq up to which the member has acknowledged its inbox. Pushes over a new connection begin behind that
// seq.
func (m *Member) Acked() uint64 { return m.acked }

// LastSeq is the last seq used in the inbox.
func (m *Member) LastSeq() uint64 { return m.lastSeq }

// Unread is how many items the member has not acknowledged.
func (m *Member) Unread() int { return len(m.items) }

// Describe returns a one-line description, for tests and people.
func (m *Member) Describe() string {
	text := fmt.Sprintf("%q attributes %q candidate %v, joined at %d, prepared %d, completed %d, inbox %d to %d:",
		m.Name, m.Attributes, m.Candidate, m.Joined, m.Prepared, m.Completed, m.acked, m.lastSeq)
	for k := range m.items {
		i := &m.items[k]
		text += fmt.Sprintf(" %d %v of %d", i.seq, i.kind, i.epoch)
		if i.exchange != nil {
			text += fmt.Sprintf(" (%d)", i.exchange.id)
		}
	}
	return text
}

// Size is what the member counts in a byte quota.
func (m *Member) Size() int {
	return memberBytes + len(m.Name) + len(m.Attributes) + len(m.items)*itemBytes
}
