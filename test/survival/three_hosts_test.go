//go:build linux

package survival_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// sessions is the session timeout of the load on three hosts: long enough to reattach in time on a slow machine.
const sessions = 20 * time.Second

// three starts three hosts with a node with a short grace period.
func three(t *testing.T) (places []*place, hosts []*host) {
	t.Helper()
	places = newPlaces(t, "a", "b", "c")
	hosts = serveAll(t, places)
	newNode(t, hosts, "/three", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	return places, hosts
}

// byLed returns the list positions of the hosts that lead the most and the fewest shards.
func byLed(t *testing.T, hosts []*host) (most, fewest int) {
	t.Helper()
	var led []int
	for i, h := range hosts {
		led = append(led, h.led())
		if led[i] > led[most] {
			most = i
		}
		if led[i] < led[fewest] {
			fewest = i
		}
	}
	t.Logf("shards led: %v", led)
	return most, fewest
}

func TestThreeHostsLoseOneAfterTheOtherAndAllAtOnce(t *testing.T) {
	places, hosts := three(t)
	l := newLoad(t, hosts, "/three", sessions, 4, 2)
	l.progress(10)

	lose := func(what string, i int) {
		hosts[i].Kill()
		killed := time.Now()
		l.progress(10)
		t.Logf("%s killed: %v", what, l.record.longestPause(killed))
		hosts[i] = places[i].serve(t)
		t.Logf("ready %v after its start", hosts[i].awaitReady())
		l.progress(10)
	}
	most, _ := byLed(t, hosts)
	lose("the leader of most", most)
	if !testing.Short() {
		_, fewest := byLed(t, hosts)
		lose("the leader of fewest", fewest)
	}

	for _, h := range hosts {
		h.signal(os.Kill)
	}
	killed := time.Now()
	for i := range hosts {
		<-hosts[i].Gone()
		hosts[i] = places[i].serve(t)
	}
	for _, h := range hosts {
		t.Logf("all killed: ready %v after its start", h.awaitReady())
	}
	l.progress(10)
	t.Logf("all killed: %v", l.record.longestPause(killed))
	l.check()
	l.record.checkNoSessionEnded()
}

func TestHostsThatAreRestartedInTurnCostNoClientAnything(t *testing.T) {
	places, hosts := three(t)
	l := newLoad(t, hosts, "/three", sessions, 4, 2)
	inTurn := len(hosts)
	if testing.Short() {
		inTurn--
	}
	for i := range inTurn {
		l.progress(10)
		asked := time.Now()
		hosts[i].stop()
		stopped := time.Since(asked)
		l.progress(10)
		hosts[i] = places[i].serve(t)
		ready := hosts[i].awaitReady()
		l.progress(10)
		t.Logf("host %s at %s asked to stop at %s, did within %v, ready again after %v: %v",
			places[i].Name, places[i].Client, asked.Format(time.StampMilli), stopped, ready,
			l.record.longestPause(asked))
	}
	l.check()
	l.record.checkNoSessionEnded()
}

// TestHostsThatStandStillInTurnKeepNoClientWaitingForGood: Leaders change repeatedly while clients wait for answers,
// and each client gets an answer.
func TestHostsThatStandStillInTurnKeepNoClientWaitingForGood(t *testing.T) {
	_, hosts := three(t)
	l := newLoad(t, hosts, "/three", sessions, 4, 2)
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		still, other := hosts[i%len(hosts)], hosts[(i+1)%len(hosts)]
		still.must(still.Pause())
		paused := time.Now()
		l.progress(5)
		// With two of three hosts stalled there is no quorum, and no host leads any more.
		other.must(other.Pause())
		time.Sleep(500 * time.Millisecond)
		other.signal(syscall.SIGCONT)
		l.progress(5)
		still.signal(syscall.SIGCONT)
		l.progress(5)
		t.Logf("host %s stood still, then host %s too: %v",
			still.Place.Name, other.Place.Name, l.record.longestPause(paused))
	}
	l.check()
	l.record.checkNoSessionEnded()
}
