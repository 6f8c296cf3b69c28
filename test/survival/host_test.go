//go:build linux

package survival_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// patience is the time limit for anything that must eventually happen.
const patience = 60 * time.Second

// program is the signalbox under test, scratch the parent of the hosts' data directories.
var (
	program process.Program
	scratch string
)

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
	scratch = dir
	if other := os.Getenv("SURVIVAL_PROGRAM"); other != "" {
		program = process.Program{Path: other}
	} else if program, err = process.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// parent is a directory on a real disk, so that fsync has its real cost.
func parent() string {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(os.TempDir(), &fs); err != nil || fs.Type == tmpfs {
		return "."
	}
	return os.TempDir()
}

// inMemory is a directory whose syncs take no time, if the machine has one.
func inMemory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return scratch
}

// place is a host's place, whose processes end with their test.
type place struct{ *process.Place }

// newPlaces allocates places for the hosts of a cluster.
func newPlaces(t *testing.T, names ...string) []*place {
	t.Helper()
	return newPlacesIn(t, scratch, names...)
}

// newPlacesIn is newPlaces with the data directories below parent.
func newPlacesIn(t *testing.T, parent string, names ...string) []*place {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "survival-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	found, err := process.Places(program, dir, names, "--shards", "4")
	if err != nil {
		t.Fatal(err)
	}
	var places []*place
	for _, p := range found {
		places = append(places, &place{p})
	}
	return places
}

func addresses(hosts []*host) (out []string) {
	for _, h := range hosts {
		out = append(out, h.Place.Client)
	}
	return out
}

// host is a running process whose failures fail the test.
type host struct {
	*process.Host
	t *testing.T
}

// serve starts a process in a place.
func (p *place) serve(t *testing.T) *host {
	t.Helper()
	running, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{running, t}
	t.Cleanup(func() {
		h.Kill()
		if t.Failed() || os.Getenv("SURVIVAL_LOGS") != "" {
			text := h.Errors()
			t.Logf("host %s, started at %v:\n%s",
				p.Name, h.Began.Format(time.StampMilli), text[max(0, len(text)-4000):])
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

func (h *host) signal(sig os.Signal) { h.t.Helper(); h.must(h.Signal(sig)) }

// stop ends the process as a supervisor does.
func (h *host) stop() { h.t.Helper(); h.must(h.Stop(patience)) }

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// awaitReady returns the time from the start of the process until it was ready.
func (h *host) awaitReady() time.Duration {
	h.t.Helper()
	h.must(h.AwaitReady(patience))
	return time.Since(h.Began)
}

// await polls until call returns true.
func (h *host) await(what string, call func() bool) {
	h.t.Helper()
	h.must(h.Await(what, patience, call))
}

func (h *host) status() admin.Status {
	h.t.Helper()
	status, err := h.Status()
	h.must(err)
	return status
}

// led counts the shards led by the host.
func (h *host) led() int {
	h.t.Helper()
	n, err := h.Led()
	h.must(err)
	return n
}

// resident is the process's resident memory, in bytes.
func (h *host) resident() int {
	h.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.PID()))
	if err != nil {
		h.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		h.t.Fatalf("host %s has no memory", h.Place.Name)
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return kib << 10
}
