package process_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// These count a member's successive trips to hosts.

// operations counts a client's operations, and can delay them.
type operations struct {
	client.NoHooks

	mu    sync.Mutex // guards what follows
	begun map[client.OperationKind]int
	held  map[client.OperationKind]chan struct{}
}

func (o *operations) OperationStarted(ctx context.Context, op client.Operation) context.Context {
	o.mu.Lock()
	o.begun[op.Kind]++
	held := o.held[op.Kind]
	o.mu.Unlock()
	if held != nil {
		<-held
	}
	return ctx
}

func (o *operations) count(k client.OperationKind) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begun[k]
}

// hold delays operations of a kind until release.
func (o *operations) hold(k client.OperationKind) (release func()) {
	held := make(chan struct{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[k] = held
	return func() { close(held) }
}

// observed opens a client with counted operations.
func (st *stage) observed() (*client.Client, *operations) {
	st.T.Helper()
	o := &operations{begun: make(map[client.OperationKind]int), held: make(map[client.OperationKind]chan struct{})}
	c, err := client.Open(st.T.Context(), st.Server.Addresses(), client.WithDialer(st.Server.Dial),
		client.WithHooks(o))
	clienttest.Check(st.T, err)
	st.T.Cleanup(func() { _ = c.Close() })
	return c, o
}

// TestTheMembersOfARoundAreReadOnce for any number of calls.
func TestTheMembersOfARoundAreReadOnce(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		c, operations := g.observed()
		a := g.joinBy(clienttest.Session(t, c), "a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				for range 2 {
					members, err := r.Members(ctx)
					if err != nil || len(members) != 2 || members[0].Name != "a" || members[1].Name != "b" {
						t.Errorf("%v, %v", members, err)
					}
				}
				return nil, nil
			},
		})
		g.join("b", process.Handler{}, process.Observer())
		a.awaitResult()
		if n := operations.count(process.OpDescribe); n != 1 {
			t.Errorf("hosts are asked %d times", n)
		}
	})
}

// TestLeavingWaitsForNoAnswerToACompletion: neither the leaving member nor others need the answer.
func TestLeavingWaitsForNoAnswerToACompletion(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		c, operations := g.observed()
		release := operations.hold(process.OpCompleteAck)
		a := g.joinBy(clienttest.Session(t, c), "a", process.Handler{})
		a.awaitResult()
		ctx, cancel := context.WithTimeout(t.Context(), never)
		defer cancel()
		clienttest.Check(t, a.Leave(ctx))
		release()
		if s := g.state(); len(s.Members) != 0 {
			t.Errorf("there are %+v", s.Members)
		}
	})
}

// TestLeavingWaitsForAnswersThatOthersWaitFor: a member's reply arrives.
func TestLeavingWaitsForAnswersThatOthersWaitFor(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		c, operations := g.observed()
		release := operations.hold(process.OpReply)
		asked, replied := make(chan struct{}), make(chan error, 1)
		g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			_, err := r.Broadcast(ctx, "work", process.Others())
			replied <- err
			return nil, err
		}})
		b := g.joinBy(clienttest.Session(t, c), "b", process.Handler{
			Request: func(context.Context, *process.Round, *process.Request) (any, error) {
				defer close(asked)
				return "done", nil
			},
		}, process.Observer())
		receive(t, asked)
		synctest.Wait() // the reply is delayed
		left := make(chan error, 1)
		go func() { left <- b.Leave(t.Context()) }()
		b.await("terminate")
		synctest.Wait()
		if len(left) > 0 {
			t.Error("it has left before its reply was sent")
		}
		release()
		clienttest.Check(t, receive(t, replied))
		clienttest.Check(t, receive(t, left))
	})
}
