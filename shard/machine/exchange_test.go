package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// cmdExchange represents, in these tests, operations whose answers have a body: an exchange replaces a semaphore's data
// by its Body and answers with the previous data. Executed twice, or answered from the state, the answer would differ.
// The twin has cmdExchange too.
const cmdExchange shard.CommandKind = 251

// maxExchanged is the maximum size for new or returned data.
const maxExchanged = 300

func init() { shard.Commands[cmdExchange] = shard.CommandRow{Name: "exchange"} }

var exchangeRow = CommandRow{Kind: cmdExchange, Mutation: Mutation{
	Form: func(c *shard.Command) bool { return len(c.Body) <= maxExchanged }, Run: exchange,
	Anonymous: true, MostBody: maxExchanged,
}}

// exchanged is an exchange's reused memory, so that a test can count the allocations for answers.
var exchanged struct {
	before shard.Description
	update shard.Command
}

// exchange is an update that answers with the previous data.
func exchange(m *Core, c *shard.Command, t *Target) Outcome {
	if t.Object == 0 {
		return Outcome{Status: protocol.StatusNotFound}
	}
	d := &exchanged.before
	m.kinds[shard.KindSemaphore].Describe(m, t.Object, m.Objects.View(t.Object), Described{}, d)
	same := d.Data == string(c.Body)
	if !same && len(d.Data) > maxExchanged {
		return Outcome{Status: protocol.StatusPreconditionFailed}
	}
	exchanged.update.Data = c.Body
	o := TestKinds.mutations[shard.CmdSemaphoreUpdate].Run(m, &exchanged.update, t)
	if o.Status != protocol.StatusSuccess {
		return o
	}
	o.Body = d.Data
	if !same {
		o.Flags = shard.FlagData | shard.FlagLimit // the second flag is in the upper byte of the cached flags
	}
	return o
}
