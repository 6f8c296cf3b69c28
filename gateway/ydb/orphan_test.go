package ydb_test

import (
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc"
)

// gone is the stream to a client that left before any message.
type gone struct {
	grpc.ServerStream
	ctx   context.Context
	first *request // nil once received
}

func (g *gone) Context() context.Context { return g.ctx }
func (g *gone) Send(*response) error     { return io.ErrClosedPipe }

func (g *gone) Recv() (m *request, err error) {
	if g.first == nil {
		<-g.ctx.Done()
		return nil, context.Cause(g.ctx)
	}
	m, g.first = g.first, nil
	return m, nil
}

// TestASessionThatItsClientNeverKnewIsEnded: the SDK requests a new session, so the unknown session would otherwise
// last until its timeout. An attached session lives on.
func TestASessionThatItsClientNeverKnewIsEnded(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	known := r.session(start{key: "key", timeout: 20 * time.Minute})
	for _, attaches := range []uint64{0, known.id} {
		ctx, cancel := context.WithCancel(r.context())
		_ = r.gateway.Session(&gone{ctx: ctx, first: &request{Request: &Ydb_Coordination.SessionRequest_SessionStart_{
			SessionStart: &Ydb_Coordination.SessionRequest_SessionStart{
				Path: nodePath, SessionId: attaches, SeqNo: 1, ProtectionKey: []byte("key"),
				TimeoutMillis: uint64((20 * time.Minute).Milliseconds()),
			},
		}}})
		cancel()
	}
	r.awaitSessions(known.id)
}

// awaitSessions waits until the node has exactly the wanted sessions.
func (r *rig) awaitSessions(want ...uint64) {
	r.t.Helper()
	node := r.native().Node(nodePath)
	for until := time.Now().Add(limit); ; {
		ids := []uint64{}
		for s, err := range node.Sessions(r.t.Context()) {
			if err != nil {
				r.t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		if slices.Equal(ids, want) {
			return
		}
		if time.Now().After(until) {
			r.t.Fatalf("the sessions are %v, want %v", ids, want)
		}
	}
}

// TestOfAThousandCancelledStartsNoneStays: clients leave at any time between the first message and the answer.
func TestOfAThousandCancelledStartsNoneStays(t *testing.T) {
	r := newRig(t, 1)
	r.create()
	known := r.session(start{timeout: 20 * time.Minute})
	service := Ydb_Coordination_V1.NewCoordinationServiceClient(r.dial())
	const starts, atATime = 1000, 10
	var all sync.WaitGroup
	for i := range atATime {
		all.Go(func() {
			var took time.Duration // from the first message to its answer
			for n := range starts / atATime {
				ctx, cancel := context.WithCancel(r.context())
				s, err := service.Session(ctx)
				if err != nil {
					t.Error(err)
				}
				began := time.Now()
				_ = s.Send(&request{Request: &Ydb_Coordination.SessionRequest_SessionStart_{
					SessionStart: &Ydb_Coordination.SessionRequest_SessionStart{
						Path: nodePath, TimeoutMillis: uint64((20 * time.Minute).Milliseconds()),
					},
				}})
				if n == 0 {
					_, _ = s.Recv()
					took = time.Since(began)
				}
				for time.Since(began) < took*time.Duration(n*atATime+i)/starts {
					runtime.Gosched()
				}
				cancel()
			}
		})
	}
	all.Wait()
	r.awaitSessions(known.id)
}
