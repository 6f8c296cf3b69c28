package raftlog

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// majority answers barriers under test. Every round waits until the test answers it.
type majority struct {
	began chan round
	stop  chan struct{}
}

type round struct {
	limit  time.Duration
	answer chan error
}

func (m *majority) ask(limit time.Duration, abandon <-chan struct{}) error {
	r := round{limit: limit, answer: make(chan error)}
	select {
	case m.began <- r:
	case <-m.stop:
		return shard.ErrLogClosed
	}
	select {
	case err := <-r.answer:
		return err
	case <-abandon:
		return errRoundAbandoned
	case <-time.After(limit):
		return errRoundTimeout
	case <-m.stop:
		return shard.ErrLogClosed
	}
}

// testBarriers runs a test in virtual time.
func testBarriers(t *testing.T, f func(t *testing.T, b *barriers, m *majority)) {
	synctest.Test(t, func(t *testing.T) {
		m := &majority{began: make(chan round), stop: make(chan struct{})}
		b := newBarriers(Config{}.withDefaults(), m.ask, m.stop)
		var running sync.WaitGroup
		for range barrierRounds {
			running.Go(b.run)
		}
		running.Go(b.runLate)
		f(t, b, m)
		m.end(b)
		running.Wait()
	})
}

// end closes the barriers as a log does.
func (m *majority) end(b *barriers) {
	select {
	case <-m.stop:
	default:
		b.close()
		close(m.stop)
	}
}

func mustAdd(t *testing.T, b *barriers) chan error {
	t.Helper()
	answer := make(chan error, 1)
	if err := b.add(func(err error) { answer <- err }); err != nil {
		t.Fatal(err)
	}
	return answer
}

func unanswered(answers ...chan error) bool {
	synctest.Wait()
	for _, a := range answers {
		if len(a) > 0 {
			return false
		}
	}
	return true
}

func TestABarrierIsNotAnsweredByARoundThatBeganBefore(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		before := mustAdd(t, b)
		earlier := <-m.began
		after := mustAdd(t, b)
		later := <-m.began
		earlier.answer <- nil
		if err := <-before; err != nil {
			t.Error(err)
		}
		if !unanswered(after) {
			t.Error("the round that began before the barrier answered it")
		}
		later.answer <- nil
		if err := <-after; err != nil {
			t.Error(err)
		}
	})
}

func TestBarriersThatWaitWhileRoundsAreOutShareTheNext(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		first := mustAdd(t, b)
		r1 := <-m.began
		second := mustAdd(t, b)
		r2 := <-m.began
		var waiting []chan error
		for range 1000 {
			waiting = append(waiting, mustAdd(t, b))
		}
		if !unanswered(append(waiting, first, second)...) {
			t.Error("a barrier was answered without a round")
		}
		r1.answer <- nil
		r3 := <-m.began
		r3.answer <- nil
		for _, answer := range waiting {
			if err := <-answer; err != nil {
				t.Fatal(err)
			}
		}
		r2.answer <- nil
		<-first
		<-second
		synctest.Wait()
		select {
		case <-m.began:
			t.Error("1002 barriers took more than 3 rounds")
		default:
		}
	})
}

func TestABarrierOutlivesRoundsThatFail(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		answer := mustAdd(t, b)
		for range 3 {
			(<-m.began).answer <- errRoundDropped
		}
		(<-m.began).answer <- nil
		if err := <-answer; err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestABarrierWithoutAMajorityEndsWithErrNoQuorum(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		began := time.Now()
		answer := mustAdd(t, b)
		for {
			select {
			case r := <-m.began:
				<-time.After(r.limit) // no answer comes
				continue
			case err := <-answer:
				if !errors.Is(err, shard.ErrNoQuorum) {
					t.Errorf("got %v, want ErrNoQuorum", err)
				}
				if took := time.Since(began); took < b.timeout || took > b.timeout*4/3 {
					t.Errorf("took %v, want %v and at most a third more", took, b.timeout)
				}
				return
			}
		}
	})
}

