package http

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
)

// own is a caller's session at the gateway.
type own struct {
	*stage
	ID      string
	Session string
}

func (st *stage) start(node string, timeout time.Duration) *own {
	st.Helper()
	o := &own{stage: st}
	st.post("/v1/session/create", fmt.Sprintf(`{"node":%q,"timeout_ms":%d,"description":"a test"}`, node,
		timeout.Milliseconds())).in(st.T, o)
	return o
}

// by sends a change by the session, with a number unless the number is empty.
func (o *own) by(number, address, body string) reply {
	o.Helper()
	return o.send(http.MethodPost, address, body, func(r *http.Request) {
		r.Header.Set(sessionHeader, o.Session)
		if number != "" {
			r.Header.Set(sequenceHeader, number)
		}
	})
}

// got reads an acquire's outcome.
func (o *own) got(r reply) (outcome, fence string) {
	o.Helper()
	var a struct{ Outcome, Fence string }
	r.in(o.T, &a)
	return a.Outcome, a.Fence
}

// TestALockOverHTTP: a lock is taken, waited for, handed over, and lost with its session.
func TestALockOverHTTP(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	one, two := st.start("/a", time.Hour/2), st.start("/a", time.Hour/2)
	const lock = `{"node":"/a","name":"lock","limit":1,"poll_ms":0}`
	outcome, first := one.got(one.by("1", "/v1/semaphore/acquire", lock))
	if outcome != "acquired" || first == "" {
		t.Fatalf("%s %s", outcome, first)
	}
	if again, fence := one.got(one.by("1", "/v1/semaphore/acquire", lock)); again != "acquired" || fence != first {
		t.Errorf("under the same number: %s %s", again, fence)
	}
	outcome, place := two.got(two.by("1", "/v1/semaphore/acquire", lock))
	if outcome != "waiting" || place == "" {
		t.Fatalf("the second: %s %s", outcome, place)
	}
	if r := one.by("2", "/v1/semaphore/update",
		`{"node":"/a","name":"lock","data":"mine","fence":"`+first+`"}`); r.code != 200 {
		t.Errorf("%d %s", r.code, r.text)
	}
	if r := two.by("2", "/v1/semaphore/update",
		`{"node":"/a","name":"lock","data":"not","fence":"`+first+`"}`); r.code != 409 ||
		!strings.Contains(r.text, "FENCED") {
		t.Errorf("an update by another: %d %s", r.code, r.text)
	}
	waits := make(chan string, 1)
	go func() {
		outcome, fence := two.got(two.by("1", "/v1/semaphore/acquire", `{"node":"/a","name":"lock","limit":1}`))
		waits <- outcome + " " + fence
	}()
	if r := one.by("3", "/v1/semaphore/release",
		`{"node":"/a","name":"lock","fence":"`+first+`"}`); !strings.Contains(r.text, "true") {
		t.Errorf("%d %s", r.code, r.text)
	}
	if got := <-waits; got != "acquired "+place {
		t.Errorf("after the release the second has %s, want acquired %s", got, place)
	}
	if r := two.by("", "/v1/session/close", `{}`); !strings.Contains(r.text, "true") {
		t.Errorf("%d %s", r.code, r.text)
	}
	if r := two.by("3", "/v1/semaphore/release", `{"node":"/a","name":"lock"}`); r.code != http.StatusGone {
		t.Errorf("by a session that is over: %d %s", r.code, r.text)
	}
	if r := two.by("", "/v1/session/close", `{}`); !strings.Contains(r.text, "false") {
		t.Errorf("ended again: %d %s", r.code, r.text)
	}
}

// TestAnEphemeralSemaphoreIsOwnedAlone by an acquire without a count, like a client's lock. Sharing needs a count.
func TestAnEphemeralSemaphoreIsOwnedAlone(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	one, two := st.start("/a", time.Hour/2), st.start("/a", time.Hour/2)
	const lock = `{"node":"/a","name":"job","ephemeral":true,"poll_ms":0}`
	const shared = `{"node":"/a","name":"read","ephemeral":true,"count":1,"poll_ms":0}`
	for _, c := range []struct {
		by            *own
		body, outcome string
	}{{one, lock, "acquired"}, {two, lock, "waiting"}, {one, shared, "acquired"}, {two, shared, "acquired"}} {
		if outcome, _ := c.by.got(c.by.by("", "/v1/semaphore/acquire", c.body)); outcome != c.outcome {
			t.Errorf("%s: %s, want %s", c.body, outcome, c.outcome)
		}
	}
	if _, ok, err := st.begin("beside").Ephemeral("job").TryRLock(t.Context()); ok || err != nil {
		t.Errorf("a client shares the lock: %t %v", ok, err)
	}
	if r := one.by("", "/v1/semaphore/release", `{"node":"/a","name":"job"}`); !strings.Contains(r.text, "true") {
		t.Errorf("%d %s", r.code, r.text)
	}
	if outcome, _ := two.got(two.by("", "/v1/semaphore/acquire", lock)); outcome != "acquired" {
		t.Errorf("after the release the second has %s", outcome)
	}
}

