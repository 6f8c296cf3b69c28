package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Upkeep is the work that no client asks for: the leader of a shard proposes it by itself. The causes are time, other
// shards, the meta shard, and work that commands have left. Commands of upkeep stand in the same log as commands of
// clients, and wait in the same queue, with a part of their own (package pipeline). A command of upkeep may be lost,
// come late, come twice, or come from an earlier leader, and does a bounded amount of work. The table in DESIGN.md,
// section 10, says for each command when the leader proposes it, what bounds its work, why a command that comes
// late or twice is harmless, and what follows if the command is lost or the queue has no room.

// Upkeep is a command that the leader proposes by itself.
type Upkeep struct {
	// Form checks the command by itself, without the state.
	Form func(c *shard.Command) bool
	// Run applies the command.
	Run func(m *Core, c *shard.Command) Outcome
	// Fenced: the cause is a clock or a decision of the leader, and the command has the leader's term. In any other
	// term the answer is STALE.
	Fenced bool
}

// upkeeps are the rows of commands that are about no kind of objects, by kind of command.
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
}

// listFits is the form of commands with a list of sessions.
func listFits(c *shard.Command) bool { return len(c.Sessions) <= shard.MaxList }

func dropFits(c *shard.Command) bool { return c.Count > 0 && c.Count <= shard.MaxList }

// keepUp applies a command that the leader proposed by itself.
func (co *Core) keepUp(c *shard.Command, u *Upkeep) Outcome {
	switch {
	case u.Form != nil && !u.Form(c):
		return Outcome{Status: protocol.StatusBadRequest}
	case u.Fenced && c.Term != co.Clock.Term:
		return Outcome{Status: protocol.StatusStale}
	}
	return u.Run(co, c)
}

// lead makes the proposals of earlier leaders void.
func (co *Core) lead(c *shard.Command) Outcome {
	if !co.Clock.Lead(c.Term) {
		return Outcome{Status: protocol.StatusStale}
	}
	return Outcome{}
}

func (co *Core) expire(c *shard.Command) Outcome {
	return Partly(!co.Sessions.endAll(c.Sessions, true, protocol.EndExpired))
}

func (co *Core) forget(c *shard.Command) Outcome {
	return Partly(!co.Sessions.endAll(c.Sessions, false, protocol.EndUnknown))
}

// endAll ends the sessions of a list that are known here, either at home or as guests. It returns false if the rest
// of the list is more work than the command may do.
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

// Pending returns how much CmdContinue has to go on with: the sessions and objects that a command did not come to the
// end of.
func (m *Machine) Pending() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.core.Pending.list)
}

// Level returns the feature level of the shard. The level at the beginning of a batch counts for the whole batch.
func (m *Machine) Level() level.Level {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.level
}

// raise lets the level rise at the end of the batch, so that a batch is decoded at one level. The level never falls.
func (co *Core) raise(c *shard.Command) Outcome {
	if c.Count == 0 {
		return Outcome{Status: protocol.StatusBadRequest}
	}
	assert.That(c.Count <= uint64(level.Newest), "a level that this build cannot follow stops its replica on decoding")
	co.nextLevel = max(co.nextLevel, level.Level(c.Count))
	return Outcome{}
}
