package process_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestConnectionCutBeforeTheReplyIsAcknowledged: the reply comes once, and Process is not called again.
func TestConnectionCutBeforeTheReplyIsAcknowledged(t *testing.T) {
	play(t, 3, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		c, net := g.client()
		const requests = 20
		g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			for i := range requests {
				replies, err := r.Broadcast(ctx, i, process.Others())
				if err != nil {
					return nil, err
				}
				var got int
				if err := replies[0].Decode(&got); err != nil || len(replies) != 1 || got != i {
					t.Errorf("request %d: %d replies, %d, %v", i, len(replies), got, err)
				}
			}
			return nil, nil
		}})
		b := g.joinBy(clienttest.Session(t, c), "b", process.Handler{
			Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
				var i int
				err := q.Decode(&i)
				// The reply is cut off before sending, on its way, or before its answer.
				time.AfterFunc(time.Duration(i)*100*time.Microsecond, func() { net.cut(false) })
				return i, err
			},
		}, process.Observer())
		b.awaitResult()
		if b.count("process") != requests || b.count("prepare") != 1 {
			t.Errorf("b has seen %v", b.seen())
		}
	})
}

// TestDetachedMember: no epoch opens while the detached session lives.
func TestDetachedMember(t *testing.T) {
	for _, c := range []struct {
		name   string
		away   time.Duration
		epochs int
	}{{"for less than its timeout", 2 * time.Second, 1}, {"for more", 30 * time.Second, 2}} {
		t.Run(c.name, func(t *testing.T) {
			play(t, 1, func(t *testing.T, g *stage) {
				g.create(process.Spec{MinMembers: 2})
				way, net := g.client()
				a, b := g.join("a", process.Handler{}), g.join("b", process.Handler{})
				s := clienttest.Session(t, way, client.SessionTimeout(10*time.Second))
				away := g.joinBy(s, "c", process.Handler{})
				epoch := away.awaitResult().Epoch
				a.until("c has come", func() bool { return a.last() == epoch })
				b.until("c has come", func() bool { return b.last() == epoch })
				before := a.count("prepare")
				net.cut(true)
				time.Sleep(c.away)
				net.up()
				time.Sleep(never)
				if got := a.count("prepare") - before + 1; got != c.epochs {
					t.Errorf("there are %d epochs: %v", got, a.seen())
				}
				if over := away.count("terminate") > 0; over != (c.epochs > 1) {
					t.Errorf("c has seen %v", away.seen())
				}
				if a.count("complete") != b.count("complete") {
					t.Errorf("a has seen %v, b %v", a.seen(), b.seen())
				}
			})
		})
	}
}

// TestNoReplyInTime: the member is waited for and named, removed, or left out, as the spec says.
func TestNoReplyInTime(t *testing.T) {
	for _, c := range []struct {
		on    process.OnTimeout
		check func(t *testing.T, g *stage, a, slow *actor, ended chan error)
	}{
		{process.TimeoutWait, func(t *testing.T, g *stage, _, slow *actor, _ chan error) {
			s := g.awaitState("late", func(s *process.State) bool { return len(s.Reasons) > 0 && s.Reasons[0].Late })
			why := s.Reasons[0]
			if why.Code != process.ReasonReply || len(why.Named) != 1 || why.Named[0] != slow.ID() ||
				!why.Since.Happened || !strings.Contains(why.Text, "slow") {
				t.Errorf("the reason is %+v", why)
			}
		}},
		{process.TimeoutEvict, func(t *testing.T, g *stage, a, slow *actor, _ chan error) {
			receive(t, slow.Done())
			err := slow.Err()
			if !errors.Is(err, process.ErrEvicted) || !strings.Contains(err.Error(), "reply timeout") {
				t.Errorf("the slow one is over by %v", err)
			}
			slow.checkSeen("prepare 1", "process 1", "cancel 1", "terminate")
			a.awaitResult()
		}},
		{process.TimeoutFail, func(t *testing.T, g *stage, a, _ *actor, ended chan error) {
			late := &process.ReplyTimeoutError{}
			if err := receive(t, ended); !errors.As(err, &late) || !errors.Is(err, process.ErrReplyTimeout) ||
				len(late.Replies) != 1 || late.Missing != 1 || len(late.Missed) != 1 {
				t.Errorf("the sender gets %v", err)
			}
		}},
	} {
		t.Run(c.on.String(), func(t *testing.T) {
			play(t, 1, func(t *testing.T, g *stage) {
				g.create(process.Spec{MinMembers: 2, ReplyTimeout: time.Second, OnTimeout: c.on})
				ended := make(chan error, 1)
				a := g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
					if r.Size() < 2 {
						return nil, nil
					}
					_, err := r.Broadcast(ctx, "work")
					select {
					case ended <- err:
					default:
					}
					return nil, err
				}})
				slow := g.join("slow", process.Handler{
					Request: func(ctx context.Context, _ *process.Round, _ *process.Request) (any, error) {
						<-ctx.Done()
						return nil, context.Cause(ctx)
					},
				}, process.Observer())
				slow.await("process 1")
				if c.on == process.TimeoutEvict {
					clienttest.Check(t, g.process.Alter(t.Context(), by, func(s *process.Spec) error {
						s.MinMembers = 1
						return nil
					}))
				}
				c.check(t, g, a, slow, ended)
			})
		})
	}
}

