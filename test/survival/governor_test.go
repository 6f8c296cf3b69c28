//go:build linux

package survival_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// inHistory waits until a host's log has a line about a cluster change with all given parts, written by the governor at
// that time.
func inHistory(t *testing.T, hosts []*host, parts ...string) {
	t.Helper()
	for late := time.Now().Add(patience); !hasLine(hosts, parts); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("not within %v: a line with %q", patience, parts)
		}
	}
}

func hasLine(hosts []*host, parts []string) bool {
	for _, h := range hosts {
	lines:
		for line := range strings.Lines(h.Errors()) {
			if !strings.Contains(line, "the hosts of the cluster have changed") {
				continue
			}
			for _, part := range parts {
				if !strings.Contains(line, part) {
					continue lines
				}
			}
			return true
		}
	}
	return false
}

// TestAHostThatDiesIsOfflineUntilItIsBackAndOneThatStopsBeforeItEnds: a killed host goes offline until it returns, and
// a stopping host goes offline before it exits. The cluster history has both with their reasons. Clients lose nothing.
func TestAHostThatDiesIsOfflineUntilItIsBackAndOneThatStopsBeforeItEnds(t *testing.T) {
	places, hosts := three(t)
	l := newLoad(t, hosts, "/three", sessions, 4, 2)
	l.progress(10)
	_, dead := byLed(t, hosts)
	subject := "subject=" + places[dead].Name + " "
	hosts[dead].signal(os.Kill)
	<-hosts[dead].Gone()
	inHistory(t, hosts, "event=host-target", subject, `change="OFFLINE, no-contact"`, "by=governor")
	inHistory(t, hosts, "event=host-state", subject, "change=OFFLINE")
	l.progress(10)
	began := time.Now()
	hosts[dead] = places[dead].serve(t)
	hosts[dead].awaitReady()
	inHistory(t, hosts, "event=host-target", subject, `change="ONLINE, started"`, "by=\"host "+places[dead].Name)
	t.Logf("back after %v", time.Since(began))
	l.progress(10)

	next := (dead + 1) % len(hosts)
	stopping, subject := hosts[next], "subject="+places[next].Name+" "
	asked := time.Now()
	stopping.stop()
	took := time.Since(asked)
	if !hasLine(hosts, []string{"event=host-state", subject, "change=OFFLINE", "by=governor"}) {
		t.Errorf("it ended after %v, and was not offline", took)
	}
	l.progress(10)
	t.Logf("stopped: %v", l.record.longestPause(asked))
	inHistory(t, hosts, "event=host-target", subject, `change="OFFLINE, shutdown"`)
	l.check()
	l.record.checkNoSessionEnded()
}
