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

// exchange replaces a semaphore's data. The session acknowledges nothing automatically.
func (sc *scene) exchange(session, name, body string) outcome {
	sc.Helper()
	c := shard.Command{Kind: twin.CmdExchange, Node: homeNode, Name: []byte(name), Body: []byte(body)}
	sc.by(session)(&c)
	return sc.do(c)
}

// wantBody compares the result's body.
func (o outcome) wantBody(want string) outcome {
	o.m.Helper()
	for _, e := range o.effects {
		if e.Kind == shard.EffectResult && e.Body != want {
			o.m.Fatalf("the answer has the body %q, not %q", e.Body, want)
		}
	}
	return o
}

// TestARepetitionHasTheBodyOfItsAnswer: the original answer is repeated, even if the command would now have a different
// one (section 4 of shard/DESIGN.md).
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

// fillWithBodies makes the session exchange data of maximum length until refused, and returns the refused exchange.
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

// TestASessionWithManyBytesOfAnswersIsOverloaded: the byte limit refuses a command before any effect, records nothing,
// and shrinks with acknowledgements.
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
		m.exchange("s2", "sem", "other").want("SUCCESS data limit", "changed sem data") // the limit is per session
		again := refused.command
		again.Number, again.Body = 1, bytes.Repeat([]byte("a"), 300)
		m.do(again).wantBody("first") // a repetition needs no room
		retry := refused.command
		m.do(retry).want("OVERLOADED")
		// The command's own acknowledgement makes room for it.
		retry.Acked = 2
		m.do(retry).want("SUCCESS data limit", "changed sem data").wantBody("other")
	})
}

// TestMutationsWithoutABodyFitWhereOneWithABodyDoesNot: a command needs only as much room as its own answer may take.
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
