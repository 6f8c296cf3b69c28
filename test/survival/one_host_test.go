//go:build linux

package survival_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

func TestAHostThatIsKilledUnderLoadHasAllThatItAcknowledged(t *testing.T) {
	t.Parallel()
	const timeout, grace = 8 * time.Second, 8 * time.Second
	places := newPlaces(t, "a")
	hosts := serveAll(t, places)
	newNode(t, hosts, "/kill", protocol.NodeConfig{SelfCheckPeriodMillis: 500,
		SessionGracePeriodMillis: uint64(grace.Milliseconds())})
	l := newLoad(t, hosts, "/kill", timeout, 4, 2)

	// Two clients hold locks when the host dies: one returns late, the other never.
	quiet := newRecord(t)
	holds := func(lock string) (*client, uint64) {
		c, err := start(l.hosts, l.path, timeout, quiet)
		if err != nil {
			t.Fatal(err)
		}
		order, err := c.acquire(lock)
		if err != nil {
			t.Fatal(err)
		}
		return c, order
	}
	late, lateOrder := holds("late")
	never, neverOrder := holds("never")
	l.progress(20)

	hosts[0].Kill()
	killed := time.Now()
	late.disconnect()
	never.disconnect()
	again := places[0].serve(t)
	ready := again.awaitReady()
	led := time.Now() // at the latest
	l.progress(20)
	t.Logf("ready %v after its start; %v", ready, l.record.longestPause(killed))

	// A third client waits for the lock that is never released.
	type grant struct {
		order uint64
		at    time.Time
		err   error
	}
	successor := make(chan grant, 1)
	waiter, err := start(l.hosts, l.path, timeout, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.disconnect()
	go func() {
		order, err := waiter.acquire("never")
		successor <- grant{order, time.Now(), err}
	}()

	// Later than the timeout, within timeout and grace.
	time.Sleep(time.Until(led.Add(timeout + 500*time.Millisecond)))
	if since := time.Since(again.Began); since > timeout+grace-500*time.Millisecond {
		t.Logf("the machine is too slow to come back in time: %v", since)
	} else {
		back, err := late.reattach()
		if err != nil {
			t.Fatalf("back after %v, with a timeout of %v and a grace of %v: %v", since, timeout, grace, err)
		}
		order, err := back.acquire("late")
		if err != nil || order != lateOrder {
			t.Errorf("back under order id %d, was %d: %v", order, lateOrder, err)
		}
		if err := back.release("late", lateOrder); err != nil {
			t.Error(err)
		}
		back.disconnect()
	}

	g := receive(t, "a session that never comes back is given up", successor)
	if g.err != nil || g.order <= neverOrder {
		t.Errorf("the heir has order id %d after %d: %v", g.order, neverOrder, g.err)
	}
	if early := again.Began.Add(timeout + grace).Sub(g.at); early > 0 {
		t.Errorf("a session was expired %v before timeout and grace had passed", early)
	}
	t.Logf("a session that never came back was given up %v after the start", g.at.Sub(again.Began))
	quiet.checkErrors()
	l.check()
	l.record.checkNoSessionEnded()
}
