// Package leveltest gives tests a second feature level, which no release has yet.
package leveltest

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// Later is a level above every release.
const Later = level.First + 1

// Raise makes Later the build's newest level for the rest of the test. Tests that call Raise must not run in parallel.
func Raise(t testing.TB) {
	before := level.Newest
	level.Newest = Later
	t.Cleanup(func() { level.Newest = before })
}
