package process_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// The member's side of a process. The machine's side is in shard/process.

// TestOneMember: the member prepares, coordinates and completes once each, in this order, and its result is readable.
func TestOneMember(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{
			Coordinate: func(context.Context, *process.Round) (any, error) { return "done", nil },
		})
		r := a.awaitResult()
		a.checkSeen("prepare 1", "coordinate 1", "complete 1")
		var text string
		if err := r.Decode(&text); err != nil || text != "done" || r.Epoch != a.first() {
			t.Errorf("the result is %q of epoch %d, %v", text, r.Epoch, err)
		}
		kept, err := g.process.Results(t.Context())
		if err != nil || len(kept) != 1 || kept[0].Epoch != r.Epoch || !slices.Equal(kept[0].Bytes(), r.Bytes()) {
			t.Errorf("hosts keep %+v, %v", kept, err)
		}
	})
}

// counter is a counting member: each round sets all members to one more than the largest value.
type counter struct{ value int }

type counterRequest struct {
	Get bool
	Put int
}

var counters = process.Typed[counterRequest, int]()

func (c *counter) handler() process.Handler {
	return process.Handler{
		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			answers, err := counters.Broadcast(ctx, r, counterRequest{Get: true})
			if err != nil {
				return nil, err
			}
			most := 0
			for _, a := range answers {
				most = max(most, a.Value)
			}
			_, err = counters.Broadcast(ctx, r, counterRequest{Put: most + 1})
			return most + 1, err
		},
		Request: counters.HandleRequest(
			func(_ context.Context, _ *process.Round, _ *process.Request, q counterRequest) (int, error) {
				if !q.Get {
					c.value = q.Put
				}
				return c.value, nil
			}),
	}
}

// TestCounter: three members that join one after the other show 1, 2, 3.
func TestCounter(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		var counts []*counter
		var all []*actor
		for i, name := range []string{"a", "b", "c"} {
			c := &counter{}
			counts = append(counts, c)
			all = append(all, g.join(name, c.handler()))
			for _, a := range all {
				a.until("the round is complete", func() bool { return a.count("complete") == i+1-slices.Index(all, a) })
			}
			synctest.Wait()
			for _, c := range counts {
				if c.value != i+1 {
					t.Errorf("after %d members a value is %d", i+1, c.value)
				}
			}
		}
	})
}

// TestBroadcastToAll: every member, including the sender, gets the request once, and replies are attributed to their
// members.
func TestBroadcastToAll(t *testing.T) { testBroadcast(t, 3) }

// TestBroadcastToOthers: the coordinator's Process is not called.
func TestBroadcastToOthers(t *testing.T) { testBroadcast(t, 2, process.Others()) }

// TestBroadcastToNone ends at once, and no member is asked.
func TestBroadcastToNone(t *testing.T) {
	testBroadcast(t, 0, process.Matching(func(*process.Peer) bool { return false }))
	testBroadcast(t, 0, process.To())
}

func testBroadcast(t *testing.T, receivers int, options ...process.SendOption) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 3})
		var all []*actor
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, g.join(name, process.Handler{
				Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
					replies, err := r.Broadcast(ctx, "hello", options...)
					return nil, errors.Join(err, checkReplies(ctx, t, r, replies, receivers))
				},
				Request: func(_ context.Context, r *process.Round, q *process.Request) (any, error) {
					var text string
					if err := q.Decode(&text); err != nil || text != "hello" || q.From != r.Coordinator() {
						t.Errorf("got %q from %d, %v", text, q.From, err)
					}
					return r.Self(), nil
				},
			}))
		}
		asked := 0
		for _, a := range all {
			a.awaitResult()
			asked += a.count("process")
			if a.count("process") > 1 {
				t.Errorf("%s is asked more than once", a.name)
			}
		}
		if asked != receivers {
			t.Errorf("%d members are asked", asked)
		}
	})
}

