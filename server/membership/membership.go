package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/speed"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Config configures a host's membership.
type Config struct {
	ID          shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Addresses   hosts.Addresses
	Version     string
	Level       level.Level
	Domain      hosts.Domain
	// Hosts are the ids of all hosts in the cluster, as far as known without their records.
	Hosts []shard.HostID
	// HostsChanged receives the records of all hosts as soon as there are any, and after every change. May be nil.
	HostsChanged func(*hosts.Records)
	// Calls makes calls to remote hosts. nil means that no host can be called.
	Calls executor.Calls
	// Full reports whether the host's disk is nearly full.
	Full func() bool
	// Leaving reports whether the host is about to stop.
	Leaving func() bool
	// Syncs are the times of the log's syncs. Nil: the speed of this host is not measured, and not known to others.
	Syncs *metrics.Histogram
	Set   *replica.Set
	Log   *slog.Logger
}

// Membership does a host's work as a cluster member. On the meta shard leader, the executor carries out the plan, and
// hosts' reports are proposed. On every host, the agent obeys the executor, and the registration keeps the host's
// record up to date.
type Membership struct {
	Config
	// Executor answers questions about changes among the hosts.
	Executor     *executor.Executor
	agent        *executor.Agent
	meter        *speed.Meter // nil without Syncs
	registration registration

	reports chan struct{}   // one token per command report in progress
	ctx     context.Context // ends with the host
	cancel  context.CancelFunc
	mu      sync.Mutex // held while a goroutine starts, and while the context ends
	running sync.WaitGroup
}

// errNoMember is returned for a question about sessions from a caller outside the cluster.
var errNoMember = errors.New("server: the request is for cluster members only")

// errNoCalls is returned for a call on a host without peers.
var errNoCalls = errors.New("server: the host has no connection to other hosts")

