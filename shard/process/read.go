package process

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Description is one page that describes a process part: a view, or "actions".
type Description struct {
	shard.PartPage
	Reasons []Reason // why the round is stalled
}

// Describe fills d with a process part.
func Describe(m *machine.Machine, n shard.NodeID, name string, o shard.PartOptions, d *Description) shard.Found {
	*d = Description{}
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindProcess, n, []byte(name))
	if object == 0 {
		return shard.FoundNothing
	}
	pr := processesOf(co)
	p := pr.At(co.Objects.At(object).State)
	d.Now, d.Revision = max(o.Now, co.Clock.Now), co.Objects.At(object).Revision
	if o.Why {
		d.Reasons = p.Why()
	}
	if v, ok := pr.View(co, object, o.Part); ok {
		if v.Number == showsProcess {
			v.Number = showsInboxes
		}
		co.DescribePart(&d.PartPage, object, v, &o)
		return shard.FoundPart
	}
	if o.Part != machine.ActionsPart {
		return shard.FoundObject
	}
	acts := p.Audit()
	machine.FillPart(&d.PartPage, &o, len(acts), func(k int) (uint64, field.Value) {
		r := acts[k].Record()
		return acts[k].Number, &r
	})
	return shard.FoundPart
}

// WillGather reports whether a member command, applied now after a number of similar commands, would only gather with
// such commands from other members. The result is a forecast: WillGather does not check the command.
func WillGather(m *machine.Machine, c *shard.Command, others int) bool {
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindProcess, c.Node, c.Name)
	if object == 0 {
		return false
	}
	p := processesOf(co).At(co.Objects.At(object).State)
	switch c.Kind {
	case shard.CmdProcessJoin:
		return p.joinGathers(others)
	case shard.CmdProcessPrepared:
		return p.preparedGathers(others)
	case shard.CmdProcessLeave:
		return p.leaveGathers(others)
	}
	return false
}

// List appends a page of the node's processes to dst, ordered by name: names with the prefix that sort behind after.
// List appends at most limit processes and visits at most MaxPage objects. If more is true, last is the after argument
// for the next call.
func List(m *machine.Machine, n shard.NodeID, prefix, after string, limit int, dst []processkind.SummaryRow) (
	_ []processkind.SummaryRow, last string, more bool) {
	last, more = m.WalkNames(shard.KindProcess, n, prefix, after, limit, func(co *machine.Core, o *machine.Object) {
		s := processesOf(co).At(o.State).Summary()
		s.Name, s.Revision = co.Objects.Name(o), uint64(o.Revision)
		dst = append(dst, s)
	})
	return dst, last, more
}

// InboxPosition is how far a member's inbox has advanced.
type InboxPosition struct {
	Acked   uint64 // everything up to here is acknowledged
	LastSeq uint64 // the last seq in use
}

// Inboxes gives access to the inboxes of all process members in a machine.
type Inboxes struct{ Machine *machine.Machine }

// Inbox appends a member's inbox messages behind the seq after, the last message sent so far. The sent but
// unacknowledged messages and the appended messages together have about most bytes; if all sent messages are
// acknowledged, Inbox appends at least one. The messages share their bytes with the machine, so callers must not modify
// them. If the session has no such member, the answer is a refusal with the reason.
func (in Inboxes) Inbox(n shard.NodeID, name []byte, s shard.SessionID, member shard.OrderID, after uint64, most int,
	dst []Delivery) (_ []Delivery, at InboxPosition, a Answer) {
	co := in.Machine.RLock()
	defer in.Machine.RUnlock()
	object := co.Objects.Alive(shard.KindProcess, n, name)
	switch {
	case object == 0 && !co.Owns(n, name):
		return dst, at, Answer{Status: protocol.StatusUnavailable, Text: "the process moves to another shard"}
	case object == 0:
		return dst, at, Answer{Status: protocol.StatusNotFound, Text: noProcess}
	}
	pr, o := processesOf(co), co.Objects.At(object)
	p := pr.At(o.State)
	link := arena.Handle(0)
	if session := co.Sessions.Alive(s); session != 0 {
		link = co.Holdings.Find(o, object, session)
	}
	if link == 0 || co.Holdings.At(link).Order != member {
		return dst, at, p.Gone(uint64(member))
	}
	to := &pr.members.At(co.Holdings.At(link).State).Member
	at = InboxPosition{Acked: to.Acked(), LastSeq: to.LastSeq()}
	if ahead := p.Ahead(to, after); ahead == 0 || ahead < most {
		dst = p.Inbox(to, after, most-ahead, dst)
	}
	return dst, at, a
}
