package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/hostcall"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// governing is the work of a host for changes among the hosts of the cluster. On the leader of the meta shard the
// executor carries the plan out, and reports of hosts are proposed; on every host the agent obeys the executor.
type governing struct {
	host       *Host
	executor   *executor.Executor
	agent      *executor.Agent
	attendance attendance
	nodes      nodeNotes

	ctx     context.Context // ends with the host
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// errNoMember is returned for a question about sessions by a caller outside of the cluster.
var errNoMember = errors.New("server: this is for hosts that belong to the cluster")

// errNoCalls is returned for a call of a host without peers.
var errNoCalls = errors.New("server: this host reaches no others")

func (g *governing) init(h *Host) {
	g.host = h
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.agent = executor.NewAgent(h.config.ID, h.config.Incarnation, h.set,
		func() bool { return h.config.Guard != nil && h.config.Guard() != nil })
	calls := h.config.Calls
	if calls == nil {
		calls = noCalls{}
	}
	g.executor = executor.New(executor.Config{Self: h.config.ID, Meta: governorMeta{h.set}, Calls: calls,
		Agent: g.agent, Log: h.log})
	g.attendance.init(h)
	g.nodes.init(h)
}

// start starts the agent, the executor and the attendance. The replicas are open.
func (g *governing) start() {
	g.running.Go(func() { g.agent.Run(g.ctx) })
	g.running.Go(func() { g.executor.Run(g.ctx) })
	g.running.Go(func() { g.attendance.run(g.ctx) })
	if g.host.config.NotesNodes {
		g.running.Go(func() { g.nodes.run(g.ctx) })
	}
}

// close stops the goroutines of start.
func (g *governing) close() {
	g.cancel()
	g.running.Wait()
}

// changed is called when the records of hosts, or the leaders, may have changed.
func (g *governing) changed() {
	g.executor.Wake()
	g.attendance.wake()
}

// noCalls is for a host without peers.
type noCalls struct{}

func (noCalls) Call(context.Context, shard.HostID, []byte) ([]byte, error) { return nil, errNoCalls }

// Governor answers questions about changes among the hosts: see executor.Executor. Questions fail with
// executor.ErrNotGoverning if a remote host governs.
func (h *Host) Governor() *executor.Executor { return h.governing.executor }

// Answer carries out a call of a remote host: the payload of a frame, and the payload of the answer. from is the proven
// identity of the caller, 0 without proof. A payload that is no request is an error.
func (h *Host) Answer(ctx context.Context, from shard.HostID, request []byte) ([]byte, error) {
	if replica.IsHomeCall(request) {
		if from == 0 {
			return nil, errNoMember
		}
		return h.set.AnswerHome(ctx, from, request)
	}
	r, err := hostcall.Read(request)
	switch {
	case err != nil:
		return nil, fmt.Errorf("server: a call of another host: %w", err)
	case from == 0:
		return hostcall.Failure(r.Kind, protocol.Result{Status: protocol.StatusUnauthorized,
			Message: "this is for hosts that belong to the cluster"}), nil
	case h.governing.agent.Handles(r.Kind):
		return h.governing.agent.Answer(ctx, request), nil
	case r.Kind == protocol.KindHostBoot:
		return h.answerBoot(ctx, from, &r.HostBoot), nil
	case r.Kind == protocol.KindHostSay:
		return h.answerSay(ctx, from, &r.HostSay), nil
	}
	return hostcall.Failure(r.Kind, protocol.Result{Status: protocol.StatusUnsupported,
		Message: "hosts do not ask each other this"}), nil
}

// ask has the leader of the meta shard answer a request: the leader known here, or named by remote hosts.
func (g *governing) ask(ctx context.Context, m protocol.RequestMessage) (*protocol.Answer, error) {
	err := fmt.Errorf("server: %v: %w", m.Kind(), errNoLeader)
	asked := make(map[shard.HostID]bool)
	for queue := g.likely(); len(queue) > 0; {
		to := queue[0]
		if queue = queue[1:]; asked[to] {
			continue
		}
		asked[to] = true
		answer, failed := g.askOne(ctx, to, m)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("server: %v: %w", m.Kind(), errors.Join(ctx.Err(), failed))
		case failed != nil:
			err = fmt.Errorf("server: %v at host %d: %w", m.Kind(), to, failed)
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
func (g *governing) likely() []shard.HostID {
	h := g.host
	var list []shard.HostID
	if l := h.meta.Leader().Leader; l != 0 {
		list = append(list, l)
	}
	known := h.meta.Machine.Hosts()
	for _, x := range known {
		if x.Current != protocol.HostExpelled {
			list = append(list, x.ID)
		}
	}
	if len(known) == 0 {
		list = append(list, h.config.Hosts...)
	}
	return list
}

func (g *governing) askOne(ctx context.Context, to shard.HostID, m protocol.RequestMessage) (*protocol.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	h := g.host
	var payload []byte
	var err error
	switch {
	case to == h.config.ID:
		payload, err = h.Answer(ctx, to, hostcall.Request(m))
	case h.config.Calls == nil:
		err = errNoCalls
	default:
		payload, err = h.config.Calls.Call(ctx, to, hostcall.Request(m))
	}
	if err != nil {
		return nil, err
	}
	return hostcall.Result(m.Kind(), payload)
}

// nameOf returns the name of a host for people.
func (h *Host) nameOf(id shard.HostID) string {
	if x, known := h.meta.Machine.Host(id); known {
		return "host " + x.Name
	}
	return fmt.Sprintf("host %d", id)
}

// record returns the host's own record, nil if the local replica of the meta shard has no record.
func (h *Host) record() *hosts.Host { return h.meta.Machine.HostRecord(h.config.ID) }

// Do carries out a command on hosts, replicas or steps for an operator or a host, if the host leads the meta shard. An
// error says that the command had no effect, or an unknown effect; a refusal is in the result.
func (h *Host) Do(ctx context.Context, r meta.Request, by, why string) (meta.Effect, error) {
	return h.meta.Do(ctx, r, h.set.Origin(by, why))
}

// Topology returns the hosts of the cluster, their replicas and the steps, as far as this host knows; ok is false where
// the hosts have no records yet.
func (h *Host) Topology() (t meta.Topology, ok bool) { return h.meta.Machine.Topology() }

// Methods for package join: *Host is a join.Cluster.

// Leader returns the leader of the meta shard, as far as known here; zero: none.
func (h *Host) Leader() shard.HostID { return h.meta.Leader().Leader }

// Records returns the records of the hosts as applied here, with the shard time of a command proposed now. ok is
// false if the cluster has no records yet.
func (h *Host) Records() (records *hosts.Records, now uint64, ok bool) {
	t, now, ok := h.meta.Topology()
	return t.Records, now, ok
}

// Hears reports whether a host has answered the leader of the meta shard within the last two seconds.
func (h *Host) Hears(id shard.HostID) bool { return h.meta.Hears(id) }

// Join proposes that a host belongs to the cluster, and returns the answer once the command is applied here.
func (h *Host) Join(ctx context.Context, j hosts.Join) (hosts.Answer, error) {
	e, err := h.Do(ctx, &meta.HostJoin{Join: j}, "host "+j.Name, "")
	return hosts.Answer{Status: e.Status, Text: e.Message, Host: e.Host, Existed: e.Flags&meta.FlagExisted != 0}, err
}
