package http

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// moment is a session's longest attachment after a request's start, for a long timeout.
const moment = time.Second

const (
	lockBody    = `{"node":"/a","name":"lock","limit":1,"wait_ms":0}`
	releaseBody = `{"node":"/a","name":"lock"}`
)

// TestARequestThatFindsItsSessionAsksOnce: the request sends its work, and a ping that renews the session. The first
// request after the session was released attaches the session.
func TestARequestThatFindsItsSessionAsksOnce(t *testing.T) {
	type kinds = map[protocol.Kind]int
	play(t, 1, 1, func(t *testing.T, d *doors) {
		o := d.open()
		v := o.start(30 * time.Second)
		acquire := func(o *gatewayDoor) { v.must(o, "/v1/semaphore/acquire", lockBody) }
		acquire(o) // creates it
		other := d.open()
		other.start(30 * time.Second)
		for _, c := range []struct {
			does string
			do   func()
			at   *gatewayDoor
			want kinds
		}{
			{"release", func() { v.must(o, "/v1/semaphore/release", releaseBody) }, o,
				kinds{protocol.KindPing: 1, protocol.KindRelease: 1}},
			{"acquire", func() { acquire(o) }, o, kinds{protocol.KindPing: 1, protocol.KindAcquire: 1}},
			{"acquire under a number",
				func() { v.must(o, "/v1/semaphore/acquire", lockBody, sequenceHeader, far(1)) }, o,
				kinds{protocol.KindPing: 1, protocol.KindSemaphoreDescribe: 1, protocol.KindAcquire: 1}},
			{"keep alive", func() { v.keep(o) }, o, kinds{protocol.KindPing: 1}},
			{"let go", func() { time.Sleep(moment + time.Millisecond) }, o, kinds{protocol.KindSessionDetach: 1}},
			{"keep alive again", func() { v.keep(o) }, o, kinds{protocol.KindSessionAttach: 1}},
			{"acquire elsewhere",
				func() { v.must(other, "/v1/semaphore/acquire", lockBody, sequenceHeader, far(2)) }, other,
				kinds{protocol.KindSessionAttach: 1, protocol.KindNodeDescribe: 2, protocol.KindSemaphoreDescribe: 1,
					protocol.KindAcquire: 1}},
			{"end", func() { v.must(other, "/v1/session/close", "{}") }, other,
				kinds{protocol.KindPing: 1, protocol.KindSessionStop: 1}},
		} {
			c.at.count()
			c.do()
			if asked := c.at.count(); !maps.Equal(asked, c.want) {
				t.Errorf("%s: %v, want %v", c.does, asked, c.want)
			}
		}
		if n := o.attached() + other.attached(); n != 0 {
			t.Errorf("%d sessions stay", n)
		}
	})
}

// far is a number ahead of the gateways' numbers.
func far(n int) string {
	return strconv.FormatInt(time.Now().Add(2*time.Hour).UnixMicro()+int64(n), 10)
}

