//go:build linux

package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// finalTimeout is the maximum time in an act until all clients know the final state: sessions of killed clients must
// expire first, at a leader that grants them a grace period.
const finalTimeout = longestLease + 30*time.Second

// trial is one node with its clients and their record: an act, or the residents.
type trial struct {
	act     Act
	node    string
	nodeID  uint64
	grace   time.Duration // of the node
	dir     string
	cluster *cluster
	network *network
	direct  *client.Client // not disturbed by network faults
	epoch   time.Duration  // of the record's clock
	record  *history.Recorder
	// residents is the record of the client that works through all acts.
	residents *history.Recorder
	log       func(format string, args ...any)
	// finalTimeout is the maximum time after all faults and programs until all clients know the final state.
	finalTimeout time.Duration
	operators    []workload.Operator // for rollouts and processes; none for residents
	lies         map[Kind]func(*trial, Fault) func()
	drivers      []Driver
	assign       func(*Assignment)

	mu          sync.Mutex // guards what follows
	clients     []clientProcess
	assignments []Assignment // latest per client
	faults      []pastFault
	counters    []counter
	dropped     []droppedNode
}

// pastFault is an injected fault.
type pastFault struct {
	Fault
	from, to history.Time
	skipped  bool
}

// run runs the act. stopped is the time at which its programs had ended.
func (t *trial) run(ctx context.Context) (stopped history.Time, err error) {
	if err := t.open(ctx); err != nil {
		return 0, err
	}
	for i := range clients + len(t.drivers) {
		random := t.act.random(10 + i)
		a := Assignment{
			Think: cmp.Or(t.act.Think,
				workload.Pick(random, 5*time.Millisecond, 20*time.Millisecond, 60*time.Millisecond)),
			WorkerPools: i < clients,
		}
		for range 4 + random.IntN(4) {
			a.Timeouts = append(a.Timeouts, workload.Pick(random, timeouts...))
		}
		number := i
		if i >= clients {
			number += resident + 1 - clients
			if t.assign != nil {
				t.assign(&a)
			}
		}
		if err := t.addClient(number, a); err != nil {
			return 0, err
		}
	}
	for _, c := range t.clients { // faults affect working clients
		if c, driven := c.(*drivenWorkers); driven {
			c.awaitConnected(ctx)
		}
	}
	var work sync.WaitGroup
	working, stop := context.WithCancel(ctx)
	defer stop()
	t.operators = t.newOperators()
	work.Go(func() { t.operate(working) })
	for _, o := range t.operators {
		work.Go(func() { o.Operate(working) })
	}
	if t.act.Batches > 0 { // otherwise hosts save hardly any snapshots
		work.Go(func() { t.killInSnapshots(working) })
		for i := range counterWriters {
			work.Go(func() { t.count(working, i) })
		}
	}
	work.Go(func() { t.watchLeaders(working) })
	if t.act.Moves {
		work.Go(func() { t.moveSlots(working) })
	}
	for _, f := range t.act.Faults {
		work.Go(func() { t.injectAt(working, f) })
	}
	workload.Sleep(working, t.act.Length)
	stop()
	work.Wait()
	if ctx.Err() != nil { // an interrupted run does not wait for the final state
		t.abandon()
		return 0, nil
	}
	if err := t.cluster.awaitReady(readyTimeout); err != nil {
		t.record.Note("all faults are over, and not all hosts serve: %v", err)
	}
	if t.act.Moves {
		t.cancelMoves(ctx)
	}
	t.awaitRest(ctx)
	return t.close(ctx), nil
}

// close stops all programs, records the final state, and closes all clients. stopped is the time at which the programs
// had ended.
func (t *trial) close(ctx context.Context) (stopped history.Time) {
	for _, c := range t.clients {
		if err := c.stopPrograms(); err != nil {
			t.record.Note("%v", err)
		}
	}
	stopped = t.record.Now()
	t.finishOperators(ctx)
	t.recordFinalState(ctx)
	for _, c := range t.clients {
		if err := c.close(); err != nil {
			t.record.Note("%v", err)
		}
	}
	for _, text := range t.cluster.takeProblems() {
		t.record.Note("%s", text)
	}
	return stopped
}

