//go:build linux

package survival_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTimersOfAHostComeLate: on more than one processor timers may be late by a millisecond; on a single processor they
// have the default slack.
func TestTimersOfAHostComeLate(t *testing.T) {
	for processors, want := range map[int]string{1: slackOf(t, os.Getpid()), 2: "1000000"} {
		p := newPlaces(t, "a")[0]
		p.Program.Env = []string{fmt.Sprint("GOMAXPROCS=", processors)}
		h, err := p.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Kill() })
		if err := h.AwaitReady(patience); err != nil {
			t.Fatal(err)
		}
		if got := slackOf(t, h.PID()); got != want {
			t.Errorf("on %d processors the slack is %s ns, not %s", processors, got, want)
		}
	}
}

// slackOf is a process's timer slack. Reading it requires the right to change it.
func slackOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", pid))
	if err != nil {
		t.Skip(err)
	}
	return strings.TrimSpace(string(text))
}
