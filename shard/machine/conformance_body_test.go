package machine_test

import (
	"bytes"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/twin"
)

// playBodies plays a case with two sessions and a semaphore.
func playBodies(t *testing.T, story func(m *scene)) {
	t.Helper()
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1, data("first"))
		story(m)
	})
}

// exchange gives a semaphore other data. The session acknowledges nothing by itself.
func (sc *scene) exchange(session, name, body string) outcome {
	sc.Helper()
	c := shard.Command{Kind: twin.CmdExchange, Node: homeNode, Name: []byte(name), Body: []byte(body)}
	sc.by(session)(&c)
	return sc.do(c)
}

// wantBody compares the body of the result.
func (o outcome) wantBody(want string) outcome {
	o.m.Helper()
	for _, e := range o.effects {
		if e.Kind == shard.EffectResult && e.Body != want {
			o.m.Fatalf("the answer has the body %q, not %q", e.Body, want)
		}
	}
	return o
}

// TestARepetitionHasTheBodyOfItsAnswer: section 4 of shard/DESIGN.md: what was answered once is answered again, though
// the command would answer something else now.
func TestARepetitionHasTheBodyOfItsAnswer(t *testing.T) {
	playBodies(t, func(m *scene) {
		first := m.exchange("s1", "sem", "second").want("SUCCESS data limit", "changed sem data").wantBody("first")
		second := m.exchange("s2", "sem", "third").wantBody("second")
		m.again(first).want("SUCCESS data limit").wantBody("first")
		m.wantData("sem", "third")
		m.restart()
		m.again(first).want("SUCCESS data limit").wantBody("first")
		m.again(second).wantBody("second")
		m.release("s1", "sem", acked(first.command.Number))
		m.again(first).want("STALE").wantBody("")
	})
}

// fillWithBodies has the session exchange the longest data until it is refused, and returns the refused one.
func fillWithBodies(m *scene, session string) (refused outcome, kept int) {
	m.Helper()
	for i := 0; ; i++ {
		c := shard.Command{Kind: twin.CmdExchange, Node: homeNode, Name: []byte("sem"),
			Body: bytes.Repeat([]byte{byte('a' + i%2)}, 300)}
		m.by(session)(&c)
		var out shard.Effects
		m.machine.Apply(&shard.Batch{Commands: []shard.Command{c}}, &out)
		if o := (outcome{m: m, command: c, effects: out.List}); out.List[0].Status != 0 {
			return o, i
		}
	}
}

// TestASessionWithManyBytesOfAnswersIsOverloaded: the bound in bytes refuses before anything happens, records nothing,
// and lets go of who says what it saw.
func TestASessionWithManyBytesOfAnswersIsOverloaded(t *testing.T) {
	playBodies(t, func(m *scene) {
		refused, kept := fillWithBodies(m, "s1")
		refused.want("OVERLOADED")
		s := m.sessionState("s1")
		size := 0
		for _, a := range s.Answers {
			size += shard.AnswerBytes
			if a.Body != "" {
				size += shard.AnswerBodyBytes + len(a.Body)
			}
		}
		const one = shard.AnswerBytes + shard.AnswerBodyBytes + 300
		if len(s.Answers) != kept || s.Applied != uint64(kept) || size > shard.MaxAnswerBytes ||
			size+one <= shard.MaxAnswerBytes {
			t.Errorf("%d answers of %d bytes are kept, and number %d is recorded", len(s.Answers), size, s.Applied)
		}
		m.exchange("s2", "sem", "other").want("SUCCESS data limit", "changed sem data") // it is the session's own bound
		again := refused.command
		again.Number, again.Body = 1, bytes.Repeat([]byte("a"), 300)
		m.do(again).wantBody("first") // a repetition needs no room
		retry := refused.command
		m.do(retry).want("OVERLOADED")
		// What it acknowledges with the very command makes the room.
		retry.Acked = 2
		m.do(retry).want("SUCCESS data limit", "changed sem data").wantBody("other")
	})
}

// TestMutationsWithoutABodyFitWhereOneWithABodyDoesNot: a command asks for as much room as its own answer may need.
func TestMutationsWithoutABodyFitWhereOneWithABodyDoesNot(t *testing.T) {
	playBodies(t, func(m *scene) {
		_, kept := fillWithBodies(m, "s1")
		c := shard.Command{Kind: shard.CmdRelease, Node: homeNode, Name: []byte("sem"),
			Session: m.id("s1"), Number: uint64(kept) + 1}
		for c.Number < uint64(kept)+20 {
			var out shard.Effects
			m.machine.Apply(&shard.Batch{Commands: []shard.Command{c}}, &out)
			if out.List[0].Status != 0 {
				break
			}
			c.Number++
		}
		if c.Number == uint64(kept)+1 || c.Number == uint64(kept)+20 {
			t.Errorf("the release of number %d is the last that fits, %d exchanges do", c.Number, kept)
		}
		m.do(c).want("OVERLOADED")
	})
}
