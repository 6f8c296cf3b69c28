package ydb_test

import (
	"io"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"google.golang.org/protobuf/proto"
)

const (
	badRequest = Ydb.StatusIds_BAD_REQUEST
	misfit     = Ydb.StatusIds_PRECONDITION_FAILED
	all        = 1<<64 - 1
)

// TestAForcedDeleteEndsWhatWaits: waiters get ABORTED and then the watched change, owners get nothing.
func TestAForcedDeleteEndsWhatWaits(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("sem", 1, "", ok)
	a.acquired(a.acquire("sem", 1, 0, false), true, ok)
	waits := b.acquire("sem", 1, time.Hour, false)
	b.pending(waits)
	watch := b.describe("sem", true)
	b.described(watch)
	a.deleteSemaphore("sem", false, misfit)
	a.deleteSemaphore("sem", true, ok)
	b.acquired(waits, false, Ydb.StatusIds_ABORTED)
	b.changed(watch, true, true)
	a.released(a.release("sem"), false)
}

// TestAcquiredAgain: an owner may reduce its count, which lets others in, but never raise it.
func TestAcquiredAgain(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("none", 0, "", badRequest)
	a.createSemaphore("sem", 3, "", ok)
	a.acquired(a.acquire("sem", 0, 0, false), false, badRequest)
	a.acquired(a.acquire("sem", 4, 0, false), false, badRequest)
	a.acquired(a.acquire("sem", 2, 0, false), true, ok)
	a.acquired(a.acquire("sem", 3, time.Hour, false), false, badRequest)
	waits := b.acquire("sem", 2, time.Hour, false)
	b.pending(waits)
	a.acquired(a.acquire("sem", 1, time.Hour, false), true, ok)
	b.acquired(waits, true, ok)
	if d := b.described(b.describe("sem", false)).SemaphoreDescription; d.Count != 3 || len(d.Owners) != 2 {
		t.Errorf("it is %v", d)
	}
}

// TestWhatIsEphemeralIsNotPersistent: neither kind passes for the other, and no call makes or deletes an ephemeral
// semaphore.
func TestWhatIsEphemeralIsNotPersistent(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("sem", 1, "", ok)
	a.acquired(a.acquire("sem", 1, 0, true), false, misfit)
	a.acquired(a.acquire("lock", all, 0, true), true, ok)
	a.acquired(a.acquire("lock", all, 0, false), false, misfit)
	b.createSemaphore("lock", 1, "", misfit)
	b.deleteSemaphore("lock", false, misfit)
	b.deleteSemaphore("lock", true, misfit)
	b.updateSemaphore("lock", "data", ok)
	shares := b.acquire("lock", 1, time.Hour, true)
	b.pending(shares)
	a.acquired(a.acquire("lock", 1, 0, true), true, ok)
	b.acquired(shares, true, ok)
	a.acquired(a.acquire("lock", all, time.Hour, true), false, badRequest)
	d := a.described(a.describe("lock", false)).SemaphoreDescription
	if d.Count != 2 || string(d.Data) != "data" {
		t.Errorf("it is %v", d)
	}
}

// TestAWatchSeesWhatItAsksFor: changes of data, or of owners.
func TestAWatchSeesWhatItAsksFor(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("sem", 2, "one", ok)
	watch := func(c *caller, data, owners bool) uint64 {
		t.Helper()
		c.last++
		c.send(&request{Request: &Ydb_Coordination.SessionRequest_DescribeSemaphore_{
			DescribeSemaphore: &Ydb_Coordination.SessionRequest_DescribeSemaphore{
				ReqId: c.last, Name: "sem", WatchData: data, WatchOwners: owners,
			},
		}})
		if d := c.described(c.last); !d.WatchAdded || d.SemaphoreDescription.Owners != nil {
			t.Errorf("it is %v", d)
		}
		return c.last
	}
	data, owners := watch(a, true, false), watch(b, false, true)
	a.updateSemaphore("sem", "two", ok)
	a.changed(data, true, false)
	data = watch(a, true, false)
	b.acquired(b.acquire("sem", 1, 0, false), true, ok)
	b.changed(owners, false, true)
	b.updateSemaphore("sem", "three", ok)
	a.changed(data, true, false)
}

// TestAStopIsTheEndOfAStream: the session's semaphores are free by the time of the answer, and nothing follows.
func TestAStopIsTheEndOfAStream(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.acquired(a.acquire("lock", all, 0, true), true, ok)
	waits := b.acquire("lock", all, time.Hour, true)
	b.pending(waits)
	a.stop()
	if m, err := a.receive(); err != io.EOF {
		t.Errorf("after its stop came %v, %v", m, err)
	}
	b.acquired(waits, true, ok)
}

// TestPathsAsYDBReadsThem: empty parts are dropped, other parts are names, and nodes exist only below the database.
func TestPathsAsYDBReadsThem(t *testing.T) {
	r := newRig(t, 1)
	for path, want := range map[string]Ydb.StatusIds_StatusCode{
		database + "/app/locks": ok,
		"local//other/":         ok,
		"/elsewhere/locks":      badRequest,
		database:                badRequest,
		database + "/a b":       Ydb.StatusIds_SCHEME_ERROR,
		database + "/../x":      Ydb.StatusIds_SCHEME_ERROR,
	} {
		a, err := r.coordination().CreateNode(r.context(), &Ydb_Coordination.CreateNodeRequest{Path: path})
		if got := done(t, a, err); got != want {
			t.Errorf("create of %q: %v, want %v", path, got, want)
		}
	}
	d, code := r.describe("/local/app//locks/")
	if code != ok || d.Self.Name != "locks" || d.Self.Type != Ydb_Scheme.Entry_COORDINATION_NODE {
		t.Errorf("it is %v, %v", d, code)
	}
	a, err := Ydb_Scheme_V1.NewSchemeServiceClient(r.dial()).DescribePath(r.context(),
		&Ydb_Scheme.DescribePathRequest{Path: "/local/app//locks/"})
	of := &Ydb_Scheme.DescribePathResult{}
	if got := done(t, a, err); got != ok || a.Operation.Result.UnmarshalTo(of) != nil || !proto.Equal(of.Self, d.Self) {
		t.Errorf("the path is %v, %v", of, got)
	}
	r.session(start{path: "local/other"}).stop()
	if got := r.drop("/local/other/"); got != ok {
		t.Errorf("drop: %v", got)
	}
}
