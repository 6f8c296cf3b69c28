package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// CmdExchange represents operations whose answers have a body: it replaces a semaphore's data by its Body and answers
// with the previous data. No build has it: a test that uses it adds it to the machine too.
const CmdExchange shard.CommandKind = 251

// maxExchanged is the maximum size of new or returned data.
const maxExchanged = 300

// answerWithExchange are the answer's flags if the data changed.
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

// lacksRoomForAnswer reports whether the session's cached answers, including the longest possible answer to the
// command, would exceed their size limit. This concerns bodies: without bodies, the number of answers is bounded.
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

// bodies is the size counted for bodies of cached answers.
func (s *session) bodies() int {
	size := 0
	for _, a := range s.answers {
		if a.Body != "" {
			size += 32 + len(a.Body)
		}
	}
	return size
}

// Restored is called when the machine is saved and restored. The twin is not restored, except to make a mistake.
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
