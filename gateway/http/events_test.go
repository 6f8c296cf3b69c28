package http

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestAStreamShowsALockThatIsHandedOver from one owner to the next, with one stream for all its addresses.
func TestAStreamShowsALockThatIsHandedOver(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	e := st.watch("", "/v1/semaphore/owners?node=/a&name=lock", "/v1/config?node=/a&name=c")
	seen := make(map[int]string)
	until := func(watch int, has string) {
		t.Helper()
		for !strings.Contains(seen[watch], has) {
			at, answer := e.next()
			seen[at] = answer
		}
	}
	until(0, `"exists":false`)
	until(1, `"exists":false`)
	lock := func(description string) (*client.Session, *client.Lease) {
		s, err := st.client.Session(t.Context(), "/a", client.Description(description))
		if err != nil {
			t.Fatal(err)
		}
		lease, err := s.Semaphore("lock", client.Limit(1)).Acquire(t.Context(), client.Data([]byte(description)))
		if err != nil {
			t.Fatal(err)
		}
		return s, lease
	}
	first, lease := lock("one")
	until(0, `"data":"one"`)
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, _ := lock("two")
	until(0, `"data":"two"`)
	st.post("/v1/config/put", `{"node":"/a","name":"c","value":"v1"}`)
	until(1, `"value":"v1"`)
	for _, s := range []*client.Session{first, second} {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	until(0, `"owners":[]`)
}

// TestAStreamGoesOnAfterTheOneBefore: the stream sends changes since the reader's last event, and repeats nothing.
func TestAStreamGoesOnAfterTheOneBefore(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	put := func(value string) {
		t.Helper()
		if r := st.post("/v1/config/put", `{"node":"/a","name":"c","value":"`+value+`"}`); r.code != http.StatusOK {
			t.Fatal(r.text)
		}
	}
	put("one")
	config, nodes := "/v1/config?node=/a&name=c", "/v1/node?node=/a"
	before := st.watch("", config, nodes)
	for range 2 {
		before.next()
	}
	before.end()
	if !strings.HasPrefix(before.id, "r") || !strings.Contains(before.id, ",s") {
		t.Fatalf("the id of the event is %q: the config has a revision, and the node a sum", before.id)
	}
	put("two")
	after := st.watch(before.id, config, nodes)
	if watch, answer := after.next(); watch != 0 || !strings.Contains(answer, `"value":"two"`) {
		t.Errorf("the first event is of %d: %s", watch, answer)
	}
	put("three")
	if watch, answer := after.next(); watch != 0 || !strings.Contains(answer, `"value":"three"`) {
		t.Errorf("the second event is of %d: %s", watch, answer)
	}
}

// TestAStreamShowsWhyThereIsNothingToSee in place of an answer, and continues.
func TestAStreamShowsWhyThereIsNothingToSee(t *testing.T) {
	st := newStage(t, nil)
	e := st.watch("", "/v1/node?node=/later")
	if _, answer := e.next(); !strings.Contains(answer, `"signalbox_status":"NOT_FOUND"`) {
		t.Errorf("%s", answer)
	}
	st.node("/later")
	if _, answer := e.next(); !strings.Contains(answer, `"path":"/later"`) {
		t.Errorf("%s", answer)
	}
}

// TestAStreamSaysThatNothingIsReadWithoutAMajority, for polled and for pushed data; a read's outcome is never called
// unknown.
func TestAStreamSaysThatNothingIsReadWithoutAMajority(t *testing.T) {
	st := newStage(t, nil, servertest.Hosts(3))
	st.node("/demo")
	st.send(http.MethodGet, "/v1/nodes", "", nil)
	st.cluster.Crash(2, false)
	st.cluster.Crash(3, false)
	for _, address := range []string{"/v1/cluster", "/v1/election/leader?node=/demo&name=leader"} {
		_, answer := st.watch("", address).next()
		if !strings.Contains(answer, `"signalbox_status":"UNAVAILABLE"`) || strings.Contains(answer, "outcome") ||
			strings.Contains(answer, "context deadline") {
			t.Errorf("%s: %s", address, answer)
		}
	}
}

// TestMarksSayWhatIsNew: revisions by their order, other answers by their text.
func TestMarksSayWhatIsNew(t *testing.T) {
	for _, c := range []struct {
		now, sent mark
		after     bool
	}{
		{mark{revision: 5}, mark{}, true},
		{mark{revision: 5}, mark{revision: 4}, true},
		{mark{revision: 5}, mark{revision: 5}, false},
		{mark{revision: 5}, mark{revision: 6}, false}, // from a lagging host
		{mark{sum: 5}, mark{sum: 6}, true},
		{mark{sum: 5}, mark{sum: 5}, false},
		{mark{sum: 5}, mark{revision: 5}, true},
	} {
		if got := c.now.after(c.sent); got != c.after {
			t.Errorf("%v after %v: %v", c.now, c.sent, got)
		}
		if got := parseMark(c.now.String()); got != c.now {
			t.Errorf("%v is read as %v", c.now, got)
		}
	}
	if got := parseMark("x1"); got != (mark{}) {
		t.Errorf("%v", got)
	}
}

// TestViewsAreSharedAndEnd: two streams of the same address share one read, which ends with the last stream.
func TestViewsAreSharedAndEnd(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	known := func() (n int) {
		caller, err := st.gateway.callers.acquire(t.Context(), "", netip.Addr{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.gateway.callers.release(caller)
		caller.views.mu.Lock()
		defer caller.views.mu.Unlock()
		return len(caller.views.known)
	}
	first, second := st.watch("", "/v1/nodes"), st.watch("", "/v1/nodes")
	first.next()
	second.next()
	if n := known(); n != 1 {
		t.Errorf("%d views", n)
	}
	first.end()
	st.node("/b")
	if _, answer := second.next(); !strings.Contains(answer, "/b") {
		t.Errorf("%s", answer)
	}
	second.end()
	await(t, "the view ends with its last stream", func() bool { return known() == 0 })
}
