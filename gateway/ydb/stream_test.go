package ydb_test

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc/metadata"
)

type (
	request  = Ydb_Coordination.SessionRequest
	response = Ydb_Coordination.SessionResponse
)

const nodePath = database + "/jobs"

// create makes the tests' node.
func (r *rig) create() {
	r.t.Helper()
	c := Ydb_Coordination_V1.NewCoordinationServiceClient(r.dial())
	a, err := c.CreateNode(r.context(), &Ydb_Coordination.CreateNodeRequest{Path: nodePath})
	if err != nil || a.Operation.Status != Ydb.StatusIds_SUCCESS {
		r.t.Fatalf("create: %v, %v", a, err)
	}
}

// context is the context of an SDK's call.
func (r *rig) context() context.Context {
	return metadata.AppendToOutgoingContext(r.t.Context(), "x-ydb-database", database, "x-ydb-auth-ticket", r.ticket,
		"x-ydb-sdk-build-info", "ydb-go-sdk/3.156.1", "x-ydb-client-pid", "4711", "x-ydb-trace-id", "1")
}

// caller is a stream of a client without an SDK. It answers pings unless it is mute.
type caller struct {
	t      *testing.T
	rpc    Ydb_Coordination_V1.CoordinationService_SessionClient
	cancel context.CancelFunc
	mute   atomic.Bool
	pings  atomic.Int64 // that came
	got    chan received
	id     uint64
	last   uint64 // request

	sending sync.Mutex
}

// start is a first message.
type start struct {
	path     string
	session  uint64
	timeout  time.Duration
	sequence uint64
	key      string

	description string
}

func (r *rig) call() *caller { return r.unheard().listened() }

// unheard is call for a test that receives by itself, until listened.
func (r *rig) unheard() *caller {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.context())
	r.t.Cleanup(cancel)
	rpc, err := Ydb_Coordination_V1.NewCoordinationServiceClient(r.dial()).Session(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	return &caller{t: r.t, rpc: rpc, cancel: cancel, got: make(chan received, 100)}
}

func (c *caller) listened() *caller {
	go c.listen()
	return c
}

func (c *caller) send(m *request) {
	c.t.Helper()
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.rpc.Send(m); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) begin(s start) {
	c.t.Helper()
	if s.path == "" {
		s.path = nodePath
	}
	if s.timeout == 0 {
		s.timeout = 20 * time.Second
	}
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_SessionStart_{
		SessionStart: &Ydb_Coordination.SessionRequest_SessionStart{
			Path: s.path, SessionId: s.session, TimeoutMillis: uint64(s.timeout.Milliseconds()), SeqNo: s.sequence,
			ProtectionKey: []byte(s.key), Description: cmp.Or(s.description, "test"),
		},
	}})
}

// session starts or attaches a session.
func (r *rig) session(s start) *caller {
	r.t.Helper()
	c, refusal := r.tries(s)
	if c == nil {
		r.t.Fatalf("not started: %v", refusal)
	}
	return c
}

// tries is session, but allows a refusal, with a nil caller.
func (r *rig) tries(s start) (c *caller, refusal *response) {
	r.t.Helper()
	c = r.call()
	c.begin(s)
	m := c.next()
	started := m.GetSessionStarted()
	if started == nil || s.session != 0 && started.SessionId != s.session {
		return nil, m
	}
	c.id = started.SessionId
	return c, nil
}

// received is a message other than a ping, or the stream's end.
type received struct {
	m   *response
	err error
}

// listen answers pings, and hands on everything else, until the stream is over.
func (c *caller) listen() {
	for {
		m, err := c.rpc.Recv()
		if err == nil && m.GetPing() != nil {
			c.pings.Add(1)
			if !c.mute.Load() {
				c.sending.Lock()
				_ = c.rpc.Send(&request{Request: &Ydb_Coordination.SessionRequest_Pong{
					Pong: &Ydb_Coordination.SessionRequest_PingPong{Opaque: m.GetPing().Opaque},
				}})
				c.sending.Unlock()
			}
			continue
		}
		c.got <- received{m, err}
		if err != nil {
			return
		}
	}
}

// next returns the next message other than a ping.
func (c *caller) next() *response {
	c.t.Helper()
	m, err := c.receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *caller) receive() (*response, error) {
	c.t.Helper()
	select {
	case r := <-c.got:
		return r.m, r.err
	case <-time.After(limit):
		c.t.Fatal("nothing came")
		return nil, nil
	}
}

// fails expects a Failure next.
func (c *caller) fails(want Ydb.StatusIds_StatusCode) {
	c.t.Helper()
	m, err := c.receive()
	if err != nil || m.GetFailure() == nil || m.GetFailure().Status != want {
		c.t.Fatalf("got %v, %v; want a Failure %v", m, err, want)
	}
}

