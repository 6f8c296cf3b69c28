package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/semaphore"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
)

// parsed parses a line of JSON that a command printed.
func parsed[T any](t *testing.T, line string) (object T) {
	t.Helper()
	if err := apijson.Decode([]byte(line), &object); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return object
}

func (t *tool) describe(node, name string) operation.DescribedSemaphore {
	t.t.Helper()
	text := t.ok("semaphore", "describe", node, name, "--strict", "-o", "json")
	return parsed[operation.DescribedSemaphore](t.t, text)
}

func TestWhatIsAcquiredIsHeldUntilInterrupted(t *testing.T) {
	x, node := sharedTool(t)
	acquire := func(flags ...string) *task {
		return x.start(append(append([]string{"semaphore", "acquire", node, "slots"}, longSession...), flags...)...)
	}
	first := acquire("--limit", "2", "--data", "me", "--description", "the first", "-o", "json")
	g := parsed[semaphore.Acquired](t, first.awaitLine(1))
	if g.Node != node || g.Name != "slots" || g.Fence == 0 || g.Count != 1 || g.SessionID == 0 {
		t.Errorf("the grant: %+v", g)
	}
	second := acquire("--count", "2", "--wait", "1h", "-o", "json")
	second.remarks("waiting in the queue")
	d := x.describe(node, "slots")
	if d.Limit != 2 || d.OwnerCount != 1 || d.WaiterCount != 1 || d.Owners[0].SessionID != g.SessionID ||
		d.Owners[0].OrderID != g.Fence || string(d.Owners[0].Data) != "me" {
		t.Errorf("while it is held: %+v", d)
	}
	if w := d.Waiters[0]; w.OrderID <= g.Fence || w.Count != 2 || w.Wait != time.Hour {
		t.Errorf("the waiter: %+v", w)
	}
	if text := x.ok("session", "show", decimal(g.SessionID)); !strings.Contains(text, "the first") ||
		!strings.Contains(text, "slots") || !strings.Contains(text, node) {
		t.Errorf("the session: %s", text)
	}
	if text := x.ok("session", "list", node); strings.Count(text, "\n") != 3 || !strings.Contains(text, "the first") ||
		!strings.Contains(text, "signalbox semaphore acquire slots, process ") {
		t.Errorf("the sessions: %s", text)
	}
	x.fails(cli.ExitState, "use --force to delete it anyway", "semaphore", "delete", node, "slots")
	x.fails(cli.ExitNotAcquired, "not enough units are free", "semaphore", "acquire", node, "slots", "--wait", "0")
	x.fails(cli.ExitNotAcquired, "not acquired in time", "semaphore", "acquire", node, "slots", "--count", "2",
		"--wait", "50ms")

	first.endsBy(os.Interrupt, cli.ExitDone)
	if h := parsed[semaphore.Acquired](t, second.awaitLine(1)); h.Fence <= g.Fence || h.Count != 2 {
		t.Errorf("the next grant %+v after %+v", h, g)
	}
	if got := strings.Count(first.Output(), "\n"); got != 1 {
		t.Errorf("the first printed %s", first.Output())
	}
	second.endsBy(syscall.SIGTERM, cli.ExitDone)
	x.await("nobody owns it", func() bool {
		d := x.describe(node, "slots")
		return d.OwnerCount == 0 && len(d.Owners) == 0
	})
	x.await("no session is left", func() bool { return x.ok("session", "list", node, "-o", "json") == "" })
}

func TestWhoIsInterruptedWhileItWaitsLeavesNothingBehind(t *testing.T) {
	x, node := sharedTool(t)
	acquire := func(flags ...string) *task {
		args := append([]string{"semaphore", "acquire", node, "object", "--ephemeral"}, longSession...)
		return x.start(append(args, flags...)...)
	}
	owner := acquire("--count", "all")
	owner.awaitLine(1)
	if d := x.describe(node, "object"); !d.Ephemeral || d.Limit != client.All || d.Count != client.All {
		t.Errorf("an ephemeral one: %+v", d)
	}
	x.fails(cli.ExitState, "is ephemeral and ends with", "semaphore", "delete", node, "object", "--force", "--yes")
	waiter := acquire()
	waiter.remarks("waiting")
	waiter.endsBy(os.Interrupt, cli.ExitSignal+int(syscall.SIGINT))
	if waiter.Output() != "" {
		t.Errorf("it printed %s", waiter.Output())
	}
	x.await("nobody waits", func() bool { return x.describe(node, "object").WaiterCount == 0 })
	owner.endsBy(os.Interrupt, cli.ExitDone)
	x.await("it is gone", func() bool {
		r := x.run("semaphore", "describe", node, "object")
		return r.code == cli.ExitNotFound && strings.Contains(r.err, "the semaphore does not exist")
	})
}

