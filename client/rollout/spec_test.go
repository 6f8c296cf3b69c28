package rollout

import (
	"testing"
	"time"
)

// TestANegativeNumberIsNotSentAsAnotherOne: on the wire a number has no sign.
func TestANegativeNumberIsNotSentAsAnotherOne(t *testing.T) {
	for _, spec := range []Spec{
		{ProgressDeadline: -1}, {HaltDeadline: -1}, {AskInterval: -1}, {KeepVersions: -1},
		{Reelect: Reelect{After: -1}}, {Reelect: Reelect{Interval: -1}}, {Reelect: Reelect{Attempts: -1}},
		{Reelect: Reelect{Most: -1}}, {Locations: []Location{{Delay: -1}}}, {Locations: []Location{{Require: -1}}},
		{Locations: []Location{{MaxFailing: -1}}},
	} {
		if !spec.Negative() {
			t.Errorf("%+v passes", spec)
		}
	}
	if (&Spec{Locations: []Location{{Delay: time.Second}}}).Negative() {
		t.Error("a spec without a negative number is refused")
	}
}
