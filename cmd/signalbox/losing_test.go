package main

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// pausedHost returns a tool, and a command that holds a lock of a host that has been paused since.
func pausedHost(t *testing.T, timeout string) (*tool, *process) {
	t.Helper()
	p := newPlace(t)
	host := p.serve(t)
	host.awaitReady()
	x := newTool(t, p)
	x.ok("node", "create", "/jobs")
	s := x.start("semaphore", "acquire", "/jobs", "lock", "--limit", "1", "--session-timeout", timeout)
	s.awaitLine(1)
	host.signal(syscall.SIGSTOP)
	impatient := http.Client{Timeout: 100 * time.Millisecond}
	host.await("it is paused", func() bool {
		answer, err := impatient.Get("http://" + p.admin + "/health/live")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err != nil
	})
	return x, s
}

func TestWhoCannotReachTheClusterHoldsNothingAnyMore(t *testing.T) {
	x, s := pausedHost(t, "2s")
	began := time.Now()
	if code := s.wait(patience); code != cli.ExitLost || !strings.Contains(s.err.String(), "no host has vouched for it in time") {
		t.Errorf("code %d, want %d: %s", code, cli.ExitLost, &s.err)
	}
	t.Logf("it ended after %v", time.Since(began))
	x.fails(cli.ExitUnavailable, "within 200ms", "node", "list", "--timeout", "200ms")
}

func TestAnInterruptDoesNotWaitForAClusterThatDoesNotAnswer(t *testing.T) {
	_, s := pausedHost(t, "10m")
	s.signal(os.Interrupt)
	if code := s.wait(patience); code != cli.ExitDone || !strings.Contains(s.err.String(), "signalbox: give back lock: ") {
		t.Errorf("code %d: %s", code, &s.err)
	}
}

func TestASecondInterruptEndsACommandAtOnce(t *testing.T) {
	_, s := pausedHost(t, "10m")
	for ended := false; !ended; {
		_ = s.cmd.Process.Signal(os.Interrupt) // which fails once it has ended
		select {
		case <-s.gone:
			ended = true
		case <-time.After(cli.SameSignal): // what comes earlier is the same signal once more
		}
	}
	if code := s.wait(patience); code != cli.ExitSignal+int(syscall.SIGINT) {
		t.Errorf("code %d: %s", code, &s.err)
	}
}
