package shard_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/twin"
)

// TestMistakesInAnswersAreNoticed: a mistake in what is kept of answers with a body, or in what they may come to, is
// noticed.
func TestMistakesInAnswersAreNoticed(t *testing.T) {
	if level.Newest < level.Of(level.Rule, "answer-bytes") {
		t.Skip("answers of this build have no bodies")
	}
	noticeMistakes(t, []plantedMistake{
		{"a body is lost at a restore", twin.LosesBodies, 16, "body="},
		{"the bound counts after the effect", twin.BoundsAfterTheEffect, 13, "OVERLOADED"},
		{"a repetition answers with a newer body", twin.RepeatsNewerBodies, 16, "body="},
		{"acknowledged bodies still count", twin.CountsSeenBodies, 32, "OVERLOADED"},
	})
}

// TestAnswersWithoutBodiesNeverComeToTheBound: the bound in bytes is for bodies. It leaves room for as many answers
// without one as a session may have.
func TestAnswersWithoutBodiesNeverComeToTheBound(t *testing.T) {
	if shard.MaxUnacknowledged*shard.AnswerBytes*2 > shard.MaxAnswerBytes {
		t.Error("a session with many answers has no room for bodies")
	}
}