// New returns a host's membership. Nothing runs before Open.
func New(c Config) *Membership {
	m := &Membership{Config: c, reports: make(chan struct{}, reportsAtOnce)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	figures := func() governor.Speed { return governor.Speed{} }
	if c.Syncs != nil && c.Calls != nil {
		m.meter = speed.New(speed.Config{Syncs: c.Syncs, Ping: m.ping, Peers: m.peers})
		figures = m.meter.Figures
	}
	m.agent = executor.NewAgent(c.ID, c.Incarnation, c.Set, c.Full, figures)
	calls := c.Calls
	if calls == nil {
		calls = noCalls{}
	}
	m.Executor = executor.New(executor.Config{Self: c.ID, Meta: governorMeta{c.Set}, Calls: calls, Agent: m.agent,
		Log: c.Log})
	m.registration = registration{Membership: m, wakes: make(chan struct{}, 1)}
	return m
}

// Open starts the agent, the executor and the registration. The replicas must be open.
func (m *Membership) Open() {
	for _, run := range []func(context.Context){m.agent.Run, m.Executor.Run, m.registration.run} {
		m.Go(run)
	}
	if m.meter != nil {
		m.Go(m.meter.Run)
	}
}

// peers returns the other hosts that are online.
func (m *Membership) peers() (list []shard.HostID) {
	for _, x := range m.Set.Meta.Machine.Hosts() {
		if x.ID != m.ID && x.Current == protocol.HostOnline {
			list = append(list, x.ID)
		}
	}
	return list
}

// ping has another host answer at once.
func (m *Membership) ping(ctx context.Context, to shard.HostID) error {
	_, err := m.Calls.Call(ctx, to, peerrpc.Request(&protocol.Ping{}))
	return err
}

// Go runs a function on a goroutine that ends with the host: the function returns when the context ends. After Close
// the function does not run.
func (m *Membership) Go(run func(context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() == nil {
		m.running.Go(func() { run(m.ctx) })
	}
}

// Close stops the goroutines started by Open and Go.
func (m *Membership) Close() {
	m.mu.Lock()
	m.cancel()
	m.mu.Unlock()
	m.running.Wait()
}

// Changed wakes the executor and the registration. Call it if a host record or a shard leader may have changed.
func (m *Membership) Changed() {
	m.Executor.Wake()
	m.registration.wake()
}

// Context returns a context that ends with the host.
func (m *Membership) Context() context.Context { return m.ctx }

// Ready returns why the host's record makes it not ready, nil if it does not.
func (m *Membership) Ready() error { return m.registration.ready() }

// Stop reports that the process is stopping. Stop returns when the host is recorded as offline, when the report is
// not recorded within a second, or when the context ends.
func (m *Membership) Stop(ctx context.Context) { m.registration.stop(ctx) }

// noCalls is used on a host without peers.
type noCalls struct{}

func (noCalls) Call(context.Context, shard.HostID, []byte) ([]byte, error) { return nil, errNoCalls }

// Answer executes a remote host's call, given as a frame payload, and returns the answer's payload. from is the
// caller's proven identity, 0 without proof. An invalid payload is an error.
func (m *Membership) Answer(ctx context.Context, from shard.HostID, request []byte) ([]byte, error) {
	if replica.IsHomeCall(request) {
		if from == 0 {
			return nil, errNoMember
		}
		return m.Set.HomeShards.Answer(ctx, from, request)
	}
	r, err := peerrpc.Read(request)
	leader := m.Set.Meta.Leader().Leader
	switch {
	case err != nil:
		return nil, fmt.Errorf("server: request from another host: %w", err)
	case from == 0:
		return peerrpc.Failure(r.Kind, protocol.Result{Status: protocol.StatusUnauthorized,
			Message: "the request is for cluster members only"}), nil
	case r.Kind == protocol.KindSlotOffer:
		a := m.Set.AnswerOffer(ctx, &r.SlotOffer)
		return peerrpc.Answer(&a), nil
	case m.agent.Handles(r.Kind):
		return m.agent.Answer(ctx, request), nil
	case r.Kind != protocol.KindHostBoot && r.Kind != protocol.KindHostNotify:
		return peerrpc.Failure(r.Kind, protocol.Result{Status: protocol.StatusUnsupported,
			Message: "the request is not allowed between hosts"}), nil
	case leader != m.ID:
		return peerrpc.Failure(r.Kind, protocol.Result{Status: protocol.StatusMoved,
			Moved: protocol.Moved{LeaderHostID: uint64(leader)}}), nil
	case r.Kind == protocol.KindHostBoot:
		return m.answerBoot(ctx, from, &r.HostBoot), nil
	}
	return m.answerReport(ctx, from, &r.HostNotify), nil
}

// ask sends a request to the meta shard leader: the leader known here, or named by remote hosts.
func (m *Membership) ask(ctx context.Context, q protocol.RequestMessage) (*protocol.Answer, error) {
	err := fmt.Errorf("server: %v: %w", q.Kind(), errNoLeader)
	asked := make(map[shard.HostID]bool)
	for queue := m.likely(); len(queue) > 0; {
		to := queue[0]
		if queue = queue[1:]; asked[to] {
			continue
		}
		asked[to] = true
		answer, failed := m.askOne(ctx, to, q)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("server: %v: %w", q.Kind(), errors.Join(ctx.Err(), failed))
		case failed != nil:
			err = fmt.Errorf("server: %v at host %d: %w", q.Kind(), to, failed)
		case answer.Result.Status != protocol.StatusMoved:
			return answer, nil
		case answer.Result.Moved.LeaderHostID != 0:
			queue = slices.Insert(queue, 0, shard.HostID(answer.Result.Moved.LeaderHostID))
		}
	}
	return nil, err
}

// errNoLeader is returned if no meta shard leader is found.
var errNoLeader = errors.New("no host is known to lead the meta shard")

// likely returns the hosts to ask, with the most likely meta shard leader first.
func (m *Membership) likely() []shard.HostID {
	var list []shard.HostID
	if l := m.Set.Meta.Leader().Leader; l != 0 {
		list = append(list, l)
	}
	known := m.Set.Meta.Machine.Hosts()
	for _, x := range known {
		if x.Current != protocol.HostExpelled {
			list = append(list, x.ID)
		}
	}
	if len(known) == 0 {
		list = append(list, m.Hosts...)
	}
	return list
}

func (m *Membership) askOne(ctx context.Context, to shard.HostID, q protocol.RequestMessage) (*protocol.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var payload []byte
	var err error
	switch {
	case to == m.ID:
		payload, err = m.Answer(ctx, to, peerrpc.Request(q))
	case m.Calls == nil:
		err = errNoCalls
	default:
		payload, err = m.Calls.Call(ctx, to, peerrpc.Request(q))
	}
	if err != nil {
		return nil, err
	}
	return peerrpc.Result(q.Kind(), payload)
}

// nameOf returns a host's name for messages.
func (m *Membership) nameOf(id shard.HostID) string {
	if x, known := m.Set.Meta.Machine.Host(id); known {
		return "host " + x.Name
	}
	return fmt.Sprintf("host %d", id)
}

// record returns the host's own record, nil if the local meta shard replica has no record.
func (m *Membership) record() *hosts.Host { return m.Set.Meta.Machine.HostRecord(m.ID) }