func TestANewLeaderIsAskedAtOnce(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		answer := mustAdd(t, b)
		<-m.began // the question is lost with the leader
		began := time.Now()
		b.elected.announce()
		r := <-m.began
		if waited := time.Since(began); waited > b.pause {
			t.Errorf("the next round began after %v", waited)
		}
		r.answer <- nil
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
}

func TestCloseEndsBarriersWithErrLogClosed(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		out := mustAdd(t, b)
		<-m.began
		alsoOut := mustAdd(t, b)
		<-m.began
		waiting := mustAdd(t, b)
		m.end(b)
		for _, answer := range []chan error{out, alsoOut, waiting} {
			if err := <-answer; !errors.Is(err, shard.ErrLogClosed) || errors.Is(err, shard.ErrNoQuorum) {
				t.Errorf("got %v, want ErrLogClosed alone", err)
			}
		}
		if err := b.add(func(error) { t.Error("a barrier that was refused is answered") }); !errors.Is(err,
			shard.ErrLogClosed) {
			t.Errorf("a barrier after close: %v, want ErrLogClosed", err)
		}
	})
}

func TestTooManyBarriersAreRefused(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		done := func(error) {}
		for range barrierRounds {
			mustAdd(t, b)
			<-m.began
		}
		for range maxBarriers {
			if err := b.add(done); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.add(done); !errors.Is(err, shard.ErrLogBusy) {
			t.Errorf("got %v, want ErrLogBusy", err)
		}
	})
}

// TestWhatWasLostOnTheWayToALeaderSaysNothingOfTheNext: a previously partitioned host asks again soon once it knows a
// leader.
func TestWhatWasLostOnTheWayToALeaderSaysNothingOfTheNext(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		answer := mustAdd(t, b)
		r := <-m.began
		for r.limit < 4*b.limit {
			r.answer <- errRoundDropped
			r = <-m.began
		}
		b.elected.announce()
		if r = <-m.began; r.limit != b.limit {
			t.Errorf("a new leader is given %v, want %v", r.limit, b.limit)
		}
		r.answer <- nil
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
}

// TestABarrierIsAnsweredInTimeThoughItWaitedForARound: no round outlasts the first barrier that it serves.
func TestABarrierIsAnsweredInTimeThoughItWaitedForARound(t *testing.T) {
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		go func() {
			for range m.began { // no answer comes
			}
		}()
		for range 30 {
			began := time.Now()
			answer := mustAdd(t, b)
			time.Sleep(b.timeout / 7)
			if err := <-answer; !errors.Is(err, shard.ErrNoQuorum) {
				t.Errorf("got %v, want ErrNoQuorum", err)
			}
			if took := time.Since(began); took > b.timeout+10*b.pause {
				t.Errorf("took %v, want %v", took, b.timeout)
			}
		}
		close(m.began)
	})
}

// TestBarriersOnASlowNetworkHardlyWaitForTheirRound: a barrier takes little more than one round, with many callers too:
// further rounds begin during a round.
func TestBarriersOnASlowNetworkHardlyWaitForTheirRound(t *testing.T) {
	const trip, callers = 40 * time.Millisecond, 64
	testBarriers(t, func(t *testing.T, b *barriers, m *majority) {
		var rounds, longest atomic.Int64
		go func() {
			for {
				select {
				case r := <-m.began:
					rounds.Add(1)
					time.AfterFunc(trip, func() { r.answer <- nil })
				case <-m.stop:
					return
				}
			}
		}()
		<-mustAdd(t, b) // shows how long a round takes
		began := rounds.Load()
		for range callers {
			called := time.Now()
			time.Sleep(trip / callers)
			done := func(error) { longest.Store(max(longest.Load(), int64(time.Since(called)))) }
			if err := b.add(done); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * trip)
		took := time.Duration(longest.Load())
		if limit := trip + trip/roundShare + 2*trip/callers; took == 0 || took > limit {
			t.Errorf("a barrier took %v with rounds of %v, want %v at most", took, trip, limit)
		}
		if n := rounds.Load() - began; n > 2*roundShare {
			t.Errorf("%d rounds began within %v", n, 2*trip)
		}
	})
}