// checkReplies checks the set of replies to a round: from all members, all others, or none.
func checkReplies(
	ctx context.Context, t *testing.T, r *process.Round, replies process.Replies, receivers int,
) error {
	if len(replies) != receivers {
		t.Errorf("%d replies", len(replies))
	}
	members, err := r.Members(ctx)
	for _, m := range members {
		reply := replies.Of(m.ID)
		if reply == nil {
			if receivers == 3 || receivers == 2 && m.ID != r.Self() {
				t.Errorf("there is no reply of %d", m.ID)
			}
			continue
		}
		var said uint64
		if err := reply.Decode(&said); err != nil || said != m.ID || reply.Err != nil {
			t.Errorf("the reply of %d is %d: %v, %v", m.ID, said, err, reply.Err)
		}
	}
	return err
}

// TestManyJoinAtOnce: many joins cause one or two epochs, and all members await their first round.
func TestManyJoinAtOnce(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		var all []*actor
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			all = append(all, g.join(name, process.Handler{}))
		}
		for _, a := range all {
			a.awaitResult()
			if n := a.count("prepare"); n < 1 || n > 2 {
				t.Errorf("%s is prepared for %d epochs", a.name, n)
			}
		}
	})
}

// TestCoordinatorLeaves in the middle: the rest get cancel before prepare, the next oldest coordinates.
func TestCoordinatorLeaves(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		var all []*actor
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, g.join(name, process.Handler{
				Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
					if r.Size() < 3 {
						return nil, nil
					}
					<-ctx.Done()
					return nil, context.Cause(ctx)
				},
			}))
		}
		all[0].await("coordinate 1")
		clienttest.Check(t, all[0].Leave(t.Context()))
		all[0].checkSeen("prepare 1", "coordinate 1", "cancel 1", "terminate")
		all[1].awaitResult()
		all[2].awaitResult()
		all[1].checkSeen("prepare 1", "cancel 1", "prepare 2", "coordinate 2", "complete 2")
		all[2].checkSeen("prepare 1", "cancel 1", "prepare 2", "complete 2")
		if err := all[0].Err(); !errors.Is(err, process.ErrLeft) {
			t.Errorf("who has left is over by %v", err)
		}
	})
}

// TestAwait waits for the first completion. Later calls return at once.
func TestAwait(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		goOn := make(chan struct{})
		a := g.join("a", process.Handler{Coordinate: func(context.Context, *process.Round) (any, error) {
			<-goOn
			return 7, nil
		}})
		awaited := make(chan *process.Result, 1)
		go func() {
			r, err := a.Await(t.Context())
			clienttest.Check(t, err)
			awaited <- r
		}()
		a.await("coordinate 1")
		synctest.Wait()
		if len(awaited) > 0 {
			t.Fatal("nothing is complete, and Await has returned")
		}
		close(goOn)
		first := receive(t, awaited)
		done, stop := context.WithCancel(t.Context())
		stop()
		for range 2 {
			if r, err := a.Await(done); err != nil || r != first {
				t.Errorf("later it returns %+v, %v", r, err)
			}
		}
	})
}

// TestAwaitOfAMemberThatIsOver fails.
func TestAwaitOfAMemberThatIsOver(t *testing.T) {
	ended := &client.SessionEnd{}
	for _, c := range []struct {
		name string
		end  func(g *stage, s *client.Session, a *actor)
		is   func(error) bool
	}{
		{"it leaves", func(g *stage, _ *client.Session, a *actor) { _ = a.Leave(g.T.Context()) },
			func(err error) bool { return errors.Is(err, process.ErrLeft) }},
		{"its session ends", func(g *stage, s *client.Session, _ *actor) { g.Destroy(s) },
			func(err error) bool { return errors.As(err, &ended) }},
		{"its client is closed", func(g *stage, _ *client.Session, _ *actor) { _ = g.Client.Close() },
			func(err error) bool { return errors.As(err, &ended) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, 1, func(t *testing.T, g *stage) {
				s := g.Session()
				a := g.joinBy(s, "a", process.Handler{
					Coordinate: func(ctx context.Context, _ *process.Round) (any, error) {
						<-ctx.Done()
						return nil, context.Cause(ctx)
					},
				})
				failed := make(chan error, 1)
				go func() {
					_, err := a.Await(t.Context())
					failed <- err
				}()
				a.await("coordinate 1")
				c.end(g, s, a)
				if err := receive(t, failed); !c.is(err) {
					t.Errorf("Await returns %v", err)
				}
				receive(t, a.Done())
				a.checkSeen("prepare 1", "coordinate 1", "cancel 1", "terminate")
				if err := a.Err(); !c.is(err) {
					t.Errorf("the member is over by %v", err)
				}
			})
		})
	}
}

