package main

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/semaphore"
	"github.com/signalbox/signalbox/gateway/operation"
)

func TestAWatchPrintsEachChangeAsALine(t *testing.T) {
	x, node := sharedTool(t)
	lines, objects := x.start("semaphore", "watch", node, "lock"), x.start("semaphore", "watch", node, "lock", "-o",
		"json")
	n := 0
	next := func(want string) semaphore.ChangedView {
		t.Helper()
		n++
		if line := lines.awaitLine(n); !strings.HasSuffix(line, want) || !strings.HasPrefix(line, "revision ") {
			t.Errorf("line %d is %q, want %q", n, line, want)
		}
		return parsed[semaphore.ChangedView](t, objects.awaitLine(n))
	}
	if c := next("   does not exist"); c.Exists || !c.First || c.Data != nil {
		t.Errorf("at first %+v", c)
	}
	x.ok("semaphore", "create", node, "lock", "--data", "a b")
	if c := next("   created   limit 1, data a b"); !c.Exists || !c.Created || c.First || c.Limit != 1 ||
		string(c.Data) != "a b" {
		t.Errorf("created: %+v", c)
	}
	x.ok("semaphore", "update", node, "lock", "line\nline")
	if c := next(`   data      "line\nline"`); !c.DataChanged || string(c.Data) != "line\nline" {
		t.Errorf("data: %+v", c)
	}
	x.ok("semaphore", "resize", node, "lock", "4")
	if c := next("   limit     4"); !c.LimitChanged || c.Limit != 4 || c.DataChanged || c.Data != nil {
		t.Errorf("limit: %+v", c)
	}
	owner := x.start("semaphore", "acquire", node, "lock", "--data", "me", "-o", "json")
	g := parsed[semaphore.Acquired](t, owner.awaitLine(1))
	order, session := decimal(g.Fence), decimal(g.SessionID)
	if c := next("   joined    order " + order + ", session " + session +
		", count 1, data me"); c.OwnerCount != 1 || len(c.Joined) != 1 || c.Joined[0].SessionID != g.SessionID ||
		c.Data != nil {
		t.Errorf("joined: %+v", c)
	}
	owner.endsBy(os.Interrupt, cli.ExitDone)
	if c := next("   gone      order " + order + ", session " + session +
		", count 1, data me"); c.OwnerCount != 0 || len(c.Left) != 1 {
		t.Errorf("gone: %+v", c)
	}
	x.ok("semaphore", "delete", node, "lock")
	if c := next("   deleted"); !c.Deleted || c.Exists {
		t.Errorf("deleted: %+v", c)
	}
	lines.endsBy(os.Interrupt, cli.ExitDone)
	objects.endsBy(os.Interrupt, cli.ExitDone)
}

func TestAWatchOfConfigFollowsIt(t *testing.T) {
	x, node := sharedTool(t)
	lines, objects := x.start("config", "watch", node, "limits"), x.start("config", "watch", node, "limits", "-o",
		"json")
	if line := lines.awaitLine(1); !strings.HasSuffix(line, "   does not exist") {
		t.Errorf("at first %q", line)
	}
	if v := parsed[operation.ConfigValue](t, objects.awaitLine(1)); v.Exists || v.Value != nil {
		t.Errorf("at first %+v", v)
	}
	long := strings.Repeat("x", 100)
	x.ok("config", "put", node, "limits", long)
	if line := lines.awaitLine(2); !strings.HasSuffix(line, "   "+long[:60]+"... (100 bytes)") {
		t.Errorf("then %q", line)
	}
	if v := parsed[operation.ConfigValue](t, objects.awaitLine(2)); !v.Exists || string(v.Value) != long {
		t.Errorf("then %+v", v)
	}
	x.ok("node", "drop", node, "--yes")
	if code := lines.wait(patience); code != cli.ExitNotFound {
		t.Errorf("its node is dropped: code %d, want %d", code, cli.ExitNotFound)
	}
}

func TestAWatchThatIsPipedEndsWithItsReader(t *testing.T) {
	x, node := sharedTool(t)
	for _, args := range [][]string{{"semaphore", "watch", node, "lock"}, {"config", "watch", node, "lock"},
		{"discover", "watch", node, "lock"}, {"rollout", "status", node, "lock", "-w"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := x.command(append(args, "-o", "json")...)
		c.Stdout = w
		s := launch(t, c)
		_ = w.Close() // the process has a descriptor of its own
		line, err := bufio.NewReader(r).ReadString('\n')
		if err != nil || !json.Valid([]byte(line)) {
			t.Fatalf("%v: the first line: %q, %v", args, line, err)
		}
		_ = r.Close()
		var owner *task
		if runtime.GOOS != "linux" { // the next change finds no reader
			owner = x.start("discover", "register", node, "lock", "here:1")
			owner.awaitLine(1)
			x.ok("semaphore", "update", node, "lock", args[0])
		}
		if code := s.wait(patience); code != cli.ExitDone || s.Errors() != "" {
			t.Errorf("%v: code %d, it says %s", args, code, s.Errors())
		}
		if owner != nil {
			owner.endsBy(os.Interrupt, cli.ExitDone)
		}
	}
}

func TestALeaseIsReleasedWhenTheReaderOfTheGrantIsGone(t *testing.T) {
	x, node := sharedTool(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	c := x.command("semaphore", "acquire", node, "lock", "--limit", "1", "--session-timeout", "10m")
	c.Stdout = w
	s := launch(t, c)
	_ = w.Close()
	if code := s.wait(patience); code != cli.ExitDone {
		t.Errorf("code %d", code)
	}
	x.await("nobody owns it", func() bool { return x.describe(node, "lock").OwnerCount == 0 })
}
