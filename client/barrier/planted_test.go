package barrier_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

func TestBugsInTheSourceAreNoticed(t *testing.T) {
	clienttest.PlantBugs(t, []clienttest.Bug{
		{
			Name: "a party is in before all have entered", File: "party.go",
			Is: "if d.Generation != r.Epoch() || index < 0 {", Becomes: "if d.Generation > r.Epoch() {",
			Noticed: "TestMoreThanTheBarrierIsFor",
		}, {
			Name: "the next generation is in while one is inside", File: "party.go",
			Is:      "if len(n.Inside) == 0 && len(n.Waiting) >= parties {",
			Becomes: "if len(n.Waiting) >= parties {", Noticed: "TestStorm",
		}, {
			Name: "a party is out before the others", File: "entry.go",
			Is: "case !e.hasOthers(state):", Becomes: "case e.hasOthers(state) || true:",
			Noticed: "TestNoneIsLetOutBeforeAllLeave",
		}, {
			Name: "one that has given up is counted", File: "barrier.go",
			Is:      "\t\t_ = m.Leave(bye) // the leaving goes on by itself\n",
			Becomes: "\t\t_ = bye\n", Noticed: "TestATimeoutLeavesNothingBehind",
		}, {
			Name: "one that is for another number of parties lets others in", File: "party.go",
			Is: "\tcase <-p.checked:\n", Becomes: "\tdefault:\n", Noticed: "TestAnotherNumberOfPartiesIsRefused",
		},
	})
}
