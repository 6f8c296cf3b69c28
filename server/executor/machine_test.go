package executor

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/test/memlog"
)

// machine is one host of a fleet: its disk, and its process while running. It provides everything that the package
// depends on.
type machine struct {
	fleet       *fleet
	id          shard.HostID
	name        string
	incarnation hosts.Incarnation
	wiped       bool
	full        atomic.Bool                    // its disk is
	speed       atomic.Pointer[governor.Speed] // nil: not measured
	refuses     atomic.Bool                    // the replicas that it is to start
	emptied     atomic.Bool                    // its machine of the meta shard is, and begins anew
	quits       bool                           // it stops in order and does not boot again by itself

	mu       sync.Mutex
	disk     map[hosts.ShardID]uint64 // replicas started with the process
	gone     map[hold]bool            // discarded
	boot     uint64
	running  bool
	diedAt   time.Time
	held     map[hosts.ShardID]Held
	meta     *metaMachine
	agent    *Agent
	executor *Executor
	cancel   context.CancelFunc
}

func (f *fleet) machine(name string) *machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &machine{fleet: f, name: name, incarnation: hosts.Incarnation{byte(len(f.hosts) + 1), 7},
		disk: make(map[hosts.ShardID]uint64), gone: make(map[hold]bool)}
}

func (m *machine) addresses() hosts.Addresses {
	return hosts.Addresses{Raft: fmt.Sprintf("%s-%x:1", m.name, m.incarnation[:1]),
		Client: fmt.Sprintf("%s-%x:2", m.name, m.incarnation[:1])}
}

// start starts the process.
func (m *machine) start() {
	m.fleet.net.Restart(m.id)
	m.mu.Lock()
	m.boot++
	m.running, m.quits, m.meta = true, false, nil
	m.held = make(map[hosts.ShardID]Held)
	m.agent = NewAgent(m.id, m.incarnation, m, m.full.Load, m.speedNow)
	m.executor = New(Config{Self: m.id, Meta: records{m}, Calls: m, Agent: m.agent, Log: slog.New(&m.fleet.warned)})
	ctx, cancel := context.WithCancel(m.fleet.ctx)
	m.cancel = cancel
	agent, executor := m.agent, m.executor
	for id, replica := range m.disk {
		_ = m.open(id, replica)
	}
	m.mu.Unlock()
	m.fleet.done.Go(func() { agent.Run(ctx) })
	m.fleet.done.Go(func() { executor.Run(ctx) })
	m.fleet.done.Go(func() { m.live(ctx) })
}

// open starts a replica. The caller holds the lock.
func (m *machine) open(id hosts.ShardID, replica uint64) error {
	meta := &metaMachine{host: m, metaState: metaState{records: hosts.New("c", m.fleet.shards[1:]),
		plan: plan.New(governor.Config())}}
	var machine shard.StateMachine = dataMachine{}
	if id == hosts.Meta {
		machine = meta
	}
	log, err := m.fleet.net.Join(m.id, memlog.GroupID(id), replica, machine)
	if err == nil && id == hosts.Meta {
		m.meta = meta
	}
	if err == nil {
		m.held[id] = Held{Shard: id, Replica: replica, Log: &checkedLog{Log: log, host: m, shard: id}, Last: log.Last}
	}
	return err
}

// kill ends the process at once.
func (m *machine) kill() {
	m.fleet.net.Kill(m.id)
	m.stop()
}

func (m *machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		m.cancel()
		m.running, m.diedAt = false, time.Now()
		for _, h := range m.held {
			_ = h.Log.(*checkedLog).Log.Close()
		}
		m.held = nil
	}
}

func (m *machine) down() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.running
}

// counts reports whether a governor may consider the host alive: it is, or recently was.
func (m *machine) counts() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running || time.Since(m.diedAt) < 5*time.Second
}

func (m *machine) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		m.executor.Wake()
	}
}

