package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// TestRoutesReadAndChange: each route works as in its line, over a real cluster. What all responses have is required in
// the OpenAPI document.
func TestRoutesReadAndChange(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	hash := strings.Repeat("ab", 32)
	for _, step := range []struct {
		request, body string
		code          int
		has           string
	}{
		{"POST /v1/node/create", `{"node":"/a"}`, 200, `"existed":true`},
		{"GET /v1/nodes?prefix=/a", "", 200, `"path":"/a"`},
		{"GET /v1/node?node=/a", "", 200, `"path":"/a"`},
		{"GET /v1/node?node=/b", "", 404, `"signalbox_status":"NOT_FOUND"`},
		{"POST /v1/node/create", `{"node":"/a","node":"/b"}`, 400, `"detail":"node is given more than once"`},
		{"POST /v1/node/alter", `{"node":"/a","config":{"quota_objects":"1","quota_objects":"2"}}`, 400,
			`"detail":"config.quota_objects is given more than once"`},
		{"POST /v1/node/alter", `{"node":"/a","config":{"quota_objects":"100"}}`, 200, `"quota_objects":"100"`},
		{"POST /v1/node/alter", `{"node":"/a","config":{"quota_objects":9},"if_revision":"999"}`, 412,
			"PRECONDITION_FAILED"},
		{"POST /v1/semaphore/create", `{"node":"/a","name":"s","limit":3,"data":"x"}`, 200, `"changed":true`},
		{"POST /v1/semaphore/create", `{"node":"/a","name":"s","limit":3}`, 409, "ALREADY_EXISTS"},
		{"GET /v1/semaphores?node=/a&data", "", 200, `"data":"x"`},
		{"GET /v1/semaphore?node=/a&name=s&strict=true", "", 200, `"limit":"3"`},
		{"GET /v1/semaphore/owners?node=/a&name=s", "", 200, `"exists":true`},
		{"POST /v1/semaphore/update", `{"node":"/a","name":"s","data_base64":"/w=="}`, 200, `"changed":true`},
		{"GET /v1/semaphore?node=/a&name=s", "", 200, `"data_base64":"/w=="`},
		{"POST /v1/semaphore/update", `{"node":"/a","name":"s","if_revision":"1"}`, 412, "PRECONDITION_FAILED"},
		{"POST /v1/semaphore/resize", `{"node":"/a","name":"s","limit":"5"}`, 200, `"changed":true`},
		{"GET /v1/contention?include_uncontended", "", 200, `"node":"/a"`},
		{"GET /v1/sessions", "", 200, `"items":[]`},
		{"GET /v1/session?id=1", "", 410, "SESSION_EXPIRED"},
		{"POST /v1/semaphore/delete", `{"node":"/a","name":"s"}`, 200, `"changed":true`},
		{"POST /v1/config/put", `{"node":"/a","name":"c","value":"1","if_revision":0}`, 200, `"changed":true`},
		{"POST /v1/config/put", `{"node":"/a","name":"c","value":"2","if_revision":0}`, 412, "PRECONDITION_FAILED"},
		{"GET /v1/config?node=/a&name=c", "", 200, `"value":"1"`},
		{"GET /v1/endpoints?node=/a&name=e", "", 200, `"endpoints":[]`},
		{"GET /v1/election/leader?node=/a&name=l", "", 200, `"leads":false`},
		{"POST /v1/rollout/put",
			`{"node":"/a","name":"r","spec":{"locations":[{"name":"x","gates":["g"]},{"name":"y","delay_ms":5}]}}`, 200,
			`"changed":true`},
		{"POST /v1/rollout/publish", `{"node":"/a","name":"r","payload":"v","label":"one"}`, 200, `"version":"1"`},
		{"POST /v1/rollout/action", `{"node":"/a","name":"r","action":"pause","author":"ann"}`, 200, `"changed":true`},
		{"POST /v1/rollout/action", `{"node":"/a","name":"r","action":"stop"}`, 400, "action is not one of"},
		{"POST /v1/rollout/gate/report",
			`{"node":"/a","name":"r","location":"x","gate":"g","version":7,"verdict":"passed"}`, 409, "FENCED"},
		{"POST /v1/rollout/gate/report",
			`{"node":"/a","name":"r","location":"x","gate":"g","version":1,"verdict":"good"}`, 400,
			"verdict is not one of"},
		{"GET /v1/rollout?node=/a&name=r", "", 200, `"phase":"paused"`},
		{"GET /v1/rollout/actions?node=/a&name=r", "", 200, `"author":"ann"`},
		{"GET /v1/rollout/instances?node=/a&name=r&location=x", "", 200, `"items":[]`},
		{"GET /v1/rollouts?node=/a", "", 200, `"label":"one"`},
		{"POST /v1/rollout/delete", `{"node":"/a","name":"r"}`, 200, `"changed":true`},
		{"POST /v1/process/put", `{"node":"/a","name":"p","spec":{"min_members":2}}`, 200, `"changed":true`},
		{"GET /v1/process?node=/a&name=p", "", 200, `"min_members":2`},
		{"GET /v1/processes?node=/a", "", 200, `"name":"p"`},
		{"GET /v1/process/actions?node=/a&name=p", "", 200, `"action":"created"`},
		{"POST /v1/process/restart", `{"node":"/a","name":"p"}`, 200, `"changed":true`},
		{"POST /v1/process/evict", `{"node":"/a","name":"p","member":7}`, 404, "NOT_FOUND"},
		{"POST /v1/process/delete", `{"node":"/a","name":"p"}`, 200, `"changed":true`},
		{"GET /v1/cluster", "", 200, `"hosts":[`},
		{"GET /v1/hosts", "", 200, `"items":[`},
		{"GET /v1/cluster/plan", "", 200, "{"},
		{"GET /v1/why", "", 200, "{"},
		{"POST /v1/host/cordon", `{"host":"` + "nowhere" + `","reason":"a test"}`, 404, "NOT_FOUND"},
		{"POST /v1/host/drain", `{"host":"x"}`, 400, "reason is missing"},
		{"GET /v1/cluster/audit", "", 200, `"items":[`},
		{"GET /v1/access/denials", "", 200, `"items":[`},
		{"GET /v1/rollouts", "", 200, `"items":[]`},
		{"GET /v1/processes", "", 200, `"items":[]`},
		{"GET /v1/rollouts?node=/b", "", 404, "NOT_FOUND"},
		{"GET /v1/configs", "", 200, `"node":"/a","name":"c","revision":"5","value":"1"`},
		{"GET /v1/discovery", "", 200, `"items":[]`},
		{"GET /v1/search?query=C", "", 200, `"kind":"config","node":"/a","name":"c"`},
		{"GET /v1/search", "", 400, "query is missing"},
		{"GET /v1/login", "", 200, `"signed_in":false,"read_only":true`},
		{"GET /v1/host/load", "", 200, `"items":[`},
		{"GET /v1/cluster/load", "", 200, `"items":[`},
		{"GET /v1/cluster/leaders", "", 200, `"items":[]`},
		{"GET /v1/cluster/traffic", "", 200, `"nodes":[{"node":"/a","requests_per_second":`},
		{"POST /v1/cluster/policy/set", `{"offline_after_ms":70000,"reason":"a test"}`, 200,
			`"offline_after_ms":70000`},
		{"GET /v1/cluster", "", 200, `"offline_after_ms":70000`},
		{"POST /v1/cluster/policy/set", `{"voters":3}`, 400, "reason is missing"},
		{"POST /v1/cluster/step/retry", `{"subject":"shard/99","reason":"a test"}`, 404, "does not wait"},
		{"POST /v1/join-token/create", `{"id":"0123","sha256":"` + hash + `","ttl_ms":60000,"reason":"a test"}`, 412,
			"no other host can reach the cluster"},
		{"GET /v1/join-tokens", "", 200, `"items":[]`},
		{"POST /v1/join-token/revoke", `{"id":"0123","reason":"a test"}`, 200, `"changed":false`},
		{"POST /v1/access/grant", `{"principal":"anonymous","role":"root","path":"/","reason":"a test"}`, 200,
			`"changed":true`},
		{"POST /v1/access/role/set",
			`{"role":"reader","rules":[{"path":"/","permissions":["read"]}],"reason":"a test"}`, 200, `"changed":true`},
		{"GET /v1/access/roles", "", 200, `"name":"reader"`},
		{"POST /v1/access/grant", `{"principal":"anonymous","role":"admin","path":"/","reason":"a test"}`, 200,
			`"changed":true`},
		{"POST /v1/access/token/create", `{"name":"x","sha256":"` + hash +
			`","grants":[{"role":"reader","path":"/"}],` +
			`"expires":"2099-01-02T03:04:05Z","reason":"a test"}`, 200, `"changed":true`},
		{"POST /v1/access/token/create", `{"name":"x","sha256":"ab","reason":"a test"}`, 400, "must be a SHA-256"},
		{"GET /v1/access/principals", "", 200, `"name":"token:x","expires":"2099-01-02T03:04:05Z"`},
		{"GET /v1/access/who-can?permission=read&node=/a", "", 200, `"principal":"token:x"`},
		{"POST /v1/access/revoke", `{"principal":"token:x","role":"reader","path":"/","reason":"a test"}`, 200,
			`"changed":true`},
		{"POST /v1/access/token/revoke", `{"name":"x","reason":"a test"}`, 200, `"changed":true`},
		{"POST /v1/access/role/delete", `{"role":"reader","reason":"a test"}`, 200, `"changed":true`},
		{"POST /v1/node/drop", `{"node":"/a"}`, 200, `"changed":true`},
	} {
		method, address, _ := strings.Cut(step.request, " ")
		r := st.send(method, address, step.body, nil)
		if r.code != step.code || !strings.Contains(r.text, step.has) {
			t.Errorf("%s %s: %d %s, want %d with %s", step.request, step.body, r.code, r.text, step.code, step.has)
		}
		if !json.Valid([]byte(r.text)) {
			t.Errorf("%s: not JSON: %s", step.request, r.text)
		}
	}
	st.shapes.requireAllAlwaysPresent(t)
}