// TestASessionLastsAsLongAsIsPromised: for its timeout from the latest request's start, whatever came before and
// however the session is released. Only after a gateway's death the session lives longer, for the remaining attachment.
func TestASessionLastsAsLongAsIsPromised(t *testing.T) {
	const (
		timeout = 12 * time.Second
		late    = 250 * time.Millisecond // a host's delay in noticing
	)
	for name, c := range map[string]struct {
		do   func(d *doors, o *gatewayDoor, v *visitor)
		more time.Duration
	}{
		"after its start": {func(*doors, *gatewayDoor, *visitor) {}, 0},
		"after one request, much later": {func(_ *doors, o *gatewayDoor, v *visitor) {
			time.Sleep(timeout - time.Second)
			v.must(o, "/v1/semaphore/acquire", lockBody)
		}, 0},
		"after many requests at once": {func(_ *doors, o *gatewayDoor, v *visitor) {
			for range 50 {
				time.Sleep(300 * time.Millisecond)
				v.must(o, "/v1/semaphore/acquire", lockBody)
			}
		}, 0},
		"after keeping it alive": {func(_ *doors, o *gatewayDoor, v *visitor) {
			for range 50 {
				time.Sleep(300 * time.Millisecond)
				v.keep(o)
			}
		}, 0},
		"after a wait": {func(d *doors, o *gatewayDoor, v *visitor) {
			d.hold("lock")
			v.must(o, "/v1/semaphore/acquire", `{"node":"/a","name":"lock"}`)
		}, 0},
		"through two gateways": {func(d *doors, o *gatewayDoor, v *visitor) {
			other := d.open()
			for range 10 {
				v.keep(o)
				time.Sleep(100 * time.Millisecond)
				v.keep(other)
				time.Sleep(100 * time.Millisecond)
			}
		}, 0},
		"the gateway stops": {func(_ *doors, o *gatewayDoor, v *visitor) {
			time.Sleep(5 * time.Second)
			v.keep(o)
			time.Sleep(900 * time.Millisecond)
			o.Close()
		}, 0},
		"the table is full": {func(_ *doors, o *gatewayDoor, v *visitor) {
			time.Sleep(5 * time.Second)
			v.keep(o)
			o.stays.most = 1
			time.Sleep(500 * time.Millisecond)
			o.start(time.Hour / 2)
		}, 0},
		"it waits while its gateway stops": {func(d *doors, o *gatewayDoor, v *visitor) {
			d.hold("lock")
			go func() {
				time.Sleep(1900 * time.Millisecond)
				o.Close()
			}()
			v.asked = time.Now()
			_ = v.post(o, "/v1/semaphore/acquire", `{"node":"/a","name":"lock"}`)
		}, 0},
		"its caller asks with a wrong key": {func(_ *doors, o *gatewayDoor, v *visitor) {
			id, key, _ := strings.Cut(v.Session, ".")
			thief := &visitor{t: v.t, Session: id + "." + strings.Repeat("0", len(key))}
			for range 5 {
				time.Sleep(300 * time.Millisecond)
				_ = thief.post(o, "/v1/session/keep-alive", "{}")
			}
		}, 0},
		"the gateway dies after many requests": {func(_ *doors, o *gatewayDoor, v *visitor) {
			for range 50 {
				time.Sleep(300 * time.Millisecond)
				v.must(o, "/v1/semaphore/acquire", lockBody)
			}
			time.Sleep(900 * time.Millisecond)
			o.cut()
		}, moment},
		"the gateway dies after keeping it alive": {func(_ *doors, o *gatewayDoor, v *visitor) {
			for range 50 {
				time.Sleep(900 * time.Millisecond)
				v.keep(o)
			}
			o.cut()
		}, moment},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 1, 1, func(t *testing.T, d *doors) {
				o := d.open()
				v := o.start(timeout)
				c.do(d, o, v)
				lived := d.lasts(v).Sub(v.asked)
				if lived < timeout {
					t.Errorf("it lived for %v: too short for its timeout of %v", lived, timeout)
				}
				if lived > timeout+c.more+late {
					t.Errorf("it lived for %v: longer than its timeout of %v and %v", lived, timeout, c.more)
				}
			})
		})
	}
}

// hold lets another client own a semaphore for the test's duration.
func (d *doors) hold(name string) {
	d.t.Helper()
	s, err := d.watcher.Session(d.t.Context(), "/a")
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.watcher.Node("/a").Create(d.t.Context(), name, 1, nil); err != nil {
		d.t.Fatal(err)
	}
	if _, err := s.Semaphore(name).Acquire(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// TestASessionIsAttachedForAMomentOnly: the attachment ends a second after the latest request's start, and a wait does
// not extend the attachment.
func TestASessionIsAttachedForAMomentOnly(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, d *doors) {
		d.hold("lock")
		o := d.open()
		v := o.start(time.Minute)
		for range 20 {
			time.Sleep(moment * 9 / 10)
			if !d.isAttached(v) {
				t.Fatal("it is not attached between requests")
			}
			v.keep(o)
		}
		waits := make(chan reply, 1)
		go func() { waits <- v.post(o, "/v1/semaphore/acquire", `{"node":"/a","name":"lock"}`) }()
		time.Sleep(moment + 10*time.Millisecond)
		if d.isAttached(v) {
			t.Error("it is attached while it waits")
		}
		if n := o.attached(); n != 0 {
			t.Errorf("%d sessions stay", n)
		}
		if r := <-waits; r.code != http.StatusOK {
			t.Errorf("the wait ends with %d %s", r.code, r.text)
		}
	})
}

