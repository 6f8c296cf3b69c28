//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// movingTime matches a nonzero shard time on the metrics page.
var movingTime = regexp.MustCompile(`(?m)^signalbox_shard_clock_seconds\{shard="\d+"\} (?:[1-9]|0\.)`)

// exitData is the exit code of a host with unusable data.
const exitData = 65

// TestAClusterIsUpgradedHostByHostUnderLoad starts three hosts, upgrades them one by one to a build with a further
// feature level, reverts one upgrade before the level has risen, and checks that a revert fails afterwards.
func TestAClusterIsUpgradedHostByHostUnderLoad(t *testing.T) {
	newest, err := process.BuildAt(scratch, leveltest.Later)
	if err != nil {
		t.Fatal(err)
	}
	previous, before := program, int(level.Newest)
	places, hosts := three(t)
	l := newLoad(t, hosts, "/three", sessions, 4, 2)

	at := func(i, want int, heldBy ...string) {
		t.Helper()
		hosts[i].await("the cluster is at the level, and says who holds it", func() bool {
			s := hosts[i].status()
			for _, name := range heldBy {
				if !strings.Contains(s.Cluster.LevelHeldBy, "host "+name) {
					return false
				}
			}
			return s.Cluster.FeatureLevel == want && (s.Cluster.LevelHeldBy == "") == (len(heldBy) == 0)
		})
	}
	change := func(i int, to process.Program) {
		t.Helper()
		l.progress(10)
		hosts[i].stop()
		places[i].Program = to
		hosts[i] = places[i].serve(t)
		hosts[i].awaitReady()
		l.progress(10)
	}

	newNode(t, hosts, "/small", protocol.NodeConfig{})
	c, err := start(addresses(hosts), "/small", 30*time.Second, l.record)
	if err != nil {
		t.Fatal(err)
	}
	defer c.disconnect()
	if err := c.create("first", ""); err != nil {
		t.Fatal(err)
	}
	at(0, before)
	change(0, newest)
	change(1, newest)
	at(0, before, "c")
	at(2, before, "c")
	change(1, previous) // the level has not risen, so a downgrade is permitted
	at(0, before, "b", "c")
	change(1, newest)
	change(2, newest)
	for i := range hosts {
		at(i, int(leveltest.Later))
	}
	if err := errors.Join(c.quota(1, 1), c.quota(1000, 2), c.quota(1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.rollOut("dns", "sas", "the first version"), c.coordinate("jobs", "done")); err != nil {
		t.Fatal(err)
	}
	for n := range 20 { // the first change took effect once: it has not undone the second
		if err := c.create(fmt.Sprint("more-", n), ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range hosts {
		h.await("the time of its shards moves", func() bool {
			_, page := h.Get("/metrics")
			return len(movingTime.FindAllString(page, -1)) == 4
		})
	}
	l.progress(10)

	hosts[2].stop()
	places[2].Program = previous
	late := places[2].serve(t)
	code, err := late.Wait(patience)
	if err != nil || code != exitData {
		t.Fatalf("the build of before ended with %d, %v", code, err)
	}
	if said := late.Errors(); !strings.Contains(said, "which this build, that can follow up to level") &&
		!strings.Contains(said, "this build can follow up to level") {
		t.Errorf("it does not say why:\n%s", said)
	}
	places[2].Program = newest
	hosts[2] = places[2].serve(t)
	hosts[2].awaitReady()
	l.progress(10)
	l.check()
	l.record.checkNoSessionEnded()
}
