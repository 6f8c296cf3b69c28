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

// leakPatience is how long goroutines that end by themselves are given.
const leakPatience = time.Minute

// Main runs the tests of a package, and fails where goroutines of the client, or of a server in memory, are left
// when all are over. Bubbles of time find those of their own tests; this finds the others, examples included.
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

// leaked returns the goroutines that are left after a while.
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

// stay are those that are meant to: the one that looks, and the one whose thread processes are children of.
var stay = []string{"clienttest.Main", "clienttest.leaked", "internal/subprocess."}

// ours picks the goroutines that run something of this project, other than those that stay.
func ours(stacks string) (found []string) {
	for _, g := range strings.Split(stacks, "\n\n") {
		known := slices.ContainsFunc(stay, func(name string) bool { return strings.Contains(g, name) })
		if strings.Contains(g, "github.com/signalbox/signalbox/") && !known {
			found = append(found, g)
		}
	}
	return found
}