// TestSessionFieldsAreRequired: what all responses about sessions have is required in the OpenAPI document. The
// sessions own a semaphore, wait for the semaphore, or do not get it.
func TestSessionFieldsAreRequired(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	const request = `{"node":"/a","name":"lock","ephemeral":true,"poll_ms":0,"wait_ms":%s}`
	one, two, three := st.start("/a", time.Minute), st.start("/a", time.Minute), st.start("/a", time.Minute)
	for _, step := range []struct {
		by            *own
		wait, outcome string
	}{{one, "60000", "acquired"}, {two, "60000", "waiting"}, {three, "0", "not_acquired"}} {
		got, _ := step.by.got(step.by.by("1", "/v1/semaphore/acquire", fmt.Sprintf(request, step.wait)))
		if got != step.outcome {
			t.Errorf("%s, want %s", got, step.outcome)
		}
	}
	for _, address := range []string{
		"/v1/sessions?node=/a", "/v1/semaphores?node=/a", "/v1/contention?prefix=/a", "/v1/semaphore?node=/a&name=lock",
		"/v1/semaphore/owners?node=/a&name=lock", "/v1/semaphore/owners?node=/a&name=none",
		"/v1/election/leader?node=/a&name=lock",
		"/v1/election/leader?node=/a&name=none", "/v1/session?id=" + one.ID,
	} {
		if r := st.get(address); r.code != http.StatusOK {
			t.Errorf("%s: %d %s", address, r.code, r.text)
		}
	}
	for _, o := range []*own{two, one} {
		o.by("2", "/v1/semaphore/release", `{"node":"/a","name":"lock"}`)
		o.by("", "/v1/session/keep-alive", "{}")
		o.by("", "/v1/session/close", "{}")
	}
	st.shapes.requireAllAlwaysPresent(t)
}

