package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
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
	shard.CmdSessionsExpire: {Form: ListFits, Run: (*Core).expire, Fenced: true},
	shard.CmdDue:            {Run: (*Core).due, Fenced: true},
	shard.CmdSessionsForget: {Form: ListFits, Run: (*Core).forget},
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

// ListFits is the form of commands with a list of sessions or waiters.
func ListFits(c *shard.Command) bool {
	return len(c.Sessions) <= shard.MaxList && len(c.Waiters) <= shard.MaxList
}

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

// The time of the shard, and the work that is due by it. Time moves with the stamps of batches, as package clock
// says. An object has an alarm while its kind waits for a time. Alarms are not part of a snapshot, because they
// follow from the state of the kind. CmdDue calls the kind. Objects without an alarm pay nothing, in memory or in
// work.

// SetAlarm replaces the alarm of an object: Due of the object's kind is called after the time of the shard has
// reached the alarm. Zero removes the alarm. A delay that begins now is over at Clock.After.
func (ob *Objects) SetAlarm(object arena.Handle, at uint64) {
	if at != 0 || ob.alarms.Len() > 0 {
		ob.alarms.Set(object, at)
	}
}

// due calls the kinds of the objects whose alarms are over, in the order of the alarms. Each call is a piece of work.
func (co *Core) due(*shard.Command) Outcome {
	for co.Run.Left > 0 {
		object, at, ok := co.Objects.alarms.First()
		if !ok || at > co.Clock.Now {
			return Outcome{}
		}
		co.Run.Left--
		co.Objects.SetAlarm(object, 0)
		if o := co.Objects.At(object); !o.Deleting {
			co.kinds[o.Kind].Due(co, object)
		}
	}
	_, at, ok := co.Objects.alarms.First()
	return Partly(ok && at <= co.Clock.Now)
}

// Clock returns the time of the shard by its log. The leader's own estimate is ahead by the time since the proposal
// of the latest batch: Clock.At gives the estimate.
func (m *Machine) Clock() clock.Clock {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.Clock
}

// Time returns the time of the shard in milliseconds. It only grows, and only with the log.
func (m *Machine) Time() uint64 { return m.Clock().Now }

// NextAlarm returns the time of the shard at the next alarm; ok is false if there is no alarm. The end of the
// wait after a renewal counts as an alarm, so that the time goes on until then.
func (m *Machine) NextAlarm() (at uint64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, at, ok = m.core.Objects.alarms.First()
	if until := m.core.group.Until; m.core.Clock.Now < until && (!ok || until < at) {
		return until, true
	}
	return at, ok
}

// Alarms returns how many objects wait for a time.
func (m *Machine) Alarms() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.Objects.alarms.Len()
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
