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

// Config is the dependencies of an Executor. All fields are needed.
type Config struct {
	Self  shard.HostID
	Meta  Meta
	Calls Calls
	Agent *Agent // of this host
	Log   *slog.Logger
}

// Executor executes the plan while its host leads the meta shard. Any goroutine may call its methods.
type Executor struct {
	config  Config
	planner *plan.Planner[*hosts.Records, *governor.Seen, governor.Action]
	wake    chan struct{}

	mu   sync.Mutex
	term *term // nil while this host does not govern; guarded by mu
}

// New returns an Executor that does nothing before Run.
func New(config Config) *Executor {
	return &Executor{config: config, planner: governor.Planner(), wake: make(chan struct{}, 1)}
}

// Run governs whenever this host leads the meta shard, until the context ends. When Run returns, everything that it
// started has ended.
func (e *Executor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if l := e.config.Meta.Leadership(); l.Leader == e.config.Self {
			e.govern(ctx, l.Term)
		}
		e.rest(ctx, lookEvery)
	}
}

// Wake has the plan looked at now. The host calls Wake when the records of hosts or the leadership have changed.
func (e *Executor) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// rest waits for so long, or until Wake.
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
	e.config.Log.Info("this host governs the cluster", "term", number)
	for t.lasts(ctx) {
		if t.round(ctx) {
			e.publish(t)
		}
		e.rest(ctx, t.pause())
	}
}

// publish makes a term the source of answers to questions.
func (e *Executor) publish(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}
