package meta

import (
	"github.com/signalbox/signalbox/protocol"
)

// twinAnswer is the answer to one numbered command.
type twinAnswer struct {
	command Command
	answer
}

// numbered checks numbers and levels before a command is executed.
func (t *twin) numbered(c *Command) answer {
	n := c.Numbered
	switch {
	case c.Level > t.level:
		return failed(protocol.StatusUnsupported)
	case t.stamp.Term != t.term && c.Kind != CmdLead:
		return failed(protocol.StatusUnavailable)
	case n == Numbered{}:
		return t.execute(c)
	case n.Client == ClientID{} || n.Number == 0:
		return failed(protocol.StatusBadRequest)
	}
	forgotten := max(len(t.answered)-10_000, 0)
	for _, a := range t.answered[forgotten:] {
		if a.command.Numbered.Client != n.Client || a.command.Numbered.Number != n.Number {
			continue
		}
		if a.command.Kind != c.Kind || a.command.Kind <= CmdNodeDrop && !asksFor(&a.command, c) {
			return failed(protocol.StatusSequenceReused)
		}
		a.flags = a.flags&FlagExisted | FlagRepeated
		a.event = 0
		return a.answer
	}
	if n.Since <= uint64(forgotten) {
		return failed(protocol.StatusStale)
	}
	a := t.execute(c)
	if a.status != protocol.StatusOverloaded {
		t.answered = append(t.answered, twinAnswer{*c, a})
		t.fresh = true
	}
	return a
}

// asksFor reports whether two node changes are equal requests.
func asksFor(a, b *Command) bool {
	return a.Path == b.Path && a.Node == b.Node && a.Expected == b.Expected && a.Config == b.Config
}

// remember records the latest result's message: its text is not predicted, only its repetition.
func (t *twin) remember(message string) {
	if t.fresh {
		t.answered[len(t.answered)-1].message = message
		t.fresh = false
	}
}

// kept is the expected answer cache of the machine.
func (t *twin) kept() (list []Answer) {
	for _, a := range t.answered[max(len(t.answered)-10_000, 0):] {
		list = append(list, Answer{
			Client: a.command.Numbered.Client, Number: a.command.Numbered.Number, Kind: a.command.Kind,
			Asked: askedOf(&a.command), Status: a.status, Flags: a.flags & FlagExisted, Node: a.node,
			Routing: a.routing, Message: a.message,
		})
	}
	return list
}

// number turns a command into a numbered one, or repeats an earlier one. Clients' acknowledgements lag, by little or by
// much.
func (co *commands) number(c Command, m *Machine) Command {
	if len(co.sent) > 0 && co.r.IntN(3) == 0 {
		again := co.sent[len(co.sent)-1-co.r.IntN(min(len(co.sent), 50))]
		if co.r.IntN(4) == 0 {
			again = co.sent[co.r.IntN(len(co.sent))]
		}
		if co.r.IntN(20) == 0 {
			c.Numbered, c.Level = again.Numbered, again.Level // for another command
			return c
		}
		return again
	}
	lag := co.r.Uint64N(5)
	if co.r.IntN(20) == 0 {
		lag = pick[uint64](co, 100, 9_999, 10_000, 10_001)
	}
	c.Numbered = Numbered{
		Client: ClientID{byte(1 + co.r.IntN(3))}, Number: uint64(len(co.sent)/2 + 1),
		Since: m.answers.next - min(m.answers.next, lag),
	}
	switch co.r.IntN(50) {
	case 0:
		c.Numbered.Client = ClientID{}
	case 1:
		c.Numbered.Number = 0
	case 2:
		return drop("/a") // from an older client
	}
	co.sent = append(co.sent, c)
	return c
}
