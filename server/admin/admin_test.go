package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fake is a host with state set by the test.
type fake struct {
	checks  []Check
	status  Status
	cluster Cluster
	unknown error // of the cluster
}

func (f *fake) Checks() []Check           { return f.checks }
func (f *fake) Status() Status            { return f.status }
func (f *fake) Cluster() (Cluster, error) { return f.cluster, f.unknown }
func (f *fake) WriteMetrics(w io.Writer)  { fmt.Fprintln(w, "signalbox_connections 3") }

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:7422"
	h.ServeHTTP(w, r)
	return w
}

func TestHealth(t *testing.T) {
	failed := Check{Name: "cluster", Err: errors.New("shard 2 has no leader")}
	stopping := Check{Name: "running", Err: errors.New("the host is stopping")}
	disk := Check{Name: "disk", Err: errors.New("nearly full"), Advisory: true}
	well := Check{Name: "running"}
	for name, c := range map[string]struct {
		checks  []Check
		code    int
		text    string
		verbose string
	}{
		"all is well": {[]Check{well, {Name: "cluster"}}, 200, "ready\n",
			"ready\n[ok]      running\n[ok]      cluster\n"},
		"no leader": {[]Check{well, failed}, 503, "not ready: shard 2 has no leader\n",
			"not ready: shard 2 has no leader\n[ok]      running\n[failed]  cluster: shard 2 has no leader\n"},
		"two reasons": {[]Check{stopping, failed}, 503, "not ready: the host is stopping; shard 2 has no leader\n",
			"not ready: the host is stopping; shard 2 has no leader\n[failed]  running: the host is " +
				"stopping\n[failed]  cluster: shard 2 has no leader\n"},
		"a full disk serves reads": {[]Check{well, disk}, 200, "ready\n",
			"ready\n[ok]      running\n[warning] disk: nearly full\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := Handler(&fake{checks: c.checks}, Options{})
			if w := get(t, h, "/health/ready"); w.Code != c.code || w.Body.String() != c.text {
				t.Errorf("%d %q", w.Code, w.Body)
			}
			if w := get(t, h, "/health/ready?verbose"); w.Code != c.code || w.Body.String() != c.verbose {
				t.Errorf("verbose: %d %q", w.Code, w.Body)
			}
			if w := get(t, h, "/health/live"); w.Code != 200 || w.Body.String() != "alive\n" {
				t.Errorf("live: %d %q", w.Code, w.Body)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	w := get(t, Handler(&fake{}, Options{}), "/metrics")
	if w.Code != 200 || w.Body.String() != "# HELP signalbox_connections Open client connections\n# TYPE "+
		"signalbox_connections gauge\nsignalbox_connections 3\n" ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
}

func TestStatusKeepsItsNames(t *testing.T) {
	age, fresh := 0.25, true
	host := &fake{
		checks: []Check{{Name: "cluster", Err: errors.New("shard 2 has no leader")}},
		status: Status{
			Host: HostStatus{
				ID: 2, Name: "b", Version: "v1.0.0", UptimeSeconds: 12.5, Started: time.Date(2026, 11, 20, 9, 0, 0, 0,
					time.UTC),
				ClientAddress: "b:7420", RaftAddress: "b:7421", AdminAddress: "b:7422", DataDir: "/data",
				Incarnation: "b2000000000000000000000000000002", Starts: 3,
			},
			Cluster: ClusterStatus{ID: "prod-1", RoutingVersion: 1, Hosts: []HostRecord{
				{ID: 1, Name: "a", RaftAddress: "a:7421"},
				{ID: 2, Name: "b", ClientAddress: "b:7420", RaftAddress: "b:7421", AdminAddress: "b:7422",
					Version: "v1.0.0"},
			}},
			Fresh:       &fresh,
			Connections: Connections{Open: 1, Accepted: 2, Refused: 3, FailedHandshakes: 4},
			Disk:        &Disk{FreeBytes: 5, TotalBytes: 6, LowMarkBytes: 7, Refusing: true},
			Shards: []ShardStatus{
				{ID: 0, Leader: 1, Term: 3, Applied: 10, Lag: 1},
				{ID: 1, Leader: 2, Leads: true, Term: 4, Applied: 20, ShardContent: &ShardContent{
					Serving: true, ProofAgeSeconds: &age, Sessions: 1, Attached: 2,
					RemoteSessions: 3, Semaphores: 4, Waiters: 5, Watches: 6, Queued: 7, InFlight: 8,
				}},
			},
		},
	}
	w := get(t, Handler(host, Options{}), "/status")
	want, err := os.ReadFile(filepath.Join("testdata", "status.json"))
	if err != nil {
		t.Fatal(err)
	}
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Body.String() != string(want) {
		t.Errorf("%d %v\n%s", w.Code, w.Header(), w.Body)
	}
}

func TestStatusOfAHostThatKnowsNothingYet(t *testing.T) {
	w := get(t, Handler(&fake{}, Options{}), "/status")
	var s map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if shards, ok := s["shards"].([]any); !ok || len(shards) != 0 || s["ready"] != true {
		t.Errorf("%s", w.Body)
	}
}

func TestTheProfilerIsServedWhereItIsWanted(t *testing.T) {
	for wanted, code := range map[bool]int{false: 404, true: 200} {
		h := Handler(&fake{}, Options{Pprof: wanted})
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap"} {
			if w := get(t, h, path); w.Code != code {
				t.Errorf("wanted %v: %s gives %d", wanted, path, w.Code)
			}
		}
		if w := get(t, h, "/"); strings.Contains(w.Body.String(), "pprof") != wanted ||
			!strings.Contains(w.Body.String(), "/health/ready") {
			t.Errorf("wanted %v: the index says %q", wanted, w.Body)
		}
	}
}

func TestNothingElseIsServed(t *testing.T) {
	h := Handler(&fake{}, Options{})
	if w := get(t, h, "/secrets"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/status", nil)
	r.Host = "localhost"
	h.ServeHTTP(w, r)
	if w.Code != 405 {
		t.Errorf("%d", w.Code)
	}
}

func listen(t *testing.T) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", Handler(&fake{}, Options{}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestTheServerListensUntilItIsClosed(t *testing.T) {
	s := listen(t)
	answer, err := http.Get("http://" + s.Addr().String() + "/health/live")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("%d", answer.StatusCode)
	}
	if _, err := Listen(s.Addr().String(), nil, slog.Default()); err == nil ||
		!strings.Contains(err.Error(), "or choose another port") {
		t.Errorf("got %v", err)
	}
	s.Close()
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}
