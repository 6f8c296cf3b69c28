package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// lockPlace returns a place with a ready host and a node /jobs, whose sessions last little more than their timeout
// after the host was paused.
func lockPlace(t *testing.T, more ...string) (*place, *hostProcess, *client.Client) {
	t.Helper()
	p := newPlace(t, more...)
	s := p.serve(t)
	s.awaitReady()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Open(ctx, p.Client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	config := client.NodeConfig{SelfCheckPeriod: 500 * time.Millisecond, SessionGracePeriod: time.Second}
	if _, err := c.CreateNode(ctx, "/jobs", config); err != nil {
		t.Fatal(err)
	}
	return p, s, c
}

// tool starts a command connected to the place's host.
func (p *place) tool(t *testing.T, args ...string) *task {
	t.Helper()
	return newTool(t, p.Client).start(args...)
}

func TestLockPassesOnWhatTheCommandEndsWith(t *testing.T) {
	p, _, _ := lockPlace(t)
	for script, code := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 75": 75, "kill -KILL $$": 137,
		"kill -TERM $$": 143} {
		p.tool(t, "lock", "/jobs", "status", "--", "sh", "-c", script).endsWith(code, "")
	}
	p.tool(t, "lock", "/jobs", "status", "--", "no-such-command").endsWith(127, "run no-such-command: ")
	p.tool(t, "lock", "/jobs", "status", "--", "/etc/passwd").endsWith(126, "run /etc/passwd: ")
	newTool(t, "127.0.0.1:1").start("lock", "/jobs", "status", "--timeout", "200ms", "--",
		"true").endsWith(cli.ExitUnavailable, "127.0.0.1:1")
}

