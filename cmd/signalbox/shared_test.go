package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/servertest/process"
)

// sharedHost is the host that client command tests share. The first test that needs the host starts it, and TestMain
// ends it.
type sharedHost struct {
	once sync.Once
	dir  string
	host *process.Host
	err  error
}

var shared sharedHost

// start starts the host, and waits until the host is ready.
func (s *sharedHost) start(t *testing.T) {
	t.Helper()
	s.once.Do(func() { s.err = s.open() })
	if s.err != nil {
		t.Fatalf("the shared host: %v", s.err)
	}
}

func (s *sharedHost) open() (err error) {
	if s.dir, err = os.MkdirTemp("", "signalbox-test-"); err != nil {
		return err
	}
	p, err := process.NewPlace(program(), s.dir)
	if err != nil {
		return err
	}
	if s.host, err = p.Start(); err != nil {
		return err
	}
	return s.host.AwaitReady(patience)
}

// address is the client address of the host.
func (s *sharedHost) address() string { return s.host.Place.Client }

// stop ends the host, after all tests.
func (s *sharedHost) stop() {
	if s.host != nil {
		s.host.Kill() // no test needs its state any more
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// tool runs signalbox commands as processes, against one host.
type tool struct {
	t   *testing.T
	env []string // in addition to every process's environment
	dir string
}

// longSession makes a command's session outlast any test.
var longSession = []string{"--session-timeout", "10m"}

// nodes counts the test nodes, so that a repeated test gets a new node.
var nodes atomic.Int64

// sharedTool returns a tool for the shared host, and the path of a node for this test only.
func sharedTool(t *testing.T) (x *tool, node string) {
	t.Helper()
	skipShort(t)
	shared.start(t)
	x = newTool(t, shared.address())
	node = fmt.Sprintf("/%s/%d", t.Name(), nodes.Add(1))
	x.ok("node", "create", node)
	return x, node
}

// newTool returns a tool for the host at an address.
func newTool(t *testing.T, address string) *tool {
	t.Helper()
	dir := t.TempDir()
	return &tool{t: t, dir: dir, env: []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SIGNALBOX_ENDPOINTS=" + address,
	}}
}

// with returns a tool with more environment variables.
func (t *tool) with(variables ...string) *tool {
	more := *t
	more.env = append(append([]string{}, t.env...), variables...)
	return &more
}

func (t *tool) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env, c.Dir = processEnvironment(t.env...), t.dir
	return c
}

// result is the outcome of a command.
type result struct {
	code     int
	out, err string
}

// run runs a command until it exits.
func (t *tool) run(args ...string) result { return t.runWith("", args...) }

// runWith is run with something on standard input.
func (t *tool) runWith(in string, args ...string) result {
	t.t.Helper()
	c := t.command(args...)
	var out, err bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &out, &err
	runErr := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](runErr); runErr != nil && !exited {
		t.t.Fatalf("%v: %v", args, runErr)
	}
	return result{c.ProcessState.ExitCode(), out.String(), err.String()}
}

// ok runs a command that must succeed and returns its output.
func (t *tool) ok(args ...string) string {
	t.t.Helper()
	r := t.run(args...)
	if r.code != 0 {
		t.t.Fatalf("%v: code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// fails runs a command that must exit with the given code, print nothing to standard output, and report the given
// error.
func (t *tool) fails(code int, say string, args ...string) {
	t.t.Helper()
	r := t.run(args...)
	if r.code != code || r.out != "" || !strings.Contains(r.err, say) {
		t.t.Errorf("%v: code %d, want %d\nout: %s\nerr: %s\nwant: %s", args, r.code, code, r.out, r.err, say)
	}
}

// await repeats ask until ask returns true: on a slow machine, a release may take effect after the command's end. To
// prove the release, the command's session must outlast the wait.
func (t *tool) await(what string, ask func() bool) {
	t.t.Helper()
	for late := time.Now().Add(patience); !ask(); {
		if time.Now().After(late) {
			t.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// start starts a long-running command; the test's end kills it.
func (t *tool) start(args ...string) *task {
	t.t.Helper()
	return launch(t.t, t.command(args...))
}

// linkSignalbox creates a folder with this test's program under the name signalbox.
func linkSignalbox(t *testing.T) (folder string) {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, "signalbox")); err != nil {
		t.Fatal(err)
	}
	return folder
}
