package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// TestAgesGoOnWhereNothingHappens: ages are relative to the leader's time, not to the last log entry, which can be
// seconds old.
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

// TestWhySaysThatALeaderIsDetached: the explanation shows that the awaited leader's session has no connection, and for
// how long.
func TestWhySaysThatALeaderIsDetached(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		gone := b.join("a.sas", "sas")
		b.join("b.sas", "sas")
		b.publish("first")
		why := func() string {
			reasons := b.describe("").Reasons
			for r := range reasons.All(0) {
				return r.Text
			}
			return ""
		}
		if got := why(); strings.Contains(got, "detached") {
			t.Errorf("both are attached: %s", got)
		}
		_ = gone.s.conn.Close()
		time.Sleep(7 * time.Second)
		want(t, "the reason", why(), "sas waits for 2 of 2 leaders: "+
			"a.sas (has not heard of generation 1, its session detached for 7 s), "+
			"b.sas (has not heard of generation 1)")
	})
}
