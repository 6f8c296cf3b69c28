package ydb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/coordination"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/protocol"
)

// TestAnSDKDiscoversAgain: with its default balancer the SDK runs discovery when opened, and again after each interval.
func TestAnSDKDiscoversAgain(t *testing.T) {
	r := newRig(t, 1)
	db, err := sdk.Open(t.Context(), "grpc://"+r.address+database, sdk.WithDiscoveryInterval(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for range 3 {
		select {
		case <-r.discovered:
		case <-time.After(limit):
			t.Fatal("it does not ask again")
		}
	}
	if err := db.Coordination().CreateNode(t.Context(), nodePath, coordination.NodeConfig{}); err != nil {
		t.Error(err)
	}
}

// TestASessionThatIsEnded: a session ended by an operator ends its stream with SESSION_EXPIRED.
func TestASessionThatIsEnded(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a := r.session(start{})
	if err := r.native().DestroySession(t.Context(), a.id); err != nil {
		t.Fatal(err)
	}
	a.fails(Ydb.StatusIds_SESSION_EXPIRED)
}

// TestADescriptionOfManyPages: hosts answer in pages; the SDK gets one description.
func TestADescriptionOfManyPages(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	const waiters, bytes = 7, 60 << 10
	if waiters*bytes < protocol.PageBytes*3/2 {
		t.Fatal("one page holds them")
	}
	a := r.session(start{})
	a.createSemaphore("sem", 1, "", ok)
	a.acquired(a.acquire("sem", 1, 0, false), true, ok)
	var want []uint64
	for i := range waiters {
		w := r.session(start{})
		w.last++
		w.send(&request{Request: &Ydb_Coordination.SessionRequest_AcquireSemaphore_{
			AcquireSemaphore: &Ydb_Coordination.SessionRequest_AcquireSemaphore{
				ReqId: w.last, Name: "sem", Count: 1, TimeoutMillis: all,
				Data: []byte(strings.Repeat(string(rune('a'+i)), bytes)),
			},
		}})
		w.pending(w.last)
		want = append(want, w.id)
	}
	d := a.described(a.describe("sem", true))
	if s := d.SemaphoreDescription; !d.WatchAdded || len(s.Owners) != 1 || len(s.Waiters) != waiters {
		t.Fatalf("it has %d owners and %d waiters; a watch: %v", len(s.Owners), len(s.Waiters), d.WatchAdded)
	}
	for i, w := range d.SemaphoreDescription.Waiters {
		if w.SessionId != want[i] || string(w.Data) != strings.Repeat(string(rune('a'+i)), bytes) {
			t.Errorf("waiter %d is session %d with %d bytes; want session %d", i, w.SessionId, len(w.Data), want[i])
		}
	}
}

// TestAnOperationHasItsTimeout: the timeout in its params bounds the call.
func TestAnOperationHasItsTimeout(t *testing.T) {
	r := newRig(t, 1)
	for timeout, want := range map[time.Duration]Ydb.StatusIds_StatusCode{
		time.Nanosecond: Ydb.StatusIds_TIMEOUT,
		limit:           ok,
	} {
		a, err := r.coordination().CreateNode(r.context(), &Ydb_Coordination.CreateNodeRequest{
			Path: nodePath, OperationParams: &Ydb_Operations.OperationParams{OperationTimeout: durationpb.New(timeout)},
		})
		if got := done(t, a, err); got != want {
			t.Errorf("with %v: %v, want %v", timeout, got, want)
		}
	}
}

// TestStatusesAreYDBs maps each host status to the YDB status with the right meaning for SDKs.
func TestStatusesAreYDBs(t *testing.T) {
	want := map[protocol.Status]Ydb.StatusIds_StatusCode{
		protocol.StatusSuccess: 400_000, protocol.StatusBadRequest: 400_010, protocol.StatusUnauthorized: 400_020,
		protocol.StatusInternal: 400_030, protocol.StatusAborted: 400_040, protocol.StatusUnavailable: 400_050,
		protocol.StatusMoved: 400_050, protocol.StatusStale: 400_050, protocol.StatusOverloaded: 400_060,
		protocol.StatusStorageFull: 400_060, protocol.StatusQuotaExceeded: 400_060,
		protocol.StatusHeartbeatTimeout: 400_090,
		protocol.StatusBadSession:       400_100, protocol.StatusPreconditionFailed: 400_120,
		protocol.StatusFenced:        400_120,
		protocol.StatusAlreadyExists: 400_130, protocol.StatusNotFound: 400_140,
		protocol.StatusSessionExpired: 400_150, protocol.StatusUnsupported: 400_180,
		protocol.StatusSequenceReused: 400_050,
	}
	for s := protocol.StatusSuccess; s <= protocol.StatusSequenceReused; s++ {
		got, issue := ydb.StatusOf(s)
		if got != want[s] {
			t.Errorf("%v is %v, want %v", s, got, want[s])
		}
		if (issue == "") != (s == protocol.StatusSuccess) {
			t.Errorf("%v has the issue %q", s, issue)
		}
	}
}

// TestPingsComeInTime: a ping comes every third of the timeout, and at least every 2 seconds: the Python SDK gives up a
// stream after 3 silent seconds. A client has a third of its timeout to answer, and at most 5 to 7 seconds.
func TestPingsComeInTime(t *testing.T) {
	const ms = time.Millisecond
	for asked, want := range map[time.Duration][2]time.Duration{
		0: {10 * ms, 10 * ms}, 15 * ms: {10 * ms, 10 * ms}, 3 * time.Second: {1000 * ms, 1000 * ms},
		9 * time.Second: {2000 * ms, 4000 * ms}, 15 * time.Second: {2000 * ms, 6000 * ms},
		ydb.MaxAsked: {2000 * ms, 6000 * ms},
	} {
		if period, answer := ydb.PingTimes(asked); period != want[0] || answer != want[1] {
			t.Errorf("for a timeout of %v they come every %v and have %v, want %v", asked, period, answer, want)
		}
	}
}

// TestRequestsThatOvertakeEachOther: a new stream acts at a host that does not know its session yet. Requests reach the
// session in any order. A request refused for its number is sent again under a new number, and all requests are
// executed.
func TestRequestsThatOvertakeEachOther(t *testing.T) {
	r := newRig(t, 3)
	if err := r.cluster.Elect(2, r.cluster.Leader(1)%3+1); err != nil {
		t.Fatal(err)
	}
	r.create()
	const streams, requests = 5, 100
	for n := range streams {
		a := r.session(start{timeout: 5 * time.Minute})
		waits := make(map[uint64]bool)
		for i := range requests {
			waits[a.acquire(fmt.Sprintf("lock-%d-%d", n, i), all, 0, true)] = true
		}
		for len(waits) > 0 {
			m := a.next()
			if got := m.GetAcquireSemaphoreResult(); !waits[got.GetReqId()] || got.Status != ok || !got.Acquired {
				t.Fatalf("got %v, want that one of %d locks is acquired", m, len(waits))
			}
			delete(waits, m.GetAcquireSemaphoreResult().ReqId)
		}
		a.stop()
	}
}