// TestASendHasATimeoutOfItsOwn: the round goes on.
func TestASendHasATimeoutOfItsOwn(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				_, err := r.Send(ctx, r.Self(), "work", process.Timeout(time.Second))
				if !errors.Is(err, process.ErrReplyTimeout) {
					t.Errorf("got %v", err)
				}
				return nil, nil
			},
			Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
				q.Defer()
				return nil, nil
			},
		})
		a.awaitResult()
		a.checkSeen("prepare 1", "coordinate 1", "process 1", "complete 1")
	})
}

// TestCancelledWithSomeReplies: the error carries exactly the received replies.
func TestCancelledWithSomeReplies(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 3})
		ended := make(chan error, 1)
		replied := make(chan uint64, 3)
		coordinate := func(ctx context.Context, r *process.Round) (any, error) {
			_, err := r.Broadcast(ctx, "work")
			ended <- err
			return nil, err
		}
		handler := process.Handler{
			Coordinate: coordinate,
			Request: func(_ context.Context, r *process.Round, q *process.Request) (any, error) {
				replied <- r.Self()
				return r.Self(), nil
			},
		}
		a := g.join("a", handler)
		g.join("b", handler)
		c := g.join("c", process.Handler{
			Request: func(ctx context.Context, _ *process.Round, _ *process.Request) (any, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
		}, process.Observer())
		first, second := receive(t, replied), receive(t, replied)
		c.await("process 1")
		synctest.Wait()
		epoch := a.epochs[0] // before another epoch begins
		clienttest.Check(t, g.process.Restart(t.Context(), by))
		cancelled := &process.CancelledError{}
		err := receive(t, ended)
		if !errors.As(err, &cancelled) || !errors.Is(err, process.ErrCancelled) {
			t.Fatalf("it ends with %v", err)
		}
		if len(cancelled.Replies) != 2 || cancelled.Replies.Of(first) == nil || cancelled.Replies.Of(second) == nil ||
			cancelled.Missing != 1 || cancelled.Missed[0] != c.ID() || cancelled.Epoch != epoch {
			t.Errorf("it carries %+v", cancelled)
		}
	})
}

// TestTooMuch is refused to the sender, and the round goes on.
func TestTooMuch(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2, MaxPayload: 1000})
		goOn := make(chan struct{})
		var b *actor
		a := g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			if _, err := r.Broadcast(ctx, make([]byte, 1001)); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("too long a request: %v", err)
			}
			var open []*process.Exchange
			for len(open) < 300 {
				x, err := r.Start(ctx, len(open), process.Others())
				if errors.Is(err, client.ErrOverloaded) {
					break
				}
				if err != nil {
					return nil, err
				}
				open = append(open, x)
			}
			if len(open) != 256 {
				t.Errorf("%d requests were taken", len(open))
			}
			if _, err := r.Send(ctx, r.Self(), "I am not full"); !errors.Is(err, client.ErrOverloaded) {
				t.Errorf("more exchanges than a member may have: %v", err)
			}
			close(goOn)
			for i, x := range open {
				replies, err := x.Wait(ctx)
				if err != nil {
					return nil, err
				}
				var got int
				if err := replies[0].Decode(&got); err != nil || got != i {
					t.Errorf("the reply to %d is %d, %v", i, got, err)
				}
			}
			return nil, nil
		}})
		b = g.join("b", process.Handler{
			Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
				<-goOn
				var i int
				err := q.Decode(&i)
				return i, err
			},
		}, process.Observer())
		a.awaitResult()
		if n := b.count("process"); n != 256 {
			t.Errorf("b has handled %d requests", n)
		}
	})
}

