package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/access"
)

// TestEveryHostServesTheHTTPAPI over TLS with token authentication, including operations that the leader on another
// host performs.
func TestEveryHostServesTheHTTPAPI(t *testing.T) {
	t.Parallel()
	ca, cert, key, pool := certificates(t)
	writer := access.NewToken()
	rules := accessFile(t, [3]string{"writer", writer, "admin:/prod"})
	var hosts []*hostProcess
	for _, p := range newCluster(t, "a", "b", "c") {
		p.HTTP = newPlace(t).Client // a reserved address
		hosts = append(hosts, p.serve(t, "--listen", "off", "--tls-listen", p.Client, "--tls-cert", cert, "--tls-key",
			key, "--access-file", rules, "--http-peer-ca", ca, "--raft-tls-cert", cert, "--raft-tls-key", key,
			"--raft-tls-ca", ca))
	}
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: patience}
	defer browser.CloseIdleConnections()
	for i, h := range hosts {
		h.awaitReady()
		h.awaitLine(2)
		want := "The console is at https://" + h.place.HTTP + ", and the HTTP API below /v1/\n"
		if !strings.HasSuffix(h.Output(), want) {
			t.Errorf("it says %s and not %s", h.Output(), want)
		}
		page, err := browser.Get("https://" + h.place.HTTP + "/locks")
		if err != nil || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			t.Errorf("the console of host %d: %+v %v", i, page, err)
		}
		if err == nil {
			page.Body.Close()
		}
		for _, c := range []struct {
			token, route, body string
			code               int
		}{
			{writer, "/v1/node/create", fmt.Sprintf(`{"node":"/prod/%d"}`, i), 200},
			{writer, "/v1/node/create", fmt.Sprintf(`{"node":"/other/%d"}`, i), 403},
			{writer, "/v1/semaphore/create", fmt.Sprintf(`{"node":"/prod/%d","name":"s","limit":1}`, i), 200},
			{"", "/v1/node/create", `{"node":"/prod"}`, 401},
			{"wrong", "/v1/node/create", `{"node":"/prod"}`, 401},
		} {
			if code, text := postJSON(t, browser, "https://"+h.place.HTTP+c.route, c.token, c.body); code != c.code {
				t.Errorf("%s %s by %q at host %d: %d %s, want %d", c.route, c.body, c.token, i, code, text, c.code)
			}
		}
	}
	for _, h := range hosts {
		h.stop()
	}
}

// postJSON asks for a change.
func postJSON(t *testing.T, by *http.Client, address, token, body string) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := by.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

func TestAnAddressOfTheHTTPAPIThatIsTaken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p.HTTP = taken.Addr().String()
	p.refused(t, cli.ExitUnavailable, []string{"--http-listen: ", "address already in use"})
}
