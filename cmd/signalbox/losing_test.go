package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// pausedHost returns a tool, and a command that holds a lock from a host that is now paused.
func pausedHost(t *testing.T, timeout string) (*tool, *task) {
	t.Helper()
	p := newPlace(t)
	host := p.serve(t)
	host.awaitReady()
	x := newTool(t, p.Client)
	x.ok("node", "create", "/jobs")
	s := x.start("semaphore", "acquire", "/jobs", "lock", "--limit", "1", "--session-timeout", timeout)
	s.awaitLine(1)
	host.pause()
	return x, s
}

func TestWhoCannotReachTheClusterHoldsNothingAnyMore(t *testing.T) {
	t.Parallel()
	x, s := pausedHost(t, "2s")
	began := time.Now()
	if code := s.wait(patience); code != cli.ExitLost ||
		!strings.Contains(s.Errors(), "no host confirmed the session in time") {
		t.Errorf("code %d, want %d: %s", code, cli.ExitLost, s.Errors())
	}
	t.Logf("it ended after %v", time.Since(began))
	x.fails(cli.ExitUnavailable, "within 200ms", "node", "list", "--timeout", "200ms")
}

func TestAWaitingCommandReportsThatNoHostAnswers(t *testing.T) {
	t.Parallel()
	skipShort(t)
	p := newPlace(t)
	host := p.serve(t)
	host.awaitReady()
	x := newTool(t, p.Client)
	x.ok("node", "create", "/jobs")
	x.start("semaphore", "acquire", "/jobs", "lock", "--ephemeral", "--count", "all", "--session-timeout",
		"10m").awaitLine(1)
	stay := []*task{
		x.start("semaphore", "watch", "/jobs", "lock"),
		x.start("lock", "/jobs", "lock", "--session-timeout", "10m", "--", "true"),
	}
	stay[0].awaitLine(1)
	stay[1].remarks("waiting for lock")
	host.pause()
	for _, c := range stay {
		c.remarks("no host answers; still trying")
	}
	host.signal(syscall.SIGCONT)
	for _, c := range stay {
		c.remarks("a host answers again")
	}
}

func TestAnInterruptDoesNotWaitForAClusterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, s := pausedHost(t, "10m")
	s.signal(os.Interrupt)
	if code := s.wait(patience); code != cli.ExitDone || !strings.Contains(s.Errors(), "signalbox: release lock: ") {
		t.Errorf("code %d: %s", code, s.Errors())
	}
}

func TestASecondInterruptEndsACommandAtOnce(t *testing.T) {
	endsAtOnce(t, func(t *testing.T) (code int) {
		_, s := pausedHost(t, "10m")
		return s.interruptAgain()
	})
}
