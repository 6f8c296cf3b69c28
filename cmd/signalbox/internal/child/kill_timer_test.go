//go:build unix

package child

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

// lease is a lease that the test ends.
type lease struct {
	ctx context.Context
	end context.CancelCauseFunc
	mu  sync.Mutex
	// err is the result of Err before the context has ended.
	err error
}

func newLease() *lease {
	l := &lease{}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	return l
}

func (l *lease) Context() context.Context { return l.ctx }

func (l *lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return context.Cause(l.ctx)
}

func (l *lease) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

var silence = &client.SessionEnd{SessionID: 7, Reason: client.EndUnreachable}

// timed is a command under a lease.
type timed struct {
	t         *testing.T
	lease     *lease
	killTimer KillTimer
	signals   chan os.Signal
	lines     *bufio.Reader
	done      chan struct{}
	out       Outcome
	err       error
}

func run(t *testing.T, timeout time.Duration, script string) *timed {
	t.Helper()
	s := &timed{t: t, lease: newLease(), signals: make(chan os.Signal, 1), done: make(chan struct{})}
	s.killTimer = KillTimer{Lease: s.lease, Timeout: timeout, KillAfter: DefaultKillAfter(timeout)}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	s.lines = bufio.NewReader(r)
	go func() {
		defer close(s.done)
		s.out, s.err = s.killTimer.Run(cmd, s.signals)
		w.Close()
	}()
	t.Cleanup(func() {
		s.lease.end(silence)
		<-s.done
		r.Close()
	})
	return s
}

func (ti *timed) line() string {
	ti.t.Helper()
	line, err := ti.lines.ReadString('\n')
	if err != nil {
		ti.t.Fatalf("the command says nothing: %v", err)
	}
	return strings.TrimSpace(line)
}

// rest returns the output of the command and its children until the last process is gone.
func (ti *timed) rest() string {
	ti.t.Helper()
	<-ti.done
	all, err := io.ReadAll(ti.lines)
	if err != nil {
		ti.t.Fatal(err)
	}
	return string(all)
}

func (ti *timed) outcome() Outcome {
	ti.t.Helper()
	<-ti.done
	if ti.err != nil {
		ti.t.Fatal(ti.err)
	}
	return ti.out
}

func TestTheStatusOfTheCommandIsPassedOn(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -9 $$": 137, "kill -TERM $$": 143,
	} {
		if out := run(t, MinTimeout, script).outcome(); out.Status != want || out.Lost != nil {
			t.Errorf("%s: %+v, want %d", script, out, want)
		}
	}
}

func TestSignalsReachTheCommandAndWhatItStarted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			continue // as under nohup: then a shell cannot trap the signal
		}
		s := run(t, time.Hour, `trap 'exit 9' INT TERM HUP QUIT
			sh -c 'trap "echo inner; exit" INT TERM HUP QUIT; echo ready; while :; do sleep 0.01; done'`)
		if got := s.line(); got != "ready" {
			t.Fatal(got)
		}
		s.signals <- sig
		if got := s.line(); got != "inner" {
			t.Errorf("%v: %s", sig, got)
		}
		if out := s.outcome(); out.Status != 9 {
			t.Errorf("%v: %+v", sig, out)
		}
	}
}

func TestALossEndsTheCommandInPeaceWhereItGoes(t *testing.T) {
	s := run(t, time.Minute, `trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done`)
	s.line()
	s.lease.end(silence)
	if got := s.line(); got != "bye" {
		t.Error(got)
	}
	if out := s.outcome(); out.Killed || out.Status != 3 || !errors.Is(out.Lost, client.ErrSessionExpired) {
		t.Errorf("%+v", out)
	}
}

