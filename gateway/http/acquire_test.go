package http

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

// own is a session of a caller of the gateway.
type own struct {
	*stage
	ID      string
	Session string
}

func (st *stage) start(node string, timeout time.Duration) *own {
	st.Helper()
	o := &own{stage: st}
	st.post("/v1/session/start", fmt.Sprintf(`{"node":%q,"timeout_ms":%d,"description":"a test"}`, node,
		timeout.Milliseconds())).in(st.T, o)
	return o
}

// by sends a change by the session, under a number where that is not empty.
func (o *own) by(number, address, body string) reply {
	o.Helper()
	return o.send(http.MethodPost, address, body, func(r *http.Request) {
		r.Header.Set(sessionHeader, o.Session)
		if number != "" {
			r.Header.Set(numberHeader, number)
		}
	})
}

// got reads what has become of an acquire.
func (o *own) got(r reply) (outcome, fence string) {
	o.Helper()
	var a struct{ Outcome, Fence string }
	r.in(o.T, &a)
	return a.Outcome, a.Fence
}

// TestALockOverHTTP is taken, waited for, handed over, and lost with its session.
func TestALockOverHTTP(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	one, two := st.start("/a", time.Hour/2), st.start("/a", time.Hour/2)
	const lock = `{"node":"/a","name":"lock","limit":1,"poll_ms":0}`
	outcome, first := one.got(one.by("1", "/v1/acquire", lock))
	if outcome != "acquired" || first == "" {
		t.Fatalf("%s %s", outcome, first)
	}
	if again, fence := one.got(one.by("1", "/v1/acquire", lock)); again != "acquired" || fence != first {
		t.Errorf("under the same number: %s %s", again, fence)
	}
	outcome, place := two.got(two.by("1", "/v1/acquire", lock))
	if outcome != "waiting" || place == "" {
		t.Fatalf("the second: %s %s", outcome, place)
	}
	if r := one.by("2", "/v1/update", `{"node":"/a","name":"lock","data":"mine","fence":"`+first+`"}`); r.code != 200 {
		t.Errorf("%d %s", r.code, r.text)
	}
	if r := two.by("2", "/v1/update", `{"node":"/a","name":"lock","data":"not","fence":"`+first+`"}`); r.code != 409 ||
		!strings.Contains(r.text, "FENCED") {
		t.Errorf("an update by another: %d %s", r.code, r.text)
	}
	waits := make(chan string, 1)
	go func() {
		outcome, fence := two.got(two.by("1", "/v1/acquire", `{"node":"/a","name":"lock","limit":1}`))
		waits <- outcome + " " + fence
	}()
	if r := one.by("3", "/v1/release", `{"node":"/a","name":"lock","fence":"`+first+`"}`); !strings.Contains(r.text, "true") {
		t.Errorf("%d %s", r.code, r.text)
	}
	if got := <-waits; got != "acquired "+place {
		t.Errorf("after the release the second has %s, want acquired %s", got, place)
	}
	if r := two.by("", "/v1/session/end", `{}`); !strings.Contains(r.text, "true") {
		t.Errorf("%d %s", r.code, r.text)
	}
	if r := two.by("3", "/v1/release", `{"node":"/a","name":"lock"}`); r.code != http.StatusGone {
		t.Errorf("by a session that is over: %d %s", r.code, r.text)
	}
	if r := two.by("", "/v1/session/end", `{}`); !strings.Contains(r.text, "false") {
		t.Errorf("ended again: %d %s", r.code, r.text)
	}
}

// TestNumbersMakeChangesOnce: without one the gateway finds a number above those that were used.
func TestNumbersMakeChangesOnce(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	o := st.start("/a", time.Hour/2)
	ahead := fmt.Sprint(time.Now().Add(2 * time.Minute).UnixMicro()) // as of a host whose clock is ahead
	for _, c := range []struct {
		number, request, body string
		code                  int
		has                   string
	}{
		{"", "/v1/acquire", `{"node":"/a","name":"x","limit":1}`, 200, "acquired"},
		{"", "/v1/release", `{"node":"/a","name":"x"}`, 200, `"released":true`},
		{ahead, "/v1/acquire", `{"node":"/a","name":"x"}`, 200, "acquired"},
		{"", "/v1/release", `{"node":"/a","name":"x"}`, 200, `"released":true`},
		{"5", "/v1/release", `{"node":"/a","name":"x"}`, 409, "STALE"},
		{"five", "/v1/acquire", `{"node":"/a","name":"x"}`, 400, numberHeader},
		{"", "/v1/release", `{"node":"/a","name":"x"}`, 200, `"released":false`},
		{"", "/v1/acquire", `{"node":"/a","name":"gone"}`, 404, "NOT_FOUND"},
		{"", "/v1/acquire", `{"node":"/a","name":"e","ephemeral":true,"count":"18446744073709551615"}`, 200, "acquired"},
	} {
		if r := o.by(c.number, c.request, c.body); r.code != c.code || !strings.Contains(r.text, c.has) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.number, c.request, c.body, r.code, r.text, c.code, c.has)
		}
	}
}