// abandon ends all clients without recording the final state.
func (t *trial) abandon() {
	for _, c := range t.clients {
		_ = c.stopPrograms()
		_ = c.close()
	}
}

// open creates the node and its semaphores.
func (t *trial) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	random := t.act.random(1)
	err := workload.Persist(ctx, func() error {
		n, err := t.direct.CreateNode(ctx, t.node, client.NodeConfig{
			SelfCheckPeriod: selfCheck, SessionGracePeriod: t.grace,
			AttachConsistency: workload.Pick(random, client.Strict, client.Relaxed),
		})
		if err == nil {
			t.nodeID = n.ID
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("chaos: open %s: %w", t.node, err)
	}
	for _, x := range targets {
		if x.Ephemeral {
			continue
		}
		o := history.Operation{
			Kind: history.Create, Semaphore: t.of(x.Name), Limit: x.Limit, Data: x.Name, Called: t.record.Now(),
		}
		if err := workload.Make(ctx, t.direct.Node(t.node), x.Name, x.Limit, []byte(x.Name)); err != nil {
			return fmt.Errorf("chaos: open %s: %w", t.node, err)
		}
		o.Outcome = history.Done
		t.record.Operation(o)
	}
	return nil
}

// of is a semaphore's name in the history.
func (t *trial) of(name string) history.Semaphore { return history.Semaphore{Node: t.node, Name: name} }

// injectAt waits until a fault is due, and injects it.
func (t *trial) injectAt(ctx context.Context, f Fault) {
	if !workload.Sleep(ctx, f.At) {
		return
	}
	t.inject(ctx, f, func() func() { return t.begin(f) })
}

// inject starts a fault now, and ends it after its duration.
func (t *trial) inject(ctx context.Context, f Fault, begin func() (end func())) {
	p := pastFault{Fault: f, from: t.record.Now()}
	over := all(t.record.Fault(f.String(), f.disturbed()), t.residents.Fault(f.String(), f.disturbed()))
	end := begin()
	p.skipped = end == nil
	if end != nil {
		t.log("%v", f)
		workload.Sleep(ctx, f.For)
		end()
	} else {
		t.log("%v: not possible now", f)
	}
	over()
	p.to = t.record.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, p)
}

// operate destroys sessions, alters the node, and drops other nodes, until the context ends.
func (t *trial) operate(ctx context.Context) {
	random := t.act.random(2)
	for n := 1; workload.Sleep(ctx, workload.UpTo(random, 6*time.Second)); n++ {
		switch ids := t.record.Living(); {
		case random.IntN(4) == 0:
			t.dropNode(ctx, n)
		case random.IntN(3) == 0:
			t.alter(ctx, client.NodeConfig{
				SessionGracePeriod: workload.Pick(random, t.grace, t.grace/2),
				AttachConsistency:  workload.Pick(random, client.Strict, client.Relaxed),
			})
		case len(ids) > 0:
			t.destroy(ctx, workload.Pick(random, ids...))
		}
	}
}

// alter changes the node's config. The session rules detect a wrong config.
func (t *trial) alter(ctx context.Context, config client.NodeConfig) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if _, err := t.direct.AlterNode(ctx, t.node, config); err != nil && ctx.Err() == nil &&
		!errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrStorageFull) {
		t.record.Note("the node cannot be altered: %v", err)
	}
}

// destroy ends a session.
func (t *trial) destroy(ctx context.Context, session uint64) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	o := history.Operation{Kind: history.Destroy, Session: session, Called: t.record.Now()}
	o.Outcome, o.Error = workload.OutcomeOf(t.direct.DestroySession(ctx, session))
	t.record.Operation(o)
}
