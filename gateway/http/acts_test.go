package http

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/internal/httplimit"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/servertest"
)

// noting writes acts into the history by the first host.
func noting(st **stage) func(*Config) {
	return func(c *Config) {
		c.Note = func(ctx context.Context, a Act) error {
			return (*st).cluster.Host(1).NoteAct(ctx, audit.Note{
				Token: []byte(a.Token), Address: a.From, What: a.What, Why: a.Why,
			})
		}
	}
}

// because sends a reason.
func because(reason string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(reasonHeader, reason) }
}

// TestWhatIsDoneForAReasonIsInTheHistory, with author and reason. Requests without a reason, refused requests, reads,
// and requests that store their reason themselves are not.
func TestWhatIsDoneForAReasonIsInTheHistory(t *testing.T) {
	var st *stage
	st = newStage(t, noting(&st))
	st.node("/a")
	st.post("/v1/semaphore/create", `{"node":"/a","name":"s","limit":3}`)
	session := st.start("/a", time.Minute).ID
	for _, step := range []struct{ method, address, body, reason string }{
		{"POST", "/v1/semaphore/resize", `{"node":"/a","name":"s","limit":5}`, "more%20work"},
		{"POST", "/v1/semaphore/resize", `{"node":"/a","name":"s","limit":6}`, ""},
		{"POST", "/v1/semaphore/resize", `{"node":"/a","name":"other","limit":6}`, "not there"},
		{"GET", "/v1/semaphore?node=/a&name=s", "", "only looking"},
		{"POST", "/v1/cluster/policy/set", `{"offline_after_ms":70000,"reason":"slow hosts"}`, "slow hosts"},
		{"POST", "/v1/config/put", `{"node":"/a","name":"c","value":"secret"}`, "%d0%b4%d0%b0"},
		{"POST", "/v1/session/destroy", `{"id":` + session + `}`, strings.Repeat("x", 300)},
		{"POST", "/v1/semaphore/delete", `{"node":"/a","name":"s","force":true}`, "the end"},
	} {
		st.send(step.method, step.address, step.body, because(step.reason))
	}
	want := []string{
		"semaphore resize: node /a, name s, limit 5: more work",
		"config put: node /a, name c: да",
		"session destroy: id " + session + ": " + strings.Repeat("x", 256),
		"semaphore delete: node /a, name s, force: the end",
	}
	var got []string
	await(t, "the last act is in the history", func() bool {
		got = nil
		for e, err := range admin.New(st.client).Audit(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Event != "action" {
				continue
			}
			if got = append(got, e.Text+": "+e.Reason); !strings.HasPrefix(e.Author, "a client at 127.0.0.1:") {
				t.Errorf("%+v", e)
			}
		}
		got = slices.Compact(got) // a repeated report after a lost answer may appear twice
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("in the history: %q, want %q", got, want)
	}
}

// TestAnActIsAuditedByWhereItsClientIs: the host's log and the history show the client's address, directly and through
// a trusted proxy only.
func TestAnActIsAuditedByWhereItsClientIs(t *testing.T) {
	for _, c := range []struct {
		what    string
		proxies httplimit.Proxies
		address string // as a regular expression
	}{
		{"no proxy is trusted", nil, `127\.0\.0\.1:\d+`},
		{"a trusted proxy", httplimit.Proxies{netip.MustParsePrefix("127.0.0.0/8")},
			`198\.51\.100\.7 through 127\.0\.0\.1:\d+`},
	} {
		var st *stage
		log := &lockedText{}
		st = newStage(t, func(to *Config) {
			noting(&st)(to)
			to.Proxies = c.proxies
		}, servertest.Config(func(of *server.Config) { of.Log = slog.New(slog.NewTextHandler(log, nil)) }))
		through := func(r *http.Request) {
			r.Header.Set("X-Forwarded-For", "203.0.113.1, 198.51.100.7")
			r.Header.Set("Authorization", "Bearer any")
		}
		if r := st.send("POST", "/v1/node/create", `{"node":"/a"}`, through); r.code != http.StatusOK {
			t.Fatalf("%s: %d %s", c.what, r.code, r.text)
		}
		record := regexp.MustCompile(`msg=audit .*address="?` + c.address +
			` through client-\d+.* action="create node"`)
		if text := log.String(); !record.MatchString(text) {
			t.Errorf("%s: the log says %s", c.what, text)
		}
		r := st.send("POST", "/v1/cluster/policy/set", `{"offline_after_ms":70000,"reason":"slow"}`, through)
		if r.code != http.StatusOK {
			t.Fatalf("%s: %d %s", c.what, r.code, r.text)
		}
		by := regexp.MustCompile(`^a client at ` + c.address + ` through client-\d+$`)
		found := false
		for e, err := range admin.New(st.client).Audit(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			found = found || by.MatchString(e.Author)
		}
		if !found {
			t.Errorf("%s: the history has no entry of the client", c.what)
		}
	}
}

// lockedText is text for several writing goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestAPersonPassesAGate: the location has reached the version then.
func TestAPersonPassesAGate(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	s, err := st.client.Session(t.Context(), "/a", client.SessionTimeout(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	spec := rollout.Spec{Locations: []rollout.Location{{Name: "SAS", Gates: []string{"errors"}}}}
	if err = rollout.NewInSession(s, "r").Create(t.Context(), spec, rollout.ChangeInfo{}); err == nil {
		_, err = rollout.Publish(t.Context(), s, "r", []byte("one"))
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := rollout.Join(t.Context(), s, "r", rollout.Instance{Name: "a", Location: "SAS"})
	if err != nil {
		t.Fatal(err)
	}
	for target, err := range m.Targets(t.Context()) {
		if err == nil {
			err = m.Reached(t.Context(), target)
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	r := st.post("/v1/rollout/gate/report", `{"node":"/a","name":"r","location":"SAS","gate":"errors","version":1,`+
		`"verdict":"passed","author":"ann","message":"it looks good"}`)
	if r.code != http.StatusOK {
		t.Fatalf("%d %s", r.code, r.text)
	}
	state := st.get("/v1/rollout?node=/a&name=r&strict=true").text
	if !strings.Contains(state, `"report":{"verdict":"passed","message":"it looks good"},"author":"ann"`) {
		t.Errorf("%s", state)
	}
	if !strings.Contains(state, `"reached":{"set":true`) {
		t.Errorf("the location has not reached it: %s", state)
	}
}

// TestAnActWithAnOutcomeThatIsNotKnownIsInTheHistory as a possible act.
func TestAnActWithAnOutcomeThatIsNotKnownIsInTheHistory(t *testing.T) {
	noted := make(chan Act, 1)
	st := newStage(t, func(c *Config) {
		c.Note = func(_ context.Context, a Act) error {
			noted <- a
			return fmt.Errorf("there is no history")
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/session/destroy", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(reasonHeader, "it hangs")
	for i := range st.gateway.routes {
		if of := &st.gateway.routes[i]; of.path == "/v1/session/destroy" {
			c := &call{gateway: st.gateway, r: r, body: []byte(`{"id":"7"}`)}
			if _, err := c.read(of.request); err != nil {
				t.Fatal(err)
			}
			st.gateway.note(c, of, context.DeadlineExceeded)
		}
	}
	select {
	case a := <-noted:
		if a.What != "perhaps session destroy: id 7" || a.Why != "it hangs" {
			t.Errorf("%+v", a)
		}
	case <-time.After(patience):
		t.Fatal("it is not noted")
	}
}
