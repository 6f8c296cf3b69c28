package process_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestMemberToMember: requests between members arrive in the same epoch and in sending order.
func TestMemberToMember(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		const requests, ahead = 1000, 100
		g.create(process.Spec{MinMembers: 3})
		next := 0
		g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			members, err := r.Members(ctx)
			if err != nil {
				return nil, err
			}
			reply, err := r.Send(ctx, members[1].ID, members[2].ID)
			if err == nil {
				err = reply.Decode(new(uint64))
			}
			return nil, err
		}})
		sendAll := func(r *process.Round, to uint64) error {
			var open []*process.Exchange
			for i := range requests {
				x, err := r.Start(r.Context(), i, process.To(to))
				if err != nil {
					return err
				}
				if open = append(open, x); len(open) == ahead || i == requests-1 {
					for _, x := range open {
						if _, err := x.Wait(r.Context()); err != nil {
							return err
						}
					}
					open = nil
				}
			}
			return nil
		}
		b := g.join("b", process.Handler{
			Request: func(_ context.Context, r *process.Round, q *process.Request) (any, error) {
				var to uint64
				err := q.Decode(&to)
				reply := q.Defer()
				go func() {
					clienttest.Check(t, sendAll(r, to))
					clienttest.Check(t, reply.Reply(r.Context(), requests))
				}()
				return nil, err
			},
		}, process.Observer())
		c := g.join("c", process.Handler{
			Request: func(_ context.Context, r *process.Round, q *process.Request) (any, error) {
				var i int
				if err := q.Decode(&i); err != nil || i != next || q.From != b.ID() || r.Epoch() == 0 {
					t.Errorf("got %d from %d, want %d: %v", i, q.From, next, err)
				}
				next++
				return i, nil
			},
		}, process.Observer())
		c.awaitResult()
		if next != requests {
			t.Errorf("%d have arrived", next)
		}
	})
}

// TestTwoThatAskEachOther: two members that send requests to each other make progress if replies are deferred.
func TestTwoThatAskEachOther(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		deferred := make(chan error, 2)
		passOn := func(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
			var hops int
			if err := q.Decode(&hops); err != nil || hops == 0 {
				return "the end", err
			}
			reply := q.Defer()
			go func() {
				answers, err := r.Broadcast(r.Context(), hops-1, process.Others())
				if err == nil {
					var text string
					clienttest.Check(t, answers[0].Decode(&text))
					err = reply.Reply(r.Context(), text)
				}
				if again := reply.Fail(r.Context(), errors.New("too late")); !errors.Is(again, process.ErrReplied) {
					t.Errorf("it replies twice: %v", again)
				}
				deferred <- err
			}()
			return "not used", nil
		}
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				replies, err := r.Broadcast(ctx, 1)
				for _, reply := range replies {
					var text string
					if err := reply.Decode(&text); err != nil || text != "the end" {
						t.Errorf("the reply is %q, %v", text, err)
					}
				}
				return nil, err
			},
			Request: passOn,
		})
		g.join("b", process.Handler{Request: passOn}, process.Observer())
		a.awaitResult()
		clienttest.Check(t, receive(t, deferred))
		clienttest.Check(t, receive(t, deferred))
	})
}

// TestADeferredReplyAfterTheEpoch is refused.
func TestADeferredReplyAfterTheEpoch(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		late := make(chan *process.Deferred, 1)
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				if len(late) > 0 {
					return nil, nil
				}
				_, err := r.Broadcast(ctx, nil)
				if !errors.Is(err, process.ErrCancelled) {
					t.Errorf("the request ends with %v", err)
				}
				return nil, err
			},
			Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
				late <- q.Defer()
				return nil, nil
			},
		})
		a.await("process 1")
		clienttest.Check(t, g.process.Restart(t.Context(), by))
		a.awaitResult()
		if err := receive(t, late).Reply(t.Context(), nil); !errors.Is(err, process.ErrCancelled) {
			t.Errorf("it replies: %v", err)
		}
	})
}

// TestYield: other functions run while Coordinate waits for their result.
func TestYield(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 3})
		const ready = "ready"
		var all []*actor
		for _, name := range []string{"a", "b", "c"} {
			came := make(chan uint64, 3) // Process must not wait for Coordinate, which has the turn
			all = append(all, g.join(name, process.Handler{
				Prepare: func(_ context.Context, r *process.Round) error {
					go func() { _, _ = r.Send(r.Context(), r.Coordinator(), ready) }()
					return nil
				},
				Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
					for range r.Size() {
						process.Yield(ctx, func() { <-came })
					}
					return nil, nil
				},
				Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
					came <- q.From
					return nil, nil
				},
			}))
		}
		for _, a := range all {
			a.awaitResult()
		}
		if n := all[0].count("process"); n != 3 {
			t.Errorf("the coordinator has handled %d requests", n)
		}
	})
}

// TestOneFunctionAtATime: Coordinate and Process share data without their own lock.
func TestOneFunctionAtATime(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		running := 0
		enter := func() {
			if running++; running != 1 {
				t.Error("two functions run")
			}
			time.Sleep(time.Millisecond)
			running--
		}
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				for range 5 {
					x, err := r.Start(ctx, nil)
					if err != nil {
						return nil, err
					}
					enter() // the request is here by now, and waits
					if _, err := x.Wait(ctx); err != nil {
						return nil, err
					}
					enter()
				}
				return nil, nil
			},
			Request: func(context.Context, *process.Round, *process.Request) (any, error) {
				enter()
				return nil, nil
			},
		})
		a.awaitResult()
		if a.count("process") != 5 {
			t.Errorf("it has seen %v", a.seen())
		}
	})
}

// TestValuesOfARound: values belong to one round's functions.
func TestValuesOfARound(t *testing.T) {
	type key struct{}
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{
			Prepare: func(_ context.Context, r *process.Round) error {
				if v := r.Get(key{}); v != nil {
					t.Errorf("a round begins with %v", v)
				}
				r.Set(key{}, 1)
				return nil
			},
			Coordinate: func(_ context.Context, r *process.Round) (any, error) {
				r.Set(key{}, r.Get(key{}).(int)+1)
				return nil, nil
			},
			Complete: func(_ context.Context, r *process.Round, _ *process.Result) {
				if v := r.Get(key{}); v != 2 {
					t.Errorf("it ends with %v", v)
				}
			},
		})
		a.awaitResult()
		clienttest.Check(t, g.process.Restart(t.Context(), by))
		a.await("complete 2")
	})
}

// TestSendToNoMember is refused, and Prepare cannot send.
func TestSendToNoMember(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{
			Prepare: func(ctx context.Context, r *process.Round) error {
				if _, err := r.Send(ctx, r.Self(), nil); err == nil {
					t.Error("Prepare sends")
				}
				return nil
			},
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				if _, err := r.Send(ctx, 12345, nil); !errors.Is(err, process.ErrNotFound) {
					t.Errorf("it is sent to no member: %v", err)
				}
				if _, err := r.Send(ctx, r.Self(), make(chan int)); err == nil {
					t.Error("what cannot be encoded is sent")
				}
				return nil, nil
			},
		})
		a.awaitResult()
		a.checkSeen("prepare 1", "coordinate 1", "complete 1")
	})
}
