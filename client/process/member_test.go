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
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestAMemberOutlivesItsSession: the prepared round ends, and the member joins again with the replacement session.
func TestAMemberOutlivesItsSession(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		s := g.Session(client.Recreate())
		a := g.joinBy(s, "a", process.Handler{})
		a.awaitResult()
		before := a.ID()
		g.Destroy(s)
		a.await("complete 2")
		a.checkSeen("prepare 1", "coordinate 1", "complete 1", "terminate", "prepare 2", "coordinate 2", "complete 2")
		if a.ID() == before || a.ID() == 0 || a.Err() != nil {
			t.Errorf("the member was %d, and is %d: %v", before, a.ID(), a.Err())
		}
		clienttest.Check(t, a.Leave(t.Context()))
		if s := g.state(); len(s.Members) != 0 {
			t.Errorf("there are %+v", s.Members)
		}
	})
}

// TestAMemberThatIsAwayForLongJoinsAgain, and acts on nothing meanwhile.
func TestAMemberThatIsAwayForLongJoinsAgain(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		way, net := g.client()
		s := clienttest.Session(t, way, client.Recreate())
		var rounds []*process.Round
		a := g.joinBy(s, "a", process.Handler{
			Prepare: func(_ context.Context, r *process.Round) error {
				rounds = append(rounds, r)
				return nil
			},
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				if len(rounds) == 1 {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return nil, nil
			},
		})
		a.await("coordinate 1")
		net.cut(true)
		a.await("terminate")
		a.checkSeen("prepare 1", "coordinate 1", "cancel 1", "terminate")
		if _, err := rounds[0].Broadcast(t.Context(), "work"); !errors.Is(err, process.ErrCancelled) {
			t.Errorf("after its end it sends: %v", err)
		}
		net.up()
		a.awaitResult()
	})
}

// TestASessionIsOneMember: a session has one membership of a process at a time.
func TestASessionIsOneMember(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		s := g.Session()
		a := g.joinBy(s, "a", process.Handler{})
		if _, err := process.Join(t.Context(), s, name, process.Handler{}); !errors.Is(err, process.ErrJoined) {
			t.Errorf("it joins twice: %v", err)
		}
		clienttest.Check(t, a.Leave(t.Context()))
		clienttest.Check(t, a.Leave(t.Context()))
		g.joinBy(s, "a", process.Handler{}).awaitResult()
	})
}

// TestJoinThatIsGivenUpLeavesNothing behind.
func TestJoinThatIsGivenUpLeavesNothing(t *testing.T) {
	for cut := range 10 {
		play(t, 1, func(t *testing.T, g *stage) {
			s := g.Session()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(cut)*200*time.Microsecond)
			defer cancel()
			m, err := process.Join(ctx, s, name, process.Handler{})
			if err == nil {
				clienttest.Check(t, m.Leave(t.Context()))
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			time.Sleep(never)
			if state, err := g.process.Describe(t.Context()); err == nil && len(state.Members) > 0 {
				t.Errorf("there are %+v", state.Members)
			}
			g.joinBy(s, "a", process.Handler{}).awaitResult()
		})
	}
}

// TestExistingDoesNotMakeAProcess.
func TestExistingDoesNotMakeAProcess(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		s := g.Session()
		_, err := process.Join(t.Context(), s, name, process.Handler{}, process.Existing())
		if !errors.Is(err, process.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		a := g.joinBy(s, "a", process.Handler{}, process.Create(process.Spec{KeepResults: 3}),
			process.Attributes([]byte("of a")))
		state := g.state()
		if state.Spec.KeepResults != 3 || len(state.Members) != 1 || string(state.Members[0].Attributes) != "of a" ||
			state.Members[0].ID != a.ID() || state.Members[0].Name != "a" || !state.Members[0].Candidate {
			t.Errorf("the process is %+v", state)
		}
	})
}

// TestLeaveFromAHandler does not wait for the handler.
func TestLeaveFromAHandler(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		var a *actor
		joined := make(chan struct{})
		a = g.join("a", process.Handler{Complete: func(ctx context.Context, _ *process.Round, _ *process.Result) {
			<-joined
			clienttest.Check(t, a.Leave(ctx))
		}})
		close(joined)
		receive(t, a.Done())
		a.checkSeen("prepare 1", "coordinate 1", "complete 1", "terminate")
		if s := g.state(); len(s.Members) != 0 {
			t.Errorf("there are %+v", s.Members)
		}
	})
}

// TestPanics are failures with their text.
func TestPanics(t *testing.T) {
	for _, where := range []string{"Prepare", "Coordinate", "Process", "Complete", "Cancel"} {
		t.Run(where, func(t *testing.T) {
			play(t, 1, func(t *testing.T, g *stage) {
				panics := 0
				at := func(here string) {
					if here == where && panics == 0 {
						panics++
						panic("it is too much")
					}
				}
				a := g.join("a", process.Handler{
					Prepare: func(context.Context, *process.Round) error {
						at("Prepare")
						return nil
					},
					Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
						at("Coordinate")
						if where == "Cancel" && panics == 0 {
							return nil, errors.New("it is not to be")
						}
						_, err := r.Send(ctx, r.Self(), "work")
						return nil, err
					},
					Request: func(context.Context, *process.Round, *process.Request) (any, error) {
						at("Process")
						return nil, nil
					},
					Complete: func(context.Context, *process.Round, *process.Result) { at("Complete") },
					Cancel:   func(*process.Round) { at("Cancel") },
				})
				a.awaitResult()
				if panics != 1 {
					t.Errorf("%d panics: %v", panics, a.seen())
				}
				acts, err := g.process.Actions(t.Context())
				clienttest.Check(t, err)
				want := "" // the round goes on, or was over
				if where != "Complete" && where != "Cancel" {
					want = where + " panicked: it is too much"
				}
				if reason := acts[len(acts)-1].By.Reason; want != "" && !strings.Contains(reason, want) {
					t.Errorf("the round was given up by %q", reason)
				}
			})
		})
	}
}

// TestRoundOfAMember: an observer sends from outside its handler, once all members are prepared.
func TestRoundOfAMember(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		goOn := make(chan struct{})
		a := g.join("a", process.Handler{
			Prepare: func(context.Context, *process.Round) error {
				<-goOn
				return nil
			},
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				process.Yield(ctx, func() { <-ctx.Done() })
				return nil, context.Cause(ctx)
			},
			Request: func(context.Context, *process.Round, *process.Request) (any, error) { return "a", nil },
		})
		m, err := process.Join(t.Context(), g.Session(), name, process.Handler{}, process.WithName("tool"))
		clienttest.Check(t, err)
		r, err := m.Round(t.Context())
		clienttest.Check(t, err)
		sent := make(chan process.Replies, 1)
		go func() {
			replies, err := r.Broadcast(t.Context(), "work", process.Others())
			clienttest.Check(t, err)
			sent <- replies
		}()
		synctest.Wait()
		if a.count("process") > 0 {
			t.Error("a request arrives before all are prepared")
		}
		close(goOn)
		if replies := receive(t, sent); len(replies) != 1 || replies[0].From != a.ID() {
			t.Errorf("got %+v", replies)
		}
		members, err := r.Members(t.Context())
		if err != nil || len(members) != 2 || members[0].Name != "a" || members[1].ID != m.ID() ||
			members[1].Candidate {
			t.Errorf("the members are %+v, %v", members, err)
		}
		clienttest.Check(t, m.Leave(t.Context()))
		if _, err := m.Round(t.Context()); !errors.Is(err, process.ErrLeft) {
			t.Errorf("after it has left there is a round: %v", err)
		}
	})
}