// TestNumbersMakeChangesOnce: for a request without a number the gateway finds a number above all used ones.
func TestNumbersMakeChangesOnce(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	o := st.start("/a", time.Hour/2)
	ahead := fmt.Sprint(time.Now().Add(2 * time.Minute).UnixMicro()) // like a host with a fast clock
	for _, c := range []struct {
		number, request, body string
		code                  int
		has                   string
	}{
		{"", "/v1/semaphore/acquire", `{"node":"/a","name":"x","limit":1}`, 200, "acquired"},
		{"", "/v1/semaphore/release", `{"node":"/a","name":"x"}`, 200, `"released":true`},
		{ahead, "/v1/semaphore/acquire", `{"node":"/a","name":"x"}`, 200, "acquired"},
		{"", "/v1/semaphore/release", `{"node":"/a","name":"x"}`, 200, `"released":true`},
		{"5", "/v1/semaphore/release", `{"node":"/a","name":"x"}`, 409, "STALE"},
		{"five", "/v1/semaphore/acquire", `{"node":"/a","name":"x"}`, 400, sequenceHeader},
		{"", "/v1/semaphore/release", `{"node":"/a","name":"x"}`, 200, `"released":false`},
		{"", "/v1/semaphore/acquire", `{"node":"/a","name":"gone"}`, 404, "NOT_FOUND"},
		{"", "/v1/semaphore/acquire", `{"node":"/a","name":"e","ephemeral":true,"count":"18446744073709551615"}`, 200,
			"acquired"},
		{"", "/v1/semaphore/acquire", `{"node":"/a","name":"f","ephemeral":true,"count":"all"}`, 200, "acquired"},
		{"", "/v1/semaphore/create", `{"node":"/a","name":"g","limit":"all"}`, 200, "true"},
		{"", "/v1/semaphore/create", `{"node":"/a","name":"h","limit":"most"}`, 400, "limit is not a whole number"},
	} {
		if r := o.by(c.number, c.request, c.body); r.code != c.code || !strings.Contains(r.text, c.has) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.number, c.request, c.body, r.code, r.text, c.code, c.has)
		}
	}
}

// TestANumberBelongsToOneRequest: another request under a used number is refused, or, for an object in another shard,
// is a separate request. It never gets the first request's answer.
func TestANumberBelongsToOneRequest(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) {
			st := newStage(t, nil, servertest.Shards(shards))
			st.node("/a")
			a, b := st.start("/a", time.Hour/2), st.start("/a", time.Hour/2)
			reused := 0
			refused := func(r reply) bool {
				if r.code != http.StatusUnprocessableEntity {
					return false
				}
				reused++
				if !strings.Contains(r.text, "SEQUENCE_REUSED") || !strings.Contains(r.text, "next number") {
					t.Errorf("%s", r.text)
				}
				return true
			}
			lock := func(name string, rest string) string {
				return `{"node":"/a","name":"` + name + `","limit":1,"poll_ms":0` + rest + `}`
			}
			_, fence := a.got(a.by("1", "/v1/semaphore/acquire", lock("report", "")))
			for i := range 8 {
				payroll := fmt.Sprint("payroll-", i)
				_, theirs := b.got(b.by(fmt.Sprint(i+1), "/v1/semaphore/acquire", lock(payroll, "")))
				r := a.by("1", "/v1/semaphore/acquire", lock(payroll, ""))
				if !refused(r) && (r.code != http.StatusOK || !strings.Contains(r.text, "waiting")) {
					t.Errorf("%s, which another session owns under %s: %d %s", payroll, theirs, r.code, r.text)
				}
				if r := a.by("1", "/v1/semaphore/release", `{"node":"/a","name":"`+payroll+`"}`); !refused(r) &&
					(r.code != http.StatusConflict || shards == 1) {
					t.Errorf("a release under a used number: %d %s", r.code, r.text)
				}
			}
			if shards == 1 && reused != 16 || reused == 0 {
				t.Errorf("%d requests were refused", reused)
			}
			for _, again := range []string{
				lock("report", ""), lock("report", `,"wait_ms":0`), lock("report", `,"wait_ms":60000`),
				`{"node":"/a","name":"report","limit":1,"poll_ms":2000}`,
			} {
				outcome, same := a.got(a.by("1", "/v1/semaphore/acquire", again))
				if outcome != "acquired" || same != fence {
					t.Errorf("%s again: %s %s, want %s", again, outcome, same, fence)
				}
			}
			for _, other := range []string{
				lock("report", `,"data":"mine"`), lock("report", `,"count":2`), lock("report", `,"ephemeral":true`),
			} {
				if r := a.by("1", "/v1/semaphore/acquire", other); !refused(r) {
					t.Errorf("%s under a used number: %d %s", other, r.code, r.text)
				}
			}
			release := `{"node":"/a","name":"report"}`
			if r := a.by("1", "/v1/semaphore/release", release); !refused(r) {
				t.Errorf("a release under the number of the acquire: %d %s", r.code, r.text)
			}
			for range 2 {
				if r := a.by("2", "/v1/semaphore/release", release); !strings.Contains(r.text, `"released":true`) {
					t.Errorf("under a number of its own: %d %s", r.code, r.text)
				}
			}
		})
	}
}

