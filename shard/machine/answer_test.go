package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/twin"
)

// TestMistakesInAnswersAreNoticed: bugs in cached answers with a body, or in their limit, are detected.
func TestMistakesInAnswersAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"a body is lost at a restore", twin.LosesBodies, 16, "body="},
		{"the bound counts after the effect", twin.BoundsAfterTheEffect, 32, "OVERLOADED"},
		{"a repetition answers with a newer body", twin.RepeatsNewerBodies, 16, "body="},
		{"acknowledged bodies still count", twin.CountsSeenBodies, 64, "OVERLOADED"},
	})
}

// TestMistakesInSpacesOfNumbersAreNoticed: a number space drawn twice is detected.
func TestMistakesInSpacesOfNumbersAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{{"a space is drawn twice", twin.DrawsTwice, 16, "number="}})
}

// TestMistakesAboutWhatANumberBelongsToAreNoticed: an answer given to a different request, an answer refused to the
// same request, and a forgotten request are detected.
func TestMistakesAboutWhatANumberBelongsToAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"another request is answered", twin.AnswersOthers, 16, "SEQUENCE_REUSED"},
		{"a repetition that waits longer is refused", twin.AsksForWaits, 16, "SEQUENCE_REUSED"},
		{"what was asked is lost at a restore", twin.ForgetsWhatWasAsked, 16, "asked="},
	})
}

// TestMistakesInLossesOfRemoteSessionsAreNoticed: an uncounted loss is detected.
func TestMistakesInLossesOfRemoteSessionsAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{{"a loss is not counted", twin.CountsNoLosses, 16, "limit="}})
}

// TestAnswersWithoutBodiesNeverComeToTheBound: the byte limit is for bodies. It leaves room for a session's maximum
// number of answers without one.
func TestAnswersWithoutBodiesNeverComeToTheBound(t *testing.T) {
	if shard.MaxUnacknowledged*shard.AnswerBytes*2 > shard.MaxAnswerBytes {
		t.Error("a session with many answers has no room for bodies")
	}
}

// TestMistakesInSlotsOfAnswersAreNoticed: a restore that loses a cached answer's slot is detected.
func TestMistakesInSlotsOfAnswersAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{{"a slot is lost at a restore", twin.ForgetsSlots, 16, "slot="}})
}
