//go:build linux

package survival_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// recovered creates a new cluster from a surviving place, and returns its first host.
func recovered(t *testing.T, left *place, args ...string) *host {
	t.Helper()
	fresh := *left.Place
	fresh.Dir, fresh.Args = left.Dir+"-new", []string{"--name", left.Name}
	args = append([]string{"cluster", "recover", "--from", left.Dir, "--data-dir", fresh.Dir, "--name", left.Name,
		"--raft-advertise", left.Raft}, args...)
	out, err := exec.Command(program.Path, args...).CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "generation 1") || !strings.Contains(said, " last wrote its log at ") {
		t.Fatalf("%v\n%s", err, out)
	}
	h := (&place{&fresh}).serve(t)
	h.awaitReady()
	return h
}

// TestAClusterIsRecoveredFromOneOfThree: one host is wiped, one is gone, and one survives. The survivor's data is
// present, tokens grow, and a returning old host is refused and exits.
func TestAClusterIsRecoveredFromOneOfThree(t *testing.T) {
	places, hosts := three(t)
	c := newCounter(t, places)
	c.write("one")
	for range 3 {
		c.acquire()
	}
	for _, h := range hosts {
		h.Kill()
	}
	if err := os.RemoveAll(places[0].Dir); err != nil {
		t.Fatal(err)
	}
	unasked := exec.Command(program.Path, "cluster", "recover", "--from", places[2].Dir, "--data-dir",
		places[2].Dir+"-unasked")
	if out, err := unasked.CombinedOutput(); err == nil || !strings.Contains(string(out), "--yes") {
		t.Errorf("without being asked for it is done: %v\n%s", err, out)
	}
	again := recovered(t, places[2], "--yes")
	c.has("one")
	before := c.last
	c.acquire()
	if c.last < before+1<<40 {
		t.Errorf("fencing token %d after %d", c.last, before)
	}
	places[1].serve(t).awaitRefused("the cluster was rebuilt without the refused host", "signalbox serve --join")
	c.acquire()
	again.stop()
}
