package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	processroom "github.com/signalbox/signalbox/cmd/signalbox/process"
)

// member starts a member for the process counter, and waits until the member has joined.
func (t *tool) member(node, name string, flags ...string) *task {
	t.t.Helper()
	s := t.start(append([]string{"process", "run", node, "counter", "--name", name}, flags...)...)
	s.remarks(": " + name + " is member ")
	return s
}

// process returns the output of status.
func (t *tool) process(node string) process.State {
	t.t.Helper()
	return parsed[process.State](t.t, t.ok("process", "status", node, "counter", "-o", "json"))
}

// roles returns the members' roles, in member order.
func (t *tool) roles(node string) string {
	t.t.Helper()
	s := t.process(node)
	var roles []string
	for i := range s.Members {
		m, role := &s.Members[i], "candidate"
		switch {
		case m.Of && m.ID == s.Coordinator:
			role = "coordinator"
		case !m.Candidate:
			role = "observer"
		}
		roles = append(roles, role)
	}
	return strings.Join(roles, " ")
}

// asksAll is a command that coordinates: it asks all members, and stores their replies as the result.
const asksAll = `echo all hello
	until read -r what who how text && [ $what = end ]; do
		[ "$all" ] && all="$all, "; all="$all$who $how $text"
	done
	printf 'result %s: %s\n' "$who" "$all"`

func TestARoundOfCommands(t *testing.T) {
	x, node := sharedTool(t)
	first := x.member(node, "a", "--on-prepare", `echo "prepare $SIGNALBOX_MEMBER $SIGNALBOX_COORDINATOR"`,
		"--on-request", `echo "$(cat) $SIGNALBOX_FROM"`, "--on-coordinate", asksAll,
		"--on-complete", `echo "complete $(cat)"`, "--on-cancel", "echo cancel", longSession[0], longSession[1])
	first.says("prepare a a\ncomplete ok: a ok hello a\n")
	second := x.member(node, "b", "--on-request",
		`printf 'two\nlines\n'; [ "$SIGNALBOX_PROCESS $SIGNALBOX_NODE" = "counter `+node+`" ]`,
		"--on-complete", `printf 'complete '; cat; echo`, longSession[0], longSession[1])
	second.says("complete ok: ")
	if said := second.Output(); !strings.Contains(said, `b ok two\nlines`) || !strings.Contains(said, "a ok hello a") {
		t.Errorf("the second gets %s", said)
	}
	third := x.member(node, "c", "--on-request", "echo cannot >&2; exit 3", "--observer=false", longSession[0],
		longSession[1])
	first.says("complete failed: ")
	if said := first.Output(); !strings.Contains(said, "c failed exit status 3: cannot") {
		t.Errorf("the first gets %s", said)
	}
	if o := x.process(node); o.Of != 3 || x.roles(node) != "coordinator observer candidate" {
		t.Errorf("%+v", o.Members)
	}
	if last := x.ok("process", "results", node, "counter", "last"); !strings.HasPrefix(last, "failed: ") {
		t.Errorf("the last result is %s", last)
	}
	third.endsBy(syscall.SIGTERM, cli.ExitDone)
	// If a member leaves before a round is complete, the round of the remaining members is cancelled.
	first.awaitOutput("another round of two is complete", func() bool {
		return strings.Count(first.Output(), "b ok two") >= 2
	})
	second.endsBy(os.Interrupt, cli.ExitDone)
	first.endsBy(os.Interrupt, cli.ExitDone)
	if strings.Contains(first.Output(), "cancel") {
		t.Errorf("rounds that were complete are cancelled: %s", first.Output())
	}
	x.await("all have left", func() bool {
		o := x.process(node)
		return len(o.Members) == 0 && len(o.Results) > 0
	})
}

func TestACommandOfARoundThatIsOverIsStopped(t *testing.T) {
	x, node := sharedTool(t)
	const hangs = `trap 'echo stopped; exit 9' TERM; echo begins; while :; do sleep 0.01; done`
	first := x.member(node, "a", "--on-prepare", "", "--on-request", `echo begins >&2; `+hangs, "--on-coordinate",
		"echo all wait; read -r what", "--on-cancel", "echo cancelled")
	first.awaitOutput("it handles the request", func() bool { return strings.Contains(first.Errors(), "begins") })
	if why := x.ok("process", "why", node, "counter"); !strings.Contains(why, "waits for 1 of 1 replies: a (") {
		t.Errorf("%s", why)
	}
	x.ok("process", "restart", node, "counter", "--reason", "it hangs")
	first.says("cancelled\n")
	first.awaitOutput("it handles the next request", func() bool {
		return strings.Count(first.Errors(), "begins") == 2
	})
	if acts := x.ok("process", "actions", node, "counter"); !strings.Contains(acts, "it hangs") {
		t.Errorf("%s", acts)
	}
	x.ok("process", "evict", node, "counter", "a", "--reason", "enough")
	if code := first.wait(patience); code != cli.ExitLost || !strings.Contains(first.Errors(), "enough") {
		t.Errorf("put out: code %d: %s", code, first.Errors())
	}
}

