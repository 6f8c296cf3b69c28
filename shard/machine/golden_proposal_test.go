package machine_test

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

// goldenBatch is a batch assembled by a script.
type goldenBatch struct {
	line     int
	commands []shard.Command
	names    map[int]string // by command: name of the new session
	brief    bool
	stamped  bool        // the script sets proposer and time
	stamp    clock.Stamp // script's stamp; term 0 means the machine's term
}

// readStamp takes a line's options for the time and term of its batch: by default the shard's term. Without elapsed=
// the time does not advance.
func (b *goldenBatch) readStamp(l *goldenLine) {
	_, late := l.option("elapsed")
	elapsed, term := l.millis("elapsed", "0s"), l.number("stamped", 0)
	if late || term != 0 {
		b.stamped, b.stamp = true, clock.Stamp{Term: term, Elapsed: elapsed}
	}
}

// stampOf returns a batch's stamp, as set by the shard's leader, or by the script.
func (b *goldenBatch) stampOf(m *machine.Machine) clock.Stamp {
	now, s := m.Clock(), b.stamp
	switch {
	case s.Term == 0 && b.commands[0].Kind == shard.CmdLead:
		s.Term = b.commands[0].Term
	case s.Term == 0:
		s.Term = now.Term
		if !b.stamped {
			s.Elapsed = now.Now - now.Base
		}
	}
	if s.Term == 0 {
		return clock.Stamp{} // nothing has led yet
	}
	return s
}

// goldenProposals are the commands that change a machine. Each adds to a batch.
var goldenProposals map[string]func(st *goldenStage, l *goldenLine, b *goldenBatch)

func init() {
	goldenProposals = map[string]func(st *goldenStage, l *goldenLine, b *goldenBatch){
		"again":    (*goldenStage).again,
		"attach":   (*goldenStage).attach,
		"continue": (*goldenStage).continueWork,
		"drop":     (*goldenStage).dropNode,
		"due":      (*goldenStage).due,
		"end":      (*goldenStage).endSession,
		"expire":   (*goldenStage).expire,
		"forget":   (*goldenStage).forget,
		"lead":     (*goldenStage).lead,
		"limits":   (*goldenStage).limits,
		"numbers":  (*goldenStage).drawNumbers,
		"raise":    (*goldenStage).raise,
		"session":  (*goldenStage).createSessions,
		"withdraw": (*goldenStage).withdraw,

		"acquire": (*goldenStage).acquire,
		"create":  (*goldenStage).create,
		"delete":  (*goldenStage).deleteSemaphore,
		"release": (*goldenStage).release,
		"resize":  (*goldenStage).resize,
		"update":  (*goldenStage).update,

		"exchange": (*goldenStage).exchange,

		"ack":            memberVerb(shard.CmdInboxAck),
		"act":            (*goldenStage).actOnProcess,
		"complete":       memberVerb(shard.CmdProcessComplete),
		"completed":      memberVerb(shard.CmdProcessCompleted),
		"delete-process": (*goldenStage).deleteProcess,
		"fail":           memberVerb(shard.CmdProcessFail),
		"join":           (*goldenStage).joinProcess,
		"leave":          memberVerb(shard.CmdProcessLeave),
		"prepared":       memberVerb(shard.CmdProcessPrepared),
		"put-process":    (*goldenStage).putProcess,
		"reply":          (*goldenStage).replyToRequest,
		"send":           (*goldenStage).sendRequest,

		"slot-seal":    slotVerb(shard.CmdSlotSeal),
		"slot-open":    slotVerb(shard.CmdSlotOpen),
		"slot-refuse":  slotVerb(shard.CmdSlotRefuse),
		"slot-cancel":  slotVerb(shard.CmdSlotCancel),
		"slot-release": slotVerb(shard.CmdSlotRelease),
	}
}

// slotVerb is a command on a slot: of the machine to=, or with the content that the machine from= has sealed.
func slotVerb(k shard.CommandKind) func(st *goldenStage, l *goldenLine, b *goldenBatch) {
	return func(st *goldenStage, l *goldenLine, b *goldenBatch) {
		c := shard.Command{Kind: k, Slot: shard.Slot(l.number("slot", 0)), Count: l.number("generation", 1)}
		if to, ok := l.text("to"); ok {
			c.Number = st.machineNamed(l, to).options.Shard
		}
		if name, ok := l.text("from"); ok {
			from := st.machineNamed(l, name)
			c.Number = from.options.Shard
			if sealed := from.Slot(c.Slot).Content; sealed != nil && k == shard.CmdSlotOpen {
				c.Body = sealed.Append(nil)
			}
		}
		if l.flag("forget") {
			c.Flags = shard.FlagForget
		}
		b.add(c)
	}
}

func (b *goldenBatch) add(c shard.Command) { b.commands = append(b.commands, c) }

