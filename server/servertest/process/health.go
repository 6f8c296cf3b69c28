package process

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox/signalbox/server/admin"
)

// askPatience bounds a question to a host, askAgain is the pause before it is asked again.
const (
	askPatience = 5 * time.Second
	askAgain    = 5 * time.Millisecond
)

// asker keeps no connection, which would be to a host that may be killed next.
var asker = http.Client{Timeout: askPatience, Transport: &http.Transport{DisableKeepAlives: true}}

// Get asks the host's admin server. The code is 0 where it does not answer.
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

// AwaitReady waits until the host says that it is ready.
func (h *Host) AwaitReady(within time.Duration) error {
	return h.await("is ready", "/health/ready", within, func(code int, _ string) bool { return code == http.StatusOK })
}

// AwaitNodes waits until the host knows of so many nodes. Hosts hear of what was made and dropped one after the other.
func (h *Host) AwaitNodes(n int, within time.Duration) error {
	line := fmt.Sprintf("\nsignalbox_nodes %d\n", n)
	return h.await(fmt.Sprintf("knows of %d nodes", n), "/metrics", within, func(_ int, text string) bool {
		return strings.Contains(text, line)
	})
}

// await asks for a page until it is as it is to be.
func (h *Host) await(what, page string, within time.Duration, is func(code int, text string) bool) error {
	deadline := time.Now().Add(within)
	for {
		code, text := h.Get(page)
		if is(code, text) {
			return nil
		}
		select {
		case <-h.gone:
			return fmt.Errorf("process: host %s ended with code %d before it %s:\n%s", h.Place.Name, h.ExitCode(), what, h.Errors())
		case <-time.After(askAgain):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process: not within %v: host %s %s: %s", within, h.Place.Name, what, text)
		}
	}
}

// Status is what the host says of itself.
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

// Led counts the shards that the host leads.
func (h *Host) Led() (n int, err error) {
	status, err := h.Status()
	for _, s := range status.Shards {
		if s.Leads {
			n++
		}
	}
	return n, err
}
