package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// cmdExchange stands in these tests for the operations whose answers have a body: it gives a semaphore the data of its
// Body and answers with the data that it had before. Done twice, or answered from the state, it would answer something
// else. The twin has it too.
const cmdExchange shard.CommandKind = 251

// maxExchanged is the most bytes that it gives or answers with.
const maxExchanged = 300

func init() {
	shard.Commands[cmdExchange] = shard.CommandRow{Name: "exchange"}
	mutations[cmdExchange] = Mutation{
		of: shard.KindSemaphore, Form: func(c *shard.Command) bool { return len(c.Body) <= maxExchanged },
		Run:       func(m *Core, c *shard.Command, t *Target) { m.semaphores().exchange(m, c, t) },
		Anonymous: true, MostBody: maxExchanged,
	}
}

func (sem *semaphores) exchange(m *Core, c *shard.Command, t *Target) {
	if t.Object == 0 {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	o := m.Objects.At(t.Object)
	s := sem.At(o.State)
	before, n := sem.texts.String(s.data), m.Objects.Node(o)
	switch {
	case before == string(c.Body):
		e := m.Run.Answer(protocol.StatusSuccess)
		e.Revision, e.Body = o.Revision, before
		return
	case len(before) > maxExchanged:
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	case !m.Nodes.MayGrow(n, 0, len(c.Body)-len(before)):
		return
	}
	m.Snapshots.TouchObject(t.Object)
	m.Nodes.Charge(n, len(c.Body)-len(before))
	sem.texts.Replace(&s.data, c.Body)
	s.dataRevision = m.lastRevision + 1
	e := m.Run.Answer(protocol.StatusSuccess)
	e.Revision, e.Body = s.dataRevision, before
	e.Flags = shard.FlagData | shard.FlagLimit // the second stands in the upper byte of what is kept
	m.Objects.Changed(t.Object, shard.FlagData)
}
