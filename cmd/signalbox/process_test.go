package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/admin"
)

// beVariable makes this test's program be signalbox: so processes are real, and under the race detector
// when the test is.
const beVariable = "SIGNALBOX_TEST_BE"

func TestMain(m *testing.M) {
	if os.Getenv(beVariable) != "" {
		main()
	}
	code := m.Run()
	shared.stop()
	os.Exit(code)
}

// patience is how long anything may take that must come some time.
const patience = 60 * time.Second

// place is where a host of a test lives.
type place struct {
	dir                 string
	client, raft, admin string
	more                []string
}

// newPlace finds ports that are free.
func newPlace(t *testing.T, more ...string) *place {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	p := &place{dir: t.TempDir() + "/data", more: more}
	for _, address := range []*string{&p.client, &p.raft, &p.admin} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		*address = l.Addr().String()
	}
	return p
}

func (p *place) args(more ...string) []string {
	args := []string{"serve", "--data-dir", p.dir, "--listen", p.client, "--raft-listen", p.raft, "--admin-listen", p.admin}
	return append(append(args, p.more...), more...)
}

// process is a running signalbox.
type process struct {
	t        *testing.T
	place    *place
	cmd      *exec.Cmd
	began    time.Time
	out, err output
	gone     chan struct{} // closed when it has ended
}

// output gathers what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// serve starts a host.
func (p *place) serve(t *testing.T, more ...string) *process {
	t.Helper()
	c := exec.Command(os.Args[0], p.args(more...)...)
	c.Env = processEnvironment()
	s := launch(t, c)
	s.place = p
	return s
}

// launch starts a process, which the end of the test kills if it is still there.
func launch(t *testing.T, c *exec.Cmd) *process {
	t.Helper()
	return launchOn(t, c, nil)
}

// launchOn is launch with another place for standard error, if it is not nil.
func launchOn(t *testing.T, c *exec.Cmd, stderr io.Writer) *process {
	t.Helper()
	s := &process{t: t, cmd: c, began: time.Now(), gone: make(chan struct{})}
	if c.Stdout == nil {
		c.Stdout = &s.out
	}
	if c.Stderr = stderr; stderr == nil {
		c.Stderr = &s.err
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait()
		close(s.gone)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-s.gone
		if t.Failed() {
			t.Logf("%v\nout: %s\nerr: %s", c.Args[1:], &s.out, &s.err)
		}
	})
	return s
}

func (s *process) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits for the end of the process and returns the code that it exited with.
func (s *process) wait(within time.Duration) int {
	s.t.Helper()
	select {
	case <-s.gone:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		s.t.Fatalf("the process did not end within %v", within)
		return -1
	}
}

// stop stops the host as a supervisor does.
func (s *process) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.wait(stopWithin + time.Second); code != cli.ExitDone {
		s.t.Errorf("exit code %d after SIGTERM", code)
	}
}

// await asks again and again until what it asks is true.
func (s *process) await(what string, ask func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !ask() {
		select {
		case <-s.gone:
			s.t.Fatalf("the process ended with code %d before %s", s.cmd.ProcessState.ExitCode(), what)
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// get asks the admin server.
func (s *process) get(path string) (code int, text string) {
	answer, err := http.Get("http://" + s.place.admin + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// awaitReady returns how long it took from the start of the process.
func (s *process) awaitReady() time.Duration {
	s.t.Helper()
	s.await("it is ready", func() bool {
		code, _ := s.get("/health/ready")
		return code == http.StatusOK
	})
	return time.Since(s.began)
}

func (s *process) status() admin.Status {
	s.t.Helper()
	code, text := s.get("/status")
	var status admin.Status
	if err := json.Unmarshal([]byte(text), &status); err != nil || code != http.StatusOK {
		s.t.Fatalf("status: %d, %v, %s", code, err, text)
	}
	return status
}

// refused starts a host that must not start.
func (p *place) refused(t *testing.T, code int, say []string, more ...string) {
	t.Helper()
	s := p.serve(t, more...)
	if got := s.wait(patience); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	for _, line := range say {
		if !strings.Contains(s.err.String(), line) {
			t.Errorf("it says:\n%s\nand not: %s", &s.err, line)
		}
	}
	if out := s.out.String(); out != "" {
		t.Errorf("on standard output: %s", out)
	}
}

// cluster is a place for each of so many hosts, with the list that they all get.
func newCluster(t *testing.T, names ...string) []*place {
	t.Helper()
	var places []*place
	var list []string
	for _, name := range names {
		p := newPlace(t, "--name", name)
		places = append(places, p)
		list = append(list, fmt.Sprintf("%s=%s", name, p.raft))
	}
	for _, p := range places {
		p.more = append(p.more, "--host", strings.Join(list, ","))
	}
	return places
}
