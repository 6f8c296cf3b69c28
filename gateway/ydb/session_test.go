package ydb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const ok = Ydb.StatusIds_SUCCESS

func TestTheFirstMessageStartsASession(t *testing.T) {
	r := newRig(t, 1)
	c := r.call()
	c.release("x")
	if _, err := c.receive(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("it ended with %v", err)
	}
}

// TestASessionThatIsRefusedWaits because SDKs come back at once. Statuses are YDB's.
func TestASessionThatIsRefusedWaits(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	for name, c := range map[string]struct {
		first start
		want  Ydb.StatusIds_StatusCode
	}{
		"a missing node":             {start{path: database + "/missing"}, Ydb.StatusIds_NOT_FOUND},
		"another database":           {start{path: "/other/jobs"}, Ydb.StatusIds_NOT_FOUND},
		"a timeout that is too long": {start{timeout: 26 * time.Minute}, Ydb.StatusIds_BAD_REQUEST},
		"a key that is too long":     {start{key: "12345678901234567"}, Ydb.StatusIds_BAD_REQUEST},
		"an unknown session":         {start{session: 1 << 40}, Ydb.StatusIds_SESSION_EXPIRED},
		"a long description":         {start{description: strings.Repeat("d", 1025)}, Ydb.StatusIds_BAD_REQUEST},
	} {
		t.Run(name, func(t *testing.T) {
			s := r.call()
			s.t = t
			began := time.Now()
			s.begin(c.first)
			s.fails(c.want)
			if took := time.Since(began); took < 200*time.Millisecond {
				t.Errorf("it was refused after %v: less than it should be", took)
			}
		})
	}
}

// TestAttachIsRefused: the existing stream continues.
func TestAttachIsRefused(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a := r.session(start{key: "key", sequence: 3})
	for name, first := range map[string]start{
		"another key":        {session: a.id, key: "other", sequence: 4},
		"a smaller sequence": {session: a.id, key: "key", sequence: 2},
	} {
		s := r.call()
		s.begin(first)
		s.fails(Ydb.StatusIds_BAD_SESSION)
		t.Log(name)
	}
	a.acquired(a.acquire("lock", 1, 0, true), true, ok)
	b := r.session(start{session: a.id, key: "key", sequence: 3})
	a.fails(Ydb.StatusIds_BAD_SESSION)
	b.acquired(b.acquire("lock", 1, 0, true), true, ok)
	b.stop()
	s := r.call()
	s.begin(start{session: a.id, key: "key", sequence: 5})
	s.fails(Ydb.StatusIds_SESSION_EXPIRED)
}

func TestAcquireAnswersAsYDB(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("sem", 2, "data", ok)
	a.createSemaphore("sem", 2, "data", Ydb.StatusIds_ALREADY_EXISTS)
	a.acquired(a.acquire("sem", 2, 0, false), true, ok)

	b.acquired(b.acquire("sem", 1, 0, false), false, ok)
	waits := b.acquire("sem", 1, time.Hour, false)
	b.pending(waits)
	again := b.acquire("sem", 1, time.Hour, false)
	b.acquired(waits, false, Ydb.StatusIds_ABORTED)
	b.pending(again)
	released := b.release("sem")
	b.acquired(again, false, Ydb.StatusIds_ABORTED)
	b.released(released, true)
	b.released(b.release("sem"), false)
	b.released(b.release("missing"), false)

	waits = b.acquire("sem", 2, -1, false)
	b.pending(waits)
	a.released(a.release("sem"), true)
	b.acquired(waits, true, ok)
	b.acquired(b.acquire("sem", 3, 0, false), false, Ydb.StatusIds_BAD_REQUEST)
	b.acquired(b.acquire("missing", 1, 0, false), false, Ydb.StatusIds_NOT_FOUND)
	for _, name := range []string{"", strings.Repeat("n", 1025)} {
		b.acquired(b.acquire(name, 1, 0, false), false, Ydb.StatusIds_BAD_REQUEST)
	}
	b.acquired(b.acquire(strings.Repeat("n", 1024), 1, 0, false), false, Ydb.StatusIds_NOT_FOUND)
	b.acquired(b.acquire("sem", 1, 48*time.Hour, false), false, Ydb.StatusIds_BAD_REQUEST)
	short := a.acquire("sem", 2, 50*time.Millisecond, false)
	a.pending(short)
	a.acquired(short, false, ok)
	b.deleteSemaphore("sem", false, Ydb.StatusIds_PRECONDITION_FAILED)
	b.deleteSemaphore("sem", true, ok)
	b.deleteSemaphore("sem", true, Ydb.StatusIds_NOT_FOUND)
}

func TestWatchesAnswerAsYDB(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{}), r.session(start{})
	a.createSemaphore("sem", 2, "one", ok)
	first := a.describe("sem", true)
	if d := a.described(first); !d.WatchAdded || string(d.SemaphoreDescription.Data) != "one" {
		t.Errorf("the description is %v", d)
	}
	second := a.describe("sem", true)
	a.changed(first, false, false)
	a.described(second)
	b.updateSemaphore("sem", "one", ok)
	b.updateSemaphore("sem", "two", ok)
	a.changed(second, true, false)
	third := a.describe("sem", true)
	a.described(third)
	b.acquired(b.acquire("sem", 1, 0, false), true, ok)
	a.changed(third, false, true)
	fourth := a.describe("sem", true)
	if d := a.described(fourth).SemaphoreDescription; len(d.Owners) != 1 || d.Owners[0].SessionId != b.id ||
		d.Owners[0].TimeoutMillis != 0 || d.Count != 1 {
		t.Errorf("the description is %v", d)
	}
	b.deleteSemaphore("sem", true, ok)
	a.changed(fourth, true, true)
	if d := a.described(a.describe("sem", true)); d.Status != Ydb.StatusIds_NOT_FOUND || d.WatchAdded {
		t.Errorf("the description of a missing one is %v", d)
	}
}

