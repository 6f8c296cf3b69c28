package clienttest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// leakPatience is the time limit for goroutines to end by themselves.
const leakPatience = time.Minute

// Main runs a package's tests, and fails if client goroutines, or an in-memory server's goroutines, remain afterwards.
// Time bubbles detect their own tests' leaks; Main detects the rest, including examples.
func Main(m *testing.M, cleanups ...func()) {
	code := m.Run()
	for _, f := range cleanups {
		f()
	}
	if left := leaked(leakPatience); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d goroutines are left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// leaked returns the goroutines that remain after a while.
func leaked(patience time.Duration) (left []string) {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left = ours(stacks())
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

func stacks() string {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
	}
}

// stay are the intended goroutines: the observer, and the goroutine whose thread is the parent of processes.
var stay = []string{"clienttest.Main", "clienttest.leaked", "internal/subprocess."}

// ours picks goroutines running this project's code, except the goroutines in stay.
func ours(stacks string) (found []string) {
	for _, g := range strings.Split(stacks, "\n\n") {
		known := slices.ContainsFunc(stay, func(name string) bool { return strings.Contains(g, name) })
		if strings.Contains(g, "github.com/signalbox/signalbox/") && !known {
			found = append(found, g)
		}
	}
	return found
}
