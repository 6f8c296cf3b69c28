package assign_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/assign"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestPartsMoveAsMembersComeAndGo: in other products every member stops all parts at each join. Here a member continues
// with the remaining parts.
func TestPartsMoveAsMembersComeAndGo(t *testing.T) {
	play(t, 1, assign.Numbers(6), func(t *testing.T, g *stage) {
		calls := func() (n int) {
			for _, part := range []string{"0", "1", "2", "3", "4", "5"} {
				n += g.ledger.calls(part)
			}
			return n
		}
		a := g.join("a")
		g.shares([]*member{a}, 6)
		b := g.join("b")
		g.shares([]*member{a, b}, 3, 3)
		c := g.join("c")
		g.shares([]*member{a, b, c}, 2, 2, 2)
		if n := calls(); n != 6+3+2 {
			t.Errorf("the function was called %d times, and 5 parts have moved", n)
		}
		moved := b.has()
		clienttest.Check(t, b.Leave(t.Context()))
		if err := g.ends(moved[0]); !errors.Is(err, process.ErrLeft) {
			t.Errorf("the part of one who leaves ends with %v", err)
		}
		g.shares([]*member{a, c}, 3, 3)
		g.Destroy(c.session) // the member rejoins as a new member
		g.shares([]*member{a, c}, 3, 3)
		clienttest.Check(t, c.Leave(t.Context()))
		g.shares([]*member{a}, 6)
		if !errors.Is(c.Err(), process.ErrLeft) || a.Err() != nil {
			t.Errorf("one has left: %v; one has not: %v", c.Err(), a.Err())
		}
	})
}

// TestAPartIsStartedWhenItsOldOwnerHasStoppedIt: a slowly stopping part does not delay other parts.
func TestAPartIsStartedWhenItsOldOwnerHasStoppedIt(t *testing.T) {
	play(t, 1, assign.Numbers(6), func(t *testing.T, g *stage) {
		a, b := g.join("a"), g.join("b")
		g.shares([]*member{a, b}, 3, 3)
		var slow atomic.Bool
		slow.Store(true)
		a.drain = func(string) time.Duration {
			if slow.Load() {
				return time.Hour
			}
			return 0
		}
		c := g.join("c")
		time.Sleep(handedOver)
		if has := c.has(); len(has) != 1 || len(a.has()) != 2 || len(b.has()) != 2 {
			t.Fatalf("while one part takes long to stop they have %v, %v, %v", a.has(), b.has(), has)
		}
		clienttest.Check(t, b.Leave(t.Context())) // a new epoch during the move
		time.Sleep(handedOver)
		if len(a.has()) != 3 || len(c.has()) != 3 { // the first member gets the part back
			t.Fatalf("after one has left, and while one part takes long, they have %v and %v", a.has(), c.has())
		}
		slow.Store(false)
		time.Sleep(time.Hour)
		g.shares([]*member{a, c}, 3, 3)
	})
}

// TestLeavingDoesNotWaitForOthers: in other products a shutdown hangs on a different member's handover.
func TestLeavingDoesNotWaitForOthers(t *testing.T) {
	play(t, 1, assign.Numbers(4), func(t *testing.T, g *stage) {
		a := g.join("a")
		g.shares([]*member{a}, 4)
		a.drain = func(string) time.Duration { return time.Hour }
		b := g.join("b")
		time.Sleep(handedOver)
		began := time.Now()
		clienttest.Check(t, b.Leave(t.Context()))
		if d := time.Since(began); d > time.Second {
			t.Errorf("it takes %v to leave", d)
		}
		time.Sleep(time.Hour)
		g.shares([]*member{a}, 4)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := a.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its work has not ended, and it leaves with %v", err)
		}
		c := g.join("c")
		time.Sleep(handedOver)
		if has := c.has(); len(has) != 0 {
			t.Errorf("another has %v before they were stopped", has)
		}
		time.Sleep(time.Hour)
		g.shares([]*member{c}, 4)
		<-a.Done()
	})
}

