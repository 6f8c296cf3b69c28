//go:build linux

package survival_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/admin"
)

// patience is how long anything may take that must come some time.
const patience = 60 * time.Second

// program is the signalbox under test, scratch where hosts keep their data.
var program, scratch string

// starts takes what must run on the thread that all processes are children of: they die with it.
var starts = make(chan func())

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp(parent(), ".survival-")
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program, scratch = filepath.Join(dir, "signalbox"), dir
	if other := os.Getenv("SURVIVAL_PROGRAM"); other != "" {
		program = other
	} else if out, err := exec.Command("go", "build", "-o", program, "github.com/signalbox/signalbox/cmd/signalbox").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	go func() {
		runtime.LockOSThread()
		for f := range starts {
			f()
		}
	}()
	return m.Run()
}

// parent is a directory on a disk: an fsync must cost what it costs.
func parent() string {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &fs); err != nil || fs.Type == tmpfs {
		return "."
	}
	return os.TempDir()
}

// place is where a host lives, from one of its processes to the next.
type place struct {
	name, dir           string
	client, raft, admin string
	more                []string
}

// newPlaces finds places for the hosts of a cluster.
func newPlaces(t *testing.T, names ...string) []*place {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "hosts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var places []*place
	var list []string
	for _, name := range names {
		p := &place{name: name, dir: filepath.Join(dir, name)}
		for _, address := range []*string{&p.client, &p.raft, &p.admin} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			*address = l.Addr().String()
		}
		places = append(places, p)
		list = append(list, p.name+"="+p.raft)
	}
	for _, p := range places {
		p.more = []string{"--name", p.name, "--shards", "4", "--host", strings.Join(list, ",")}
	}
	return places
}

func addresses(hosts []*host) (out []string) {
	for _, h := range hosts {
		out = append(out, h.place.client)
	}
	return out
}

// output gathers the last of what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() > 1<<20 {
		o.text.Reset()
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// host is a running process.
type host struct {
	t     *testing.T
	place *place
	cmd   *exec.Cmd
	began time.Time
	err   output
	gone  chan struct{} // closed when it has ended
}

// serve starts a process in a place.
func (p *place) serve(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, place: p, began: time.Now(), gone: make(chan struct{})}
	args := []string{"serve", "--data-dir", p.dir, "--listen", p.client, "--raft-listen", p.raft, "--admin-listen", p.admin}
	h.cmd = exec.Command(program, append(args, p.more...)...)
	h.cmd.Env = []string{}
	h.cmd.Stderr = &h.err
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starts <- func() { started <- h.cmd.Start() }
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = h.cmd.Wait()
		close(h.gone)
	}()
	t.Cleanup(func() {
		h.kill()
		if t.Failed() || os.Getenv("SURVIVAL_LOGS") != "" {
			text := h.err.String()
			t.Logf("host %s, started at %v:\n%s", p.name, h.began.Format(time.StampMilli), text[max(0, len(text)-4000):])
		}
	})
	return h
}

// serveAll starts a process in each place and waits until all are ready.
func serveAll(t *testing.T, places []*place) []*host {
	t.Helper()
	var hosts []*host
	for _, p := range places {
		hosts = append(hosts, p.serve(t))
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	return hosts
}

func (h *host) signal(sig os.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(sig); err != nil {
		h.t.Fatalf("host %s: %v", h.place.name, err)
	}
}

// kill ends the process without a word.
func (h *host) kill() {
	_ = h.cmd.Process.Kill()
	<-h.gone
}

// stop ends the process as a supervisor does.
func (h *host) stop() {
	h.t.Helper()
	h.signal(syscall.SIGTERM)
	select {
	case <-h.gone:
		if code := h.cmd.ProcessState.ExitCode(); code != 0 {
			h.t.Errorf("host %s: exit code %d after SIGTERM", h.place.name, code)
		}
	case <-time.After(patience):
		h.t.Fatalf("host %s does not stop", h.place.name)
	}
}

func (h *host) get(path string) (code int, text string) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + h.place.admin + path)
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
func (h *host) awaitReady() time.Duration {
	h.t.Helper()
	await(h.t, "host "+h.place.name+" is ready", func() bool {
		select {
		case <-h.gone:
			h.t.Fatalf("host %s ended with code %d", h.place.name, h.cmd.ProcessState.ExitCode())
		default:
		}
		code, _ := h.get("/health/ready")
		return code == http.StatusOK
	})
	return time.Since(h.began)
}

func (h *host) status() admin.Status {
	h.t.Helper()
	var status admin.Status
	code, text := h.get("/status")
	if err := json.Unmarshal([]byte(text), &status); err != nil || code != http.StatusOK {
		h.t.Fatalf("host %s: status %d, %v: %s", h.place.name, code, err, text)
	}
	return status
}

// led counts the shards that the host leads.
func (h *host) led() (n int) {
	for _, s := range h.status().Shards {
		if s.Leads {
			n++
		}
	}
	return n
}

// resident is the memory that the process has, in bytes.
func (h *host) resident() int {
	h.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		h.t.Fatalf("host %s has no memory", h.place.name)
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return kib << 10
}

// await asks again and again until what it asks is true.
func await(t *testing.T, what string, ask func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ask() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
