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

// askPatience bounds a question to a host.
const askPatience = 5 * time.Second

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
	return h.awaitPage("it is ready", "/health/ready", within, func(code int, _ string) bool { return code == http.StatusOK })
}

// AwaitNodes waits until the host knows of so many nodes. Hosts hear of what was made and dropped one after the other.
func (h *Host) AwaitNodes(n int, within time.Duration) error {
	line := fmt.Sprintf("\nsignalbox_nodes %d\n", n)
	return h.awaitPage(fmt.Sprintf("it knows of %d nodes", n), "/metrics", within, func(_ int, text string) bool {
		return strings.Contains(text, line)
	})
}

// awaitPage asks for a page until it is as it is to be.
func (h *Host) awaitPage(what, page string, within time.Duration, is func(code int, text string) bool) error {
	var text string
	err := h.Await(what, within, func() (ok bool) {
		var code int
		code, text = h.Get(page)
		return is(code, text)
	})
	if err != nil && !h.isGone() {
		err = fmt.Errorf("%w; its last answer: %s", err, text)
	}
	return err
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