// TestARequestThatIsStuckKeepsNothingAlive for longer than a third of the timeout: the semaphore's shard has no
// majority, the session's shard has one.
func TestARequestThatIsStuckKeepsNothingAlive(t *testing.T) {
	play(t, 3, 2, func(t *testing.T, d *doors) {
		home := d.cluster.Leader(1)
		if err := d.cluster.Elect(2, home%3+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		o := d.open()
		v := o.startIn(1, 9*time.Second)
		name := nameIn(2, nodeOf(d))
		v.must(o, "/v1/semaphore/acquire", `{"node":"/a","name":"`+name+`","limit":1}`)
		o.slowTo(d.cluster.Leader(2), time.Minute)
		began := time.Now()
		r := v.post(o, "/v1/semaphore/release", `{"node":"/a","name":"`+name+`"}`)
		if took := time.Since(began); r.code != http.StatusServiceUnavailable || took > 3100*time.Millisecond {
			t.Errorf("%d after %v, want 503 after a third of the timeout: %s", r.code, took, r.text)
		}
		if lived := d.lasts(v).Sub(began); lived < 9*time.Second || lived > 9500*time.Millisecond {
			t.Errorf("it lived for %v, and not for its timeout", lived)
		}
	})
}

// nodeOf is the id of the node /a.
func nodeOf(d *doors) uint64 {
	d.t.Helper()
	node, err := d.watcher.DescribeNode(d.t.Context(), "/a")
	if err != nil {
		d.t.Fatal(err)
	}
	return node.ID
}

// startIn starts a session with its home in the given shard.
func (d *gatewayDoor) startIn(shard uint64, timeout time.Duration) *visitor {
	for {
		v := d.start(timeout)
		if uint64(protocol.SessionSlot(v.id))/(protocol.Slots/2)+1 == shard {
			return v
		}
		v.must(d, "/v1/session/close", "{}")
	}
}

// nameIn returns a semaphore name in one shard.
func nameIn(shard, node uint64) string {
	for i := 0; ; i++ {
		name := fmt.Sprint("lock", i)
		if uint64(protocol.SemaphoreSlot(node, []byte(name)))/(protocol.Slots/2)+1 == shard {
			return name
		}
	}
}

// TestTwoGatewaysTakeASessionFromEachOther: one gateway's attach ends the cached session at the second gateway at once,
// and each request's work is done once.
func TestTwoGatewaysTakeASessionFromEachOther(t *testing.T) {
	play(t, 3, 2, func(t *testing.T, d *doors) {
		one, two := d.open(), d.open()
		v := one.start(30 * time.Second)
		at, before := one, two
		for n := range 60 {
			path, body, want := "/v1/semaphore/acquire", lockBody, `:"acquired"`
			if n%2 == 1 {
				path, body, want = "/v1/semaphore/release", releaseBody, `"released":true`
			}
			if n%3 != 0 { // two acquires, or two releases, do not follow each other through one gateway
				at, before = before, at
			}
			time.Sleep(time.Millisecond) // numbers follow from the clock
			var header []string
			if n%4 < 2 {
				header = []string{sequenceHeader, strconv.FormatInt(time.Now().UnixMicro(), 10)}
			}
			if text := v.must(at, path, body, header...); !strings.Contains(text, want) {
				t.Fatalf("request %d: %s", n, text)
			}
			if n%5 > 0 {
				continue // the other gateway has not learned of the attach yet
			}
			if n := before.attached(); n != 0 {
				t.Errorf("%d sessions stay where the session was taken from", n)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// TestRequestsBySeveralGatewaysAtOnceEnd: requests that lose the session report the loss, and none runs for ever.
func TestRequestsBySeveralGatewaysAtOnceEnd(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, d *doors) {
		gateways := []*gatewayDoor{d.open(), d.open()}
		v := gateways[0].start(30 * time.Second)
		var done sync.WaitGroup
		began := time.Now()
		for i := range 40 {
			done.Go(func() {
				r := v.post(gateways[i%2], "/v1/session/keep-alive", "{}")
				if r.code != http.StatusOK && r.code != http.StatusServiceUnavailable {
					t.Errorf("%d %s", r.code, r.text)
				}
			})
		}
		done.Wait()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("they took %v", took)
		}
		v.keep(gateways[0])
	})
}

// TestRequestsInParallelFollowEachOther: all by one session, without numbers and through one gateway.
func TestRequestsInParallelFollowEachOther(t *testing.T) {
	play(t, 1, 2, func(t *testing.T, d *doors) {
		o := d.open()
		v := o.start(30 * time.Second)
		var done sync.WaitGroup
		for i := range 50 {
			done.Go(func() {
				body := fmt.Sprintf(`{"node":"/a","name":"lock-%d","limit":1}`, i)
				if r := v.post(o, "/v1/semaphore/acquire", body); !strings.Contains(r.text, "acquired") {
					t.Errorf("%d %s", r.code, r.text)
				}
			})
		}
		done.Wait()
		if n := o.attached(); n != 1 {
			t.Errorf("%d sessions stay", n)
		}
	})
}

// TestALostSessionIsAttachedAgain by the request that finds the loss, and running work takes effect once.
func TestALostSessionIsAttachedAgain(t *testing.T) {
	for name, lose := range map[string]func(d *doors, o *gatewayDoor){
		"the connections are lost": func(_ *doors, o *gatewayDoor) { o.cut() },
		"the leader has moved": func(d *doors, _ *gatewayDoor) {
			for id := range uint64(2) {
				if err := d.cluster.Elect(id+1, d.cluster.Leader(id+1)%3+1); err != nil {
					d.t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 3, 2, func(t *testing.T, d *doors) {
				o := d.open()
				v := o.start(30 * time.Second)
				v.must(o, "/v1/semaphore/acquire", lockBody)
				for n := range 10 {
					path, body, want := "/v1/semaphore/release", releaseBody, `"released":true`
					if n%2 == 1 {
						path, body, want = "/v1/semaphore/acquire", lockBody, `:"acquired"`
					}
					time.Sleep(time.Millisecond) // numbers follow from the clock
					lose(d, o)
					if n%3 == 0 {
						synctest.Wait() // otherwise the request would use the connection being lost
					}
					if text := v.must(o, path, body); !strings.Contains(text, want) {
						t.Fatalf("request %d: %s", n, text)
					}
				}
			})
		})
	}
}

// TestOnlyTheKeyOpensASession in the cache: the host compares a wrong key, as often as hosts compare keys, and the
// session's caller is served meanwhile.
func TestOnlyTheKeyOpensASession(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, d *doors) {
		o := d.open()
		v := o.start(30 * time.Second)
		id, key, _ := strings.Cut(v.Session, ".")
		thief := &visitor{t: t, Session: id + "." + strings.Repeat("0", len(key))}
		began := time.Now()
		for n := range 20 {
			o.count()
			if r := thief.post(o, "/v1/semaphore/acquire", lockBody); r.code != http.StatusConflict {
				t.Fatalf("guess %d: %d %s", n, r.code, r.text)
			}
			if asked := o.count(); asked[protocol.KindAcquire] > 0 || asked[protocol.KindSessionAttach] == 0 {
				t.Errorf("guess %d: the hosts were asked %v", n, asked)
			}
			v.keep(o)
			if asked := o.count()[protocol.KindSessionAttach]; asked > 0 && n < 8 {
				t.Errorf("guess %d: the session was attached again", n)
			}
		}
		if took := time.Since(began); took < 10*time.Second {
			t.Errorf("twenty guesses took %v", took)
		}
	})
}

// TestAStayIsOfOneCaller: the session, with its key but under a second token, is attached with the second token's
// rights.
func TestAStayIsOfOneCaller(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, d *doors) {
		o := d.open()
		v := o.start(30 * time.Second)
		o.count()
		v.must(o, "/v1/session/keep-alive", "{}", "Authorization", "Bearer another")
		if asked := o.count(); asked[protocol.KindSessionAttach] != 1 {
			t.Errorf("the hosts were asked %v", asked)
		}
		if n := o.attached(); n != 1 {
			t.Errorf("%d sessions stay, and both were of one session", n)
		}
	})
}

