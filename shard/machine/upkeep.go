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

// upkeep is a command that the leader proposes by itself.
type upkeep struct {
	// form checks the command by itself, without the state.
	form func(c *shard.Command) bool
	// run applies the command. Every run must call answer once.
	run func(m *Machine, c *shard.Command)
	// fenced: the cause is a clock or a decision of the leader, and the command has the leader's term. In any other
	// term the answer is STALE.
	fenced bool
}

// upkeeps are all rows, by kind. Kinds of objects add their rows.
var upkeeps = [256]upkeep{
	shard.CmdLead:           {run: (*Machine).lead},
	shard.CmdSessionsExpire: {form: listFits, run: (*Machine).sessionsExpire, fenced: true},
	shard.CmdDue:            {run: func(m *Machine, _ *shard.Command) { m.due() }, fenced: true},
	shard.CmdSessionsForget: {form: listFits, run: (*Machine).sessionsForget},
	shard.CmdNodeDrop:       {form: dropFits, run: (*Machine).nodeDrop},
	shard.CmdContinue:       {run: func(m *Machine, _ *shard.Command) { m.continueWork() }},
	shard.CmdLevel:          {run: (*Machine).raise},
	shard.CmdDigestTake:     {run: func(m *Machine, _ *shard.Command) { m.answer(protocol.StatusSuccess) }},
	shard.CmdDigestCompare:  {run: func(m *Machine, _ *shard.Command) { m.answer(protocol.StatusSuccess) }},
	shard.CmdNodeLimits:     {run: (*Machine).nodeLimits},
	shard.CmdGroupWait:      {run: (*Machine).groupWait, fenced: true},
}

// listFits is the form of commands with a list of sessions or waiters.
func listFits(c *shard.Command) bool {
	return len(c.Sessions) <= shard.MaxList && len(c.Waiters) <= shard.MaxList
}

func dropFits(c *shard.Command) bool { return c.Count > 0 && c.Count <= shard.MaxList }

// keepUp applies a command that the leader proposed by itself.
func (m *Machine) keepUp(c *shard.Command, u *upkeep) {
	switch {
	case u.form != nil && !u.form(c):
		m.answer(protocol.StatusBadRequest)
	case u.fenced && c.Term != m.clock.Term:
		m.answer(protocol.StatusStale)
	default:
		u.run(m, c)
	}
}

// lead makes the proposals of earlier leaders void.
func (m *Machine) lead(c *shard.Command) {
	if !m.clock.Lead(c.Term) {
		m.answer(protocol.StatusStale)
		return
	}
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) sessionsExpire(c *shard.Command) {
	m.answerMore(!m.endAll(c.Sessions, true, protocol.EndExpired))
}

func (m *Machine) sessionsForget(c *shard.Command) {
	m.answerMore(!m.endAll(c.Sessions, false, protocol.EndUnknown))
}

// endAll ends the sessions of a list that are known here, either at home or as guests. It returns false if the rest
// of the list is more work than the command may do.
func (m *Machine) endAll(ids []shard.SessionID, home bool, reason protocol.EndReason) bool {
	for _, id := range ids {
		if m.left <= 0 {
			return false
		}
		if h := m.sessions.alive(id); h != 0 && m.sessions.At(h).home == home {
			m.endSession(h, reason)
		}
	}
	return true
}

// Pending returns how much CmdContinue has to go on with: the sessions and objects that a command did not come to the
// end of.
func (m *Machine) Pending() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.pending)
}

// The time of the shard, and the work that is due by it. Time moves with the stamps of batches, as package clock
// says. An object has an alarm while its kind waits for a time. Alarms are not part of a snapshot, because they
// follow from the state of the kind. CmdDue calls the kind. Objects without an alarm pay nothing, in memory or in
// work.

// setAlarm replaces the alarm of an object: due of the object's kind is called after the time of the shard has
// reached the alarm. Zero removes the alarm. A delay that begins now is over at m.clock.After.
func (m *Machine) setAlarm(object arena.Handle, at uint64) {
	if at != 0 || m.alarms.Len() > 0 {
		m.alarms.Set(object, at)
	}
}

// due calls the kinds of the objects whose alarms are over, in the order of the alarms. Each call is a piece of work.
func (m *Machine) due() {
	for m.left > 0 {
		object, at, ok := m.alarms.First()
		if !ok || at > m.clock.Now {
			m.answer(protocol.StatusSuccess)
			return
		}
		m.left--
		m.setAlarm(object, 0)
		if o := m.objects.At(object); !o.deleting {
			m.kinds[o.kind].due(m, object)
		}
	}
	_, at, ok := m.alarms.First()
	m.answerMore(ok && at <= m.clock.Now)
}

// Clock returns the time of the shard by its log. The leader's own estimate is ahead by the time since the proposal
// of the latest batch: Clock.At gives the estimate.
func (m *Machine) Clock() clock.Clock {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.clock
}

// Time returns the time of the shard in milliseconds. It only grows, and only with the log.
func (m *Machine) Time() uint64 { return m.Clock().Now }

// NextAlarm returns the time of the shard at the next alarm; ok is false if there is no alarm. The end of the
// wait after a renewal counts as an alarm, so that the time goes on until then.
func (m *Machine) NextAlarm() (at uint64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, at, ok = m.alarms.First()
	if until := m.group.Until; m.clock.Now < until && (!ok || until < at) {
		return until, true
	}
	return at, ok
}

// Alarms returns how many objects wait for a time.
func (m *Machine) Alarms() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.alarms.Len()
}

// Level returns the feature level of the shard. The level at the beginning of a batch counts for the whole batch.
func (m *Machine) Level() level.Level {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.level
}

// raise lets the level rise at the end of the batch, so that a batch is decoded at one level. The level never falls.
func (m *Machine) raise(c *shard.Command) {
	if c.Count == 0 {
		m.answer(protocol.StatusBadRequest)
		return
	}
	assert.That(c.Count <= uint64(level.Newest), "a level that this build cannot follow stops its replica on decoding")
	m.nextLevel = max(m.nextLevel, level.Level(c.Count))
	m.answer(protocol.StatusSuccess)
}
