package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// beVariable makes this test's program run as signalbox: the processes are real, and have the race detector if the test
// has it.
const beVariable = "SIGNALBOX_TEST_BE"

func TestMain(m *testing.M) {
	if os.Getenv(beVariable) != "" {
		main()
	}
	if err := flag.Set("test.parallel", strconv.Itoa(parallelTests)); err != nil {
		panic(err)
	}
	code := m.Run()
	shared.stop()
	os.Exit(code)
}

// parallelTests is the default number of mostly waiting tests that run in parallel.
const parallelTests = 8

// patience is the maximum wait for an expected event.
const patience = 60 * time.Second

// processEnvironment makes a child process run as signalbox. A data race exits with a code that no command uses, and
// processes skip the race detector's default one-second wait at exit.
func processEnvironment(more ...string) []string {
	return append([]string{beVariable + "=1", "GORACE=halt_on_error=1 exitcode=99 atexit_sleep_ms=10"}, more...)
}

// program is this test's program as a signalbox.
func program() process.Program { return process.Program{Path: os.Args[0], Env: processEnvironment()} }

// place has a test host's directory and addresses.
type place struct{ *process.Place }

// newPlace finds a place for a host by itself.
func newPlace(t *testing.T, more ...string) *place {
	t.Helper()
	skipShort(t)
	p, err := process.NewPlace(program(), filepath.Join(t.TempDir(), "data"), more...)
	if err != nil {
		t.Fatal(err)
	}
	return &place{p}
}

// newCluster creates a place for each named host; all places share one host list.
func newCluster(t *testing.T, names ...string) (places []*place) {
	t.Helper()
	skipShort(t)
	found, err := process.Places(program(), t.TempDir(), names)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		places = append(places, &place{p})
	}
	return places
}

func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes")
	}
}

// task is a test process, which ends with the test. Process errors fail the test.
type task struct {
	*process.Process
	t *testing.T
}

func newTask(t *testing.T, p *process.Process) *task {
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s\nout: %s\nerr: %s", p.Name, p.Output(), p.Errors())
		}
	})
	return &task{p, t}
}

// launch starts a command. If shown, the other side of a terminal, is given, the output is read from shown.
func launch(t *testing.T, c *exec.Cmd, shown ...io.Reader) *task {
	t.Helper()
	p, err := process.Launch(strings.Join(c.Args[1:], " "), c, shown...)
	if err != nil {
		t.Fatal(err)
	}
	return newTask(t, p)
}

func (t *task) must(err error) {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
	}
}

func (t *task) signal(sig os.Signal) { t.t.Helper(); t.must(t.Signal(sig)) }

// pause suspends the process.
func (t *task) pause() { t.t.Helper(); t.must(t.Pause()) }

// wait waits for the end of the process and returns the exit code.
func (t *task) wait(within time.Duration) int {
	t.t.Helper()
	code, err := t.Wait(within)
	t.must(err)
	return code
}

// await repeats ask until ask returns true.
func (t *task) await(what string, ask func() bool) {
	t.t.Helper()
	t.must(t.Await(what, patience, ask))
}

// awaitOutput waits until the process's output meets a condition.
func (t *task) awaitOutput(what string, is func() bool) {
	t.t.Helper()
	t.must(t.AwaitOutput(what, patience, is))
}

// awaitLine waits until the process has printed n lines, and returns the last line.
func (t *task) awaitLine(n int) string {
	t.t.Helper()
	var lines []string
	t.awaitOutput(fmt.Sprintf("it prints %d lines", n), func() bool {
		lines = strings.SplitAfter(t.Output(), "\n")
		return len(lines) > n
	})
	return strings.TrimSuffix(lines[n-1], "\n")
}

// says waits for text on the standard output of the process.
func (t *task) says(text string) {
	t.t.Helper()
	t.awaitOutput("it says "+text, func() bool { return strings.Contains(t.Output(), text) })
}

// remarks waits for text on the standard error of the process.
func (t *task) remarks(text string) {
	t.t.Helper()
	t.awaitOutput("it remarks "+text, func() bool { return strings.Contains(t.Errors(), text) })
}

// endsWith waits for the end of the process, and checks the exit code and error output.
func (t *task) endsWith(code int, complaint string) {
	t.t.Helper()
	if got := t.wait(patience); got != code || !strings.Contains(t.Errors(), complaint) || complaint == "" &&
		t.Errors() != "" {
		t.t.Errorf("%s: code %d, want %d; it says %q, want %q", t.Name, got, code, t.Errors(), complaint)
	}
}

// endsBy interrupts the process and checks the outcome.
func (t *task) endsBy(sig os.Signal, code int) {
	t.t.Helper()
	t.signal(sig)
	if got := t.wait(patience); got != code {
		t.t.Errorf("%s: code %d, want %d", t.Name, got, code)
	}
}

// interruptAgain interrupts the process until it has ended, and returns the exit code. It pauses between signals,
// because a signal soon after the first one counts as the same signal.
func (t *task) interruptAgain() (code int) {
	t.t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		_ = t.Signal(os.Interrupt) // fails once the process has ended
		if code, err := t.Wait(cli.SameSignal); err == nil {
			return code
		}
	}
	return t.wait(0)
}

// hostProcess is a host's process.
type hostProcess struct {
	*task
	place *place
	asked *process.Host // for its pages
}

// serve starts a host.
func (p *place) serve(t *testing.T, more ...string) *hostProcess {
	t.Helper()
	h, err := p.Start(more...)
	if err != nil {
		t.Fatal(err)
	}
	return &hostProcess{newTask(t, h.Process), p, h}
}

// stop stops the host as a supervisor does.
func (h *hostProcess) stop() {
	h.t.Helper()
	h.endsBy(syscall.SIGTERM, cli.ExitDone)
}

// get asks the admin server.
func (h *hostProcess) get(path string) (code int, text string) { return h.asked.Get(path) }

// awaitReady returns the time from the process's start until the host is ready.
func (h *hostProcess) awaitReady() time.Duration {
	h.t.Helper()
	h.must(h.asked.AwaitReady(patience))
	return time.Since(h.Began)
}

func (h *hostProcess) status() admin.Status {
	h.t.Helper()
	status, err := h.asked.Status()
	h.must(err)
	return status
}

// refused starts a host that must refuse to start.
func (p *place) refused(t *testing.T, code int, say []string, more ...string) {
	t.Helper()
	h := p.serve(t, more...)
	if got := h.wait(patience); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	for _, line := range say {
		if !strings.Contains(h.Errors(), line) {
			t.Errorf("it says:\n%s\nand not: %s", h.Errors(), line)
		}
	}
	if out := h.Output(); out != "" {
		t.Errorf("on standard output: %s", out)
	}
}