func TestACommandThatIgnoresSIGTERMIsKilledBeforeTheReserveIsOver(t *testing.T) {
	const timeout = 40 * time.Second // a tenth is the reserve: enough time for a slow machine
	s := run(t, timeout, `trap '' TERM; sh -c 'trap "" TERM; sleep 600' & echo ready; wait`)
	s.line()
	began := time.Now()
	s.lease.end(silence)
	s.rest() // returns once no process is left that could write
	if took, reserve := time.Since(began), Reserve(timeout); took >= reserve || took < DefaultKillAfter(timeout) {
		t.Errorf("it was dead after %v, with a reserve of %v", took, reserve)
	}
	if out := s.outcome(); !out.Killed || out.Status != 128+9 {
		t.Errorf("%+v", out)
	}
}

func TestWhatTheCommandLeavesBehindIsKilledAfterALoss(t *testing.T) {
	s := run(t, time.Minute, `trap 'exit 0' TERM; sh -c 'trap "" TERM; echo ready; sleep 600' & wait`)
	s.line()
	s.lease.end(silence)
	s.rest()
	if out := s.outcome(); out.Killed || out.Status != 0 {
		t.Errorf("%+v", out)
	}
}

func TestWhatTheClusterHasTakenIsKilledAtOnce(t *testing.T) {
	for _, cause := range []error{
		&client.SessionEnd{Reason: client.EndDestroyed}, &client.SessionEnd{Reason: client.EndExpired},
		client.ErrLeaseLost, client.ErrDeleted,
	} {
		s := run(t, time.Hour, `trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done`)
		s.line()
		s.lease.end(cause)
		if got := s.rest(); got != "" {
			t.Errorf("%v: %s", cause, got)
		}
		if out := s.outcome(); !out.Killed || !errors.Is(out.Lost, cause) {
			t.Errorf("%v: %+v", cause, out)
		}
	}
}

func TestALossThatOnlyTheClockShowsIsSeen(t *testing.T) {
	s := run(t, MinTimeout, `trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.001; done`)
	s.line()
	s.lease.fail(silence)
	if out := s.outcome(); out.Lost == nil {
		t.Errorf("%+v", out)
	}
}

func TestALeaseThatWasGoodLongAgoIsKilledFor(t *testing.T) {
	l := KillTimer{Lease: newLease(), Timeout: 10 * time.Second, KillAfter: 500 * time.Millisecond}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("sh", "-c", `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	cmd.Stdout = w
	p, err := start(cmd, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	good := now()
	good.all -= time.Second // the time that this process was stopped
	if out := l.end(p, good, silence); !out.Killed || out.Status != 128+9 {
		t.Errorf("%+v", out)
	}
}

func TestAMachineThatSleptHasLostItsLeases(t *testing.T) {
	l := KillTimer{Lease: newLease(), Timeout: 8 * time.Second}
	last := now()
	if _, err := l.check(last); err != nil {
		t.Errorf("it did not sleep: %v", err)
	}
	last.all -= time.Minute // the running clock has advanced
	if _, err := l.check(last); !errors.Is(err, ErrSlept) {
		t.Errorf("it slept: %v", err)
	}
	if !taken(ErrSlept) {
		t.Error("there is time to ask")
	}
}

func TestNothingIsStartedUnderALostLease(t *testing.T) {
	l := newLease()
	l.end(client.ErrLeaseLost)
	out, err := KillTimer{Lease: l, Timeout: MinTimeout}.Run(exec.Command("/nowhere"), nil)
	if err != nil || !errors.Is(out.Lost, client.ErrLeaseLost) || !out.NotRun {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAllThatIsGrantedFitsIntoTheReserve(t *testing.T) {
	for _, timeout := range []time.Duration{MinTimeout, 10 * time.Second, 30 * time.Minute} {
		reserve := Reserve(timeout)
		if most := MaxKillAfter(timeout) + reserve/checks; most > killBy*reserve/4 ||
			DefaultKillAfter(timeout) > MaxKillAfter(timeout) {
			t.Errorf("%v: up to %v of %v", timeout, most, reserve)
		}
	}
}