func TestAnEphemeralSemaphore(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a := r.session(start{})
	a.acquired(a.acquire("lock", 1<<64-1, 0, true), true, ok)
	d := a.described(a.describe("lock", false)).SemaphoreDescription
	if d.Limit != 1<<64-1 || !d.Ephemeral || len(d.Owners) != 1 {
		t.Errorf("the description is %v", d)
	}
	a.released(a.release("lock"), true)
	if got := a.described(a.describe("lock", false)).Status; got != Ydb.StatusIds_NOT_FOUND {
		t.Errorf("after its release: %v", got)
	}
}

// TestAClientThatIsSilent: the stream ends when the second ping is due; the session survives.
func TestAClientThatIsSilent(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	r.heedPings = true
	r.serve()
	a := r.call()
	a.mute.Store(true)
	a.begin(start{timeout: 300 * time.Millisecond, key: "key"})
	a.id = a.next().GetSessionStarted().GetSessionId()
	a.fails(Ydb.StatusIds_TIMEOUT)
	if n := a.pings.Load(); n != 1 {
		t.Errorf("it was sent %d pings", n)
	}
	r.heedPings = false
	r.serve()
	again := r.session(start{session: a.id, key: "key", sequence: 1})
	again.stop()
}

// TestPingsOfClients are answered at once, and a pong to no ping ends the stream.
func TestPingsOfClients(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a := r.session(start{})
	a.send(&request{Request: &Ydb_Coordination.SessionRequest_Ping{
		Ping: &Ydb_Coordination.SessionRequest_PingPong{Opaque: 4711},
	}})
	if m := a.next(); m.GetPong().GetOpaque() != 4711 {
		t.Errorf("got %v", m)
	}
	a.send(&request{Request: &Ydb_Coordination.SessionRequest_Pong{
		Pong: &Ydb_Coordination.SessionRequest_PingPong{Opaque: 4711},
	}})
	a.fails(Ydb.StatusIds_BAD_REQUEST)
}

// TestASessionGoesOnThroughAnotherGateway with its place in a queue, after its former gateway is gone.
func TestASessionGoesOnThroughAnotherGateway(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	owner := r.session(start{key: "key"})
	owner.acquired(owner.acquire("lock", 1<<64-1, 0, true), true, ok)
	waiter, last := r.session(start{key: "key"}), r.session(start{key: "key"})
	waiter.pending(waiter.acquire("lock", 1<<64-1, time.Hour, true))
	last.pending(last.acquire("lock", 1<<64-1, time.Hour, true))
	r.server.Stop()

	r.serve()
	first := r.session(start{session: waiter.id, key: "key", sequence: 1})
	waits := first.acquire("lock", 1<<64-1, time.Hour, true)
	first.pending(waits)
	freed := r.session(start{session: owner.id, key: "key", sequence: 1})
	freed.released(freed.release("lock"), true)
	first.acquired(waits, true, ok)
}

// TestADrainEndsSessions: the drain ends the streams; the sessions live on, and their SDKs return through another
// gateway.
func TestADrainEndsSessions(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a := r.session(start{key: "key"})
	a.acquired(a.acquire("lock", 1, 0, true), true, ok)
	drained := make(chan error, 1)
	go func() { drained <- r.gateway.Drain(t.Context()) }()
	a.fails(Ydb.StatusIds_UNAVAILABLE)
	if err := <-drained; err != nil || r.gateway.Ready() {
		t.Errorf("drained: %v; ready: %v", err, r.gateway.Ready())
	}
	r.serve()
	b := r.session(start{session: a.id, key: "key", sequence: 1})
	b.released(b.release("lock"), true)
}

// TestACancelledStreamLeavesTheAskedTimeout: the session's semaphores are free after this timeout. After a lost stream
// the session would live longer.
func TestACancelledStreamLeavesTheAskedTimeout(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a, b := r.session(start{timeout: 2 * time.Second}), r.session(start{timeout: time.Minute})
	a.acquired(a.acquire("lock", 1<<64-1, 0, true), true, ok)
	waits := b.acquire("lock", 1<<64-1, time.Hour, true)
	b.pending(waits)
	began := time.Now()
	a.cancel()
	b.acquired(waits, true, ok)
	if took := time.Since(began); took < 2*time.Second-100*time.Millisecond {
		t.Errorf("it was free after %v", took)
	}
}

// TestANodeThatIsDropped ends its sessions' streams with UNAVAILABLE, and refuses its sessions with NOT_FOUND.
func TestANodeThatIsDropped(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	a := r.session(start{})
	if got := r.drop(nodePath); got != ok {
		t.Fatalf("drop: %v", got)
	}
	a.fails(Ydb.StatusIds_UNAVAILABLE)
	s := r.call()
	s.begin(start{})
	s.fails(Ydb.StatusIds_NOT_FOUND)
}

// TestASessionSaysWhoseItIs: the description shows the program, its process and its address; the client's address is
// the gateway's. A description without enough room stays unchanged.
func TestASessionSaysWhoseItIs(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	full := strings.Repeat("d", 1024)
	for asked, want := range map[string]string{
		"worker": "worker (ydb-go-sdk/3.156.1, process 4711, at 127.0.0.1)", full: full,
	} {
		a := r.session(start{description: asked})
		found := false
		for s, err := range r.native().Node(nodePath).Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			found = found || s.ID == a.id && s.Description == want
		}
		if !found {
			t.Errorf("no session is described as %q", want)
		}
		a.stop()
	}
}
