package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// TestAgesGoOnWhereNothingHappens: the time that moments are compared with is the leader's, and not that of the last
// entry of the log, which can be seconds ago.
func TestAgesGoOnWhereNothingHappens(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas", "man"}, 0, time.Hour))
		b.publish("first")
		before := b.describe("").NowMillis
		const wait = 3 * time.Second
		time.Sleep(wait)
		want(t, "milliseconds", b.describe("").NowMillis-before, uint64(wait.Milliseconds()))
		plan := b.s.must(b.s.ask(&protocol.RolloutPlan{
			NodeID: b.node, Name: dns, Consistency: protocol.ConsistencyStrict,
		}))
		want(t, "milliseconds of a plan", plan.RolloutPlan.NowMillis-before, uint64(wait.Milliseconds()))
	})
}
