package subprocess

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// busyVariable makes this test's program run with busy threads only.
const busyVariable = "SIGNALBOX_TEST_BUSY"

func TestMain(m *testing.M) {
	if os.Getenv(busyVariable) != "" {
		for range 4 {
			go func() {
				for {
					_ = os.Getpid() // a system call each
				}
			}()
		}
		fmt.Println("busy")
		select {}
	}
	os.Exit(m.Run())
}

func TestNothingOfAPausedProcessRuns(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), busyVariable+"=1")
	p, err := Launch("busy", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.AwaitOutput("it is busy", timeout, func() bool { return p.Output() != "" }); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		for range 2 { // once more changes nothing
			if err := p.Pause(); err != nil {
				t.Fatal(err)
			}
		}
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID()))
		if err != nil || len(threads) < 2 {
			t.Fatalf("%d threads, %v", len(threads), err)
		}
		for _, thread := range threads {
			if text, err := os.ReadFile(thread); err != nil || !strings.Contains(string(text), ") T ") {
				t.Fatalf("a thread runs: %s, %v", text, err)
			}
		}
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}
