package subprocess

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// timeout is the maximum wait for an expected event.
const timeout = time.Minute

// launch runs a shell script until the end of the test.
func launch(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Launch("sh", exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestWhatAProcessSaysLastCounts(t *testing.T) {
	for range 20 { // whatever is looked at first
		p := launch(t, "echo out; echo err >&2; exit 3")
		err := p.AwaitOutput("it says all", timeout, func() bool {
			return p.Output() == "out\n" &&
				p.Errors() == "err\n"
		})
		if err != nil {
			t.Fatal(err)
		}
		if code, err := p.Wait(timeout); code != 3 || err != nil {
			t.Fatalf("code %d, %v", code, err)
		}
	}
}

func TestAProgramIsStartedAgainAsItWas(t *testing.T) {
	cmd := exec.Command("sh", "-c", `echo $0 $VALUE; pwd; test -e seen && exec sleep 1000; touch seen`, "argument")
	cmd.Dir, cmd.Env = t.TempDir(), []string{"VALUE=value"}
	p, err := Launch("sh", cmd)
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Wait(timeout)
	if first != 0 || err != nil {
		t.Fatalf("code %d, %v", first, err)
	}
	again, err := p.Again()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Kill)
	want := "argument value\n" + cmd.Dir + "\n"
	same := func() bool { return again.Output() == want }
	if err := again.AwaitOutput("it says the same", timeout, same); err != nil {
		t.Error(err)
	}
	if p.Output() != want || again.PID() == p.PID() {
		t.Errorf("the first said %q as process %d, the second is process %d", p.Output(), p.PID(), again.PID())
	}
}

func TestOutputIsAwaitedAsItComes(t *testing.T) {
	in, typed := net.Pipe()
	cmd := exec.Command("sh", "-c", "echo ready; read line; echo got $line")
	cmd.Stdin = in
	p, err := Launch("sh", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	t.Cleanup(func() { _ = typed.Close() })
	says := func(want string) {
		t.Helper()
		if err := p.AwaitOutput("it says so", timeout, func() bool { return p.Output() == want }); err != nil {
			t.Fatal(err)
		}
	}
	says("ready\n")
	if _, err := typed.Write([]byte("it\n")); err != nil {
		t.Fatal(err)
	}
	says("ready\ngot it\n")
}

func TestWhatDoesNotComeIsNamed(t *testing.T) {
	never := func() bool { return false }
	over := launch(t, "echo sorry >&2; exit 3")
	for _, await := range []func(string, time.Duration, func() bool) error{over.Await, over.AwaitOutput} {
		err := await("it flies", timeout, never)
		if err == nil || !strings.Contains(err.Error(), "sh ended with code 3 before it flies") ||
			!strings.Contains(err.Error(), "sorry") {
			t.Errorf("a process that ends: %v", err)
		}
	}
	idle := launch(t, "exec sleep 600")
	for _, await := range []func(string, time.Duration, func() bool) error{idle.Await, idle.AwaitOutput} {
		err := await("it flies", time.Millisecond, never)
		if err == nil || !strings.Contains(err.Error(), "not within 1ms: it flies") {
			t.Errorf("a process that goes on: %v", err)
		}
	}
	if _, err := idle.Wait(time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "sh does not end within 1ms") {
		t.Errorf("the end of a process that goes on: %v", err)
	}
}

func TestTheLastOfTheOutputIsKept(t *testing.T) {
	var o output
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 4 * keptOutput / len(line) {
		_, _ = o.Write(line)
	}
	_, _ = o.Write([]byte("the end"))
	if text := o.String(); len(text) < keptOutput/2 || len(text) > 2*keptOutput ||
		!strings.HasSuffix(text, "\nthe end") {
		t.Errorf("%d bytes are kept", len(text))
	}
}

func shell(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

func TestOutputIsWhatWasPrinted(t *testing.T) {
	cmd := shell(`echo "$WORD"; echo aside >&2`)
	cmd.Env = append(os.Environ(), "WORD=said")
	out, err := Output(t.Context(), "the script", cmd)
	if err != nil || string(out) != "said\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAFailureComesWithTheEndOfTheErrors(t *testing.T) {
	_, err := Output(t.Context(), "the script", shell("echo the disk is full >&2; exit 3"))
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok || failed.ExitCode() != 3 || !strings.Contains(err.Error(), "the script ended: exit status 3") ||
		!strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v", err)
	}
	_, err = Launch("nowhere", exec.Command(filepath.Join(t.TempDir(), "nowhere")))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestEndEndsTheWholeGroup(t *testing.T) {
	cmd := shell("sleep 1000 & echo ready; wait")
	OwnGroup(cmd)
	p, err := Launch("the script", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.AwaitOutput("it is ready", timeout, func() bool { return p.Output() != "" }); err != nil {
		t.Fatal(err)
	}
	p.End(timeout) // returns when the last process in the group has closed the output
}

func TestTheEndOfTheContextEndsAProcess(t *testing.T) {
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	cmd := shell("echo ready >&3; exec sleep 1000")
	cmd.ExtraFiles = []*os.File{writing}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	ended := make(chan error, 1)
	go func() {
		_, err := Output(ctx, "the script", cmd)
		ended <- err
	}()
	if _, err := reading.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel(over)
	if err := <-ended; !errors.Is(err, over) {
		t.Errorf("%v", err)
	}
	_ = writing.Close()
}

func TestAServerThatEndsWhileItStartsIsNotWaitedFor(t *testing.T) {
	p := launch(t, "echo the port is taken >&2; exit 1")
	refused := func(context.Context) error { return errors.New("refused") }
	err := AwaitAll(t.Context(), "the server", []*Process{p}, refused)
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("%v", err)
	}
}

func TestPortsAreAllDifferent(t *testing.T) {
	ports, err := ReservePorts(50)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	seen := make(map[string]bool)
	for _, address := range ports.Addresses {
		if seen[address] {
			t.Errorf("%s is returned twice", address)
		}
		seen[address] = true
	}
}
