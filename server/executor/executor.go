package executor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// Config contains an Executor's dependencies. All fields are required.
type Config struct {
	Self  shard.HostID
	Meta  Meta
	Calls Calls
	Agent *Agent // the host's agent
	Log   *slog.Logger
}

// Executor executes the plan while its host leads the meta shard. Safe for concurrent use.
type Executor struct {
	config  Config
	planner *plan.Planner[*hosts.Records, *governor.Seen, governor.Action]
	wake    chan struct{}

	mu   sync.Mutex
	term *term // nil while the host does not govern; guarded by mu
}

// New returns an Executor that does nothing before Run.
func New(config Config) *Executor {
	return &Executor{config: config, planner: governor.Planner(), wake: make(chan struct{}, 1)}
}

// Run governs whenever the host leads the meta shard, until the context ends. Everything that Run started has ended
// when it returns.
func (e *Executor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if l := e.config.Meta.Leadership(); l.Leader == e.config.Self {
			e.govern(ctx, l.Term)
		}
		e.rest(ctx, lookEvery)
	}
}

// Wake makes the executor check the plan now. The host calls Wake after changes in host records or leadership.
func (e *Executor) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// rest waits for at most the given time, or until Wake.
func (e *Executor) rest(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-e.wake:
	case <-time.After(most):
	}
}

// govern executes the plan for one term.
func (e *Executor) govern(ctx context.Context, number uint64) {
	ctx, cancel := context.WithCancel(ctx)
	t := newTerm(e, number)
	defer func() {
		e.publish(nil)
		cancel()
		t.calls.Wait()
	}()
	if !t.begin(ctx) {
		return
	}
	e.config.Log.Info("the host is the governor", "term", number)
	for t.lasts(ctx) {
		if t.round(ctx) {
			e.publish(t)
		}
		e.rest(ctx, t.pause())
	}
}

// publish makes a term answer the governor questions.
func (e *Executor) publish(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}