// live is a host's own activity: it begins terms that it leads, boots, and returns when it was considered failed.
func (m *machine) live(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		m.mu.Lock()
		meta, boot, quits, agent := m.meta, m.boot, m.quits, m.agent
		m.mu.Unlock()
		if meta == nil {
			m.sayBoot(ctx, boot)
			continue
		}
		if m.on(hosts.Meta) == nil { // its replica may have been removed before it could report its start
			m.sayBoot(ctx, boot)
			m.liveBlind(ctx, agent.Standing(), quits)
			continue
		}
		s := m.State()
		if l := m.Leadership(); l.Leader == m.id && s.Term < l.Term {
			_ = m.proposeIn(ctx, l.Term, nil)
		}
		h := s.Records.Host(m.id)
		switch {
		case h == nil || h.Start.Number < boot:
			m.sayBoot(ctx, boot)
		case quits && h.Reached() && !h.Wanted():
			m.kill()
		case quits && h.Target.Reason != hosts.ReasonShutdown:
			m.say(ctx, func(at hosts.At, r *hosts.Records) {
				r.Shutdown(at, m.id, m.incarnation, hosts.Start{Number: boot})
			})
		case !h.Wanted() && h.Target.Reason.Failed() && s.Now >= h.ReturnAfter:
			m.say(ctx, func(at hosts.At, r *hosts.Records) { r.Return(at, m.id, m.incarnation, h.Target.Epoch) })
		}
	}
}

// liveBlind is live without a meta replica: the governor sends the host its tasks.
func (m *machine) liveBlind(ctx context.Context, s Standing, quits bool) {
	switch {
	case quits && s.Current == protocol.HostOffline && s.Target == protocol.HostOffline:
		m.kill()
	case !quits && s.Target == protocol.HostOffline:
		m.say(ctx, func(at hosts.At, r *hosts.Records) { r.Return(at, m.id, m.incarnation, s.TargetEpoch) })
	}
}

// quit has the process stop in order.
func (m *machine) quit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quits = true
}

func (m *machine) sayBoot(ctx context.Context, boot uint64) {
	m.say(ctx, func(at hosts.At, r *hosts.Records) {
		r.Boot(at, hosts.Boot{Host: m.id, Incarnation: m.incarnation, Start: hosts.Start{Number: boot},
			Addresses: m.addresses(), Level: level.Newest})
	})
}

// say runs a command at the meta leader, if there is one.
func (m *machine) say(ctx context.Context, run func(hosts.At, *hosts.Records)) {
	if leader := m.fleet.leader(hosts.Meta); leader != nil && !leader.down() {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_ = leader.propose(ctx, func(at hosts.At, s *metaState) error { run(at, s.records); return nil })
	}
}

var errDown = errors.New("the host is down")

// propose proposes a command to the meta shard's log, in the term led by this host.
func (m *machine) propose(ctx context.Context, run func(hosts.At, *metaState) error) error {
	l := m.Leadership()
	if l.Leader != m.id {
		return shard.ErrNotLeader
	}
	return m.proposeIn(ctx, l.Term, run)
}

