package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Upkeep is work without a client request, proposed by a shard's leader. The causes are time, other shards, the meta
// shard, and work left by commands. Upkeep commands are in the same log as client commands, and wait in the same queue,
// with a reserved share (package pipeline). An upkeep command may be lost, late or duplicated, or come from an earlier
// leader, and does a bounded amount of work. The table in DESIGN.md, section 10, lists for each command when the leader
// proposes it, the bound on the work, why late or duplicate commands are harmless, and the consequences if the command
// is lost or the queue is full.

// Upkeep is a command that leaders propose on their own.
type Upkeep struct {
	// Form validates the command on its own, without the state.
	Form func(c *shard.Command) bool
	// Run applies the command.
	Run func(m *Core, c *shard.Command) Outcome
	// Fenced is set if a clock or a leader decision caused the command, so the command has the leader's term. In any
	// other term the answer is STALE.
	Fenced bool
}

// upkeeps are the rows for commands that concern no object kind, by command kind.
var upkeeps = [256]Upkeep{
	shard.CmdLead:           {Run: (*Core).lead},
	shard.CmdSessionsExpire: {Form: listFits, Run: (*Core).expire, Fenced: true},
	shard.CmdDue:            {Run: (*Core).due, Fenced: true},
	shard.CmdSessionsForget: {Form: listFits, Run: (*Core).forget},
	shard.CmdNodeDrop: {
		Form: dropFits, Run: func(co *Core, c *shard.Command) Outcome { return co.Nodes.drop(c) },
	},
	shard.CmdContinue:      {Run: func(co *Core, _ *shard.Command) Outcome { return co.Pending.proceed() }},
	shard.CmdLevel:         {Run: (*Core).raise},
	shard.CmdDigestTake:    {Run: func(*Core, *shard.Command) Outcome { return Outcome{} }},
	shard.CmdDigestCompare: {Run: func(*Core, *shard.Command) Outcome { return Outcome{} }},
	shard.CmdNodeLimits:    {Run: func(co *Core, c *shard.Command) Outcome { return co.Nodes.setLimits(c) }},
	shard.CmdGroupWait:     {Run: (*Core).groupWait, Fenced: true},
	shard.CmdSlotSeal:      slotUpkeep, shard.CmdSlotOpen: slotUpkeep, shard.CmdSlotRefuse: slotUpkeep,
	shard.CmdSlotCancel: slotUpkeep, shard.CmdSlotRelease: slotUpkeep, shard.CmdSlotReturn: slotUpkeep,
	shard.CmdSlotSupersede: slotUpkeep,
}

// listFits validates commands with a session list.
func listFits(c *shard.Command) bool { return len(c.Sessions) <= shard.MaxList }

func dropFits(c *shard.Command) bool { return c.Count > 0 && c.Count <= shard.MaxList }

// keepUp applies a command the leader proposed on its own.
func (co *Core) keepUp(c *shard.Command, u *Upkeep) Outcome {
	switch {
	case u.Form != nil && !u.Form(c):
		return Outcome{Status: protocol.StatusBadRequest}
	case u.Fenced && c.Term != co.Clock.Term:
		return Outcome{Status: protocol.StatusStale}
	}
	return u.Run(co, c)
}

// lead invalidates proposals from earlier leaders.
func (co *Core) lead(c *shard.Command) Outcome {
	if !co.Clock.Lead(c.Term) {
		return Outcome{Status: protocol.StatusStale}
	}
	return Outcome{}
}

// expire ends sessions that were silent. The slot of a session may have left and returned since the leader judged the
// silence; then another leader's lease counts.
func (co *Core) expire(c *shard.Command) Outcome {
	if c.Count != co.slots.Changes() {
		return Outcome{Status: protocol.StatusStale}
	}
	return Partly(!co.Sessions.endAll(c.Sessions, true, protocol.EndExpired))
}

func (co *Core) forget(c *shard.Command) Outcome {
	return Partly(!co.Sessions.endAll(c.Sessions, false, protocol.EndUnknown))
}

// endAll ends the listed sessions known here, either at home or as remote sessions. It returns false if the rest of the
// list is more work than the command may do.
func (se *Sessions) endAll(ids []shard.SessionID, home bool, reason protocol.EndReason) bool {
	for _, id := range ids {
		if se.core.Run.Left <= 0 {
			return false
		}
		if h := se.Alive(id); h != 0 && se.At(h).home == home {
			se.end(h, reason)
		}
	}
	return true
}

// Pending returns the amount of work left for CmdContinue: unfinished sessions and objects.
func (m *Machine) Pending() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.core.Pending.list)
}

// Level returns the shard's feature level. The level at the beginning of a batch applies to the whole batch.
func (m *Machine) Level() level.Level {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.level
}

// raise raises the level at the end of the batch, so a batch is decoded at one level. The level never falls.
func (co *Core) raise(c *shard.Command) Outcome {
	if c.Count == 0 {
		return Outcome{Status: protocol.StatusBadRequest}
	}
	assert.That(c.Count <= uint64(level.Newest), "a level that this build cannot follow stops its replica on decoding")
	co.nextLevel = max(co.nextLevel, level.Level(c.Count))
	return Outcome{}
}
