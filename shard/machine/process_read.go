package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// ProcessDescription is one page of the description of a part of a process: a view, or "acts".
type ProcessDescription struct {
	shard.PartPage
	Reasons []process.Reason // why the round does not move
}

// DescribeProcess fills d with a part of a process.
func (m *Machine) DescribeProcess(n shard.NodeID, name string, o shard.PartOptions, d *ProcessDescription) shard.Found {
	*d = ProcessDescription{}
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindProcess, n, []byte(name))
	if object == 0 {
		return shard.FoundNothing
	}
	pr := co.processes()
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
	if o.Part != ActsPart {
		return shard.FoundObject
	}
	acts := p.Audit()
	FillPart(&d.PartPage, &o, len(acts), func(k int) (uint64, field.Value) {
		r := acts[k].Record()
		return acts[k].Number, &r
	})
	return shard.FoundPart
}

// WillGather reports whether a command of a member of a process, applied now after a number of others like it, would
// only gather with such commands of other members. The result is a forecast: WillGather does not check the command.
func (m *Machine) WillGather(c *shard.Command, others int) bool {
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindProcess, c.Node, c.Name)
	if object == 0 {
		return false
	}
	p := co.processes().At(co.Objects.At(object).State)
	switch c.Kind {
	case shard.CmdProcessJoin:
		return p.JoinGathers(others)
	case shard.CmdProcessPrepared:
		return p.PreparedGathers(others)
	case shard.CmdProcessLeave:
		return p.LeaveGathers(others)
	}
	return false
}

// ListProcesses appends processes of the node whose names begin with prefix and come behind after, in order of name. It
// appends at most limit and looks at no more than MaxPage objects; last is the last name looked at, the after of the
// next call where there is more.
func (m *Machine) ListProcesses(n shard.NodeID, prefix, after string, limit int, dst []processkind.SummaryRow) (
	_ []processkind.SummaryRow, last string, more bool) {
	last, more = m.WalkNames(shard.KindProcess, n, prefix, after, limit, func(co *Core, o *Object) {
		s := co.processes().At(o.State).Summary()
		s.Name, s.Revision = co.Objects.Name(o), uint64(o.Revision)
		dst = append(dst, s)
	})
	return dst, last, more
}

// InboxPlace is how far the inbox of a member is.
type InboxPlace struct {
	Acked   uint64 // the member has acknowledged all up to here
	LastSeq uint64 // the last seq in use
}

// Inbox appends the messages of a member's inbox behind the seq after, the last one sent so far. Together with the
// sent and unacknowledged messages, the appended messages have about most bytes; if no sent message is
// unacknowledged, Inbox appends at least one. The messages share their bytes with the machine, and are for reading.
// For a session without the member the answer is a refusal with the reason.
func (m *Machine) Inbox(n shard.NodeID, name []byte, s shard.SessionID, member shard.OrderID, after uint64, most int,
	dst []process.Delivery) (_ []process.Delivery, at InboxPlace, a process.Answer) {
	co := m.RLock()
	defer m.RUnlock()
	object := co.Objects.Alive(shard.KindProcess, n, name)
	if object == 0 {
		return dst, at, process.Answer{Status: protocol.StatusNotFound, Text: noProcess}
	}
	pr, o := co.processes(), co.Objects.At(object)
	p := pr.At(o.State)
	link := arena.Handle(0)
	if session := co.Sessions.Alive(s); session != 0 {
		link = co.Holdings.Find(o, object, session)
	}
	if link == 0 || co.Holdings.At(link).Order != member {
		return dst, at, p.Gone(uint64(member))
	}
	to := &pr.members.At(co.Holdings.At(link).State).Member
	at = InboxPlace{Acked: to.Acked(), LastSeq: to.LastSeq()}
	if ahead := p.Ahead(to, after); ahead == 0 || ahead < most {
		dst = p.Inbox(to, after, most-ahead, dst)
	}
	return dst, at, a
}
