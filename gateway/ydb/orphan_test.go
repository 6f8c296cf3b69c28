package ydb_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc"
)

// gone is the stream of a client that has gone before anything was sent to it.
type gone struct {
	grpc.ServerStream
	ctx   context.Context
	first *request // nil once it was received
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

// TestASessionThatItsClientNeverKnewIsEnded: the SDK asks for another one, so nothing would ever end this one before
// its timeout has passed. One that was attached lives on.
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
	node := r.native().Node(nodePath)
	for until := time.Now().Add(limit); ; {
		var ids []uint64
		for s, err := range node.Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID)
		}
		if len(ids) == 1 && ids[0] == known.id {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the sessions are %v, want %d", ids, known.id)
		}
	}
}
