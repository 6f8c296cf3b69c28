package failover

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	election = 400 * time.Millisecond
	catchUp  = 3 * time.Second
	cycle    = time.Millisecond // about one lock's time
)

var errNoLeader = errors.New("no leader")

// pretended is a cluster whose hosts elect a leader some time after a kill.
type pretended struct {
	mu      sync.Mutex
	leader  int
	elected time.Time // when the leader begins to serve
	kills   []int
	back    time.Time // when the killed host has caught up
	refuses bool      // fail at once without a leader, instead of waiting
	slow    time.Duration
}

func (p *pretended) AwaitCaughtUp(ctx context.Context) (int, error) {
	p.mu.Lock()
	leader, back := p.leader, p.back
	p.mu.Unlock()
	select {
	case <-time.After(time.Until(back)):
		return leader, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (p *pretended) Kill(host int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kills = append(p.kills, host)
	p.leader, p.elected = (host+1)%3, time.Now().Add(election+time.Duration(len(p.kills))*p.slow)
}

func (p *pretended) Start(int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back = time.Now().Add(catchUp)
	return nil
}

// ask is an operation that takes some time. Operations under way at a kill are still answered.
func (p *pretended) ask(ctx context.Context, takes time.Duration) error {
	p.mu.Lock()
	wait := time.Until(p.elected)
	p.mu.Unlock()
	if wait > 0 && p.refuses {
		return errNoLeader
	}
	select {
	case <-time.After(max(wait, 0) + takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func callersOf(p *pretended, n int) []Caller {
	all := make([]Caller, n)
	for i := range all {
		all[i] = Caller{
			Lock:   func(ctx context.Context) error { return p.ask(ctx, cycle+time.Duration(i)*cycle/4) },
			Unlock: func(ctx context.Context) error { return p.ask(ctx, cycle/10) },
		}
	}
	return all
}

func TestTheTimeRunsFromTheKillToALockThatWasAskedForAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{}
		began := time.Now()
		r, err := Run(t.Context(), Plan{Kills: 3, Hosts: 3}, p, callersOf(p, 4))
		if err != nil {
			t.Fatal(err)
		}
		// Requests from before the kill are answered a moment after it, and do not count.
		least, most := float64((election+cycle)/time.Millisecond), float64((election+6*cycle)/time.Millisecond)
		for _, name := range []string{Next, NextWorst, Every, EveryWorst} {
			if v, ok := r.Figure(name); !ok || v < least || v > most {
				t.Errorf("%s is %v, %v; want %v to %v", name, v, ok, least, most)
			}
		}
		if v, ok := r.Figure(Failed); !ok || v != 0 || len(r.Errors) > 0 {
			t.Errorf("%v attempts failed: %v", v, r.Errors)
		}
		if took := time.Since(began); took < 2*catchUp || len(p.kills) != 3 || r.Operations != 3 {
			t.Errorf("%v kills in %v: the killed host has to catch up before the next", p.kills, took)
		}
	})
}

func TestTheWorstKillIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{slow: time.Second}
		r, err := Run(t.Context(), Plan{Kills: 3, Hosts: 3}, p, callersOf(p, 1))
		if err != nil {
			t.Fatal(err)
		}
		middle, _ := r.Figure(Next)
		worst, _ := r.Figure(NextWorst)
		if middle < 2400 || middle > 2410 || worst < 3400 || worst > 3410 {
			t.Errorf("median %v, worst %v", middle, worst)
		}
	})
}

func TestAttemptsThatFailAreCountedAndMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{refuses: true}
		r, err := Run(t.Context(), Plan{Kills: 2, Hosts: 3}, p, callersOf(p, 1))
		if err != nil {
			t.Fatal(err)
		}
		want := 2 * int64(election/afterFailure)
		if n := r.Errors[errNoLeader.Error()]; n < want-2 || n > want {
			t.Errorf("%d attempts failed, want about %d: %v", n, want, r.Errors)
		}
	})
}

func TestAClusterThatDoesNotComeBackEndsTheMeasurement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{slow: time.Hour}
		_, err := Run(t.Context(), Plan{Kills: 1, Hosts: 3}, p, callersOf(p, 1))
		if err == nil || !strings.Contains(err.Error(), "kill 1 of 1: wait for locks without the leader: not within") {
			t.Errorf("the error is %v", err)
		}
	})
}