// TestProblemsSayWhatToDo in one form, for refusals from every layer.
func TestProblemsSayWhatToDo(t *testing.T) {
	st := newStage(t, nil)
	for request, code := range map[string]int{
		"GET /v1/nowhere":                http.StatusNotFound,
		"GET /v1/node?node=/nowhere":     http.StatusNotFound,
		"GET /v1/node":                   http.StatusBadRequest,
		"GET /v1/node?node=/a&node=/b":   http.StatusBadRequest,
		"GET /v1/node?node=/a&other=1":   http.StatusBadRequest,
		"GET /v1/session?id=x":           http.StatusBadRequest,
		"GET /v1/events?watch=/v1/other": http.StatusBadRequest,
		"POST /v1/node/drop":             http.StatusBadRequest,
	} {
		method, address, _ := strings.Cut(request, " ")
		r := st.send(method, address, "", nil)
		var p struct {
			Type, Title, Detail, Hint string
			Status                    int
			SignalboxStatus           string `json:"signalbox_status"`
		}
		if err := json.Unmarshal([]byte(r.text), &p); err != nil || r.header.Get("Content-Type") != problemType {
			t.Errorf("%s: %s %v", request, r.text, err)
		}
		if r.code != code || p.Status != code || p.Type == "" || p.Title == "" || p.Detail == "" || p.Hint == "" ||
			p.SignalboxStatus == "" {
			t.Errorf("%s: %d %s", request, r.code, r.text)
		}
		if want := "describe node /nowhere: the node does not exist"; strings.Contains(request, "?node=/nowhere") &&
			p.Detail != want {
			t.Errorf("%s: %q says more than once what is so, or names packages; want %q", request, p.Detail, want)
		}
	}
}

