package loadgen

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// driver lets callers work for some time.
type driver struct {
	began    time.Time
	until    time.Duration // since began: no operation begins later
	rate     float64       // 0 for a closed loop
	next     atomic.Int64  // in an open loop: the next operation's number
	records  recorders
	timeline []report.Point
}

// load is a drive's result.
type load struct {
	began    time.Time
	seconds  float64
	latency  histogram
	failures failures
	timeline []report.Point
}

// drive runs the operations for a duration and waits until the last operation is done. If ctx ends, drive immediately
// returns the results so far, and does not count interrupted operations.
func drive(ctx context.Context, d time.Duration, rate float64, operations []operation, progress func(Progress)) load {
	x := &driver{began: time.Now(), until: d, rate: rate, records: newRecorders(len(operations))}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(d+lateStarts+patience, cancel)
	defer late.Stop()

	stop := x.observe(d, progress)
	var callers sync.WaitGroup
	for i, op := range operations {
		callers.Go(func() {
			if rate > 0 {
				x.open(ctx, work, op, x.records.of(i))
			} else {
				x.closed(ctx, work, op, x.records.of(i))
			}
		})
	}
	if len(operations) == 0 {
		sleep(ctx, d)
	}
	callers.Wait()
	took := time.Since(x.began)
	stop()

	l := load{began: x.began, seconds: took.Seconds(), timeline: x.timeline}
	l.latency, l.failures = x.records.sum()
	if rate > 0 && ctx.Err() == nil {
		due := int64(math.Ceil(rate * d.Seconds()))
		l.failures.add(notStarted, max(due-min(x.next.Load(), due), 0), "the callers could not keep up with the rate")
	}
	return l
}

// closed runs operations one after another. An operation's end is the next one's beginning, so the clock is read once
// per operation.
func (d *driver) closed(ctx, work context.Context, op operation, to *recorder) {
	for began := time.Since(d.began); began < d.until; {
		err := op(work)
		ended := time.Since(d.began)
		if ctx.Err() != nil {
			return
		}
		to.record(ended-began, err)
		began = ended
	}
}

// open repeatedly takes the next due operation among all callers, waits until it is due, and measures its time from
// then: an operation begun late, because all callers are busy, has waited as well.
func (d *driver) open(ctx, work context.Context, op operation, to *recorder) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	<-alarm.C
	for {
		n := d.next.Add(1) - 1
		due := time.Duration(float64(n) / d.rate * float64(time.Second))
		if due >= d.until {
			return
		}
		now := time.Since(d.began)
		if now > d.until+lateStarts {
			d.next.Add(-1)
			return
		}
		if due > now {
			alarm.Reset(due - now)
			select {
			case <-alarm.C:
			case <-ctx.Done():
				return
			}
		}
		err := op(work)
		took := time.Since(d.began) - due
		if ctx.Err() != nil {
			return
		}
		to.record(took, err)
	}
}

// moment is the number of operations done by a given time.
type moment struct {
	at   time.Duration
	done int64
}

// rate returns the number of operations per second since an earlier moment.
func (m moment) rate(since moment) float64 {
	return report.PerSecond(m.done-since.done, (m.at - since.at).Seconds())
}

// observe records the number of operations at intervals, and reports progress. stop ends the recording, with a last
// record.
func (dr *driver) observe(d time.Duration, progress func(Progress)) (stop func()) {
	interval := min(max(d/points, 100*time.Millisecond), 5*time.Second)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		var last, reported moment
		note := func() {
			now := moment{at: time.Since(dr.began)}
			var failed int64
			now.done, failed = dr.records.counts()
			if now.at-last.at >= interval/2 {
				dr.timeline = append(dr.timeline, report.Point{Seconds: now.at.Seconds(), PerSecond: now.rate(last)})
				last = now
			}
			if progress != nil && now.at-reported.at >= time.Second-interval/2 {
				progress(Progress{Elapsed: now.at, Duration: d, Operations: now.done, Errors: failed,
					PerSecond: now.rate(reported)})
				reported = now
			}
		}
		for {
			select {
			case <-tick.C:
				note()
			case <-end:
				note()
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// sleep waits for a duration, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