// TestAHandlerThatFailsNowAndThen: the sender sees the failure and sends again; no request is handled twice.
func TestAHandlerThatFailsNowAndThen(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		const rounds = 3
		sent, calls, failures, value := 0, 0, 0, 0
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				for {
					sent++
					_, err := r.Send(ctx, r.Self(), "more")
					if failure := (*process.ReplyError)(nil); errors.As(err, &failure) {
						failures++
						continue
					}
					return value, err
				}
			},
			Request: func(context.Context, *process.Round, *process.Request) (any, error) {
				if calls++; calls%3 == 0 {
					return nil, errors.New("it is the third")
				}
				value++
				return value, nil
			},
		})
		for i := range rounds {
			a.await("complete " + string(rune('1'+i)))
			if i < rounds-1 {
				clienttest.Check(t, g.process.Restart(t.Context(), by))
			}
		}
		synctest.Wait()
		if value != rounds || calls != sent || failures != calls/3 {
			t.Errorf("%d requests of which %d failed, %d calls, the value is %d", sent, failures, calls, value)
		}
	})
}

// TestObserversOnly: no epoch opens, and the process says why.
func TestObserversOnly(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{}, process.Observer())
		time.Sleep(never)
		s := g.state()
		if len(s.Reasons) != 1 || s.Reasons[0].Code != process.ReasonNoCandidate || s.Phase != process.Forming {
			t.Errorf("the process is %v: %+v", s.Phase, s.Reasons)
		}
		a.checkSeen()
	})
}

// TestOfTheCandidatesTheOldestCoordinates; an observer never coordinates, however old.
func TestOfTheCandidatesTheOldestCoordinates(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{}, process.Observer())
		b, c := g.join("b", process.Handler{}), g.join("c", process.Handler{})
		for _, m := range []*actor{a, b, c} {
			m.await("complete 1")
		}
		clienttest.Check(t, b.Leave(t.Context()))
		a.await("complete 2")
		c.await("complete 2")
		a.checkSeen("prepare 1", "complete 1", "prepare 2", "complete 2")
		b.checkSeen("prepare 1", "coordinate 1", "complete 1", "terminate")
		c.checkSeen("prepare 1", "complete 1", "prepare 2", "coordinate 2", "complete 2")
	})
}

// TestTwoProcessesOfASession: the processes have separate epochs, and a slow handler does not delay the other process.
func TestTwoProcessesOfASession(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		s := g.Session()
		stuck := g.joinBy(s, "a", process.Handler{Prepare: func(ctx context.Context, _ *process.Round) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}})
		stuck.await("prepare 1")
		goOn := make(chan struct{})
		m, err := process.Join(t.Context(), s, "other", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				_, err := r.Broadcast(ctx, nil)
				return nil, err
			},
			Request: func(context.Context, *process.Round, *process.Request) (any, error) {
				close(goOn)
				return nil, nil
			},
		})
		clienttest.Check(t, err)
		receive(t, goOn)
		_, err = m.Await(t.Context())
		clienttest.Check(t, err)
		stuck.checkSeen("prepare 1")
	})
}
