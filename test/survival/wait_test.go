//go:build linux

package survival_test

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// TestAWaitEndsInTimeAfterItsLeaderIsKilled: the leader's process is killed while an acquire with a time limit of 1 s
// waits. The next leader ends the wait after 1 to 2.5 s.
func TestAWaitEndsInTimeAfterItsLeaderIsKilled(t *testing.T) {
	const wait, late = time.Second, 1500 * time.Millisecond
	places, hosts := three(t)
	r := newRecord(t)
	owner, err := start(addresses(hosts), "/three", sessions, r)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.disconnect()
	if _, err := owner.acquire("lock"); err != nil {
		t.Fatal(err)
	}
	kills := []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond}
	if testing.Short() {
		kills = kills[:1]
	}
	for _, after := range kills {
		waiter, err := start(addresses(hosts), "/three", sessions, r)
		if err != nil {
			t.Fatal(err)
		}
		_, l, err := waiter.request("semaphore lock", false, func() protocol.RequestMessage {
			return &protocol.SemaphoreDescribe{NodeID: waiter.node, Name: []byte("lock"),
				Consistency: protocol.ConsistencyStrict}
		})
		if err != nil {
			t.Fatal(err)
		}
		leader := slices.Index(addresses(hosts), l.address)
		kill := time.AfterFunc(after, hosts[leader].Kill)
		began := time.Now()
		a, err := waiter.change("lock", func(m protocol.Mutation) protocol.RequestMessage {
			return &protocol.Acquire{
				Mutation: m, NodeID: waiter.node, Name: []byte("lock"), Count: protocol.Forever,
				WaitMillis: uint64(wait.Milliseconds()), Ephemeral: true,
			}
		})
		took := time.Since(began)
		t.Logf("leader killed after %v: the wait ended after %v", after, took)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.Acquire.Outcome == protocol.Acquired:
			t.Error("the lock has two owners")
		case took < wait || took > wait+late:
			t.Errorf("leader killed after %v: a wait of %v ended after %v", after, wait, took)
		}
		kill.Stop()
		waiter.disconnect()
		<-hosts[leader].Gone()
		hosts[leader] = places[leader].serve(t)
		hosts[leader].awaitReady()
	}
	r.checkNoSessionEnded()
}
