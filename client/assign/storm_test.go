package assign_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/assign"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestStorm: members join, leave, lose their sessions and stop slowly, while leaders move and connections are cut. A
// part never has two owners, and tokens grow; in the end all parts have an owner.
func TestStorm(t *testing.T) {
	for seed := range clienttest.Storms(6) {
		play(t, 3, assign.Numbers(12), func(t *testing.T, g *stage) {
			random := rand.New(rand.NewPCG(seed, 1))
			var members []*member
			join := func() {
				m := g.join(string(rune('a' + random.IntN(6))))
				longest := random.IntN(4000)
				var n atomic.Uint64
				m.drain = func(string) time.Duration {
					return time.Duration(rand.New(rand.NewPCG(seed, n.Add(1))).IntN(longest+1)) * time.Millisecond
				}
				members = append(members, m)
			}
			for range 3 {
				join()
			}
			for range 60 {
				switch i := random.IntN(len(members)); random.IntN(6) {
				case 0:
					clienttest.Lead(t, g.Server, clusterHost(random.IntN(3)))
				case 1:
					g.Server.CutClients(clusterHost(random.IntN(3)))
				case 2:
					if id := members[i].session.ID(); id != 0 {
						_ = g.Client.DestroySession(t.Context(), id) // the session may have ended
					}
				case 3:
					if len(members) < 6 {
						join()
					}
				case 4:
					if len(members) > 1 {
						patience := time.Duration(random.IntN(5000)) * time.Millisecond
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						_ = members[i].Leave(ctx) // leaving continues by itself
						cancel()
						members = slices.Delete(members, i, i+1)
					}
				}
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
			}
			time.Sleep(2 * time.Minute)
			least, more := 12/len(members), 12%len(members)
			slices.SortStableFunc(members, func(a, b *member) int { return len(b.has()) - len(a.has()) })
			want := make([]int, len(members))
			for i := range want {
				if want[i] = least; i < more {
					want[i]++
				}
			}
			g.shares(members, want...)
		})
	}
}

// TestOneThatIsCutOffStopsBeforeOthersStart: the member stops by its own clock, without any message. The ledger checks
// this.
func TestOneThatIsCutOffStopsBeforeOthersStart(t *testing.T) {
	play(t, 1, assign.Numbers(4), func(t *testing.T, g *stage) {
		var cut atomic.Bool
		c, err := client.Open(t.Context(), g.Server.Addresses(),
			client.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
				if cut.Load() {
					return nil, errors.New("cut off")
				}
				return g.Server.Dial(ctx, address)
			}))
		clienttest.Check(t, err)
		defer c.Close()
		a, b := g.joinBy(clienttest.Session(t, c), "a"), g.join("b")
		g.shares([]*member{a, b}, 2, 2)
		part := a.has()[0]
		cut.Store(true)
		g.Server.CutClients(1)
		var end *client.SessionEnd
		if err := g.ends(part); !errors.As(err, &end) {
			t.Errorf("the part of one that is cut off ends with %v", err)
		}
		<-a.Done()
		time.Sleep(time.Minute)
		g.shares([]*member{b}, 4)
	})
}

// TestTheCoordinatorDiesWhileItHandsOver: the next coordinator continues the handover.
func TestTheCoordinatorDiesWhileItHandsOver(t *testing.T) {
	play(t, 1, assign.Numbers(6), func(t *testing.T, g *stage) {
		a, b := g.join("a"), g.join("b")
		g.shares([]*member{a, b}, 3, 3)
		b.drain = func(string) time.Duration { return 30 * time.Second }
		c := g.join("c")
		time.Sleep(handedOver)
		if len(b.Partitions()) != 3 || len(b.has()) != 2 {
			t.Fatalf("nothing is handed over: %+v", b.Partitions())
		}
		clienttest.Check(t, a.session.Close(t.Context())) // the member that joined first
		time.Sleep(time.Minute)
		g.shares([]*member{b, c}, 3, 3)
	})
}
