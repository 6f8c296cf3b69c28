package process

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take that must come some time.
const patience = time.Minute

// launch runs a script of a shell until the end of the test.
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
		err := p.AwaitOutput("it says all", patience, func() bool { return p.Output() == "out\n" && p.Errors() == "err\n" })
		if err != nil {
			t.Fatal(err)
		}
		if code, err := p.Wait(patience); code != 3 || err != nil {
			t.Fatalf("code %d, %v", code, err)
		}
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
		if err := p.AwaitOutput("it says so", patience, func() bool { return p.Output() == want }); err != nil {
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
		err := await("it flies", patience, never)
		if err == nil || !strings.Contains(err.Error(), "sh ended with code 3 before it flies") || !strings.Contains(err.Error(), "sorry") {
			t.Errorf("a process that ends: %v", err)
		}
	}
	idle := launch(t, "exec sleep 600")
	for _, await := range []func(string, time.Duration, func() bool) error{idle.Await, idle.AwaitOutput} {
		if err := await("it flies", time.Millisecond, never); err == nil || !strings.Contains(err.Error(), "not within 1ms: it flies") {
			t.Errorf("a process that goes on: %v", err)
		}
	}
	if _, err := idle.Wait(time.Millisecond); err == nil || !strings.Contains(err.Error(), "sh does not end within 1ms") {
		t.Errorf("the end of a process that goes on: %v", err)
	}
}

func TestAPlaceKeepsItsPortsForItsProcesses(t *testing.T) {
	places, err := Places(Program{}, t.TempDir(), []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, p := range places {
		for _, address := range []string{p.Client, p.Raft, p.Admin} {
			if seen[address] {
				t.Errorf("%s is found twice", address)
			}
			seen[address] = true
			for range 2 { // one process after the other
				l, err := net.Listen("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				_ = l.Close()
			}
		}
	}
}

func TestTheLastOfTheOutputIsKept(t *testing.T) {
	var o output
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 4 * keptOutput / len(line) {
		_, _ = o.Write(line)
	}
	_, _ = o.Write([]byte("the end"))
	if text := o.String(); len(text) < keptOutput/2 || len(text) > 2*keptOutput || !strings.HasSuffix(text, "\nthe end") {
		t.Errorf("%d bytes are kept", len(text))
	}
}
