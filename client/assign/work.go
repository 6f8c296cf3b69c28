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

// ErrReassigned is the cause of a partition's context if the partition moves to another member.
var ErrReassigned = errors.New("the share moves to another member")

// Partition is a unit of work that a member owns.
type Partition struct {
	Name string
	// Token is the fencing token. It is larger than the tokens of all earlier owners.
	Token uint64
}

// Handler is the work of a member on a part. The context ends when the part moves, with ErrReassigned as the cause,
// when the member leaves, with process.ErrLeft, and when the membership ends, with the reason. The part is handed over
// when the function has returned.
//
// A function that returns earlier is called again, after a pause that grows.
type Handler func(ctx context.Context, p Partition) error

// OwnedPartition is a partition that a member works on.
type OwnedPartition struct {
	Partition
	// Stopping: the part was taken away, and the function has not returned.
	Stopping bool
	// Ended counts how often the handler has returned by itself. Err is the latest error from the handler.
	Ended int
	Err   error
}

// desk runs a member's jobs.
type desk struct {
	work    Handler
	backoff retry.Backoff

	mu     sync.Mutex // guards the fields below
	jobs   map[string]*job
	closed bool // no new jobs start
}

// membership is a *process.Membership.
type membership interface {
	Context() context.Context
	Err() error
}

// membershipKey is the context key for the membership that assigned the partition.
type membershipKey struct{}

// Err checks the clock and reports whether the member still owns a partition: nil, or the reason if not. ctx is the
// partition's context or a context derived from it.
//
// The partition's context ends when the partition moves, but only by a timer, and timers fire late in a paused program.
// So call Err before an action that requires ownership, and send the token along as well.
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
	by     membership // membership that assigned the partition
	ctx    context.Context
	stop   context.CancelCauseFunc
	before <-chan struct{} // closed when the previous job is done; nil if none
	done   chan struct{}
	ended  int // guarded by the desk's lock, like err
	err    error
}

// start begins work on a partition for a membership, unless the work is already running. If an earlier job for the
// partition is still running in this program, the new job waits for it. start returns false if the desk is closed.
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

// stop ends work on partitions. It returns a channel per partition, closed when the work has ended.
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

// close ends all work and prevents new jobs. It returns a channel per partition, closed when the work has ended.
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

// held returns a membership's partitions, sorted by name. It omits partitions from an earlier membership, even if their
// work has not ended.
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
