//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// TestItsTimersComeLate by a millisecond, in a process with unchanged arguments.
func TestItsTimersComeLate(t *testing.T) {
	program := filepath.Join(t.TempDir(), "signalbox-ydb")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := subprocess.Launch("signalbox-ydb", exec.Command(program, "--listen", "127.0.0.1:0", "--metrics-listen",
		"off"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.AwaitOutput("it is ready", time.Minute, func() bool {
		return strings.Contains(p.Errors(), "is ready")
	}); err != nil {
		t.Fatal(err)
	}
	slack, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", p.PID()))
	if err != nil {
		t.Skip(err) // changing it needs a right
	}
	if got := strings.TrimSpace(string(slack)); got != "1000000" {
		t.Errorf("its timers come late by %s ns", got)
	}
}