// TestWhatAPathMayBeAskedForBy: an unknown method is refused with a list of methods, and HEAD is a GET without its
// body.
func TestWhatAPathMayBeAskedForBy(t *testing.T) {
	st := newStage(t, func(c *Config) { c.Files = fstest.MapFS{"index.html": {Data: []byte("a page")}} })
	for _, c := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"DELETE", "/v1/node", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/v1/nodes", 405, "GET, HEAD, OPTIONS"},
		{"GET", "/v1/node/create", 405, "POST, OPTIONS"},
		{"PUT", "/v1/login", 405, "POST, GET, HEAD, OPTIONS"},
		{"HEAD", "/v1/events", 405, "GET, OPTIONS"},
		{"HEAD", "/v1/backup", 405, "POST, OPTIONS"},
		{"POST", "/v1/openapi.json", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/some/page", 405, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/v1/semaphore/acquire", 204, "POST, OPTIONS"},
		{"OPTIONS", "/v1/nowhere", 404, ""},
		{"DELETE", "/v1/nowhere", 404, ""},
		{"HEAD", "/v1/nodes", 200, ""},
		{"HEAD", "/v1/openapi.json", 200, ""},
		{"HEAD", "/", 200, ""},
		{"GET", "/some/page", 200, ""},
	} {
		r := st.send(c.method, c.path, "", nil)
		if r.code != c.code || r.header.Get("Allow") != c.allow || c.method == "HEAD" && r.text != "" {
			t.Errorf("%s %s: %d, allowed is %q: %s", c.method, c.path, r.code, r.header.Get("Allow"), r.text)
		}
	}
}

// TestProblemsHaveTheCodesOfTheField: 429 and 503 name a time for the next request, a used-up quota is no full disk.
func TestProblemsHaveTheCodesOfTheField(t *testing.T) {
	for status, want := range map[protocol.Status]string{
		protocol.StatusOverloaded: "429 1", protocol.StatusUnavailable: "503 1", protocol.StatusMoved: "503 1",
		protocol.StatusHeartbeatTimeout: "503 1", protocol.StatusQuotaExceeded: "403 ",
		protocol.StatusStorageFull: "507 ",
		protocol.StatusNotFound:    "404 ",
	} {
		w := httptest.NewRecorder()
		refuse(status, "a test").write(w)
		if got := fmt.Sprintf("%d %s", w.Code, w.Header().Get("Retry-After")); got != want ||
			strings.HasSuffix(want, "1") != strings.Contains(w.Body.String(), `"retry_after_ms":1000`) {
			t.Errorf("%v: %s, want %s: %s", status, got, want, w.Body)
		}
	}
}
