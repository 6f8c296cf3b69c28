package loadgen

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/loadgen/report"
)

var (
	// ErrCheck: a cluster guarantee was violated.
	ErrCheck = errors.New("a check failed")
	// ErrOperations: more operations failed than allowed.
	ErrOperations = errors.New("operations failed")
)

// run is a workload run, as seen by the workload.
type run struct {
	config Config
	node   string
	nodeID uint64
	owned  bool   // the node was created for this run
	prefix string // for all names, to separate runs in one node
	fleet  fleet
	// gauges read the hosts' metrics; nil if unavailable.
	gauges gauges
	// started: the hosts were started for this run, and end with it.
	started bool
	// abort ends a pointless measurement; nil outside a measurement.
	abort context.CancelCauseFunc
	// broken are the violated guarantees.
	broken violations
	// addresses are the hosts' client addresses.
	addresses []string
	// sessionOptions are the options for all sessions, created once.
	sessionOptions []client.SessionOption
	// endings are functions that stop parts of the run, called from last to first.
	endings []func()
}

// Run executes a run. When Run returns, everything started for the run, including hosts, has ended. Run returns a
// report in addition to the error if a check has failed (ErrCheck), operations have failed (ErrOperations), or the
// context has ended during the measurement.
func Run(ctx context.Context, config Config) (_ *report.Report, err error) {
	config, err = config.complete()
	if err != nil {
		return nil, err
	}
	if err := enoughFiles(config.Connections); err != nil {
		return nil, err
	}
	r := &run{config: config, prefix: unique() + "/"}
	if config.Endpoints == "" {
		r.step("starting %d host(s)", config.Hosts)
		hosts, err := startHosts(ctx, &r.config)
		if err != nil {
			return nil, fmt.Errorf("loadgen: start hosts: %w", err)
		}
		r.started = true
		guarded, ended := context.WithCancelCause(ctx)
		defer ended(nil)
		hosts.guard(ended)
		ctx = guarded
		defer func() { err = errors.Join(err, hosts.stop()) }()
	}
	if len(r.config.Admin) > 0 {
		r.gauges = newGauges(r.config.Admin)
	}
	defer r.fleet.close()
	defer r.tidy()
	if err := r.open(ctx); err != nil {
		return nil, fmt.Errorf("loadgen: %s: %w", config.Workload, err)
	}
	defer r.end()
	measuring, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	r.abort = abort
	outcome, err := r.measure(measuring)
	if err != nil {
		return outcome, fmt.Errorf("loadgen: %s: %w", config.Workload, err)
	}
	return outcome, nil
}

// fail records a violation that ends the measurement.
func (r *run) fail(err error) {
	r.broken.add(err)
	if r.abort != nil {
		r.abort(err)
	}
}

// atEnd registers a function to be called at the end of the run, however the run ends. Only prepare may call atEnd.
func (r *run) atEnd(f func()) { r.endings = append(r.endings, f) }

func (r *run) end() {
	for _, f := range slices.Backward(r.endings) {
		f()
	}
}

// step reports the current step.
func (r *run) step(format string, args ...any) {
	if r.config.Progress != nil {
		r.config.Progress(Progress{Step: fmt.Sprintf(format, args...)})
	}
}

// open opens the connections, and creates the node if necessary.
func (r *run) open(ctx context.Context) error {
	r.step("opening %d connection(s)", r.clients())
	if err := r.fleet.grow(ctx, &r.config, r.clients()); err != nil {
		return err
	}
	c := r.fleet.client(0)
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	r.config.Hosts = 0
	for _, host := range status {
		if host.Err == nil {
			r.addresses = append(r.addresses, host.Address)
		}
		if host.ID != 0 { // an endpoint without an id is no known host, and does not answer
			r.config.Hosts++
		}
	}
	r.sessionOptions = []client.SessionOption{client.SessionTimeout(r.config.SessionTimeout)}
	if r.node = r.config.Node; r.node == "" {
		r.node = "/loadgen-" + unique()
	}
	info, err := c.CreateNode(ctx, r.node, client.NodeConfig{})
	if err != nil {
		return err
	}
	r.nodeID, r.owned = info.ID, !info.Existed
	return nil
}