func (c *caller) acquire(name string, count uint64, timeout time.Duration, ephemeral bool) (id uint64) {
	c.t.Helper()
	c.last++
	millis := uint64(timeout.Milliseconds())
	if timeout < 0 {
		millis = 1<<64 - 1
	}
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_AcquireSemaphore_{
		AcquireSemaphore: &Ydb_Coordination.SessionRequest_AcquireSemaphore{
			ReqId: c.last, Name: name, Count: count, TimeoutMillis: millis, Ephemeral: ephemeral,
		},
	}})
	return c.last
}

// acquired expects the result of an acquire next.
func (c *caller) acquired(id uint64, want bool, code Ydb.StatusIds_StatusCode) {
	c.t.Helper()
	m := c.next()
	r := m.GetAcquireSemaphoreResult()
	if r == nil || r.ReqId != id || r.Acquired != want || r.Status != code {
		c.t.Fatalf("got %v, want acquired=%v of request %d", m, want, id)
	}
}

func (c *caller) pending(id uint64) {
	c.t.Helper()
	if m := c.next(); m.GetAcquireSemaphorePending().GetReqId() != id {
		c.t.Fatalf("got %v, want that request %d is pending", m, id)
	}
}

func (c *caller) release(name string) (id uint64) {
	c.t.Helper()
	c.last++
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_ReleaseSemaphore_{
		ReleaseSemaphore: &Ydb_Coordination.SessionRequest_ReleaseSemaphore{ReqId: c.last, Name: name},
	}})
	return c.last
}

func (c *caller) released(id uint64, want bool) {
	c.t.Helper()
	m := c.next()
	r := m.GetReleaseSemaphoreResult()
	if r == nil || r.ReqId != id || r.Released != want || r.Status != Ydb.StatusIds_SUCCESS {
		c.t.Fatalf("got %v, want released=%v", m, want)
	}
}

func (c *caller) describe(name string, watch bool) (id uint64) {
	c.t.Helper()
	c.last++
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_DescribeSemaphore_{
		DescribeSemaphore: &Ydb_Coordination.SessionRequest_DescribeSemaphore{
			ReqId: c.last, Name: name, IncludeOwners: true, IncludeWaiters: true, WatchData: watch, WatchOwners: watch,
		},
	}})
	return c.last
}

func (c *caller) described(id uint64) *Ydb_Coordination.SessionResponse_DescribeSemaphoreResult {
	c.t.Helper()
	m := c.next()
	r := m.GetDescribeSemaphoreResult()
	if r == nil || r.ReqId != id {
		c.t.Fatalf("got %v, want the description of request %d", m, id)
	}
	return r
}

func (c *caller) changed(id uint64, data, owners bool) {
	c.t.Helper()
	m := c.next()
	r := m.GetDescribeSemaphoreChanged()
	if r == nil || r.ReqId != id || r.DataChanged != data || r.OwnersChanged != owners {
		c.t.Fatalf("got %v, want changed(%v, %v) of request %d", m, data, owners, id)
	}
}

// createSemaphore expects a status, as the next two do.
func (c *caller) createSemaphore(name string, count uint64, data string, want Ydb.StatusIds_StatusCode) {
	c.t.Helper()
	c.last++
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_CreateSemaphore_{
		CreateSemaphore: &Ydb_Coordination.SessionRequest_CreateSemaphore{
			ReqId: c.last, Name: name, Limit: count, Data: []byte(data),
		},
	}})
	if m := c.next(); m.GetCreateSemaphoreResult().GetStatus() != want {
		c.t.Fatalf("create %s: %v, want %v", name, m, want)
	}
}

func (c *caller) updateSemaphore(name, data string, want Ydb.StatusIds_StatusCode) {
	c.t.Helper()
	c.last++
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_UpdateSemaphore_{
		UpdateSemaphore: &Ydb_Coordination.SessionRequest_UpdateSemaphore{
			ReqId: c.last, Name: name, Data: []byte(data),
		},
	}})
	if m := c.next(); m.GetUpdateSemaphoreResult().GetStatus() != want {
		c.t.Fatalf("update %s: %v, want %v", name, m, want)
	}
}

func (c *caller) deleteSemaphore(name string, force bool, want Ydb.StatusIds_StatusCode) {
	c.t.Helper()
	c.last++
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_DeleteSemaphore_{
		DeleteSemaphore: &Ydb_Coordination.SessionRequest_DeleteSemaphore{ReqId: c.last, Name: name, Force: force},
	}})
	if m := c.next(); m.GetDeleteSemaphoreResult().GetStatus() != want {
		c.t.Fatalf("delete %s: %v, want %v", name, m, want)
	}
}

func (c *caller) stop() {
	c.t.Helper()
	c.send(&request{Request: &Ydb_Coordination.SessionRequest_SessionStop_{
		SessionStop: &Ydb_Coordination.SessionRequest_SessionStop{},
	}})
	if m := c.next(); m.GetSessionStopped().GetSessionId() != c.id {
		c.t.Fatalf("stop: %v", m)
	}
}