// TestASessionThatIsOverIsNotServed: any client ended the session while it was cached.
func TestASessionThatIsOverIsNotServed(t *testing.T) {
	for name, end := range map[string]func(d *doors, o *gatewayDoor, v *visitor) error{
		"by its caller": func(_ *doors, o *gatewayDoor, v *visitor) error {
			v.must(o, "/v1/session/close", "{}")
			return nil
		},
		"through another gateway": func(d *doors, _ *gatewayDoor, v *visitor) error {
			v.must(d.open(), "/v1/session/close", "{}")
			return nil
		},
		"by an operator": func(d *doors, _ *gatewayDoor, v *visitor) error {
			return d.watcher.DestroySession(d.t.Context(), v.id)
		},
		"with its node": func(d *doors, _ *gatewayDoor, _ *visitor) error {
			return d.watcher.DropNode(d.t.Context(), "/a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, 1, 2, func(t *testing.T, d *doors) {
				o := d.open()
				v := o.start(30 * time.Second)
				v.must(o, "/v1/semaphore/acquire", lockBody)
				if err := end(d, o, v); err != nil {
					t.Fatal(err)
				}
				if name == "with its node" {
					time.Sleep(time.Second)
				}
				r := v.post(o, "/v1/semaphore/acquire", lockBody)
				if r.code != http.StatusGone && r.code != http.StatusNotFound {
					t.Errorf("%d %s", r.code, r.text)
				}
				if text := v.must(o, "/v1/session/close", "{}"); !strings.Contains(text, "false") {
					t.Errorf("it is ended once more: %s", text)
				}
				if n := o.attached(); n != 0 {
					t.Errorf("%d sessions stay", n)
				}
			})
		})
	}
}