// clients returns the number of Clients to open at first: one per connection, unless the workload opens most
// connections itself.
func (r *run) clients() int {
	switch {
	case kinds[r.config.Workload].idles:
		return 1
	case r.ownStreams():
		return min(r.config.Connections, updaters)
	}
	return r.config.Connections
}

// tidy removes the run's objects from a cluster that continues to run. Remaining objects are harmless.
func (r *run) tidy() {
	if r.nodeID == 0 || r.started {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleaning)
	defer cancel()
	c := r.fleet.client(0)
	if r.owned {
		_ = c.DropNode(ctx, r.node)
		return
	}
	for x, err := range c.Node(r.node).Semaphores(ctx, client.Prefix(r.prefix)) {
		if err != nil {
			return
		}
		_ = c.Node(r.node).Delete(ctx, x.Name, client.Force())
	}
	for x, err := range rollout.List(ctx, c, r.node, rollout.Prefix(r.prefix)) {
		if err != nil {
			return
		}
		_ = rollout.New(c, r.node, x.Name).Delete(ctx, true)
	}
	for x, err := range process.List(ctx, c, r.node, process.Prefix(r.prefix)) {
		if err != nil {
			return
		}
		_ = process.New(c, r.node, x.Name).Delete(ctx, true)
	}
}

func unique() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// measure prepares the workload, runs it, and checks the result.
func (r *run) measure(ctx context.Context) (*report.Report, error) {
	k := kinds[r.config.Workload]
	w := k.make()
	r.step("preparing %s", k.Name)
	if err := w.prepare(ctx, r); err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	var operations []operation
	if !k.idles {
		for i := range r.config.Callers {
			operations = append(operations, w.caller(i))
		}
	}
	early := newFailures()
	if r.config.Warmup > 0 {
		r.step("warming up for %v", r.config.Warmup)
		early = drive(ctx, r.config.Warmup, r.config.Rate, operations, nil).failures
		delete(early.count, notStarted) // a warm cluster may catch up
	}
	before, err := r.gauges.read(ctx, false)
	if err != nil {
		return nil, err
	}
	w.begin()
	r.step("measuring for %v", r.config.Duration)
	own := cpuSeconds()
	l := drive(ctx, r.config.Duration, r.config.Rate, operations, r.config.Progress)
	own = cpuSeconds() - own
	l.failures.merge(&early)
	outcome := newReport(&r.config, &l)
	if own > 0 {
		outcome.LoadCPUSeconds = &own
	}
	if err := ctx.Err(); err != nil {
		w.report(outcome)
		err = fmt.Errorf("broken off: %w", context.Cause(ctx))
		if outcome.Violations = r.broken.list(); len(outcome.Violations) > 0 {
			err = fmt.Errorf("%w: %w", ErrCheck, err)
		}
		return outcome, err
	}
	after, err := r.gauges.read(ctx, false)
	if err != nil {
		return outcome, err
	}
	addUsage(outcome, before, after)
	r.step("checking")
	checking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = w.check(checking)
	w.report(outcome)
	return outcome, r.verdict(outcome, &l.failures, err)
}

// verdict returns whether the run has succeeded.
func (r *run) verdict(outcome *report.Report, f *failures, err error) error {
	if err != nil {
		r.broken.add(err)
	}
	var errs []error
	if outcome.Violations = r.broken.list(); len(outcome.Violations) > 0 {
		errs = append(errs, fmt.Errorf("%w: %s", ErrCheck, strings.Join(outcome.Violations, "; ")))
	}
	if n := f.total(); r.config.AllowErrors >= 0 && n > r.config.AllowErrors {
		errs = append(errs, fmt.Errorf("%w: %d, and %d are allowed: %s",
			ErrOperations, n, r.config.AllowErrors, f.describe()))
	}
	return errors.Join(errs...)
}
