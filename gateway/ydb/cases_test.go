package ydb_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signalbox/signalbox/shard"
)

// TestDataThatIsTooLong: data too long for hosts is refused in the result, data too long for any message ends the
// stream, and other streams continue.
func TestDataThatIsTooLong(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("sem", 1, string(bytes.Repeat([]byte{'x'}, 100<<10)), Ydb.StatusIds_BAD_REQUEST)
	a.createSemaphore("sem", 1, string(bytes.Repeat([]byte{'x'}, 60<<10)), ok)
	a.send(&request{Request: &Ydb_Coordination.SessionRequest_UpdateSemaphore_{
		UpdateSemaphore: &Ydb_Coordination.SessionRequest_UpdateSemaphore{
			ReqId: 99, Name: "sem", Data: make([]byte, 20<<20),
		},
	}})
	for {
		m, err := a.receive()
		if err != nil {
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("it ended with %v", err)
			}
			break
		}
		t.Logf("before that came %v", m)
	}
	if d := b.described(b.describe("sem", false)).SemaphoreDescription; len(d.GetData()) != 60<<10 {
		t.Errorf("another stream describes %d bytes", len(d.GetData()))
	}
}

// TestALockAsThePythonSDKHasIt: the Python lock tries to acquire a semaphore, creates a missing one, and tries again;
// it reconnects with a new stream and the next count of attaches.
func TestALockAsThePythonSDKHasIt(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{key: "a"}), r.session(start{key: "b"})
	for _, c := range []*caller{a, b} {
		c.acquired(c.acquire("lock", 1, time.Hour, false), false, Ydb.StatusIds_NOT_FOUND)
	}
	a.createSemaphore("lock", 1, "", ok)
	b.createSemaphore("lock", 1, "", Ydb.StatusIds_ALREADY_EXISTS)
	a.acquired(a.acquire("lock", 1, time.Hour, false), true, ok)
	a.acquired(a.acquire("lock", 1, time.Hour, false), true, ok) // twice is once
	waits := b.acquire("lock", 1, time.Hour, false)
	b.pending(waits)
	a.updateSemaphore("lock", "new data", ok)
	d := a.described(a.describe("lock", false)).SemaphoreDescription
	if string(d.Data) != "new data" || d.Count != 1 || d.Limit != 1 || d.Ephemeral || len(d.Owners) != 1 ||
		d.Owners[0].SessionId != a.id || len(d.Waiters) != 1 || d.Waiters[0].SessionId != b.id ||
		d.Waiters[0].TimeoutMillis != uint64(time.Hour.Milliseconds()) || d.Waiters[0].OrderId <= d.Owners[0].OrderId {
		t.Errorf("the description is %v", d)
	}

	a.cancel()
	a = r.session(start{session: a.id, key: "a", sequence: 1})
	a.acquired(a.acquire("lock", 1, time.Hour, false), true, ok) // the session still owns the lock
	a.released(a.release("lock"), true)
	b.acquired(waits, true, ok)
	b.released(b.release("lock"), true)
	b.deleteSemaphore("lock", false, ok)
	a.stop()
	b.stop()
}

// TestAStreamStartsOneSession: a second start or an unknown message ends the stream.
func TestAStreamStartsOneSession(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	for name, m := range map[string]*request{
		"a second start": {Request: &Ydb_Coordination.SessionRequest_SessionStart_{
			SessionStart: &Ydb_Coordination.SessionRequest_SessionStart{Path: nodePath, TimeoutMillis: 5000},
		}},
		"an empty message": {},
	} {
		t.Run(name, func(t *testing.T) {
			a := r.session(start{})
			a.t = t
			a.send(m)
			a.fails(Ydb.StatusIds_BAD_REQUEST)
		})
	}
}

// TestAHostThatIsLost ends its sessions' streams with UNAVAILABLE; the sessions attach again and keep their semaphores,
// but lose their watches.
func TestAHostThatIsLost(t *testing.T) {
	r := newRig(t, 3)
	r.create()
	a := r.session(start{key: "key", timeout: 5 * time.Minute})
	a.acquired(a.acquire("lock", 1, 0, true), true, ok)
	a.described(a.describe("lock", true))
	for id := range 3 {
		r.cluster.CutClients(shard.HostID(id + 1))
	}
	a.fails(Ydb.StatusIds_UNAVAILABLE)
	b := r.session(start{session: a.id, key: "key", sequence: 1, timeout: 5 * time.Minute})
	b.released(b.release("lock"), true)
	b.stop()
}

// TestWorkersThatReconnectUnderLoad: three workers compete for a lock, and each repeatedly loses its stream, both while
// waiting and while owning. A worker repeats its acquire over the next stream, and the lock never has two owners.
func TestWorkersThatReconnectUnderLoad(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.session(start{}).createSemaphore("lock", 1, "", ok)
	var inside atomic.Int64
	for i := range 3 {
		t.Run(fmt.Sprintf("worker %d", i), func(t *testing.T) {
			t.Parallel()
			mine := *r
			mine.t = t
			w := &worker{rig: &mine, key: fmt.Sprintf("worker-%d", i)}
			w.caller = w.session(start{key: w.key, timeout: 5 * time.Minute})
			for round := range 8 {
				id := w.acquire("lock", 1, -1, false)
				if round%2 == 0 {
					id = w.reconnect() // with the acquire under way
				}
				w.await(id)
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				if round%4 < 2 {
					w.await(w.reconnect()) // the worker still has the lock
				}
				inside.Add(-1)
				w.released(w.release("lock"), true)
			}
			w.stop()
		})
	}
}

// worker is a caller that reconnects.
type worker struct {
	*rig
	*caller
	key      string
	sequence uint64
}

// reconnect continues over another stream and repeats the acquire.
func (w *worker) reconnect() (id uint64) {
	w.rig.t.Helper()
	w.cancel()
	w.sequence++
	w.caller = w.session(start{session: w.id, key: w.key, sequence: w.sequence, timeout: 5 * time.Minute})
	return w.acquire("lock", 1, -1, false)
}

// await waits until an acquire has got the lock.
func (w *worker) await(id uint64) {
	w.rig.t.Helper()
	for {
		m := w.next()
		if result := m.GetAcquireSemaphoreResult(); result != nil {
			if result.ReqId != id || result.Status != ok || !result.Acquired {
				w.rig.t.Fatalf("got %v, want the lock", m)
			}
			return
		}
		if m.GetAcquireSemaphorePending().GetReqId() != id {
			w.rig.t.Fatalf("got %v, want the lock", m)
		}
	}
}
