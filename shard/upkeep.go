package shard

import "github.com/signalbox/signalbox/protocol"

// Upkeep is the work that no client asks for: the leader of a shard proposes it by itself. The causes are time, other
// shards, the meta shard, and work that commands have left. Commands of upkeep stand in the same log as commands of
// clients, and wait in the same queue, with a part of their own (package pipeline). A command of upkeep may be lost,
// come late, come twice, or come from an earlier leader, and does a bounded amount of work. The rows below say for
// each command why all of it is harmless.

// upkeep is a command that the leader proposes by itself.
type upkeep struct {
	// form checks the command by itself, without the state.
	form func(c *Command) bool
	// run applies the command. Every run must call answer once.
	run func(m *Machine, c *Command)
	// fenced: the cause is a clock or a decision of the leader, and the command has the leader's term. In any other
	// term the answer is STALE.
	fenced bool

	// The texts are for people; DESIGN.md shows them. proposed says when the leader proposes the command. late says
	// why a command that comes late or twice is harmless. lost says what follows if the command is lost, or the queue
	// has no room. work says what bounds the work of one command.
	proposed, late, lost, work string
}

const (
	nextTick     = "again with the next tick"
	inPieces     = "MaxWork; FlagMore where more is left"
	listInPieces = "MaxWork, and MaxList entries; FlagMore where some are left"
	noWork       = "none"
)

// upkeeps are all rows, by kind. Kinds of objects add their rows.
var upkeeps = [256]upkeep{
	CmdLead: {
		run:      (*Machine).lead,
		proposed: "once in a term, before all else of it",
		late:     "a lower term than the highest seen is STALE; the same term begins once",
		lost:     nextTick + "; the leader serves nothing before",
		work:     noWork,
	},
	CmdSessionsExpire: {
		form: listFits, run: (*Machine).sessionsExpire, fenced: true,
		proposed: "when sessions were silent for longer than their leases",
		late:     "sessions that are over are passed over",
		lost:     "the sessions are due again in a moment",
		work:     listInPieces,
	},
	CmdDue: {
		run: func(m *Machine, _ *Command) { m.due() }, fenced: true,
		proposed: "when the first alarm is over by the leader's clock; every ten seconds while there is one",
		late:     "what is due is so by the time of the shard, which the log alone moves",
		lost:     nextTick,
		work:     inPieces,
	},
	CmdSessionsForget: {
		form: listFits, run: (*Machine).sessionsForget,
		proposed: "when the home of guests says that they are over",
		late:     "a session that is over never lives again, so it is right for ever",
		lost:     "the next look at all guests finds them, in half a minute at the latest",
		work:     listInPieces,
	},
	CmdNodeDrop: {
		form: dropFits, run: (*Machine).nodeDrop,
		proposed: "while something is left of a node that was dropped, for few nodes at a time",
		late:     "a node that was dropped never lives again; one of which nothing is left is passed over",
		lost:     nextTick,
		work:     inPieces,
	},
	CmdContinue: {
		run:      func(m *Machine, _ *Command) { m.continueWork() },
		proposed: "while something is pending, one at a time",
		late:     "it decides nothing: what is pending stands in the state, and where nothing is it does nothing",
		lost:     nextTick,
		work:     inPieces,
	},
	CmdLevel: {
		run:      (*Machine).raise,
		proposed: "when the level of the cluster is above that of the shard",
		late:     "both levels only rise; one that is not above the shard's changes nothing",
		lost:     nextTick,
		work:     noWork,
	},
	CmdDigestTake: {
		run:      func(m *Machine, _ *Command) { m.answer(protocol.StatusSuccess) },
		proposed: "every ten minutes",
		late:     "it changes nothing; replicas go by the number of the latest",
		lost:     "the next one comes ten minutes later",
		work:     noWork,
	},
	CmdDigestCompare: {
		run:      func(m *Machine, _ *Command) { m.answer(protocol.StatusSuccess) },
		proposed: "when the leader has its own digest of that number",
		late:     "it changes nothing; a digest of one place of the log is the same on every host",
		lost:     "the next digest comes ten minutes later",
		work:     noWork,
	},
	CmdNodeLimits: {
		run:      (*Machine).nodeLimits,
		proposed: "when the quotas of a node, or of the shard, differ from what they should be",
		late: "the leader compares all when it begins, and every half a minute: one that an earlier leader proposed " +
			"and that comes behind a later one is put right then, and has no effect where batches are stamped",
		lost: nextTick,
		work: noWork,
	},
}

// listFits is the form of commands with a list of sessions or waiters.
func listFits(c *Command) bool { return len(c.Sessions) <= MaxList && len(c.Waiters) <= MaxList }

func dropFits(c *Command) bool { return c.Count > 0 && c.Count <= MaxList }

// keepUp applies a command that the leader proposed by itself.
func (m *Machine) keepUp(c *Command, u *upkeep) {
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
func (m *Machine) lead(c *Command) {
	if !m.clock.Lead(c.Term) {
		m.answer(protocol.StatusStale)
		return
	}
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) sessionsExpire(c *Command) {
	m.answerMore(!m.endAll(c.Sessions, true, protocol.EndExpired))
}

func (m *Machine) sessionsForget(c *Command) {
	m.answerMore(!m.endAll(c.Sessions, false, protocol.EndUnknown))
}

// endAll ends the sessions of a list that are known here, either at home or as guests. It returns false if the rest
// of the list is more work than the command may do.
func (m *Machine) endAll(ids []SessionID, home bool, reason protocol.EndReason) bool {
	for _, id := range ids {
		if m.left <= 0 {
			return false
		}
		if h := m.sessions.alive(id); h != 0 && m.sessions.at(h).home == home {
			m.endSession(h, reason)
		}
	}
	return true
}
