package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/semaphore"
	"github.com/signalbox/signalbox/cmd/signalbox/status"
)

func TestWhoShowsTheLongestWaitOfAllNodesFirst(t *testing.T) {
	x, node := sharedTool(t)
	later := node + "/z" // its path sorts after the other node, and its waiter comes first
	x.ok("node", "create", later)
	const orders = "\x1b[31mred"
	began := time.Now()
	var owners []semaphore.Acquired
	for _, at := range []string{later, node} {
		owner := x.start("semaphore", "acquire", at, "who"+orders, "--limit", "1", "-o", "json")
		owners = append(owners, parsed[semaphore.Acquired](t, owner.awaitLine(1)))
		waiter := x.start("semaphore", "acquire", at, "who"+orders, "--wait", "1h")
		waiter.remarks("waiting in the queue")
	}
	x.start("semaphore", "acquire", node, "other", "--limit", "1").awaitLine(1)
	x.start("semaphore", "acquire", node, "other").remarks("waiting in the queue")

	lines := strings.Split(strings.TrimSpace(x.ok("who", "who\x1b", "-o", "json")), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d wait: %q", len(lines), lines)
	}
	for i, path := range []string{later, node} {
		w := parsed[status.Wait](t, lines[i])
		if w.Node != path || w.Name != "who"+orders || w.Client.Name == "" ||
			!strings.HasPrefix(w.Client.Address, "127.0.0.1:") || w.Waited == 0 {
			t.Errorf("line %d: %s", i, lines[i])
		}
		if len(w.Owners) != 1 || w.Owners[0].SessionID != owners[i].SessionID || w.Owners[0].Client.Address == "" ||
			w.Owners[0].Client.Address == w.Client.Address {
			t.Errorf("line %d, owners: %s", i, lines[i])
		}
		if w.Since.Before(w.Owners[0].Since) || w.Owners[0].Since.Before(began.Truncate(time.Millisecond)) ||
			w.Since.After(time.Now()) {
			t.Errorf("line %d, times: %s", i, lines[i])
		}
	}
	table := x.ok("who")
	if says := ", process "; strings.Count(table, says) != 6 || strings.Contains(table, strconv.FormatUint(
		owners[0].SessionID, 10)) || !strings.Contains(x.ok("who", "-o", "wide"), strconv.FormatUint(
		owners[0].SessionID, 10)) {
		t.Errorf("who owns and who waits is not said: %s", table)
	}
	if !strings.Contains(table, "other") || strings.Contains(table, "\x1b") ||
		strings.Index(table, later+" ") > strings.Index(table, node+" ") {
		t.Errorf("%q", table)
	}
	for _, list := range [][]string{{"semaphore", "list"}, {"session", "list"}} {
		text := x.ok(list...)
		if !strings.Contains(text, node+" ") || !strings.Contains(text, later+" ") || strings.Contains(text, "\x1b") {
			t.Errorf("%v: %q", list, text)
		}
	}
	d := x.ok("semaphore", "describe", node, "other")
	if strings.Count(d, "127.0.0.1:") != 2 || strings.Count(d, time.Now().UTC().Format("2006-01-")) != 2 {
		t.Errorf("%s", d)
	}
	x.fails(cli.ExitUsage, "unexpected argument", "who", "a", "b")
	if in := x.ok("who", node); strings.Contains(in, later+" ") != strings.HasPrefix(later, node+"/") ||
		!strings.Contains(in, "other") {
		t.Errorf("in a node and those below: %s", in)
	}
	waits := regexp.MustCompile(`(?m)^ *\d+s`) // grow from one call to the next
	if below := x.ok("who", "/"+t.Name()+"/"); waits.ReplaceAllString(below, "") != waits.ReplaceAllString(table, "") {
		t.Errorf("below a path: %swant %s", below, table)
	}
	x.fails(cli.ExitNotFound, "no node /"+t.Name()[:3]+" and none below; signalbox node list shows the nodes", "who",
		"/"+t.Name()[:3])
	if r := x.run("who", "nothing-begins-so"); r.code != 0 || !strings.Contains(r.err, "no waiters; signalbox ") {
		t.Errorf("where nobody waits: %d, %s", r.code, r.err)
	}
}

// TestANewUserFindsWhoHoldsALock with three commands: the help, who, and the command that who prints.
func TestANewUserFindsWhoHoldsALock(t *testing.T) {
	x, node := sharedTool(t)
	x.start("lock", node, "found", "--data", "box 7", "--", "sh", "-c", "echo in; exec sleep 600").says("in")
	if !regexp.MustCompile(`(?m)^  who .* locks .* who holds them$`).MatchString(x.ok("--help")) {
		t.Error("the help does not lead to who")
	}
	_, next, _ := strings.Cut(x.run("who", "found").err, "; signalbox ")
	next, _, _ = strings.Cut(next, " shows ")
	if owners := x.ok(strings.Fields(next)...); !strings.Contains(owners, "box 7") {
		t.Errorf("%s: %s", next, owners)
	}
}