// TestWhatIsTooLongIsRefused at no cost for the token's other requests.
func TestWhatIsTooLongIsRefused(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	o := st.start("/a", time.Hour/2)
	long := func(n int) string { return strings.Repeat("x", n) }
	for request, code := range map[string]int{
		`/v1/semaphore/acquire {"node":"/a","name":"x","limit":1,"wait_ms":999999999}`:         400,
		`/v1/semaphore/acquire {"node":"/a","name":"` + long(2000) + `","ephemeral":true}`:     400,
		`/v1/semaphore/acquire {"node":"/a","name":"x","data":"` + long(1<<20) + `"}`:          400,
		`/v1/session/create {"node":"/a","description":"` + long(2000) + `"}`:                  400,
		`/v1/session/create {"node":"/a","timeout_ms":99999999}`:                               400,
		`/v1/semaphore/create {"node":"/a","name":"y","limit":1,"data":"` + long(3<<20) + `"}`: 413,
	} {
		address, body, _ := strings.Cut(request, " ")
		if r := o.by("", address, body); r.code != code {
			t.Errorf("%.80s: %d %.200s, want %d", request, r.code, r.text, code)
		}
	}
	if outcome,
		_ := o.got(o.by("", "/v1/semaphore/acquire", `{"node":"/a","name":"x","limit":1}`)); outcome != "acquired" {
		t.Errorf("after these: %s", outcome)
	}
}

// TestWaitsEnd: a try does not wait, a place in the queue lasts for the requested time, and a given-up place is
// removed.
func TestWaitsEnd(t *testing.T) {
	st := newStage(t, nil)
	st.node("/a")
	one, two := st.start("/a", time.Hour/2), st.start("/a", time.Hour/2)
	one.got(one.by("", "/v1/semaphore/acquire", `{"node":"/a","name":"x","limit":1}`))
	if outcome,
		_ := two.got(two.by("", "/v1/semaphore/acquire",
		`{"node":"/a","name":"x","wait_ms":0}`)); outcome != "not_acquired" {
		t.Errorf("a try: %s", outcome)
	}
	if outcome,
		_ := two.got(two.by("", "/v1/semaphore/acquire",
		`{"node":"/a","name":"x","poll_ms":1}`)); outcome != "waiting" {
		t.Errorf("a short poll: %s", outcome)
	}
	if r := two.by("", "/v1/semaphore/release", `{"node":"/a","name":"x"}`); !strings.Contains(r.text, "true") {
		t.Errorf("the place in the queue is given up: %s", r.text)
	}
	d, err := st.client.Node("/a").Describe(t.Context(), "x", client.WithWaiters(),
		client.WithConsistency(client.Strict))
	if err != nil || len(d.Waiters) != 0 {
		t.Errorf("%+v %v", d, err)
	}
}

// TestASessionIsItsOwners: a request needs the session's key, in the session's node.
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
	if r := o.by("", "/v1/semaphore/acquire", `{"node":"/b","name":"x","limit":1}`); r.code != 409 {
		t.Errorf("in another node: %d %s", r.code, r.text)
	}
	if r := st.post("/v1/session/create", `{"node":"/a","timeout_ms":1}`); r.code != 400 {
		t.Errorf("a timeout that no request can keep up with: %d %s", r.code, r.text)
	}
}