func TestACoordinatorThatCannotGivesTheRoundUp(t *testing.T) {
	for _, c := range []struct{ coordinate, want string }{
		{"exit 5", "was given up: exit status 5"},
		{"echo dance; read -r what", `was given up: the command printed "dance"; lines must begin with `},
		{"echo to nobody hello; read -r what", "the command sent a request to nobody, which is not a member"},
	} {
		x, node := sharedTool(t)
		lines := x.start("process", "watch", node, "counter")
		s := x.member(node, "a", "--on-coordinate", c.coordinate)
		s.remarks(c.want)
		lines.says("counter    failed by a: ")
		s.endsBy(syscall.SIGTERM, cli.ExitDone)
	}
}

// TestAMemberThatCannotCoordinateIsNoCandidate: such a member came first, and a round begins only with a member that
// can.
func TestAMemberThatCannotCoordinateIsNoCandidate(t *testing.T) {
	x, node := sharedTool(t)
	x.member(node, "first", "--on-request", "cat")
	x.await("alone waiting for one that coordinates", func() bool {
		return strings.Contains(x.ok("process", "why", node, "counter"), "candidate")
	})
	second := x.member(node, "second", "--on-coordinate", asksAll, "--on-complete", "cat", "--on-request", "cat")
	second.says("first ok hello")
	if roles := x.roles(node); roles != "observer coordinator" {
		t.Errorf("they are %s", roles)
	}
}

// noRound is the output of send if the members were not prepared in time.
const noRound = "no round with all members prepared"

func TestARequestIsSentToMembers(t *testing.T) {
	x, node := sharedTool(t)
	x.fails(cli.ExitNotFound, "no process of this name", "process", "send", node, "counter", "hello")
	x.member(node, "a", "--observer=false", "--on-request", `echo "$(cat) from $SIGNALBOX_FROM"`)
	x.member(node, "b", "--on-request", `[ "$(cat)" = hello ] && echo hi`)
	said := x.ok("process", "send", node, "counter", "hello", "--name", "me")
	if !strings.Contains(said, "hello from me") ||
		!strings.Contains(said, "\nb ") || strings.Count(said, "\n") != 3 {
		t.Errorf("%s", said)
	}
	r := x.runWith("no", "process", "send", node, "counter", "-", "--to", "b", "-o", "json")
	o := parsed[processroom.MemberReply](t, r.out)
	if r.code != cli.ExitFailed || o.Name != "b" || !o.Failed || string(o.Data) != "exit status 1" ||
		!strings.Contains(r.err, "1 of 1 member failed") {
		t.Errorf("code %d: %+v: %s", r.code, o, r.err)
	}
	x.fails(cli.ExitNotFound, "member c does not exist", "process", "send", node, "counter", "hello", "--to", "c")
	silent := x.member(node, "c", "--on-request", "exec sleep 600", "--kill-after", "0s")
	for r.err = noRound; strings.Contains(r.err, noRound); { // the time may be over before the round begins
		r = x.run("process", "send", node, "counter", "hello", "--wait", "2s")
	}
	if r.code != cli.ExitNotAcquired || !strings.Contains(r.err, "c did not reply within 2s") {
		t.Errorf("code %d: %s%s", r.code, r.out, r.err)
	}
	silent.endsBy(syscall.SIGTERM, cli.ExitDone)
}

func TestAWatchOfAProcessPrintsWhatHappens(t *testing.T) {
	x, node := sharedTool(t)
	lines, objects := x.start("process", "watch", node, "counter"), x.start("process", "status", node, "counter", "-w",
		"-o", "json")
	lines.says("counter    does not exist\n")
	results := x.start("process", "results", node, "counter", "--watch")
	a := x.member(node, "a", "--on-coordinate", "echo result done")
	lines.says(" is complete, with a result of 4 bytes\n")
	results.says("   done\n")
	objects.says(`"phase":"complete"`)
	x.ok("process", "alter", node, "counter", "--min-members", "2", "--reply-timeout", "5s", "--on-timeout", "evict")
	x.fails(cli.ExitState, "use --force to delete it anyway", "process", "delete", node, "counter")
	x.ok("process", "restart", node, "counter", "--author", "ann", "--reason", "again")
	lines.says("counter    restart by ann: again\n")
	lines.says("counter    1 members have joined, but 2 are required")
	x.fails(cli.ExitUsage, "this deletes process counter in node "+node+" with 1 member", "process", "delete", node,
		"counter", "--force")
	x.ok("process", "delete", node, "counter", "--force", "--yes")
	lines.says("counter    is deleted\n")
	if code := a.wait(patience); code != cli.ExitLost {
		t.Errorf("its process is deleted: code %d: %s", code, a.Errors())
	}
	for _, s := range []*task{lines, objects, results} {
		s.endsBy(os.Interrupt, cli.ExitDone)
	}
}

func TestTheShellCompletesProcesses(t *testing.T) {
	x, node := sharedTool(t)
	x.member(node, "a")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"process", "status", node, ""}, "counter"},
		{[]string{"process", "evict", node, "counter", ""}, "a"},
		{[]string{"process", "send", node, "counter", "--to", ""}, "a"},
		{[]string{"process", "create", node, "--on-timeout", ""}, "evict fail wait"},
	} {
		x.completes(c.want, c.args...)
	}
}
