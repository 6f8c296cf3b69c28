package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// first is the number of the change that only brings all who follow an object up to date.
const first = 1

// series is the changes of one caller to one object. A change has its number as data, and begins when all who follow
// the object have seen the change before.
type series struct {
	name      string // of the object
	round     *round
	followers int
	number    uint64 // of the latest change
	data      []byte // reused for all changes
	done      atomic.Int64
	doubts    atomic.Uint64 // changes with an unknown outcome
	converge  histogram
}

// start names the object of caller i, and begins the round of the first change. The watchers of the run are dealt out
// to all callers.
func (s *series) start(r *run, kind string, i int) {
	s.name, s.round, s.data, s.converge = r.name(kind, i), newRound(), marked(r.config.Payload, 0), newHistogram()
	s.followers = r.config.share(i)
	s.round.begin(first, s.followers)
}

// next makes the next change by a function, and waits until all followers have seen the change. Without an alarm next
// waits for no follower.
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

// timed is a caller that measures how long its changes take until all have seen them.
type timed interface{ times() *histogram }

// forget empties the times of all callers.
func forget[T timed](callers []T) {
	for _, c := range callers {
		*c.times() = newHistogram()
	}
}

// converged is the times of all callers together.
func converged[T timed](callers []T) *report.Quantiles {
	all := newHistogram()
	for _, c := range callers {
		all.merge(c.times())
	}
	return newMillis(&all)
}

// follow starts the goroutines of n followers, which end with the run. A follower whose watch breaks fails the run.
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
