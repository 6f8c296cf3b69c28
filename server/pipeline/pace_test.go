package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/shard"
)

// slowed is a pipeline on a log with 8 ms rounds, in fake time.
type slowed struct{ *heldLog }

const testRound = 8 * time.Millisecond

func newSlowed(t *testing.T) *slowed {
	s := &slowed{heldLog: newHeld(t)}
	s.p.clock = time.Now
	s.p.pace.shortest = 0
	return s
}

// ask queues commands, and returns the number of batches in flight afterwards.
func (s *slowed) ask(n int) int {
	s.t.Helper()
	s.add(n, &shard.Command{Kind: shard.CmdContinue})
	s.p.Flush()
	return s.inflight()
}

func (s *slowed) inflight() int {
	_, batches := s.p.Waiting()
	return batches
}

// round has all batches in flight applied after a round.
func (s *slowed) round() int {
	time.Sleep(testRound)
	synctest.Wait()
	return s.land()
}

// learn runs rounds until the pipeline knows that rounds are slow.
func (s *slowed) learn(commands int) {
	for range shortestOf {
		s.ask(commands)
		s.round()
	}
}

func TestBatchesOverlapIfRoundsAreShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		for n := range 2 * maxInflight {
			if got, want := s.ask(1), min(n+1, maxInflight); got != want {
				t.Errorf("%d batches are in flight after %d commands, want %d", got, n+1, want)
			}
		}
		s.land()
	})
}

// TestBatchesInFlightAreBoundedInBytes: the log holds at most two full unapplied batches.
func TestBatchesInFlightAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		c := &shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: 1, Name: []byte("data"), Data: make([]byte, 60_000)}
		for range maxInflight {
			s.add(10, c)
			s.p.Flush()
		}
		size := 0
		for _, batch := range s.proposed {
			size += len(batch)
		}
		if size < maxBatchBytes/3 || size > 2*maxBatchBytes {
			t.Errorf("%d bytes are in flight, in %d batches", size, s.inflight())
		}
		s.land()
	})
}

// TestSlowRoundsWaitForAnsweredCallers: callers that send again after an answer share the next batch.
func TestSlowRoundsWaitForAnsweredCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		s.learn(10)
		for range 3 { // the first batch after a pause needs no company
			time.Sleep(time.Second)
			if got := s.ask(1); got != 1 {
				t.Fatalf("%d batches are in flight after the first command", got)
			}
			if got := s.ask(9); got != 1 {
				t.Fatalf("%d batches are in flight, want one at a time", got)
			}
			if got := s.round(); got != 1 && got != 10 {
				t.Fatalf("%d commands landed", got)
			}
			if got := s.ask(0); got != 0 {
				t.Fatal("a batch was proposed although one answered caller has not asked again")
			}
			if got := s.ask(1); got != 1 {
				t.Fatal("all answered callers have asked again, and nothing was proposed")
			}
			if got := s.round(); got != 10 {
				t.Fatalf("%d commands share a batch, want 10", got)
			}
		}
	})
}

// TestBatchesOverlapIfTheNetworkIsSlow: a command that comes during a round gets a separate round at once, unless the
// disk takes much of the round.
func TestBatchesOverlapIfTheNetworkIsSlow(t *testing.T) {
	for sync, most := range map[time.Duration]int{testRound / 10: maxInflight, testRound / 2: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newSlowed(t)
			s.p.pace.syncs = metrics.NewHistogram("syncs", "")
			for range shortestOf {
				s.p.pace.syncs.Observe(int64(sync))
			}
			s.learn(1)
			time.Sleep(time.Second)
			for n := range 2 * maxInflight {
				if got, want := s.ask(1), min(n+1, most); got != want {
					t.Errorf("sync %v: %d batches are in flight after %d commands, want %d", sync, got, n+1, want)
				}
			}
			s.round()
			s.round()
		})
	}
}

func TestASingleCallerDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		s.learn(1)
		for range 10 {
			if s.ask(1) != 1 {
				t.Fatal("the command of the only caller waits")
			}
			s.round()
		}
	})
}

// TestTheWaitForCallersEnds: callers that do not send again cause a delay of at most a fraction of a round.
func TestTheWaitForCallersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		s.learn(10)
		if s.ask(1) != 0 {
			t.Fatal("a command does not wait for the other answered callers")
		}
		time.Sleep(testRound / quietShare)
		synctest.Wait()
		if s.inflight() != 1 {
			t.Fatal("the command waits although no other came for a while")
		}
		s.round()

		s.learn(100)
		begin := time.Now()
		for s.inflight() == 0 {
			s.ask(1)
			time.Sleep(testRound / quietShare / 2)
			synctest.Wait()
		}
		if waited := time.Since(begin); waited < testRound/waitShare || waited > testRound*3/4 {
			t.Fatalf("a command waited for %v of a round of %v", waited, testRound)
		}
	})
}

// TestABusyProcessorIsNoSlowRound: one short round among long ones shows that the log is fast.
func TestABusyProcessorIsNoSlowRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		for range 3 {
			s.ask(1)
			s.land()
			for range shortestOf - 1 {
				s.ask(1)
				s.round()
			}
			if s.p.pace.slow() {
				t.Fatal("rounds count as slow")
			}
		}
	})
}

// TestADelayedCommandDoesNotWaitForCallersTwice: a delayable command is proposed when its delay is over.
func TestADelayedCommandDoesNotWaitForCallersTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowed(t)
		s.p.delay = time.Millisecond
		s.learn(1)
		time.Sleep(time.Second)
		o := Op{Delayable: true, Done: func(*shard.Effect, protocol.Status) {}}
		if !s.p.Add(o, &shard.Command{Kind: shard.CmdContinue}) {
			t.Fatal("the queue is full")
		}
		s.p.Flush()
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if s.inflight() != 1 {
			t.Fatal("the command still waits when its delay is over")
		}
	})
}
