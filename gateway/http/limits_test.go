package http

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/backupfile"
)

// TestASlowReaderGetsTheNewestOnly: what came in between is kept nowhere.
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
	if text := s.pending(); strings.Count(text, "event: answer") != 1 || !strings.Contains(text, `"answer":"100"`) {
		t.Errorf("%s", text)
	}
	if text := s.pending(); text != "" {
		t.Errorf("it is sent again: %s", text)
	}
}

// TestStreamsAreLimited for each address and in all, and one that ends makes room.
func TestStreamsAreLimited(t *testing.T) {
	var s streams
	from := func(address string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/v1/events", nil)
		r.RemoteAddr = address + ":1"
		return r
	}
	var last func()
	enter := func(address string, n int) {
		t.Helper()
		for i := range n {
			leave, err := s.enter(from(address))
			if err != nil {
				t.Fatalf("stream %d of %s: %v", i, address, err)
			}
			last = leave
		}
	}
	refused := func(address string) {
		t.Helper()
		if _, err := s.enter(from(address)); problemCode(err) != http.StatusTooManyRequests {
			t.Errorf("one more of %s: %v", address, err)
		}
	}
	enter("10.0.0.1", maxStreamsOfAddress)
	refused("10.0.0.1")
	enter("10.0.0.2", maxStreamsOfAddress)
	enter("10.0.0.3", maxStreams-2*maxStreamsOfAddress)
	refused("10.0.0.4")
	last()
	enter("10.0.0.4", 1)
	refused("10.0.0.4")
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
