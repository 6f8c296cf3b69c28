package process

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/server/admin"
)

// Process is a running program, with its output.
type Process = subprocess.Process

// Launch starts any program, with the same functions to wait for its output and actions as for a host.
func Launch(name string, cmd *exec.Cmd, shown ...io.Reader) (*Process, error) {
	return subprocess.Launch(name, cmd, shown...)
}

// Host is a host's process.
type Host struct {
	*Process
	Place *Place
}

// Start starts a process in the place, with additional arguments if given. It does not wait until the process is ready.
func (p *Place) Start(more ...string) (*Host, error) {
	cmd := exec.Command(p.Program.Path, append(append([]string{"serve"}, p.settings()...), more...)...)
	cmd.Env = append([]string{"SIGNALBOX_HTTP_LISTEN=" + cmp.Or(p.HTTP, "off")}, p.Program.Env...)
	if p.Program.delays {
		cmd.Env = append(cmd.Env, delayVariable+"="+p.delayFile())
	}
	started, err := Launch("host "+p.Name, cmd)
	if err != nil {
		return nil, err
	}
	return &Host{started, p}, nil
}

// askTimeout bounds a request to a host.
const askTimeout = 20 * time.Second

// asker keeps no connections: their host may be killed next.
var asker = http.Client{Timeout: askTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// Get requests a page of the host's admin server. code is 0 without an answer.
func (h *Host) Get(path string) (code int, text string) {
	answer, err := asker.Get("http://" + h.Place.Admin + path)
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

// AwaitReady waits until the host is ready.
func (h *Host) AwaitReady(within time.Duration) error {
	return h.awaitPage("it is ready", "/health/ready", within,
		func(code int, _ string) bool { return code == http.StatusOK })
}

// AwaitNodes waits until the host knows n nodes. Hosts learn of created and dropped nodes one by one.
func (h *Host) AwaitNodes(n int, within time.Duration) error {
	line := fmt.Sprintf("\nsignalbox_nodes %d\n", n)
	return h.awaitPage(fmt.Sprintf("it knows of %d nodes", n), "/metrics", within, func(_ int, text string) bool {
		return strings.Contains(text, line)
	})
}

// awaitPage requests a page until it satisfies a condition.
func (h *Host) awaitPage(what, page string, within time.Duration, is func(code int, text string) bool) error {
	var text string
	err := h.Await(what, within, func() (ok bool) {
		var code int
		code, text = h.Get(page)
		return is(code, text)
	})
	if err != nil {
		err = fmt.Errorf("%w; its last answer: %s", err, text)
	}
	return err
}

// Status is the host's status report.
func (h *Host) Status() (status admin.Status, err error) {
	code, text := h.Get("/status")
	if code != http.StatusOK {
		return status, fmt.Errorf("process: status of host %s: %d: %s", h.Place.Name, code, text)
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		return status, fmt.Errorf("process: status of host %s: %w: %s", h.Place.Name, err, text)
	}
	return status, nil
}

// Led counts the shards led by the host.
func (h *Host) Led() (n int, err error) {
	status, err := h.Status()
	for _, s := range status.Shards {
		if s.Leads {
			n++
		}
	}
	return n, err
}
