package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/twin"
)

// TestMistakesInAnswersAreNoticed: a mistake in what is kept of answers with a body, or in what they may come to, is
// noticed.
func TestMistakesInAnswersAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"a body is lost at a restore", twin.LosesBodies, 16, "body="},
		{"the bound counts after the effect", twin.BoundsAfterTheEffect, 32, "OVERLOADED"},
		{"a repetition answers with a newer body", twin.RepeatsNewerBodies, 16, "body="},
		{"acknowledged bodies still count", twin.CountsSeenBodies, 64, "OVERLOADED"},
	})
}

// TestMistakesInSpacesOfNumbersAreNoticed: a space that is drawn a second time is noticed.
func TestMistakesInSpacesOfNumbersAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{{"a space is drawn twice", twin.DrawsTwice, 16, "number="}})
}

// TestMistakesAboutWhatANumberBelongsToAreNoticed: so is an answer that another request gets, one that the same request
// does not get, and one that forgets what was asked.
func TestMistakesAboutWhatANumberBelongsToAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"another request is answered", twin.AnswersOthers, 16, "SEQUENCE_REUSED"},
		{"a repetition that waits longer is refused", twin.AsksForWaits, 16, "SEQUENCE_REUSED"},
		{"what was asked is lost at a restore", twin.ForgetsWhatWasAsked, 16, "asked="},
	})
}

// TestMistakesInLossesOfGuestsAreNoticed: a loss that is not counted is noticed.
func TestMistakesInLossesOfGuestsAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{{"a loss is not counted", twin.CountsNoLosses, 16, "limit="}})
}

// TestAnswersWithoutBodiesNeverComeToTheBound: the bound in bytes is for bodies. It leaves room for as many answers
// without one as a session may have.
func TestAnswersWithoutBodiesNeverComeToTheBound(t *testing.T) {
	if shard.MaxUnacknowledged*shard.AnswerBytes*2 > shard.MaxAnswerBytes {
		t.Error("a session with many answers has no room for bodies")
	}
}

// TestMistakesInSlotsOfAnswersAreNoticed: a restore that loses the slot of a kept answer is noticed.
func TestMistakesInSlotsOfAnswersAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{{"a slot is lost at a restore", twin.ForgetsSlots, 16, "slot="}})
}
