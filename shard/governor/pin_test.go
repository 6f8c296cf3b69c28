package governor

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
)

// TestBytesOfAnActionAreWhatTheyWere: part of the plan, and of the commands that begin steps.
func TestBytesOfAnActionAreWhatTheyWere(t *testing.T) {
	var action Action
	codectest.Check(t, "testdata/pins",
		codectest.Form{Name: "action", Of: &action, Write: func() []byte { return appendAction(nil, action) }})
}
