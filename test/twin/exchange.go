package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// CmdExchange stands for the operations whose answers have a body: it gives a semaphore the data of its Body and
// answers with the data that it had before. No build has it: a test that plays it gives it to the machine too.
const CmdExchange shard.CommandKind = 251

// maxExchanged is the most bytes that it gives or answers with.
const maxExchanged = 300

// answerWithExchange are the flags of its answer where the data changed.
const answerWithExchange = shard.FlagData | shard.FlagLimit

// playsExchange reports whether the machine under test has the command.
func playsExchange() bool { return shard.LevelOf(&shard.Command{Kind: CmdExchange}) <= level.Newest }

func (m *mutation) exchange() {
	if m.sem == nil {
		m.refuse(protocol.StatusNotFound)
		return
	}
	before, now := m.sem.data, string(m.Body)
	if before == now {
		m.answer(shard.Effect{Revision: m.sem.revision, Body: before})
		return
	}
	if len(before) > maxExchanged {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	if m.lacksRoom(0, len(now)-len(before)) {
		return
	}
	m.sem.data = now
	m.answer(shard.Effect{Revision: m.twin.lastRevision + 1, Body: before, Flags: answerWithExchange})
	m.twin.changed(m.sem, shard.FlagData)
}

// lacksRoomForAnswer reports whether the answers that are kept for the session, with the longest that the command may
// get, count for more than they may. It concerns bodies: without any the number of answers is bounded.
func (t *Twin) lacksRoomForAnswer(s *session, c *shard.Command) bool {
	if t.mistake == BoundsAfterTheEffect {
		return false
	}
	bodies := s.bodies()
	if t.mistake == CountsSeenBodies {
		bodies += s.seen
	}
	if c.Kind == CmdExchange {
		bodies += 32 + maxExchanged
	}
	return bodies > 0 && bodies+40*(len(s.answers)+1) > t.bounds.AnswerBytes
}

// bodies is what the bodies of the kept answers count for.
func (s *session) bodies() int {
	size := 0
	for _, a := range s.answers {
		if a.Body != "" {
			size += 32 + len(a.Body)
		}
	}
	return size
}

// Restored is called where the machine is saved and restored. The twin is not, unless it is to make a mistake.
func (t *Twin) Restored() {
	for _, sem := range t.semaphores {
		for _, l := range sem.links {
			if t.mistake == ForgetsDeadlines {
				l.deadline = 0
			}
		}
	}
	for _, s := range t.sessions {
		if t.mistake == ForgetsWhatWasAsked {
			clear(s.asked)
		}
		if t.mistake == ForgetsSlots {
			for number, a := range s.answers {
				a.Slot = 0
				s.answers[number] = a
			}
		}
		if t.mistake != LosesBodies {
			continue
		}
		for number, a := range s.answers {
			a.Body = ""
			s.answers[number] = a
		}
	}
}
