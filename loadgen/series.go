package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// first is the number of the change that only brings all followers of an object up to date.
const first = 1

// series is one caller's changes to one object. A change has its number as data, and begins when all followers of the
// object have seen the previous change.
type series struct {
	name      string // object name
	round     *round
	followers int
	number    uint64 // the latest change's number
	data      []byte // reused for all changes
	done      atomic.Int64
	doubts    atomic.Uint64 // changes with an unknown outcome
	converge  histogram
}

// start names caller i's object, and begins the first change's round. The run's watchers are distributed over all
// callers.
func (s *series) start(r *run, kind string, i int) {
	s.name, s.round, s.data, s.converge = r.name(kind, i), newRound(), marked(r.config.Payload, 0), newHistogram()
	s.followers = r.config.share(i)
	s.round.begin(first, s.followers)
}

// next makes the next change with a function, and waits until all followers have seen it. Without an alarm, next does
// not wait.
func (s *series) next(ctx context.Context, alarm *time.Timer, change func() error) error {
	s.number++
	mark(s.data, s.number)
	if alarm != nil && s.number > first {
		s.round.begin(s.number, s.followers)
	}
	began := time.Now()
	if err := change(); err != nil {
		s.doubts.Add(1)
		return err
	}
	s.done.Add(1)
	if alarm == nil {
		return nil
	}
	if err := s.round.wait(ctx, alarm); err != nil {
		return err
	}
	s.converge.record(time.Since(began))
	return nil
}

func (s *series) times() *histogram { return &s.converge }

// timed is a caller that measures how long it takes until all followers have seen its changes.
type timed interface{ times() *histogram }

// forget clears all callers' times.
func forget[T timed](callers []T) {
	for _, c := range callers {
		*c.times() = newHistogram()
	}
}

// converged returns all callers' times together.
func converged[T timed](callers []T) *report.Quantiles {
	all := newHistogram()
	for _, c := range callers {
		all.merge(c.times())
	}
	return newMillis(&all)
}

// follow starts n followers' goroutines, which end with the run. A follower whose watch breaks fails the run.
func (r *run) follow(n int, watch func(ctx context.Context, i int) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	r.atEnd(func() {
		cancel()
		work.Wait()
	})
	for i := range n {
		work.Go(func() {
			if err := watch(ctx, i); err != nil && ctx.Err() == nil {
				r.fail(fmt.Errorf("%w: %w", errBroke, err))
			}
		})
	}
}