func TestTheCommandKnowsItsLease(t *testing.T) {
	p, _, box := lockPlace(t)
	s := p.tool(t, "lock", "/jobs", "told", "--limit", "5", "--count", "2", "--data", "it's me", "--", "sh", "-c",
		"echo $SIGNALBOX_NODE $SIGNALBOX_LOCK $SIGNALBOX_COUNT $SIGNALBOX_SESSION $SIGNALBOX_FENCE; exec sleep 600")
	s.awaitOutput("it says so", func() bool { return strings.HasSuffix(s.Output(), "\n") })
	d, err := box.Node("/jobs").Describe(t.Context(), "told", client.WithOwners())
	if err != nil || len(d.Owners) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	o := d.Owners[0]
	if want := fmt.Sprintf("/jobs told 2 %d %d\n", o.SessionID, o.OrderID); s.Output() != want {
		t.Errorf("it is told %s, want %s", s.Output(), want)
	}
	if d.Limit != 5 || o.Count != 2 || string(o.Data) != "it's me" {
		t.Errorf("%+v", d)
	}
	info, err := box.DescribeSession(t.Context(), o.SessionID)
	if err != nil || !strings.HasPrefix(info.Description, "signalbox lock on ") ||
		!strings.HasSuffix(info.Description, ": sh") {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestANodeIsCreatedForALockOnlyOnRequest(t *testing.T) {
	p, _, _ := lockPlace(t)
	for _, command := range [][]string{{"lock"}, {"elect", "--once"}, {"barrier", "--parties", "1"}} {
		args := append(command, "/prdo", "x", "--", "true")
		p.tool(t, args...).endsWith(cli.ExitNotFound, "start a session in /prdo: the node does not "+
			"exist; check the path, or give --create-node to create the node\n")
	}
	newTool(t, p.Client).fails(cli.ExitNotFound, "/prdo", "node", "describe", "/prdo")
	p.tool(t, "lock", "/new", "x", "--create-node", "--", "true").endsWith(0, "signalbox: created the node /new\n")
	p.tool(t, "lock", "/new", "x", "--", "true").endsWith(0, "")
	p.tool(t, "lock", "/newer", "x", "--create-node", "--quiet", "--", "true").endsWith(0, "")
}

func TestALockThatIsTaken(t *testing.T) {
	p, _, _ := lockPlace(t)
	holder := p.tool(t, "lock", "/jobs", "x", "--", "sh", "-c", "echo in; exec sleep 600")
	holder.says("in")
	p.tool(t, "lock", "/jobs", "x", "--wait", "0", "--", "echo", "no").endsWith(cli.ExitNotAcquired,
		"x is in use; the command was not run")
	p.tool(t, "lock", "/jobs", "x", "--wait", "50ms", "--", "echo", "no").endsWith(cli.ExitNotAcquired,
		"x was not acquired within 50ms; the command was not run")
	p.tool(t, "lock", "/jobs", "x", "--shared", "--wait", "0", "--", "echo", "no").endsWith(cli.ExitNotAcquired,
		"x is in use")
	waiting := p.tool(t, "lock", "/jobs", "x", "--", "echo", "mine")
	waiting.remarks("waiting for x\n")
	gone := p.tool(t, "lock", "/jobs", "x", "--", "echo", "never")
	gone.remarks("waiting for x\n")
	gone.signal(syscall.SIGTERM)
	if code := gone.wait(patience); code != 143 || gone.Output() != "" {
		t.Errorf("code %d, %s", code, gone.Output())
	}
	holder.signal(syscall.SIGTERM)
	holder.endsWith(143, "")
	waiting.endsWith(0, "waiting for x")
	if waiting.Output() != "mine\n" {
		t.Errorf("it says %q", waiting.Output())
	}
}

func TestThoseWhoShareALockRunTogether(t *testing.T) {
	p, _, _ := lockPlace(t)
	for _, flags := range [][]string{{"--shared"}, {"--limit", "2"}} {
		name := strings.TrimLeft(flags[0], "-")
		args := append(append([]string{"lock", "/jobs", name, "--wait", "0"}, flags...), "--", "sh", "-c",
			"echo in; exec sleep 600")
		p.tool(t, args...).says("in")
		p.tool(t, args...).says("in")
		if name == "limit" {
			p.tool(t, args...).endsWith(cli.ExitNotAcquired, "limit is in use")
			p.tool(t, "lock", "/jobs", name, "--wait", "0", "--", "true").endsWith(cli.ExitState,
				"if limit was created with a limit, give --count")
		} else {
			p.tool(t, "lock", "/jobs", name, "--wait", "0", "--", "true").endsWith(cli.ExitNotAcquired,
				"shared is in use")
		}
	}
	p.tool(t, "lock", "/jobs", "none", "--count", "1", "--", "true").endsWith(cli.ExitNotFound, "--limit N creates it")
}

func TestSignalsGoToTheCommand(t *testing.T) {
	p, _, _ := lockPlace(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1} {
		if signal.Ignored(sig) {
			continue // as under nohup: then a shell cannot trap the signal
		}
		s := p.tool(t, "lock", "/jobs", "x", "--", "sh", "-c",
			"exec 2>/dev/null; trap 'exit 9' INT TERM HUP QUIT USR1; echo in; while :; do sleep 0.01; done")
		s.says("in")
		s.signal(sig)
		s.endsWith(9, "")
	}
}

func TestTwoContendersNeverRunAtOnce(t *testing.T) {
	p, _, _ := lockPlace(t)
	const contenders, rounds = 3, 8
	count := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(count, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range contenders {
		all.Go(func() {
			for range rounds {
				s := p.tool(t, "lock", "/jobs", "count", "--quiet", "--", "sh", "-c",
					`n=$(cat "$1"); sleep 0.01; echo $((n+1)) > "$1"`, "sh", count)
				if code := s.wait(patience); code != 0 {
					t.Errorf("code %d", code)
				}
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(count)
	if got, _ := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || got != contenders*rounds {
		t.Errorf("counted to %s, %v; want %d", text, err, contenders*rounds)
	}
}

// stubborn is a command that ignores SIGTERM, and so does its child. Both append the given text to a file while they
// live.
const stubborn = `trap 'echo asked' TERM; echo in; sh -c 'trap "" TERM; while :; do echo $1 >> $2; sleep 0.002; done' sh $1 $2 & while :; do echo $1 >> $2; sleep 0.002; done`

// deathOf returns a pipe that a command opens for writing, and a channel that is closed when the last process with the
// pipe is dead.
func deathOf(t *testing.T) (pipe string, dead <-chan time.Time) {
	t.Helper()
	pipe = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan time.Time, 1)
	go func() {
		file, err := os.Open(pipe) // waits until a process opens the other side
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		if _, err := io.Copy(io.Discard, file); err != nil {
			t.Error(err)
		}
		told <- time.Now()
	}()
	return pipe, told
}

func TestAPausedServerEndsTheCommandBeforeItsLease(t *testing.T) {
	t.Parallel()
	p, server, _ := lockPlace(t)
	const timeout = 20 * time.Second // a twentieth is left as margin for a busy machine
	pipe, dead := deathOf(t)
	s := p.tool(t, "lock", "/jobs", "x", "--session-timeout", timeout.String(), "--", "sh", "-c",
		`exec 3>$1; trap 'echo asked' TERM; echo in; sh -c 'trap "" TERM; sleep 600' & while :; do wait; done`, "sh",
		pipe)
	s.says("in")
	server.pause()
	// Pings sent after this time get no response, so the lease ends before this time plus the timeout.
	paused := time.Now()
	s.endsWith(cli.ExitLost, "the lock x was lost: ")
	took := (<-dead).Sub(paused)
	t.Logf("dead %v after the pause began", took)
	if took >= timeout {
		t.Errorf("it was dead %v after the pause began, and the session timeout is %v", took, timeout)
	}
	if s.Output() != "in\nasked\n" || !strings.Contains(s.Errors(), "the command was killed") {
		t.Errorf("it was not asked first: %s%s", s.Output(), s.Errors())
	}
	server.signal(syscall.SIGCONT)
	next := p.tool(t, "lock", "/jobs", "x", "--quiet", "--", "echo", "mine")
	next.endsWith(0, "")
}

func TestTheNextOwnerStartsAfterTheLastOneIsDead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	w := newCutWire(t, p.Client)
	server := p.serve(t, "--advertise", w.listener.Addr().String())
	server.awaitReady()
	through := newTool(t, w.listener.Addr().String())
	beats := filepath.Join(t.TempDir(), "beats")
	first := through.start("lock", "/jobs", "x", "--create-node", "--session-timeout", "8s", "--", "sh", "-c", stubborn,
		"sh", "1", beats)
	first.says("in")
	n := w.count()
	second := through.start("lock", "/jobs", "x", "--", "sh", "-c",
		"for i in 1 2 3 4 5; do echo 2 >> $1; sleep 0.05; done", "sh", beats)
	second.remarks("waiting for x")
	w.sever(n)
	first.endsWith(cli.ExitLost, "the command was killed")
	second.endsWith(0, "waiting for x")
	text, err := os.ReadFile(beats)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.TrimRight(string(text), "2\n")
	if rest := string(text)[len(lines):]; strings.Contains(lines, "2") || strings.Count(rest, "2") != 5 {
		t.Errorf("both ran at once: %q", strings.ReplaceAll(string(text), "\n", ""))
	}
}

func TestAProcessThatStoodStillKillsAtOnce(t *testing.T) {
	t.Parallel()
	p, _, _ := lockPlace(t)
	s := p.tool(t, "lock", "/jobs", "x", "--session-timeout", "6s", "--", "sh", "-c",
		"trap 'echo asked' TERM; echo in; while :; do sleep 0.01; done")
	s.says("in")
	s.pause()
	// The cluster gives the lock away meanwhile, and nothing can stop the command.
	p.tool(t, "lock", "/jobs", "x", "--quiet", "--", "true").endsWith(0, "")
	s.signal(syscall.SIGCONT)
	s.endsWith(cli.ExitLost, "the command was killed")
	if s.Output() != "in\n" {
		t.Errorf("it was asked to end, after another one had the lock: %s", s.Output())
	}
}

func TestTheCommandDiesWithItsLock(t *testing.T) {
	t.Parallel()
	p, server, _ := lockPlace(t)
	s := p.tool(t, "lock", "/jobs", "x", "--session-timeout", "3s", "--", "sh", "-c", "echo in $$; exec sleep 600")
	s.says("in")
	s.awaitOutput("it has said all", func() bool { return strings.HasSuffix(s.Output(), "\n") })
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(s.Output(), "in ")))
	if err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGKILL)
	<-s.Gone()
	server.await("the command is dead", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) ||
			isZombie(pid)
	})
	p.tool(t, "lock", "/jobs", "x", "--quiet", "--", "true").endsWith(0, "")
}