// TestWhatIsTooLongIsRefused, and costs the other requests of the token nothing.
func TestWhatIsTooLongIsRefused(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	o := st.start("/a", time.Hour/2)
	long := func(n int) string { return strings.Repeat("x", n) }
	for request, code := range map[string]int{
		`/v1/acquire {"node":"/a","name":"x","limit":1,"wait_ms":999999999}`:                   400,
		`/v1/acquire {"node":"/a","name":"` + long(2000) + `","ephemeral":true}`:               400,
		`/v1/acquire {"node":"/a","name":"x","data":"` + long(1<<20) + `"}`:                    400,
		`/v1/session/start {"node":"/a","description":"` + long(2000) + `"}`:                   400,
		`/v1/session/start {"node":"/a","timeout_ms":99999999}`:                                400,
		`/v1/semaphore/create {"node":"/a","name":"y","limit":1,"data":"` + long(3<<20) + `"}`: 400,
	} {
		address, body, _ := strings.Cut(request, " ")
		if r := o.by("", address, body); r.code != code {
			t.Errorf("%.80s: %d %.200s, want %d", request, r.code, r.text, code)
		}
	}
	if outcome, _ := o.got(o.by("", "/v1/acquire", `{"node":"/a","name":"x","limit":1}`)); outcome != "acquired" {
		t.Errorf("after these: %s", outcome)
	}
}

// TestWaitsEnd: a try does not wait, a place in the queue lasts as long as was asked for, and one that is given up is
// given up.
func TestWaitsEnd(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	one, two := st.start("/a", time.Hour/2), st.start("/a", time.Hour/2)
	one.got(one.by("", "/v1/acquire", `{"node":"/a","name":"x","limit":1}`))
	if outcome, _ := two.got(two.by("", "/v1/acquire", `{"node":"/a","name":"x","wait_ms":0}`)); outcome != "not_acquired" {
		t.Errorf("a try: %s", outcome)
	}
	if outcome, _ := two.got(two.by("", "/v1/acquire", `{"node":"/a","name":"x","poll_ms":1}`)); outcome != "waiting" {
		t.Errorf("a short poll: %s", outcome)
	}
	if r := two.by("", "/v1/release", `{"node":"/a","name":"x"}`); !strings.Contains(r.text, "true") {
		t.Errorf("the place in the queue is given up: %s", r.text)
	}
	d, err := st.client.Node("/a").Describe(t.Context(), "x", client.WithWaiters(),
		client.WithConsistency(client.Strict))
	if err != nil || len(d.Waiters) != 0 {
		t.Errorf("%+v %v", d, err)
	}
}

// TestASessionIsItsOwners: the key is needed, and the node must be its own.
func TestASessionIsItsOwners(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	st.node("/b")
	o := st.start("/a", time.Minute)
	id, key, _ := strings.Cut(o.Session, ".")
	for session, code := range map[string]int{
		o.Session: 200, "": 400, "7": 400, id + ".00": 400, "0." + key: 400,
		id + "." + strings.Repeat("0", len(key)): 409, "123456." + key: 410,
	} {
		r := (&own{stage: st, Session: session}).by("", "/v1/session/keep-alive", "{}")
		if r.code != code {
			t.Errorf("%q: %d %s, want %d", session, r.code, r.text, code)
		}
	}
	if r := o.by("", "/v1/acquire", `{"node":"/b","name":"x","limit":1}`); r.code != 409 {
		t.Errorf("in another node: %d %s", r.code, r.text)
	}
	if r := st.post("/v1/session/start", `{"node":"/a","timeout_ms":1}`); r.code != 400 {
		t.Errorf("a timeout that no request can keep up with: %d %s", r.code, r.text)
	}
}

// TestBetweenRequestsNothingKeepsASessionAlive: it is detached, and ends by itself.
func TestBetweenRequestsNothingKeepsASessionAlive(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	o := st.start("/a", time.Hour/2)
	for range 2 { // after its start, and after a request
		var info struct{ Attached bool }
		st.get("/v1/session?id="+o.ID).in(t, &info)
		if info.Attached {
			t.Error("the session is attached while no request is under way")
		}
		o.got(o.by("", "/v1/acquire", `{"node":"/a","name":"x","limit":1}`))
	}
	began := time.Now()
	short := st.start("/a", minTimeout)
	await(t, "the session ends by itself", func() bool {
		return st.get("/v1/session?id="+short.ID).code == http.StatusGone
	})
	if lived := time.Since(began); lived < minTimeout {
		t.Errorf("it lived for %v", lived)
	}
	if r := short.by("", "/v1/session/keep-alive", "{}"); r.code != http.StatusGone {
		t.Errorf("%d %s", r.code, r.text)
	}
}
