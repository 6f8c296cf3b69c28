package assign

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/process"
)

// ErrReassigned is the cause of the context of a part that moves to another member.
var ErrReassigned = errors.New("the share moves to another member")

// Partition is a part that a member owns.
type Partition struct {
	Name string
	// Token is the fencing token: it is larger than the tokens of all owners of the part before.
	Token uint64
}

// Handler is the work of a member on a part. The context ends when the part moves, with ErrReassigned as the cause,
// when the member leaves, with process.ErrLeft, and when the membership ends, with the reason. The part is handed over
// when the function has returned.
//
// A function that returns earlier is called again, after a pause that grows.
type Handler func(ctx context.Context, p Partition) error

// OwnedPartition is a part that a member works on.
type OwnedPartition struct {
	Partition
	// Stopping: the part was taken away, and the function has not returned.
	Stopping bool
	// Ended is how often the function has returned by itself, Err the latest error that it returned.
	Ended int
	Err   error
}

// desk has the jobs of a member.
type desk struct {
	work    Handler
	backoff retry.Backoff

	mu     sync.Mutex // guards the fields below
	jobs   map[string]*job
	closed bool // no job begins any more
}

// membership is a *process.Membership.
type membership interface {
	Context() context.Context
	Err() error
}

// membershipKey is the key of the membership in the context of a part that was given by the membership.
type membershipKey struct{}

// Err reports by the clock of this moment whether the member owns a part: nil, or why it does not. The context is the
// context of the part, or is derived from it.
//
// The context ends when the part is given to another member, but by a timer, and the timers of a program that stood
// still are late. So ask before an action that must not be done without the part, and send the token along all the
// same.
func Err(ctx context.Context) error {
	by, ok := ctx.Value(membershipKey{}).(membership)
	if !ok {
		return errNoPart
	}
	if err := by.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

var errNoPart = errors.New("the context does not belong to a share")

// job is the work on a part, from the moment when the part is given until the function has returned for good.
type job struct {
	part   Partition
	by     membership // the part was given by it
	ctx    context.Context
	stop   context.CancelCauseFunc
	before <-chan struct{} // closed when the job before is done; nil for none
	done   chan struct{}
	ended  int // guarded by the lock of the desk, as err is
	err    error
}

// start begins the work on a part that a membership was given, unless the work goes on already. If an earlier job of
// the part in this program has not ended, the work begins after the earlier job. start returns false if no work begins
// any more.
func (d *desk) start(by membership, p Partition) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	j := &job{part: p, by: by, done: make(chan struct{})}
	if old := d.jobs[p.Name]; old != nil {
		if old.by == by && old.ctx.Err() == nil {
			return true
		}
		j.before = old.done
	}
	j.ctx, j.stop = context.WithCancelCause(context.WithValue(by.Context(), membershipKey{}, by))
	d.jobs[p.Name] = j
	go d.run(j)
	return true
}

// run calls the function until the job is to end.
func (d *desk) run(j *job) {
	if j.before != nil {
		<-j.before
	}
	for j.ctx.Err() == nil {
		err := d.work(j.ctx, j.part)
		if j.ctx.Err() != nil {
			break
		}
		d.mu.Lock()
		pause := d.backoff.Pause(j.ended)
		j.ended, j.err = j.ended+1, err
		d.mu.Unlock()
		_ = retry.Wait(j.ctx, pause) // the loop looks at the context
	}
	j.stop(nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs[j.part.Name] == j {
		delete(d.jobs, j.part.Name)
	}
	close(j.done)
}

// stop ends the work on parts, and returns a channel for each part, closed at the end of the work.
func (d *desk) stop(parts []string) (stopped []<-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, part := range parts {
		if j := d.jobs[part]; j != nil {
			j.stop(ErrReassigned)
			stopped = append(stopped, j.done)
		}
	}
	return stopped
}

// close ends all work, and lets no work begin any more. It returns a channel for each part, closed at the end of the
// work.
func (d *desk) close() (stopped []<-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, j := range d.jobs {
		j.stop(process.ErrLeft)
		stopped = append(stopped, j.done)
	}
	return stopped
}

func (d *desk) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// await waits until all channels are closed, or the context ends.
func await(ctx context.Context, stopped []<-chan struct{}) error {
	for _, done := range stopped {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// held returns the parts of a membership, ordered by name. The parts of an earlier membership are left out, even if
// their work has not ended.
func (d *desk) held(by membership) []OwnedPartition {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []OwnedPartition
	for _, j := range d.jobs {
		if j.by == by {
			all = append(all, OwnedPartition{Partition: j.part, Stopping: j.ctx.Err() != nil, Ended: j.ended,
				Err: j.err})
		}
	}
	slices.SortFunc(all, func(a, b OwnedPartition) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