// isZombie reports whether a process is dead but not yet reaped by its parent.
func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestALockThatAnOperatorTakesAway(t *testing.T) {
	p, _, box := lockPlace(t)
	s := p.tool(t, "lock", "/jobs", "x", "--", "sh", "-c",
		"trap 'echo asked' TERM; echo in; while :; do sleep 0.01; done")
	s.says("in")
	d, err := box.Node("/jobs").Describe(t.Context(), "x", client.WithOwners())
	if err != nil {
		t.Fatal(err)
	}
	if err := box.DestroySession(t.Context(), d.Owners[0].SessionID); err != nil {
		t.Fatal(err)
	}
	s.endsWith(cli.ExitLost, "the lock x was lost: ")
	if s.Output() != "in\n" {
		t.Errorf("it was asked to end, after the lock was gone: %s", s.Output())
	}
}

func TestWrongUsesOfLock(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"/a", "b"}, "the command is missing; give it after --"},
		{[]string{"/a", "--", "true"}, "expected two arguments before --, not 1: PATH and NAME"},
		{[]string{"/a", "b", "--"}, "the command after -- is missing"},
		{[]string{"/a", "b", "--shared", "--limit", "2", "--", "true"}, "--shared cannot be combined with " +
			"--limit and --count: locks are shared, semaphores have a limit"},
		{[]string{"/a", "b", "--count", "3", "--limit", "2", "--", "true"},
			"--count 3 must not be larger than --limit 2"},
		{[]string{"/a", "b", "--session-timeout", "10ms", "--", "true"},
			"--session-timeout 10ms is out of range; give 1s to 30m0s, to leave time to stop a command"},
		{[]string{"/a", "b", "--kill-after", "1s", "--", "true"}, "--kill-after 1s is too long: with " +
			"--session-timeout 10s another owner may get the lease before the kill; give at most " +
			child.MaxKillAfter(10*time.Second).String() + ", or a longer session timeout"},
		{[]string{"/a", "b", "--wait", "-1s", "--", "true"},
			"--wait must not be negative, but is -1s; omit --wait to wait forever"},
	} {
		code, _, err := command(nil, append([]string{"lock"}, c.args...)...)
		if code != cli.ExitUsage || !strings.HasPrefix(err, "signalbox: "+c.want+"; ") ||
			!strings.HasSuffix(err, " signalbox lock --help\n") {
			t.Errorf("%v: code %d, %s\nwant %s", c.args, code, err, c.want)
		}
	}
}
