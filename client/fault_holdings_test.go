package client_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

func TestHoldingsAreReadAsStrictlyAsTheCallerAsks(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		acquire(t, s.Semaphore(name, client.Limit(1)))
		for _, x := range []struct {
			options []client.HoldingsOption
			want    protocol.Consistency
		}{
			{nil, protocol.ConsistencyUnset},
			{[]client.HoldingsOption{client.HoldingsConsistency(client.Strict)}, protocol.ConsistencyStrict},
			{[]client.HoldingsOption{client.HoldingsConsistency(client.Relaxed)}, protocol.ConsistencyRelaxed},
		} {
			var asked []protocol.Consistency
			fake.on(func(_ *fakeHost, r *protocol.Request) fault {
				if r.Kind == protocol.KindSessionHoldings {
					asked = append(asked, r.SessionHoldings.Consistency)
				}
				return fault{}
			})
			held := 0
			for _, err := range c.Holdings(t.Context(), s.ID(), x.options...) {
				check(t, err)
				held++
			}
			fake.on(nil)
			if held != 1 || len(asked) != 2 || asked[0] != x.want || asked[1] != x.want {
				t.Errorf("%v: %d holdings, asked with %v", x.want, held, asked)
			}
		}
	})
}

// TestAClientLooksAtItsLeasesWhereAHostAsksForIt: a loss without a name says that notices may have been missed.
func TestAClientLooksAtItsLeasesWhereAHostAsksForIt(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		before := fake.count(protocol.KindSessionHoldings)
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.conn.push(0, &protocol.HoldingLost{SessionID: x.id})
		})
		eventually(t, 5*time.Second, "the client asks what its session holds",
			func() bool { return fake.count(protocol.KindSessionHoldings) > before })
		check(t, lease.Err())
	})
}

// TestALeaseInADroppedNodeEndsWithItsNode: a lease ends with the reason that counts: the node is gone, not just the
// semaphore.
func TestALeaseInADroppedNodeEndsWithItsNode(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.conn.push(0, &protocol.HoldingLost{
				SessionID: x.id, NodeID: x.node, Name: []byte(name), OrderID: lease.Fence(),
				Reason: protocol.AbortNodeDropped,
			})
		})
		<-lease.Context().Done()
		end, ok := lease.Err().(*client.SessionEnd)
		if !ok || end.Reason != client.EndNodeDropped {
			t.Errorf("the lease ended with %v", lease.Err())
		}
		if s.Err() == nil {
			t.Error("the session goes on")
		}
	})
}
