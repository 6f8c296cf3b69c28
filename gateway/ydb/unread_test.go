package ydb_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// most bounds one stream's queue: 4 MiB, and one message begun below this bound.
const most = 5 << 20

// largeSemaphore makes a semaphore with the hosts' largest data, and returns its size.
func (r *rig) largeSemaphore(c *caller) int {
	const bytes = 64 << 10
	c.createSemaphore("large", 1, strings.Repeat("d", bytes), ok)
	return bytes
}

// describeUnread asks for so many descriptions, and reads nothing.
func describeUnread(t *testing.T, c *caller, n int) {
	t.Helper()
	for i := range n {
		c.send(&request{Request: &Ydb_Coordination.SessionRequest_DescribeSemaphore_{
			DescribeSemaphore: &Ydb_Coordination.SessionRequest_DescribeSemaphore{ReqId: uint64(i + 1), Name: "large"},
		}})
	}
}

// awaitQueued waits until at least this much is queued in the gateway, and fails above the upper bound.
func (r *rig) awaitQueued(least, atMost float64) {
	r.t.Helper()
	for until := time.Now().Add(limit); ; {
		switch n := r.counted("signalbox_ydb_queued_bytes"); {
		case n > atMost:
			r.t.Fatalf("%.0f bytes wait, at most %.0f may", n, atMost)
		case n >= least:
			return
		case time.Now().After(until):
			r.t.Fatalf("%.0f bytes wait, want %.0f", n, least)
		}
	}
}

// TestAStreamThatIsNotRead: its queue is bounded for any number of requests, and arrives in order once the client
// reads.
func TestAStreamThatIsNotRead(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.largeSemaphore(r.session(start{}))
	c := r.unheard()
	c.begin(start{timeout: 5 * time.Minute})
	const n = 300
	describeUnread(t, c, n)
	r.awaitQueued(2<<20, most)
	for next := uint64(1); next <= n; {
		m, err := c.rpc.Recv()
		if err != nil || m.GetFailure() != nil {
			t.Fatalf("before description %d: %v, %v", next, m, err)
		}
		if d := m.GetDescribeSemaphoreResult(); d != nil {
			if d.ReqId != next || d.Status != ok {
				t.Fatalf("description %d is %v of request %d", next, d.Status, d.ReqId)
			}
			next++
		}
		if got := r.counted("signalbox_ydb_queued_bytes"); got > most {
			t.Fatalf("%.0f bytes wait", got)
		}
	}
	r.awaitQueued(0, 1<<20)
}

// TestAStreamThatIsNotReadIsNotRead: the gateway delays a client that sends without reading, and answers everything
// once the client reads.
func TestAStreamThatIsNotReadIsNotRead(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	c := r.unheard()
	c.begin(start{timeout: 5 * time.Minute})
	const n = 20_000
	name := strings.Repeat("n", 1024)
	var sent atomic.Int64
	go func() {
		for i := range uint64(n) {
			m := &request{Request: &Ydb_Coordination.SessionRequest_DescribeSemaphore_{
				DescribeSemaphore: &Ydb_Coordination.SessionRequest_DescribeSemaphore{ReqId: i + 1, Name: name},
			}}
			if c.rpc.Send(m) != nil {
				return
			}
			sent.Add(1)
		}
	}()
	r.awaitQueued(2<<20, most)
	for last, same := int64(0), 0; same < 1000; same++ {
		r.awaitQueued(0, most)
		if now := sent.Load(); now != last {
			last, same = now, 0
		}
	}
	if sent.Load() == n {
		t.Error("all of it was taken")
	}
	for answered := 0; answered < n; {
		m, err := c.rpc.Recv()
		if err != nil || m.GetFailure() != nil {
			t.Fatalf("after %d answers: %v, %v", answered, m, err)
		}
		if m.GetDescribeSemaphoreResult() != nil {
			answered++
		}
	}
	c.cancel()
	r.awaitQueuedNone()
}

// awaitQueuedNone waits until the count of queued bytes is zero.
func (r *rig) awaitQueuedNone() { r.t.Helper(); r.awaitDropped(0) }

// awaitDropped waits until at most this many bytes are queued: only the message being sent remains after the queue is
// dropped and open descriptions have ended.
func (r *rig) awaitDropped(atMost float64) {
	r.t.Helper()
	for until := time.Now().Add(limit); r.counted("signalbox_ydb_queued_bytes") > atMost; {
		if time.Now().After(until) {
			r.t.Fatalf("%.0f bytes wait, at most %.0f may", r.counted("signalbox_ydb_queued_bytes"), atMost)
		}
	}
}

// TestAStreamThatIsNeverRead ends with OVERLOADED, the client's last message: the session is detached long before the
// client reads on.
func TestAStreamThatIsNeverRead(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.largeSemaphore(r.session(start{}))
	r.stallAfter = 200 * time.Millisecond
	r.serve()
	c := r.unheard()
	c.begin(start{timeout: 300 * time.Millisecond, key: "key"})
	first, err := c.rpc.Recv()
	if err != nil {
		t.Fatal(err)
	}
	describeUnread(t, c, 100)
	for until := time.Now().Add(limit); r.counted("signalbox_ydb_streams_overloaded_total") == 0; {
		if time.Now().After(until) {
			t.Fatal("it goes on")
		}
	}
	r.awaitDropped(200 << 10)
	for {
		m, err := c.rpc.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if f := m.GetFailure(); f != nil {
			if f.Status != Ydb.StatusIds_OVERLOADED {
				t.Errorf("it ended with %v", f)
			}
			break
		}
	}
	r.stallAfter = 0
	r.serve()
	r.session(start{session: first.GetSessionStarted().GetSessionId(), key: "key", sequence: 1}).stop()
}

// TestAllStreamsTogether: with the common queue full, a description is refused with OVERLOADED, and everything else
// continues.
func TestAllStreamsTogether(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.largeSemaphore(r.session(start{}))
	r.queued = 1 << 20
	r.serve()
	other := r.session(start{})
	unread := r.unheard()
	unread.begin(start{timeout: 5 * time.Minute})
	describeUnread(t, unread, 100)
	r.awaitQueued(1<<20-128<<10, 1<<20+64<<10)
	for until := time.Now().Add(limit); ; {
		d := other.described(other.describe("large", false))
		if d.Status == Ydb.StatusIds_OVERLOADED {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("it is %v", d.Status)
		}
	}
	other.acquired(other.acquire("lock", 1, 0, true), true, ok)
	unread.cancel()
	for until := time.Now().Add(limit); other.described(other.describe("large", false)).Status != ok; {
		if time.Now().After(until) {
			t.Fatal("there is no room though nothing waits")
		}
	}
}
