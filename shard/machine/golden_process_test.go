package machine_test

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// Process commands in golden scripts. Member commands have order= for the member, epoch= for the epoch, and ack= for
// the acknowledged position.

// memberVerb is a command with these options only.
func memberVerb(k shard.CommandKind) func(st *goldenStage, l *goldenLine, b *goldenBatch) {
	return func(st *goldenStage, l *goldenLine, b *goldenBatch) {
		st.mutateAll(l, b, memberCommand(l, shard.Command{Kind: k}))
	}
}

// memberCommand adds the common fields of member commands.
func memberCommand(l *goldenLine, c shard.Command) shard.Command {
	c.Order, c.Term, c.Count = shard.OrderID(l.number("order", 0)), l.number("epoch", 0), l.number("ack", 0)
	return c
}

func specOfLine(l *goldenLine) kind.Spec {
	s := kind.Spec{}.WithDefaults()
	s.MinMembers = int(l.number("members", uint64(s.MinMembers)))
	s.ReplyTimeout = field.Duration(l.millis("reply", "0s"))
	if l.flag("kick") {
		s.OnTimeout = kind.TimeoutEvict
	}
	return s
}

func (st *goldenStage) putProcess(l *goldenLine, b *goldenBatch) {
	p := kind.Put{Mode: field.PutEither, Spec: specOfLine(l), By: kind.ChangeInfo{Author: "op"}}
	p.ExpectedRevision = l.number("if-rev", 0)
	st.mutateBy(l, b, shard.Command{Kind: shard.CmdProcessPut, Body: process.Append(nil, &p)})
}

func (st *goldenStage) deleteProcess(l *goldenLine, b *goldenBatch) {
	c := shard.Command{Kind: shard.CmdProcessDelete}
	if l.flag("force") {
		c.Flags |= shard.FlagForce
	}
	st.mutateBy(l, b, c)
}

func (st *goldenStage) joinProcess(l *goldenLine, b *goldenBatch) {
	a := kind.Arrival{Create: l.flag("create")}
	a.Candidate = !l.flag("observer")
	a.Name, _ = l.text("as")
	attributes, _ := l.text("attributes")
	a.Attributes = []byte(attributes)
	if a.Create {
		a.Spec = specOfLine(l)
	}
	st.mutateAll(l, b, shard.Command{Kind: shard.CmdProcessJoin, Body: process.Append(nil, &a)})
}

func (st *goldenStage) actOnProcess(l *goldenLine, b *goldenBatch) {
	a := kind.Action{Kind: kind.ActionRestart, MemberID: l.number("kick", 0), By: kind.ChangeInfo{Author: "op"}}
	if a.By.Reason, _ = l.text("reason"); a.MemberID != 0 {
		a.Kind = kind.ActionEvict
	}
	st.mutateBy(l, b, shard.Command{Kind: shard.CmdProcessAct, Body: process.Append(nil, &a)})
}

func (st *goldenStage) sendRequest(l *goldenLine, b *goldenBatch) {
	r := process.Request{Audience: kind.ToAll}
	if to := l.number("to", 0); to != 0 {
		r.Audience, r.To = kind.ToMembers, []uint64{to}
	}
	st.mutateAll(l, b, memberCommand(l, shard.Command{
		Kind: shard.CmdProcessSend, Timeout: l.millis("timeout", "0s"), Body: process.AppendReceivers(nil, r),
	}))
}

func (st *goldenStage) replyToRequest(l *goldenLine, b *goldenBatch) {
	c := shard.Command{Kind: shard.CmdProcessReply, Timeout: l.number("exchange", 0)}
	if l.flag("failed") {
		c.Flags |= shard.FlagFailed
	}
	st.mutateAll(l, b, memberCommand(l, c))
}

// inbox shows a member's inbox: inbox SESSION PROCESS order=ID.
func (st *goldenStage) inbox(l *goldenLine) ([]string, error) {
	s := st.session(l, l.word("session"))
	name, order := l.word("process"), shard.OrderID(l.number("order", 0))
	if err := l.end(); err != nil {
		return nil, err
	}
	inboxes := process.Inboxes{Machine: st.machine().Machine}
	list, at, a := inboxes.Inbox(s.node, []byte(name), s.id, order, 0, 1<<20, nil)
	if a.Status != protocol.StatusSuccess {
		return []string{fmt.Sprintf("%v %s", a.Status, a.Text)}, nil
	}
	lines := []string{fmt.Sprintf("inbox acked=%d last=%d", at.Acked, at.LastSeq)}
	for k := range list {
		d := &list[k]
		line := fmt.Sprintf("  %d %v epoch=%d", d.Seq, d.Kind, d.Epoch)
		if d.Exchange != 0 {
			line += fmt.Sprintf(" exchange=%d from=%d", d.Exchange, d.From)
		}
		if d.Kind == kind.ItemEnd {
			line += fmt.Sprintf(" %v missing=%d", d.Outcome, d.Missing)
		}
		line += drawText("data", string(d.Payload))
		for _, r := range d.Replies {
			line += fmt.Sprintf(" %d=%q", r.From, r.Data)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// process shows a process, and why its round is blocked.
func (st *goldenStage) process(l *goldenLine) ([]string, error) {
	name := l.word("process")
	if err := l.end(); err != nil {
		return nil, err
	}
	var d process.Description
	if process.Describe(st.machine().Machine, 1, name, shard.PartOptions{Why: true}, &d) != shard.FoundPart {
		return []string{"there is none"}, nil
	}
	var h kind.Overview
	if err := protocol.ReadRecord(d.Head, &h, 0); err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("%s rev=%d epoch=%d %v coordinator=%d members=%d of=%d", name, d.Revision, h.Epoch,
		field.Name(h.Phase), h.Coordinator, h.Members, h.Of)}
	for k := range d.Reasons {
		lines = append(lines, "  "+d.Reasons[k].Describe(d.Now))
	}
	return lines, nil
}