func (st *goldenStage) createSessions(l *goldenLine, b *goldenBatch) {
	c := shard.Command{
		Kind: shard.CmdSessionCreate, Slot: shard.Slot(l.number("slot", 0)), Node: shard.NodeID(l.number("node", 1)),
		Timeout: l.millis("timeout", "10s"), Client: l.client(),
	}
	description, _ := l.text("description")
	key, _ := l.text("key")
	for _, name := range l.list("session") {
		c.Data, c.Key = starred(description, name), []byte(key)
		if b.names == nil {
			b.names = make(map[int]string)
		}
		b.names[len(b.commands)] = name
		b.add(c)
	}
}

func (st *goldenStage) attach(l *goldenLine, b *goldenBatch) {
	description, _ := l.text("description")
	key, _ := l.text("key")
	b.add(shard.Command{
		Kind: shard.CmdSessionUpdate, Timeout: l.millis("timeout", "10s"), Data: []byte(description), Key: []byte(key),
		Session: st.sessionID(l, l.word("session")), Client: l.client(),
	})
}

// drawNumbers draws a number space for a session, not below from=.
func (st *goldenStage) drawNumbers(l *goldenLine, b *goldenBatch) {
	key, _ := l.text("key")
	b.add(shard.Command{
		Kind: shard.CmdSessionNumbers, Session: st.sessionID(l, l.word("session")), Key: []byte(key),
		Count: l.number("from", 0),
	})
}

// client takes the options for a session's client.
func (l *goldenLine) client() shard.ClientRef {
	from, _ := l.text("from")
	name, _ := l.text("client")
	version, _ := l.text("version")
	return shard.ClientRef{Address: []byte(from), Name: []byte(name), Version: []byte(version)}
}

func (st *goldenStage) endSession(l *goldenLine, b *goldenBatch) {
	c := shard.Command{Kind: shard.CmdSessionEnd}
	if l.flag("operator") {
		c.Flags |= shard.FlagOperator
	}
	c.Session = st.sessionID(l, l.word("session"))
	b.add(c)
}

func (st *goldenStage) lead(l *goldenLine, b *goldenBatch) {
	b.add(shard.Command{Kind: shard.CmdLead, Term: l.number("term", st.machine().Count().Term+1)})
}

// due does everything due by shard time.
func (st *goldenStage) due(l *goldenLine, b *goldenBatch) {
	b.add(shard.Command{Kind: shard.CmdDue, Term: l.number("term", st.machine().Count().Term)})
}

// continueWork does pending work, like the leader.
func (st *goldenStage) continueWork(_ *goldenLine, b *goldenBatch) {
	b.add(shard.Command{Kind: shard.CmdContinue})
}

// raise raises the level to to=, and applies to later commands.
func (st *goldenStage) raise(l *goldenLine, b *goldenBatch) {
	b.add(shard.Command{Kind: shard.CmdLevel, Count: l.number("to", uint64(level.Newest))})
}

// limits sets the quotas of a node, or, with the word shard, of the shard.
func (st *goldenStage) limits(l *goldenLine, b *goldenBatch) {
	c := shard.Command{Kind: shard.CmdNodeLimits, Node: shard.NodeID(l.number("node", 1))}
	if l.flag("shard") {
		c.Node = 0
	}
	c.Count, c.Bytes = l.number("objects", 0), l.number("bytes", 0)
	b.add(c)
}

func (st *goldenStage) expire(l *goldenLine, b *goldenBatch) {
	term := l.number("term", st.machine().Count().Term)
	changes := l.number("changes", st.machine().State().SlotChanges)
	b.add(shard.Command{Kind: shard.CmdSessionsExpire, Term: term, Count: changes,
		Sessions: st.sessionIDs(l, l.list("session"))})
}

func (st *goldenStage) forget(l *goldenLine, b *goldenBatch) {
	b.add(shard.Command{Kind: shard.CmdSessionsForget, Sessions: st.sessionIDs(l, l.list("session"))})
}

func (st *goldenStage) dropNode(l *goldenLine, b *goldenBatch) {
	b.add(shard.Command{
		Kind: shard.CmdNodeDrop, Node: shard.NodeID(l.number("node", 1)), Count: l.number("count", shard.MaxList),
	})
}

// withdraw names the currently waiting acquires, unless the script names one.
func (st *goldenStage) withdraw(l *goldenLine, b *goldenBatch) {
	order, number := l.number("order", 0), l.number("number", 0)
	name := l.word("semaphore")
	for _, who := range l.list("session") {
		s := st.session(l, who)
		w := shard.WaiterRef{
			Node: s.node, Name: []byte(name), Session: s.id, Order: shard.OrderID(order), Number: number,
		}
		if order == 0 && number == 0 {
			w.Order, w.Number = waitingNow(st.machine().State(), w)
		}
		b.add(shard.Command{Kind: shard.CmdWaiterWithdraw, Node: w.Node, Name: w.Name, Session: w.Session,
			Order: w.Order, Number: w.Number})
	}
}

