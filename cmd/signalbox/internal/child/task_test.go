//go:build unix

package child

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

var errSuperseded = errors.New("superseded")

// tasked is a command with a purpose.
type tasked struct {
	t       *testing.T
	lines   *bufio.Reader
	end     context.CancelCauseFunc
	signals chan os.Signal
	done    chan struct{}
	out     Outcome
}

func runTask(t *testing.T, task Task, script string) *tasked {
	t.Helper()
	s := &tasked{t: t, signals: make(chan os.Signal, 1), done: make(chan struct{})}
	ctx, end := context.WithCancelCause(context.Background())
	s.end = end
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(r)
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	go func() {
		defer close(s.done)
		var err error
		task.Purpose = ctx
		if s.out, err = task.Run(cmd, s.signals); err != nil {
			t.Error(err)
		}
		w.Close()
	}()
	t.Cleanup(func() {
		end(errSuperseded)
		<-s.done
		r.Close()
	})
	return s
}

// await waits for a line.
func (t *tasked) await(want string) {
	t.t.Helper()
	if line, err := t.lines.ReadString('\n'); line != want+"\n" || err != nil {
		t.t.Fatalf("it says %q, %v, want %q", line, err, want)
	}
}

// outcome returns how the command ended. By then all child processes are gone, since a child could still write.
func (t *tasked) outcome() Outcome {
	t.t.Helper()
	if _, err := io.ReadAll(t.lines); err != nil {
		t.t.Error(err)
	}
	<-t.done
	return t.out
}

func TestATaskEndsWithItsCommand(t *testing.T) {
	if out := runTask(t, Task{KillAfter: time.Hour}, "exit 7").outcome(); out != (Outcome{Status: 7}) {
		t.Errorf("%+v", out)
	}
	s := runTask(t, Task{KillAfter: time.Hour}, `trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done`)
	s.await("ready")
	s.signals <- syscall.SIGUSR1
	if out := s.outcome(); out != (Outcome{Status: 5}) {
		t.Errorf("after a signal: %+v", out)
	}
}

func TestACommandWithoutAPurposeIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		script    string
		killAfter time.Duration
		want      Outcome
	}{
		"that ends in peace": {`trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done`, time.Hour,
			Outcome{Status: 3, Lost: errSuperseded}},
		"that does not end": {`trap '' TERM; echo ready; exec sleep 600`, time.Millisecond,
			Outcome{Status: 137, Lost: errSuperseded, Killed: true}},
		"that leaves a process behind": {`trap 'exit 0' TERM; sh -c 'trap "" TERM; echo ready; sleep 600' & wait`,
			time.Hour, Outcome{Lost: errSuperseded}},
	} {
		for _, background := range []bool{false, true} {
			s := runTask(t, Task{KillAfter: c.killAfter, Background: background}, c.script)
			s.await("ready")
			s.end(errSuperseded)
			if out := s.outcome(); out != c.want {
				t.Errorf("a command %s, in the background %t: %+v, want %+v", name, background, out, c.want)
			}
		}
	}
}

// TestTasksInTheBackgroundRunAtOnce: each task gets only its own signals, and one task's end does not affect the second
// task.
func TestTasksInTheBackgroundRunAtOnce(t *testing.T) {
	const script = `trap 'echo asked' USR1; trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done`
	task := Task{KillAfter: time.Hour, Background: true}
	one, other := runTask(t, task, script), runTask(t, task, script)
	one.await("ready")
	other.await("ready")
	one.signals <- syscall.SIGTERM
	if out := one.outcome(); out != (Outcome{Status: 4}) {
		t.Errorf("the first: %+v", out)
	}
	other.signals <- syscall.SIGUSR1
	other.await("asked")
	other.end(errSuperseded)
	if out := other.outcome(); out != (Outcome{Status: 4, Lost: errSuperseded}) {
		t.Errorf("the second: %+v", out)
	}
}

func TestNothingIsStartedWithoutAPurpose(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(errSuperseded)
	out, err := Task{Purpose: ctx}.Run(exec.Command("/nowhere"), nil)
	if err != nil || out != (Outcome{Lost: errSuperseded, NotRun: true}) {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := (Task{Purpose: t.Context()}).Run(exec.Command("/nowhere"), nil); err == nil {
		t.Error("what is not there was run")
	}
}
