package server_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestAShardServesAgainWhenItsLeadersCeaseToChange: leaders change faster than they can start serving. Afterwards the
// leader serves, and no session has ended early.
func TestAShardServesAgainWhenItsLeadersCeaseToChange(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 5))
			c := servertest.Start(t, servertest.Hosts(3), servertest.Seed(seed))
			nodeAt(t, c, "/jobs")
			a := speak(t, c, c.Leader(1)).session("/jobs", 30*time.Second)
			_, held := a.acquire("lock", protocol.Exclusive, 0, true)
			for range rounds {
				host := shard.HostID(1 + random.IntN(3))
				switch random.IntN(4) {
				case 0:
					c.Isolate(host)
				case 1:
					c.Heal()
				default:
					_ = c.Elect(1, host) // it may be partitioned, or lead already
				}
				time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
			}
			c.Heal()
			time.Sleep(2 * time.Second) // a partitioned host may still start an election
			if err := c.WaitReady(20 * time.Second); err != nil {
				t.Fatal(err)
			}
			s := speak(t, c, c.Leader(1))
			if !attached(t, s, a) {
				t.Fatal("the session has ended, and its timeout is not over")
			}
			_, again := a.acquire("lock", protocol.Exclusive, 0, true)
			want(t, "order id", again.OrderID, held.OrderID)
		})
	}
}