func TestALostLeaseIsReported(t *testing.T) {
	x, node := sharedTool(t)
	acquire := func() (*task, semaphore.Acquired) {
		s := x.start("semaphore", "acquire", node, "lock", "--limit", "1", "-o", "json")
		return s, parsed[semaphore.Acquired](t, s.awaitLine(1))
	}
	loses := func(s *task, why string) {
		t.Helper()
		if code := s.wait(patience); code != cli.ExitLost || !strings.Contains(s.Errors(), why) {
			t.Errorf("code %d, want %d; it says %s, want %s", code, cli.ExitLost, s.Errors(), why)
		}
	}
	s, g := acquire()
	x.fails(cli.ExitUsage, "which owns lock; nothing was done", "session", "end", decimal(g.SessionID))
	x.ok("session", "end", decimal(g.SessionID), "--yes")
	loses(s, "an operator ended the session")

	s, g = acquire()
	x.fails(cli.ExitNotFound, "neither owns it nor waits for it", "semaphore", "release", node, "lock", "--session",
		"1", "--yes")
	x.fails(cli.ExitUsage, "releasing lock ends session "+decimal(g.SessionID), "semaphore", "release", node,
		"lock", "--session", decimal(g.SessionID))
	x.ok("semaphore", "release", node, "lock", "--order-id", decimal(g.Fence), "--yes")
	loses(s, "an operator ended the session")

	s, _ = acquire()
	x.fails(cli.ExitUsage, "with 1 owner and 0 waiters", "semaphore", "delete", node, "lock", "--force")
	x.ok("semaphore", "delete", node, "lock", "--force", "--yes")
	loses(s, "the semaphore was deleted")

	s, _ = acquire()
	x.await("the session of the one before is over", func() bool {
		return strings.Count(x.ok("session", "list", node, "-o", "json"), "\n") == 1
	})
	x.fails(cli.ExitUsage, "with 1 semaphore, 0 rollouts, 0 processes and 1 session", "node", "drop", node)
	x.ok("node", "drop", node, "--yes")
	loses(s, "lock is no longer held")
}

// TestNodeDropCountsEveryKind: before a node is dropped, the prompt counts all kinds of objects in the node, and names
// the nodes below, which stay.
func TestNodeDropCountsEveryKind(t *testing.T) {
	x, node := sharedTool(t)
	x.ok("semaphore", "create", node, "lock")
	x.ok("rollout", "create", node, "dns", "--location", "sas")
	x.ok("process", "create", node, "counter")
	x.fails(cli.ExitUsage, "this drops node "+node+" with 1 semaphore, 1 rollout, 1 process and 0 sessions; nothing",
		"node", "drop", node)
	below := "; node " + node + "/a below stays; nothing was done"
	for i, want := range []string{
		below,
		strings.NewReplacer("node ", "nodes ", "/a", "/a, "+node+"/b", "stays", "stay").Replace(below),
		"; nodes " + node + "/a, " + node + "/b, " + node + "/c below stay;",
		"; 4 nodes below stay: " + node + "/a, " + node + "/b, " + node + "/c and 1 more;",
	} {
		x.ok("node", "create", node+"/"+string(rune('a'+i)))
		x.fails(cli.ExitUsage, want, "node", "drop", node)
	}
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func TestARegistrationLastsAsLongAsItsProcess(t *testing.T) {
	x, node := sharedTool(t)
	watch := x.start("discover", "watch", node, "api")
	watchJSON := x.start("discover", "watch", node, "api", "-o", "json")
	if line := watch.awaitLine(1); line != "no endpoints" {
		t.Errorf("at first %q", line)
	}
	if c := parsed[discovery.Set](t, watchJSON.awaitLine(1)); len(c.Endpoints) != 0 {
		t.Errorf("at first %+v", c)
	}
	a := x.start("discover", "register", node, "api", "10.0.0.1:80", "--metadata", "zone=b,weight=3", "-o", "json")
	registered := parsed[discovery.Endpoint](t, a.awaitLine(1))
	if line := watch.awaitLine(2); line != "joined    10.0.0.1:80   weight=3 zone=b" {
		t.Errorf("then %q", line)
	}
	c := parsed[discovery.Set](t, watchJSON.awaitLine(2))
	if len(c.Joined) != 1 || len(c.Endpoints) != 1 || c.Joined[0].OrderID != registered.OrderID ||
		c.Joined[0].SessionID != registered.SessionID || c.Joined[0].Metadata["zone"] != "b" {
		t.Errorf("then %+v, registered as %+v", c, registered)
	}
	if got, want := x.ok("discover", "list", node,
		"api"), "ADDRESS       METADATA\n10.0.0.1:80   weight=3 zone=b\n"; got != want {
		t.Errorf("the list:\n%swant:\n%s", got, want)
	}
	a.endsBy(syscall.SIGTERM, cli.ExitDone)
	if line := watch.awaitLine(3); line != "left      10.0.0.1:80   weight=3 zone=b" {
		t.Errorf("at last %q", line)
	}
	if c := parsed[discovery.Set](t, watchJSON.awaitLine(3)); len(c.Left) != 1 || len(c.Endpoints) != 0 {
		t.Errorf("at last %+v", c)
	}
	watch.endsBy(os.Interrupt, cli.ExitDone)
	watchJSON.endsBy(syscall.SIGTERM, cli.ExitDone)
	x.fails(cli.ExitUsage, "", "discover", "register", node, "api", "{")
}