func waitingNow(s shard.State, w shard.WaiterRef) (shard.OrderID, uint64) {
	for i := range s.Semaphores {
		if x := &s.Semaphores[i]; x.Node == w.Node && x.Name == string(w.Name) {
			for _, link := range x.Links {
				if link.Session == w.Session {
					return link.Order, link.Number
				}
			}
		}
	}
	return 0, 0
}

func (st *goldenStage) acquire(l *goldenLine, b *goldenBatch) {
	c := shard.Command{Kind: shard.CmdAcquire, Count: l.number("count", 1), Timeout: l.millis("timeout", "forever")}
	if l.flag("ephemeral") {
		c.Flags |= shard.FlagEphemeral
	}
	st.mutateAll(l, b, c)
}

func (st *goldenStage) release(l *goldenLine, b *goldenBatch) {
	st.mutateAll(l, b, shard.Command{Kind: shard.CmdRelease, Order: shard.OrderID(l.number("order", 0))})
}

func (st *goldenStage) create(l *goldenLine, b *goldenBatch) {
	st.mutateBy(l, b, shard.Command{Kind: shard.CmdSemaphoreCreate, Count: l.number("limit", 1)})
}

func (st *goldenStage) update(l *goldenLine, b *goldenBatch) {
	st.mutateBy(l, b, shard.Command{
		Kind: shard.CmdSemaphoreUpdate, Order: shard.OrderID(l.number("order",
			0)), Revision: shard.Revision(l.number("if-rev", 0)),
	})
}

func (st *goldenStage) resize(l *goldenLine, b *goldenBatch) {
	st.mutateBy(l, b, shard.Command{
		Kind: shard.CmdSemaphoreResize, Count: l.number("limit", 0), Revision: shard.Revision(l.number("if-rev", 0)),
	})
}

// exchange replaces a semaphore's data and answers with the previous data, for tests of answers with a body.
func (st *goldenStage) exchange(l *goldenLine, b *goldenBatch) {
	body, _ := l.text("body")
	st.mutateBy(l, b, shard.Command{
		Kind: twin.CmdExchange, Body: bytes.Repeat([]byte(body), int(l.number("long", 1))),
	})
}

func (st *goldenStage) deleteSemaphore(l *goldenLine, b *goldenBatch) {
	c := shard.Command{Kind: shard.CmdSemaphoreDelete}
	if l.flag("force") {
		c.Flags |= shard.FlagForce
	}
	st.mutateBy(l, b, c)
}

// mutateAll adds a mutation for each session at the start of the line.
func (st *goldenStage) mutateAll(l *goldenLine, b *goldenBatch, c shard.Command) {
	who := l.span(l.word("session"))
	for _, name := range who {
		if st.session(l, name); l.err != nil {
			return
		}
	}
	name := l.word("semaphore")
	st.mutate(l, b, c, name, who)
}

// mutateBy adds a mutation by a session if the line has by=, otherwise without a session.
func (st *goldenStage) mutateBy(l *goldenLine, b *goldenBatch, c shard.Command) {
	who := []string{""}
	if by, ok := l.text("by"); ok {
		who = l.span(by)
	}
	st.mutate(l, b, c, l.word("semaphore"), who)
}

func (st *goldenStage) mutate(l *goldenLine, b *goldenBatch, c shard.Command, name string, who []string) {
	data, _ := l.text("data")
	node := l.number("node", 0)
	number, acked := l.number("number", 0), l.number("acked", shard.Forever)
	times := l.number("times", 1)
	for i := range times {
		for _, by := range who {
			star := by
			if times > 1 {
				star = strconv.FormatUint(i+1, 10)
			}
			m := c
			m.Name, m.Data, m.Node = starred(name, star), starred(data, star), shard.NodeID(max(node, 1))
			if by == "" {
				b.add(m)
				continue
			}
			s := st.session(l, by)
			if node == 0 {
				m.Node = s.node
			}
			m.Session, m.Number = s.id, s.number+1
			if number != 0 {
				m.Number = number
			}
			m.Acked = m.Number - 1
			if acked != shard.Forever {
				m.Acked = acked
			}
			s.number, s.last = max(s.number, m.Number), m
			b.add(m)
		}
	}
}

// again repeats the session's last mutation, like its client after a broken connection.
func (st *goldenStage) again(l *goldenLine, b *goldenBatch) {
	s := st.session(l, l.word("session"))
	if s.last.Kind == 0 {
		l.fail("the session has sent nothing yet")
	}
	c := s.last
	c.Acked = l.number("acked", c.Acked)
	b.add(c)
}

// starred replaces a star by the number at the end of a session's name, or by a plain number.
func starred(text, number string) []byte {
	stem := strings.TrimRight(number, "0123456789")
	return []byte(strings.ReplaceAll(text, "*", number[len(stem):]))
}
