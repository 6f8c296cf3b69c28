package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// completes checks the completions offered to the shell. It retries until they match, because a completion is empty if
// the cluster does not respond soon.
func (t *tool) completes(want string, args ...string) {
	t.t.Helper()
	got := want + "?"
	for late := time.Now().Add(patience); got != want && time.Now().Before(late); {
		lines := strings.Split(strings.TrimSpace(t.ok(append([]string{"__complete"}, args...)...)), "\n")
		got = strings.Join(lines[:len(lines)-1], " ") // the last line is a directive for the shell
	}
	if got != want {
		t.t.Errorf("%q: %q, want %q", args, got, want)
	}
}

func TestTheShellCompletesPathsAndNames(t *testing.T) {
	x, node := sharedTool(t)
	x.ok("node", "create", node+"/child")
	for _, name := range []string{"alpha", "alto", "beta"} {
		x.ok("semaphore", "create", node, name)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"node", "describe", node + "/ch"}, node + "/child"},
		{[]string{"session", "list", node + "/"}, node + "/child"},
		{[]string{"semaphore", "describe", node, "al"}, "alpha alto"},
		{[]string{"semaphore", "describe", node, "alpha", ""}, ""},
		{[]string{"config", "get", node, ""}, "alpha alto beta"},
		{[]string{"discover", "watch", node, "b"}, "beta"},
		{[]string{"node", "list", "--output", ""}, "table json wide"},
		{[]string{"node", "create", node, "--read-consistency", ""}, "strict relaxed"},
		{[]string{"semaphore", "describe", "/none", ""}, ""},
	} {
		x.completes(c.want, c.args...)
	}
	x.ok("context", "set", "local", "--endpoints", shared.address())
	x.completes("local", "context", "use", "")
	x.completes("local", "node", "list", "--context", "")
}

func TestCompletionIsSilentWithoutACluster(t *testing.T) {
	x, _ := sharedTool(t)
	x = x.with("SIGNALBOX_ENDPOINTS=127.0.0.1:1")
	began := time.Now()
	r := x.run("__complete", "node", "describe", "/")
	if r.code != 0 || r.out != ":4\n" || strings.Contains(r.err, "refused") {
		t.Errorf("%+v", r)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}

func TestTheScriptsOfShellsCanBeRead(t *testing.T) {
	x, _ := sharedTool(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := x.ok("completion", shell)
		if !strings.Contains(script, "signalbox") {
			t.Errorf("%s: %q", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		c := exec.Command(path, "-n")
		c.Stdin = strings.NewReader(script)
		if text, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, text)
		}
	}
}