// TestAMemberThatStartsAgainGetsWhatItHad: members are recognised by name, unless the parts were reassigned.
func TestAMemberThatStartsAgainGetsWhatItHad(t *testing.T) {
	play(t, 1, assign.Numbers(9), func(t *testing.T, g *stage) {
		late := assign.RebalanceDelay(5*time.Second, 5*time.Second)
		a, b, c := g.join("a", late), g.join("b", late), g.join("c", late)
		g.shares([]*member{a, b, c}, 3, 3, 3)
		for _, m := range []*member{b, a, c} {
			had := m.has()
			clienttest.Check(t, m.Leave(t.Context()))
			time.Sleep(time.Second)
			again := g.join(m.name, late)
			time.Sleep(2 * handedOver)
			if has := again.has(); !slices.Equal(has, had) {
				t.Errorf("%s has %v, and had %v before", m.name, has, had)
			}
		}
	})
}

func TestAMemberThatIsPutOut(t *testing.T) {
	play(t, 1, assign.Numbers(4), func(t *testing.T, g *stage) {
		a, b := g.join("a"), g.join("b")
		g.shares([]*member{a, b}, 2, 2)
		part := a.has()[0]
		members, err := g.process().Members(t.Context())
		clienttest.Check(t, err)
		by := process.ChangeInfo{Author: "anna", Reason: "it hangs"}
		clienttest.Check(t, g.process().Evict(t.Context(), members[0].ID, by))
		if err := g.ends(part); !errors.Is(err, process.ErrEvicted) {
			t.Errorf("the part of one who was put out ends with %v", err)
		}
		<-a.Done()
		g.shares([]*member{b}, 4)
	})
}

func TestWorkThatReturnsIsDoneAgain(t *testing.T) {
	play(t, 1, assign.Names("x"), func(t *testing.T, g *stage) {
		var calls atomic.Int32
		m, err := assign.Join(t.Context(), g.Session(), name, g.parts,
			func(ctx context.Context, _ assign.Partition) error {
				if calls.Add(1) <= 3 {
					return errBroken
				}
				<-ctx.Done()
				return nil
			}, assign.Backoff(time.Second, 2*time.Second))
		clienttest.Check(t, err)
		time.Sleep(handedOver)
		held := m.Partitions()
		if len(held) != 1 || held[0].Name != "x" || held[0].Ended != 3 || held[0].Err != errBroken ||
			calls.Load() != 4 {
			t.Errorf("after %d calls it holds %+v", calls.Load(), held)
		}
		clienttest.Check(t, m.Leave(t.Context()))
	})
}

func TestADivisionOfOnesOwn(t *testing.T) {
	play(t, 1, assign.Names("x", "y", "z"), func(t *testing.T, g *stage) {
		var broken atomic.Bool
		strongest := assign.WithStrategy(func(parts []string, takers []assign.Candidate) [][]string {
			shares := make([][]string, len(takers))
			for i, taker := range takers {
				switch {
				case broken.Load():
					shares[i] = parts // to each
				case string(taker.Attributes) == "strong":
					shares[i] = parts[:2]
				}
			}
			return shares
		})
		a := g.join("a", strongest)
		b := g.join("b", strongest, assign.Attributes([]byte("strong")))
		time.Sleep(handedOver)
		current := g.assignment()
		if len(a.has()) != 0 || len(b.has()) != 2 || !slices.Equal(current.Unassigned, []string{"z"}) {
			t.Fatalf("they have %v and %v: %+v", a.has(), b.has(), current)
		}
		broken.Store(true)
		c := g.join("c", strongest)
		time.Sleep(handedOver)
		if len(b.has()) != 2 || len(c.has()) != 0 {
			t.Errorf("what cannot be divided is divided: %v, %v", b.has(), c.has())
		}
		state, err := g.process().Describe(t.Context())
		clienttest.Check(t, err)
		if act := state.LastAct; act.Kind != process.VerbFailed || !strings.Contains(act.By.Reason, `the share "x"`) {
			t.Errorf("operators read %+v", act)
		}
		broken.Store(false)
		time.Sleep(handedOver)
		if state, err = g.process().Describe(t.Context()); err != nil || state.Phase != process.Complete {
			t.Errorf("it is %v, %v", state.Phase, err)
		}
	})
}

