package pair

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
)

// leadIn is a turn's unmeasured first part: by its end the other side's work has ended, and all callers are busy again.
const leadIn = 0.1

// Callers are a side whose callers repeat operations during its turn. At the turn's end each caller finishes its
// operation and waits; a blocked caller stays in its operation.
type Callers struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	gate    atomic.Pointer[chan struct{}] // closed during the side's turn
	done    atomic.Int64
}

var _ Side = (*Callers)(nil)

// Start starts a caller for each operation.
func Start(ctx context.Context, operations []load.Operation) *Callers {
	c := &Callers{}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.shut()
	for _, operation := range operations {
		c.running.Go(func() {
			for c.pass() {
				if err := operation(c.ctx); err != nil {
					c.cancel(err)
					return
				}
				c.done.Add(1)
			}
		})
	}
	return c
}

// pass waits for the turn, and returns false if no turn follows. Within a turn, pass costs nearly nothing.
func (c *Callers) pass() bool {
	gate := *c.gate.Load()
	select {
	case <-gate:
		return true
	default:
	}
	select {
	case <-gate:
		return true
	case <-c.ctx.Done():
		return false
	}
}

func (c *Callers) shut() {
	gate := make(chan struct{})
	c.gate.Store(&gate)
}

// Turn implements Side.
func (c *Callers) Turn(d time.Duration) (done int64, took time.Duration, err error) {
	close(*c.gate.Load())
	time.Sleep(time.Duration(leadIn * float64(d)))
	before, began := c.done.Load(), time.Now()
	time.Sleep(d)
	done, took = c.done.Load()-before, time.Since(began)
	c.shut()
	return done, took, context.Cause(c.ctx)
}

// Stop ends the callers.
func (c *Callers) Stop() {
	c.cancel(context.Canceled)
	c.running.Wait()
}
