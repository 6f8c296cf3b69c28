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

// sharedHost is the host that the tests of client commands share. It is started when it is first needed, and ended
// by TestMain.
type sharedHost struct {
	once sync.Once
	dir  string
	host *process.Host
	err  error
}

var shared sharedHost

// start starts the host, and waits until it is ready.
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

// address is where clients of the host connect.
func (s *sharedHost) address() string { return s.host.Place.Client }

// stop ends the host, at the end of all tests.
func (s *sharedHost) stop() {
	if s.host != nil {
		s.host.Kill() // nothing of it is looked at any more
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// tool runs commands of signalbox as processes, against one host.
type tool struct {
	t   *testing.T
	env []string // beyond what every process gets
	dir string
}

// longSession makes a command's session outlast any test.
var longSession = []string{"--session-timeout", "10m"}

// nodes counts the nodes that tests have made, so that a test that is run again has another one.
var nodes atomic.Int64

// sharedTool returns a tool for the shared host, and the path of a node that is the test's own.
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

// with returns a tool with more variables of the environment.
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

// result is what came of a command.
type result struct {
	code     int
	out, err string
}

// run runs a command that ends by itself.
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

// ok runs a command that must succeed and returns what it prints.
func (t *tool) ok(args ...string) string {
	t.t.Helper()
	r := t.run(args...)
	if r.code != 0 {
		t.t.Fatalf("%v: code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// fails runs a command that must end with that code, print nothing, and say that.
func (t *tool) fails(code int, say string, args ...string) {
	t.t.Helper()
	r := t.run(args...)
	if r.code != code || r.out != "" || !strings.Contains(r.err, say) {
		t.t.Errorf("%v: code %d, want %d\nout: %s\nerr: %s\nwant: %s", args, r.code, code, r.out, r.err, say)
	}
}

// await asks again and again until what it asks is true: on a slow machine, what a command gives back may take effect
// after its end. Its session has to be longer then than what is waited here, to prove that it gave it back.
func (t *tool) await(what string, ask func() bool) {
	t.t.Helper()
	for late := time.Now().Add(patience); !ask(); {
		if time.Now().After(late) {
			t.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// start starts a command that stays; the test's end kills it.
func (t *tool) start(args ...string) *task {
	t.t.Helper()
	return launch(t.t, t.command(args...))
}

// linkSignalbox makes a folder with this test's program in it, under the name of signalbox.
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
