package http

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
)

// patience bounds the wait for an event that must come.
const patience = time.Minute

// stage is a gateway in front of a cluster.
type stage struct {
	*testing.T
	cluster *servertest.Cluster
	gateway *Gateway
	server  *httptest.Server
	client  *client.Client // beside the gateway
	shapes  shapes         // for all responses to send
}

func newStage(t *testing.T, change func(*Config), options ...servertest.Option) *stage {
	t.Helper()
	cluster := servertest.Start(t, options...)
	open := func(ctx context.Context, token string) (*client.Client, error) {
		return client.Open(ctx, cluster.Addresses(), client.WithDialer(cluster.Dial), client.WithToken(token))
	}
	config := Config{Open: open}
	if change != nil {
		change(&config)
	}
	st := &stage{T: t, cluster: cluster, gateway: New(config)}
	st.server = httptest.NewServer(st.gateway)
	t.Cleanup(func() {
		st.gateway.Close()
		st.server.Close()
	})
	var err error
	if st.client, err = open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.client.Close() })
	return st
}

// reply is the gateway's answer.
type reply struct {
	code   int
	header http.Header
	text   string
}

// send sends a request, with a value's JSON as its body.
func (st *stage) send(method, address, body string, change func(*http.Request)) reply {
	st.Helper()
	r, err := http.NewRequestWithContext(st.Context(), method, st.server.URL+address, strings.NewReader(body))
	if err != nil {
		st.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	answer, err := st.server.Client().Do(r)
	if err != nil {
		st.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		st.Fatal(err)
	}
	got := reply{answer.StatusCode, answer.Header, string(text)}
	for _, mistake := range st.shapes.add(method, address, got) {
		st.Errorf("%s %s: %s: %s", method, address, mistake, text)
	}
	return got
}

func (st *stage) get(address string) reply { return st.send(http.MethodGet, address, "", nil) }

func (st *stage) post(address, body string) reply {
	return st.send(http.MethodPost, address, body, nil)
}

// in decodes an answer that must be a success.
func (r reply) in(t *testing.T, into any) {
	t.Helper()
	if r.code != http.StatusOK {
		t.Fatalf("%d %s", r.code, r.text)
	}
	if err := json.Unmarshal([]byte(r.text), into); err != nil {
		t.Fatalf("%v in %s", err, r.text)
	}
}

// node creates a node.
func (st *stage) node(path string) {
	st.Helper()
	if r := st.post("/v1/node/create", `{"node":"`+path+`"}`); r.code != http.StatusOK {
		st.Fatalf("%d %s", r.code, r.text)
	}
}

// eventReader reads a stream's events.
type eventReader struct {
	*testing.T
	lines *bufio.Reader
	end   context.CancelFunc
	id    string // last event id
}

// watch begins a stream. The event id from an earlier stream may be empty.
func (st *stage) watch(id string, addresses ...string) *eventReader {
	st.Helper()
	ctx, cancel := context.WithTimeout(st.Context(), patience)
	st.Cleanup(cancel)
	query := url.Values{"watch": addresses}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, st.server.URL+"/v1/events?"+query, nil)
	if err != nil {
		st.Fatal(err)
	}
	if id != "" {
		r.Header.Set("Last-Event-ID", id)
	}
	answer, err := st.server.Client().Do(r)
	if err != nil {
		st.Fatal(err)
	}
	st.Cleanup(func() { answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		st.Fatalf("%d %s", answer.StatusCode, kind)
	}
	return &eventReader{T: st.T, lines: bufio.NewReader(answer.Body), end: cancel}
}

// next returns the next event: its address and its answer.
func (e *eventReader) next() (watch int, answer string) {
	e.Helper()
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			e.Fatalf("the stream ended: %v", err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.id = strings.TrimSpace(id)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Watch  int
			Answer json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			e.Fatalf("%v in %s", err, data)
		}
		return event.Watch, string(event.Answer)
	}
}

// await waits for a condition.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to this: " + what)
		}
	}
}