func TestThePartsChange(t *testing.T) {
	var parts atomic.Pointer[[]string]
	parts.Store(&[]string{"x", "y"})
	play(t, 1, func() ([]string, error) { return *parts.Load(), nil }, func(t *testing.T, g *stage) {
		a, b := g.join("a"), g.join("b")
		g.shares([]*member{a, b}, 1, 1)
		parts.Store(&[]string{"y", "z", "w"})
		clienttest.Check(t, g.process().Restart(t.Context(), process.ChangeInfo{Author: "anna", Reason: "other parts"}))
		time.Sleep(handedOver)
		if n := len(a.has()) + len(b.has()); n != 3 || g.ledger.calls("y") != 1 {
			t.Errorf("they have %v and %v", a.has(), b.has())
		}
		if err := g.ends("x"); !errors.Is(err, assign.ErrReassigned) {
			t.Errorf("a part that is no more ends with %v", err)
		}
	})
}

func TestWhoLooksOnGetsNothing(t *testing.T) {
	play(t, 1, assign.Numbers(2), func(t *testing.T, g *stage) {
		m, err := process.Join(t.Context(), g.Session(), name, process.Handler{}, process.Observer())
		clienttest.Check(t, err)
		a := g.join("a")
		g.shares([]*member{a}, 2)
		clienttest.Check(t, m.Leave(t.Context()))
	})
}

func TestASessionTakesPartOnce(t *testing.T) {
	play(t, 1, assign.Numbers(2), func(t *testing.T, g *stage) {
		a := g.join("a")
		_, err := assign.Join(t.Context(), a.session, name, g.parts, a.work)
		if !errors.Is(err, process.ErrJoined) {
			t.Errorf("it takes part twice: %v", err)
		}
	})
}

func TestReadingAssignments(t *testing.T) {
	play(t, 1, assign.Numbers(2), func(t *testing.T, g *stage) {
		if a := g.assignment(); a.Epoch != 0 {
			t.Errorf("there is none, and it is %+v", a)
		}
		if _, err := assign.Current(t.Context(), g.Client, "/nowhere", name); !errors.Is(err, client.ErrNodeNotFound) {
			t.Errorf("of a node that is not there: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		seen := make(chan *assign.Assignment, 100)
		ended := make(chan error, 1)
		go func() {
			for a, err := range assign.Watch(ctx, g.Client, clienttest.Path, name) {
				if err != nil {
					ended <- err
					return
				}
				seen <- a
			}
		}()
		synctest.Wait()
		a := g.join("a")
		g.shares([]*member{a}, 2)
		b := g.join("b")
		g.shares([]*member{a, b}, 1, 1)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(seen)
		epoch, owners := uint64(0), 0
		for s := range seen {
			if s.Epoch <= epoch || len(s.Owners) < owners {
				t.Errorf("%+v is seen after epoch %d with %d owners", s, epoch, owners)
			}
			epoch, owners = s.Epoch, len(s.Owners)
		}
		if owners != 2 {
			t.Errorf("the last that is seen has %d owners", owners)
		}
		relaxed, err := assign.Current(t.Context(), g.Client, clienttest.Path, name, assign.Relaxed())
		if err != nil || relaxed.Epoch != epoch {
			t.Errorf("a relaxed read is of epoch %+v, %v, not %d", relaxed, err, epoch)
		}
	})
}
