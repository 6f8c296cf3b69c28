package governor

import (
	"testing"

	"github.com/signalbox/signalbox/shard/internal/form/formtest"
)

// TestBytesOfAnActionAreWhatTheyWere: it stands in the plan, and in the commands that begin steps.
func TestBytesOfAnActionAreWhatTheyWere(t *testing.T) {
	var action Action
	formtest.Check(t, "testdata/pins",
		formtest.Form{Name: "action", Of: &action, Write: func() []byte { return appendAction(nil, action) }})
}