func (m *machine) proposeIn(ctx context.Context, term uint64, run func(hosts.At, *metaState) error) error {
	on := m.on(hosts.Meta)
	if on == nil {
		return errDown
	}
	f := m.fleet
	c := &metaCommand{now: f.now(), term: term, run: run, at: m, done: make(chan error, 1)}
	f.mu.Lock()
	number := len(f.commands)
	f.commands = append(f.commands, c)
	f.mu.Unlock()
	err := on.Propose(binary.LittleEndian.AppendUint64(nil, uint64(number)), func(o shard.Outcome) {
		if o != shard.OutcomeApplied {
			c.end(errors.New(o.String()))
		}
	})
	if err != nil {
		return err
	}
	select {
	case err = <-c.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return err
}

func (m *machine) on(id hosts.ShardID) *checkedLog {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok := m.held[id]; ok {
		return h.Log.(*checkedLog)
	}
	return nil
}

// Leadership implements Meta.
func (m *machine) Leadership() shard.Leadership {
	if on := m.on(hosts.Meta); on != nil {
		return on.Leadership()
	}
	return shard.Leadership{}
}

// Barrier implements Meta.
func (m *machine) Barrier(ctx context.Context) error {
	on := m.on(hosts.Meta)
	if on == nil {
		return errDown
	}
	done := make(chan error, 1)
	if err := on.Barrier(func(err error) { done <- err }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// State implements Meta.
func (m *machine) State() State {
	m.mu.Lock()
	meta := m.meta
	m.mu.Unlock()
	meta.mu.Lock()
	defer meta.mu.Unlock()
	return State{Records: meta.records.Clone(), Plan: meta.plan.Clone(), Now: max(meta.now, m.fleet.now()),
		Term: meta.term, Began: meta.base, Grace: 10_000}
}

// records is a machine as read by its executor.
type records struct{ *machine }

// State implements Meta.
func (r records) State() State {
	if r.emptied.Load() {
		return State{}
	}
	return r.machine.State()
}

// Propose implements Meta.
func (m *machine) Propose(ctx context.Context, c Command) error {
	what := fmt.Sprintf("verb %d", c.Verb)
	dropped := map[bug]Verb{bugNeverKnown: VerbKnown, bugNeverCleared: VerbCleared, bugNeverDone: VerbDone}
	if dropped[m.fleet.bug] == c.Verb {
		return errDown
	}
	if !m.act(what, false) {
		return errDown
	}
	err := m.propose(ctx, func(at hosts.At, s *metaState) error { return apply(at, s, &c) })
	if !m.act(what, true) {
		return errDown
	}
	return err
}

// act passes a governor action to the gate, and reports whether its host still runs.
func (m *machine) act(what string, over bool) bool {
	m.fleet.mu.Lock()
	gate := m.fleet.gate
	m.fleet.mu.Unlock()
	if gate != nil {
		gate(m, what, over)
	}
	return !m.down()
}

// apply applies a governor's command to the meta machine.
func apply(at hosts.At, s *metaState, c *Command) error {
	moment := plan.Moment{Now: at.Now, Term: at.Term}
	var out plan.Outcome
	var a hosts.Answer
	switch c.Verb {
	case VerbBegin:
		_, out = governor.Begin(at, s.records, s.plan, c.Term, c.Revision, c.Proposal)
	case VerbProgress:
		out = s.plan.Progress(moment, c.Act, c.Phase)
	case VerbRetry:
		out = s.plan.Retry(moment, c.Act, c.Text)
	case VerbDone:
		out = s.plan.Done(moment, c.Act)
	case VerbDrop:
		out = s.plan.Drop(moment, c.Act)
	case VerbKnown:
		a = s.records.Known(at, c.Term, c.Shard, c.Change, c.Members)
	case VerbFail:
		a = s.records.Failed(at, c.Term, c.Action.Host, c.Action.Epoch, c.Action.Reason, c.Action.Text)
	case VerbReach:
		a = s.records.Reach(at, c.Term, c.Action.Host, c.Action.Variant, c.Action.Epoch)
	case VerbCounted:
		a = s.records.Count(at, c.Term, c.Counts)
	case VerbSlow:
		a = s.records.SetSlow(at, c.Term, c.Mark.Host, c.Mark.Slow, c.Mark.Text)
	case VerbAssign:
		a = s.records.AssignSlot(at, c.Slot, c.Owner, c.Text)
	case VerbServe:
		a = s.records.MarkServing(at, c.Term, c.Action.Shard)
	case VerbRetire:
		a = s.records.Retire(at, c.Term, c.Action.Shard)
	case VerbRestart:
		a = s.records.BeginAgain(at, c.Term, c.Action.Shard, c.Action.Number, c.Action.Host)
	case VerbCleared:
		a = s.records.Cleared(at, c.Shard, c.Replica, c.Incarnation)
	}
	if out != 0 && out != plan.Applied {
		return errors.New(out.String())
	}
	if a.Status != protocol.StatusSuccess {
		return errors.New(a.Text)
	}
	return nil
}

// Call implements Calls: a stopped host never answers.
func (m *machine) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	r, err := protocol.NewRequestDecoder(0).Decode(request)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("effect %v of shard %d", r.StepExecute.Effect, r.StepExecute.ShardID)
	effect := r.Kind == protocol.KindStepExecute
	if effect && !m.act(what, false) {
		return nil, errDown
	}
	time.Sleep(time.Millisecond)
	other := m.fleet.host(to)
	if m.down() || other == nil || other.down() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	answer := other.agent.Answer(ctx, request)
	if effect && !m.act(what, true) {
		return nil, errDown
	}
	return answer, nil
}

// Held implements Replicas.
func (m *machine) Held() []Held {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Held
	for _, id := range m.fleet.shards {
		if h, ok := m.held[id]; ok {
			list = append(list, h)
		}
	}
	return list
}

// Start implements Replicas.
func (m *machine) Start(_ context.Context, id hosts.ShardID, replica uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch on, is := m.held[id]; {
	case !m.running:
		return errDown
	case m.fleet.bug == bugNeverStarted:
		return nil
	case m.gone[hold{id, replica}]:
		return errors.New("it was discarded")
	case m.refuses.Load():
		return errors.New("it starts nothing")
	case is && on.Replica == replica:
		return nil
	case is:
		_ = on.Log.(*checkedLog).Log.Close()
	}
	m.disk[id] = replica
	return m.open(id, replica)
}

// Discard implements Replicas.
func (m *machine) Discard(_ context.Context, id hosts.ShardID, replica uint64) error {
	m.mu.Lock()
	if !m.running {
		m.mu.Unlock()
		return errDown
	}
	m.gone[hold{id, replica}] = true
	if m.disk[id] == replica {
		delete(m.disk, id)
		delete(m.held, id)
	}
	m.mu.Unlock()
	return m.fleet.net.Discard(m.id, memlog.GroupID(id), replica)
}

// Renew implements Replicas.
func (m *machine) Renew(_ context.Context, e *protocol.StepExecute) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := hosts.ShardID(e.ShardID)
	on, is := m.held[id]
	switch {
	case !m.running:
		return errDown
	case is && on.Replica == e.ReplicaID:
		return nil
	case is:
		_ = on.Log.(*checkedLog).Log.Close()
		delete(m.held, id)
	}
	if err := m.fleet.net.Regroup(memlog.GroupID(id), m.id, e.ReplicaID, e.Rebuild.Group, nil); err != nil {
		return err
	}
	m.disk[id] = e.ReplicaID
	m.fleet.longest = e.Rebuild.LongestMillis
	return m.open(id, e.ReplicaID)
}

// checkedLog checks the quorum rule on each membership change.
type checkedLog struct {
	*memlog.Log
	host  *machine
	shard hosts.ShardID
}

// AddLearner implements shard.Members.
func (l *checkedLog) AddLearner(ctx context.Context, replica uint64, host shard.HostID, i shard.Incarnation,
	change uint64) error {
	return l.change("add", func() error { return l.Log.AddLearner(ctx, replica, host, i, change) })
}

// Promote implements shard.Members.
func (l *checkedLog) Promote(ctx context.Context, replica, change uint64) error {
	return l.change("promote", func() error { return l.Log.Promote(ctx, replica, change) })
}

// Remove implements shard.Members.
func (l *checkedLog) Remove(ctx context.Context, replica, change uint64) error {
	return l.change("remove", func() error { return l.Log.Remove(ctx, replica, change) })
}

// Progress applies the test's modification.
func (l *checkedLog) Progress() []shard.Progress {
	list := l.Log.Progress()
	planted, show := l.host.fleet.seen()
	for i := range list {
		if planted == bugDeaf {
			list[i].SilentMillis = 0
		}
	}
	if show != nil {
		for i := range list {
			show(l.shard, &list[i])
		}
	}
	return list
}

// change makes a change. If the host governs itself, no call has passed the gate.
func (l *checkedLog) change(what string, do func() error) error {
	f := l.host.fleet
	what = fmt.Sprintf("%s %d", what, l.shard)
	own := f.leader(hosts.Meta) == l.host
	if own && !l.host.act(what, false) {
		return errDown
	}
	err := do()
	if err == nil {
		l.check(what)
	}
	if own && !l.host.act(what, true) {
		return errDown
	}
	return err
}

// check is the quorum rule, written without the governor's code: a majority of voters is alive.
func (l *checkedLog) check(what string) {
	f, voters, live := l.host.fleet, 0, 0
	on := map[shard.HostID]bool{}
	for _, m := range f.net.Group(memlog.GroupID(l.shard)).Membership().Members {
		if on[m.Host] {
			f.violated("host %d has two replicas of shard %d", m.Host, l.shard)
		}
		on[m.Host] = true
		if m.Voter {
			voters++
			if f.host(m.Host).counts() {
				live++
			}
		}
	}
	if live < hosts.Majority(voters) {
		f.violated("after %s %d of %d voters are live", what, live, voters)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, what)
}

// speedNow is how fast the host says that it is.
func (m *machine) speedNow() governor.Speed {
	if s := m.speed.Load(); s != nil {
		return *s
	}
	return governor.Speed{}
}