// TestTooLongAReplyIsAFailure: the sender does not wait for ever.
func TestTooLongAReplyIsAFailure(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MaxPayload: 1000})
		results := 0
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				_, err := r.Send(ctx, r.Self(), "how long")
				failure := &process.ReplyError{}
				if !errors.As(err, &failure) || !strings.Contains(failure.Text, "rejected") {
					t.Errorf("got %v", err)
				}
				if results++; results == 1 {
					return make([]byte, 1001), nil
				}
				return nil, nil
			},
			Request: func(context.Context, *process.Round, *process.Request) (any, error) {
				return make([]byte, 1001), nil
			},
		})
		a.awaitResult()
		a.checkSeen("prepare 1", "coordinate 1", "process 1", "cancel 1",
			"prepare 2", "coordinate 2", "process 2", "complete 2")
		acts, err := g.process.Actions(t.Context())
		if err != nil || acts[len(acts)-1].Kind != process.VerbFailed || acts[len(acts)-1].By.Author != "a" {
			t.Errorf("the acts are %+v, %v", acts, err)
		}
	})
}

// TestRestartFromASnapshotInTheMiddle: the round goes on, and no request is handled twice.
func TestRestartFromASnapshotInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := clienttest.New(t, servertest.Network(func(c *memlog.Config) { c.SnapshotEvery = 1 }))
		g := &stage{st, process.New(st.Client, path, name)}
		g.create(process.Spec{MinMembers: 2})
		goOn := make(chan struct{})
		a := g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			if _, err := r.Broadcast(ctx, "before", process.Others()); err != nil {
				return nil, err
			}
			_, err := r.Broadcast(ctx, "after", process.Others())
			return "done", err
		}})
		b := g.join("b", process.Handler{
			Request: func(_ context.Context, _ *process.Round, q *process.Request) (any, error) {
				<-goOn
				return nil, nil
			},
		}, process.Observer())
		b.await("process 1")
		time.Sleep(time.Second)
		g.Server.Crash(1, true)
		clienttest.Check(t, g.Server.Restart(1))
		time.Sleep(time.Second)
		close(goOn)
		a.awaitResult()
		b.awaitResult()
		a.checkSeen("prepare 1", "coordinate 1", "complete 1")
		b.checkSeen("prepare 1", "process 1", "process 1", "complete 1")
	})
}

// TestKicked: the member is notified, by whom and why, and may join again.
func TestKicked(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		s := g.Session()
		a := g.joinBy(s, "a", process.Handler{})
		a.awaitResult()
		clienttest.Check(t,
			g.process.Evict(t.Context(), a.ID(), process.ChangeInfo{Author: "anna", Reason: "it is slow"}))
		receive(t, a.Done())
		err := a.Err()
		if !errors.Is(err, process.ErrEvicted) || !strings.Contains(err.Error(), "anna") ||
			!strings.Contains(err.Error(), "it is slow") {
			t.Errorf("the session is over by %v", err)
		}
		a.checkSeen("prepare 1", "coordinate 1", "complete 1", "terminate")
		clienttest.Check(t, a.Leave(t.Context()))
		g.joinBy(s, "a", process.Handler{}).awaitResult()
	})
}

// TestADeletedProcessEndsItsMembers, with the reason.
func TestADeletedProcessEndsItsMembers(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.join("a", process.Handler{})
		a.awaitResult()
		if err := g.process.Delete(t.Context(), false); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("it is deleted under its members: %v", err)
		}
		clienttest.Check(t, g.process.Delete(t.Context(), true))
		receive(t, a.Done())
		if err := a.Err(); !errors.Is(err, process.ErrEvicted) {
			t.Errorf("the session is over by %v", err)
		}
		if _, err := g.process.Describe(t.Context()); !errors.Is(err, process.ErrNotFound) {
			t.Errorf("it is there: %v", err)
		}
	})
}

// TestACoordinatorThatIsOverHearsSo: after its session's end a coordinator's sends and waits are cancelled, even before
// its round's context has ended.
func TestACoordinatorThatIsOverHearsSo(t *testing.T) {
	const times = 20
	for range times {
		play(t, 1, func(t *testing.T, g *stage) {
			g.create(process.Spec{})
			way, net := g.client()
			s := clienttest.Session(t, way, client.SessionTimeout(10*time.Second))
			ended := make(chan error, 2)
			g.joinBy(s, "a", process.Handler{
				Coordinate: func(_ context.Context, r *process.Round) (any, error) {
					x, err := r.Start(s.Context(), "to wait for")
					clienttest.Check(t, err)
					net.cut(true)
					go func() {
						_, err := x.Wait(s.Context())
						ended <- err
					}()
					_, err = r.Broadcast(s.Context(), "to send")
					ended <- err
					return nil, err
				},
				Request: func(ctx context.Context, _ *process.Round, _ *process.Request) (any, error) {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				},
			})
			for range 2 {
				if err := receive(t, ended); !errors.Is(err, process.ErrCancelled) ||
					!errors.Is(err, client.ErrSessionExpired) {
					t.Errorf("it ends with %v", err)
				}
			}
		})
	}
}