// TestThoseIdleForLongestMakeRoom; sessions in use by requests always stay.
func TestThoseIdleForLongestMakeRoom(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, d *doors) {
		o := d.open()
		o.stays.most = 3
		var all []*visitor
		for range 5 {
			all = append(all, o.start(30*time.Second))
			time.Sleep(time.Millisecond)
		}
		all[2].keep(o) // idle for less time than the fourth
		all = append(all, o.start(30*time.Second))
		synctest.Wait()
		for i, stays := range []bool{false, false, true, false, true, true} {
			if d.isAttached(all[i]) != stays {
				t.Errorf("session %d: attached is %v", i, !stays)
			}
		}
		if n := o.attached(); n != 3 {
			t.Errorf("%d sessions stay", n)
		}
	})
}

// TestNothingIsAnsweredThatNoHostVouchesFor: the caller counts from its request, so a host must have received the
// request.
func TestNothingIsAnsweredThatNoHostVouchesFor(t *testing.T) {
	play(t, 3, 1, func(t *testing.T, d *doors) {
		o := d.open()
		v := o.start(9 * time.Second)
		o.slowTo(d.cluster.Leader(1), time.Minute)
		began := time.Now()
		if r := v.post(o, "/v1/session/keep-alive", "{}"); r.code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", r.code, r.text)
		}
		if ended := d.lasts(v); ended.Sub(began) > 9*time.Second+250*time.Millisecond {
			t.Errorf("it lived for %v on a request that did not arrive", ended.Sub(began))
		}
	})
}
