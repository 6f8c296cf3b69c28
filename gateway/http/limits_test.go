package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol/backupfile"
)

// TestASlowReaderGetsTheNewestOnly: no intermediate version is kept.
func TestASlowReaderGetsTheNewestOnly(t *testing.T) {
	s := &eventStream{changed: make(chan struct{}, 1), sent: make([]mark, 1)}
	v := &view{streams: map[*eventStream]bool{s: true}}
	s.views = []*view{v}
	for revision := range uint64(100) {
		v.publish(revision+1, revision+1)
	}
	if n := len(s.changed); n != 1 {
		t.Errorf("the stream was woken %d times", n)
	}
	pending := func() string {
		var text strings.Builder
		if err := s.writePending(&text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	if text := pending(); strings.Count(text, "event: answer") != 1 || !strings.Contains(text, `"answer":"100"`) {
		t.Errorf("%s", text)
	}
	if text := pending(); text != "" {
		t.Errorf("it is sent again: %s", text)
	}
}

// TestATokenIsOpenedOnce for all concurrent requests with the token, for example from many consoles after their host's
// restart.
func TestATokenIsOpenedOnce(t *testing.T) {
	const requests = 4 * maxOpening
	var opened atomic.Int32
	begun := make(chan struct{})
	st := newStage(t, func(c *Config) {
		open := c.Open
		c.Open = func(ctx context.Context, token string) (*client.Client, error) {
			opened.Add(1)
			<-begun
			return open(ctx, token)
		}
	})
	answers := make(chan reply, requests)
	for range requests {
		go func() { answers <- st.get("/v1/host/load") }()
	}
	await(t, "a client is being made", func() bool { return opened.Load() == 1 })
	close(begun)
	for range requests {
		if r := <-answers; r.code != http.StatusOK {
			t.Errorf("%d %s", r.code, r.text)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d clients were opened", n)
	}
}

// TestABackupOverHTTP is a whole file.
func TestABackupOverHTTP(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	r := st.post("/v1/backup", "{}")
	if r.code != http.StatusOK || r.header.Get("Content-Type") != "application/octet-stream" ||
		!strings.Contains(r.header.Get("Content-Disposition"), ".backup") {
		t.Fatalf("%d %v %s", r.code, r.header, r.text)
	}
	file, err := backupfile.NewReader(strings.NewReader(r.text))
	if err != nil {
		t.Fatal(err)
	}
	sections := 0
	for {
		_, err := file.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			_, err = io.Copy(io.Discard, file)
		}
		if err != nil {
			t.Fatal(err)
		}
		sections++
	}
	if sections < 2 {
		t.Errorf("%d shards are in the file", sections)
	}
}

// TestARequestIsAnsweredThoughNoHostIs: within three seconds, with the reason.
func TestARequestIsAnsweredThoughNoHostIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Open: func(ctx context.Context, _ string) (*client.Client, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		defer g.Close()
		began, w := time.Now(), httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/v1/nodes", nil))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("answered after %v", took)
		}
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "did not complete the "+
			"request") {
			t.Errorf("answered with %d: %s", w.Code, w.Body)
		}
	})
}
