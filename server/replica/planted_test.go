package replica_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

// TestBugsInTheSourceAreNoticed plants bugs in what leaders do for slots after a shard was rebuilt.
func TestBugsInTheSourceAreNoticed(t *testing.T) {
	clienttest.PlantBugs(t, []clienttest.Bug{
		{
			Name: "a rebuilt shard keeps a slot that another shard owns", File: "offers.go",
			Is: "\tt.supersede()\n", Becomes: "",
			Noticed: "TestARebuiltShardGivesUpASlotThatAnotherShardOwns",
		}, {
			Name: "a slot that a rebuilt shard lacks is not offered again", File: "offers.go",
			Is:      "case err == nil && outcome == protocol.SlotNone:",
			Becomes: "case err != nil && outcome == protocol.SlotNone:",
			Noticed: "TestARebuiltShardThatLacksASlotGetsTheSlotAgain",
		},
	})
}
