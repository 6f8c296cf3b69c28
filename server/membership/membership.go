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
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Config is what the membership of a host goes by.
type Config struct {
	ID          shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Addresses   hosts.Addresses
	Version     string
	Level       level.Level
	Domain      hosts.Domain
	// Hosts are the ids of all hosts of the cluster, as far as known without their records.
	Hosts []shard.HostID
	// HostsChanged gets the records of all hosts, once there are records and after every change. May be nil.
	HostsChanged func(*hosts.Records)
	// Calls reaches other hosts. Nil: no host is reached.
	Calls executor.Calls
	// Full reports whether the disk of this host is nearly full.
	Full func() bool
	// Leaving reports whether this host is about to stop.
	Leaving func() bool
	Set     *replica.Set
	Log     *slog.Logger
}

// Membership is the work of a host as a member of the cluster. On the leader of the meta shard the executor carries the
// plan out, and reports of hosts are proposed; on every host the agent obeys the executor, and the registration keeps
// the record of the host up to date.
type Membership struct {
	Config
	// Executor answers questions about changes among the hosts.
	Executor     *executor.Executor
	agent        *executor.Agent
	registration registration

	reports chan struct{}   // a token for each report of commands that is under way
	ctx     context.Context // ends with the host
	cancel  context.CancelFunc
	mu      sync.Mutex // held while a goroutine starts, and while the context ends
	running sync.WaitGroup
}

// errNoMember is returned for a question about sessions by a caller outside of the cluster.
var errNoMember = errors.New("server: this is for hosts that belong to the cluster")

// errNoCalls is returned for a call of a host without peers.
var errNoCalls = errors.New("server: this host reaches no others")

// New returns the membership of a host. Nothing runs before Open.
func New(c Config) *Membership {
	m := &Membership{Config: c, reports: make(chan struct{}, reportsAtOnce)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.agent = executor.NewAgent(c.ID, c.Incarnation, c.Set, c.Full)
	calls := c.Calls
	if calls == nil {
		calls = noCalls{}
	}
	m.Executor = executor.New(executor.Config{Self: c.ID, Meta: governorMeta{c.Set}, Calls: calls, Agent: m.agent,
		Log: c.Log})
	m.registration = registration{Membership: m, wakes: make(chan struct{}, 1)}
	return m
}

// Open starts the agent, the executor and the registration. The replicas are open.
func (m *Membership) Open() {
	for _, run := range []func(context.Context){m.agent.Run, m.Executor.Run, m.registration.run} {
		m.Go(run)
	}
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

// Close stops the goroutines of Open and Go.
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

// Context ends with the host.
func (m *Membership) Context() context.Context { return m.ctx }

// Ready returns why the host is not ready, as far as its record goes.
func (m *Membership) Ready() error { return m.registration.ready() }

// Stop reports that the process is to stop, and returns when the host is offline on record, when the report is not on
// record within a second, or at the end of the context.
func (m *Membership) Stop(ctx context.Context) { m.registration.stop(ctx) }

// noCalls is for a host without peers.
type noCalls struct{}

func (noCalls) Call(context.Context, shard.HostID, []byte) ([]byte, error) { return nil, errNoCalls }

// Answer carries out a call of a remote host: the payload of a frame, and the payload of the answer. from is the proven
// identity of the caller, 0 without proof. A payload that is no request is an error.
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
		return nil, fmt.Errorf("server: a call of another host: %w", err)
	case from == 0:
		return peerrpc.Failure(r.Kind, protocol.Result{Status: protocol.StatusUnauthorized,
			Message: "this is for hosts that belong to the cluster"}), nil
	case m.agent.Handles(r.Kind):
		return m.agent.Answer(ctx, request), nil
	case r.Kind != protocol.KindHostBoot && r.Kind != protocol.KindHostNotify:
		return peerrpc.Failure(r.Kind, protocol.Result{Status: protocol.StatusUnsupported,
			Message: "hosts do not ask each other this"}), nil
	case leader != m.ID:
		return peerrpc.Failure(r.Kind, protocol.Result{Status: protocol.StatusMoved,
			Moved: protocol.Moved{LeaderHostID: uint64(leader)}}), nil
	case r.Kind == protocol.KindHostBoot:
		return m.answerBoot(ctx, from, &r.HostBoot), nil
	}
	return m.answerReport(ctx, from, &r.HostNotify), nil
}

// ask has the leader of the meta shard answer a request: the leader known here, or named by remote hosts.
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

// errNoLeader is returned if no leader of the meta shard is found.
var errNoLeader = errors.New("no host is known to lead the meta shard")

// likely returns the hosts to ask, the most likely leader of the meta shard first.
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

// nameOf returns the name of a host for people.
func (m *Membership) nameOf(id shard.HostID) string {
	if x, known := m.Set.Meta.Machine.Host(id); known {
		return "host " + x.Name
	}
	return fmt.Sprintf("host %d", id)
}

// record returns the host's own record, nil if the local replica of the meta shard has no record.
func (m *Membership) record() *hosts.Host { return m.Set.Meta.Machine.HostRecord(m.ID) }
