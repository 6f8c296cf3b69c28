package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/twin"
)

// TestMistakesAboutTimeAreNoticed: bugs in the advance of shard time, or in the effectiveness of batches, are detected.
// The bug is in the twin: the comparison is symmetric.
func TestMistakesAboutTimeAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"the base is forgotten at a change of leader", twin.ForgetsBase, 13, "term"},
		{"what elapsed in a term of before counts", twin.CountsLateStamps, 13, "time"},
		{"time goes back", twin.TimeGoesBack, 13, "time"},
		{"a term that begins twice counts twice", twin.RebasesTwice, 13, "since"},
		{"a batch of a leader that is over has effects", twin.ObeysLateLeaders, 13, "UNAVAILABLE"},
		{"the alarm of a waiter that was granted is kept", twin.KeepsAlarms, 13, "deadline="},
		{"a restored machine forgets deadlines", twin.ForgetsDeadlines, 13, "timed-out"},
		{"a new term gives waiters their full time again", twin.WaitsAnew, 1, "deadline="},
		{"a wait ends in the last millisecond of its time", twin.TimesOutEarly, 13, "deadline="},
	})
}
