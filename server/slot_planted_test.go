package server_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
)

// TestBugsInTheSourceAreNoticed plants bugs in what hosts do when slots move.
func TestBugsInTheSourceAreNoticed(t *testing.T) {
	clienttest.PlantBugs(t, []clienttest.Bug{
		{
			Name: "sessions stay attached after the seal", File: "replica/slots.go",
			Is:      "range r.Leases.SlotLeft(slot, changes) {",
			Becomes: "range r.Leases.SlotLeft(shard.Slots, changes) {",
			Noticed: "TestALeaseOutlivesMovesOfItsHome",
		}, {
			Name: "sessions that arrive have no lease", File: "replica/slots.go",
			Is: "range r.Machine.SessionsAt(slot, nil) {", Becomes: "range r.Machine.SessionsAt(slot, nil)[:0] {",
			Noticed: "TestWhatASlotHasMovesWithIt",
		}, {
			Name: "waiting acquires do not hear that their slot has left", File: "replica/waiting.go",
			Is:      "takeUnless(func(s shard.Slot) bool { return s != slot })",
			Becomes: "takeUnless(func(shard.Slot) bool { return true })",
			Noticed: "TestWhatASlotHasMovesWithIt",
		}, {
			Name: "a silent session is expired by the count of before", File: "replica/leader.go",
			Is: "Count: by.Changes,", Becomes: "Count: 0 * by.Changes,",
			Noticed: "TestALeaseOutlivesMovesOfItsHome",
		}, {
			Name: "watches stay where the slot was", File: "replica/slots.go",
			Is: "\tr.Hub.EndSlots(stays, why)\n", Becomes: "", Noticed: "TestWhatASlotHasMovesWithIt",
		}, {
			Name: "an attach where the slot is not is answered", File: "handle/session/attach.go",
			Is: "if !rp.Leads() || !owned {", Becomes: "if !rp.Leads() || !owned && changes == 0 {",
			Noticed: "TestClientsFollowSlotsThatMove",
		}, {
			Name: "requests behind a seal are not proposed again", File: "replica/moves.go",
			Is: "if ended && to.Leads() && to", Becomes: "if !ended && to.Leads() && to",
			Noticed: "TestRequestsThatWaitedForASlotAreCarriedOutOnce",
		}, {
			Name: "requests behind a seal are proposed twice", File: "replica/moves.go",
			Is:      "to.Pipeline.Add(op, &again) {",
			Becomes: "to.Pipeline.Add(op, &again) && to.Pipeline.Add(op, &again) {",
			Noticed: "TestRequestsThatWaitedForASlotAreCarriedOutOnce",
		}, {
			Name: "requests that waited are refused when the slot returns", File: "handle/slot.go",
			Is: "\t\t\tif ended {", Becomes: "			if !ended {",
			Noticed: "TestRequestsThatWaitedForASlotAreCarriedOutOnce",
		}, {
			Name: "any number of requests waits for a slot", File: "replica/moves.go",
			Is: "maxWaitingPerSlot = 1000", Becomes: "maxWaitingPerSlot = 1001",
			Noticed: "TestTooManyOrTooLongWaitingRequestsAreUnavailable",
		}, {
			Name: "any number of requests waits on a host", File: "replica/moves.go",
			Is: "case mo.closed || mo.requests >= maxWaiting ||", Becomes: "case mo.closed ||",
			Noticed: "TestTooManyOrTooLongWaitingRequestsAreUnavailable",
		}, {
			Name: "requests wait for a slot until the move ends", File: "replica/moves.go",
			Is: "time.AfterFunc(requestWait,", Becomes: "time.AfterFunc(10*requestWait,",
			Noticed: "TestTooManyOrTooLongWaitingRequestsAreUnavailable",
		}, {
			Name: "only the leader that sealed a slot offers it", File: "replica/offers.go",
			Is: "\t\t\tr.set.moves.offer(r, x.Number)\n", Becomes: "",
			Noticed: "TestTheNextLeaderOffersASealedSlot",
		}, {
			Name: "a backup is sealed without a look at its slots", File: "../client/admin/backup_slots.go",
			Is: "if len(missing) == 0 {", Becomes: "if len(missing) >= 0 {",
			Noticed: "TestABackupHasASlotThatMovesBetweenItsSections",
		}, {
			Name: "a backup does not hold moves", File: "../shard/hosts/hold.go",
			Is: "if now >= r.held.Until {", Becomes: "if now >= 0*r.held.Until {",
			Noticed: "TestABackupHoldsMovesInACluster",
		},
	})
}
