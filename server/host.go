package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/connection"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/handle/access"
	"github.com/signalbox/signalbox/server/handle/backup"
	"github.com/signalbox/signalbox/server/handle/cluster"
	"github.com/signalbox/signalbox/server/handle/node"
	"github.com/signalbox/signalbox/server/handle/object"
	"github.com/signalbox/signalbox/server/handle/session"
	handlewatch "github.com/signalbox/signalbox/server/handle/watch"
	"github.com/signalbox/signalbox/server/health"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/server/membership"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// Host is one running server. Host implements transport.Handler: all transports pass their connections to the Host.
type Host struct {
	config  Config
	log     *slog.Logger
	set     *replica.Set
	meta    *replica.Meta // from set
	core    *handle.Host  // the handlers' view of the host
	conns   *connection.Set
	gate    *caller.Gate
	opening *handlewatch.Watches
	backups *backup.Backups
	routes  routes
	metrics *metrics.Metrics
	watches *watch.Budget

	member   *membership.Membership
	history  *audit.History
	governor overview.Governor // answers questions about changes among hosts; nil if the host has none

	leaving atomic.Bool          // the host is about to stop
	load    atomic.Pointer[Load] // nil before the first report
	issues  *health.Book
	remote  health.RemoteSessions // sessions named in health issues
}

// Open starts a host. When Open returns, the host's replicas are restored and participate in their shards, and the
// host can serve connections.
func Open(config Config) (*Host, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	h := &Host{
		config: config, log: config.Log, metrics: metrics.New(),
		watches: watch.NewBudget(config.WatchBytes),
	}
	h.issues = health.New(h.gather)
	h.routes = routes{host: h, led: make(map[uint64]uint64)}
	h.metrics.Set.NewGauge(`signalbox_feature_level`, func() float64 { return float64(h.meta.Machine.Level()) })
	h.metrics.Set.NewGauge(`signalbox_cluster_generation`,
		func() float64 { return float64(h.meta.Machine.Generation().Number) })
	h.set = replica.New(replica.Config{
		Self: meta.Host{
			ID: config.ID, Name: config.Name, RaftAddress: config.RaftAddress, ClientAddress: config.ClientAddress,
			AdminAddress: config.AdminAddress, Version: config.Version, Level: config.Level,
		},
		Cluster: config.Cluster, Hosts: config.Hosts, Incarnations: config.InitialMembers, Shards: config.Shards,
		Gained: config.Replicas, Calls: config.Calls, Rejoin: config.Rejoin, Show: h.showSession, Apart: config.Apart,
		Report: func(commands []byte) { h.member.ReportCommands(commands) },
		Quotas: shard.Limits{Objects: config.ShardObjects, Bytes: config.ShardBytes}, ShardShare: config.ShardShare,
		Logs:  config.Logs,
		Delay: config.AcquireDelay, QueuedBytes: int(config.QueuedBytes), Syncs: config.LogSyncs,
		DigestInterval: config.DigestInterval,
		Halt:           config.Halt, Clock: config.Clock, NextAlarm: config.NextAlarm, Log: config.Log,
		Metrics: h.metrics, Watches: h.watches, Maintenance: h.maintain, Fits: config.Fits,
	})
	h.meta = h.set.Meta
	h.join()
	h.furnish()
	if err := h.set.Open(); err != nil {
		return nil, err
	}
	h.governor = h.member.Executor
	h.member.Open()
	if config.NotesNodes {
		h.member.Go(h.history.Run)
	}
	if config.AccessRules != nil {
		h.member.Go(h.importRules)
	}
	return h, nil
}

// showSession describes a session for a remote host.
func (h *Host) showSession(id shard.SessionID, parts []uint64) protocol.Session {
	return session.Show(h.core, id, parts)
}

// join creates the host's membership, which the replicas' loop wakes.
func (h *Host) join() {
	c := &h.config
	h.member = membership.New(membership.Config{
		ID: c.ID, Incarnation: c.Incarnation, Start: c.Start, Version: c.Version, Level: c.Level, Domain: c.Domain,
		Addresses: hosts.Addresses{Raft: c.RaftAddress, Client: c.ClientAddress, Admin: c.AdminAddress},
		Hosts:     c.Hosts, HostsChanged: c.HostsChanged, Calls: c.Calls, Set: h.set, Log: h.log,
		Full:    func() bool { return c.Guard != nil && c.Guard() != nil },
		Leaving: h.leaving.Load, Syncs: c.LogSyncs,
	})
}

// noteBackup adds an audit entry for a saved state.
func (h *Host) noteBackup(m protocol.HostNotify) error {
	return h.history.Backup(h.member.Context(), m)
}

// furnish creates everything that serves connections.
func (h *Host) furnish() {
	c := &h.config
	h.gate = caller.NewGate(caller.Config{
		Access: c.Access, Closed: c.Closed || c.AccessRules != nil, Meta: h.meta, Nodes: h.meta.Machine, Clock: c.Clock,
		Started: h.set.Started,
	})
	h.history = audit.NewHistory(audit.HistoryConfig{
		Bootstrapped: h.member.Bootstrapped, Report: h.member.Report, Gate: h.gate, Nodes: c.NotesNodes, Clock: c.Clock,
		Log: h.log,
	})
	h.core = &handle.Host{
		ID: c.ID, Name: c.Name, Cluster: c.Cluster, Version: c.Version,
		Set: h.set, Meta: h.meta, Metrics: h.metrics, Gate: h.gate, Watches: h.watches,
		Clock: c.Clock, Refusal: h.ownRefusal, AboveLevel: h.aboveLevel,
	}
	h.opening = handlewatch.New(h.core)
	h.backups = backup.New(backup.Config{Host: h.core, Note: h.noteBackup, Log: h.log})
	h.conns = connection.New(connection.Config{
		Host: clientView{h.core}, Gate: h.gate, Metrics: h.metrics, Clock: c.Clock, Started: h.set.Started,
		Handlers: h.handlers(), Limits: c.Limits, PingInterval: c.PingInterval,
		PendingBytes: int64(c.PendingBytes), PartialBytes: int64(c.PartialBytes), Log: h.log, Left: h.backups.Gone,
		Audit: &audit.Log{Nodes: h.meta.Machine, To: h.log, Clock: c.Clock, NodeChanged: h.history.NodeChanged},
	})
}

// clientView is the connections' view of the host.
type clientView struct{ *handle.Host }

// Welcome implements connection.Host.
func (v clientView) Welcome() protocol.Welcome {
	return protocol.Welcome{
		HostID: uint64(v.ID), HostName: []byte(v.Name), ClusterID: []byte(v.Cluster),
		RoutingVersion: v.RoutingVersion(), Since: v.Meta.Machine.NextAnswer(),
		Generation: v.Meta.Machine.Generation().Number,
	}
}

// RoutingVersion implements connection.Host.
func (v clientView) RoutingVersion() uint64 { return v.Meta.RoutingVersion() }

// Wake implements connection.Host.
func (v clientView) Wake() { v.Set.Wake() }

// Stir implements connection.Host.
func (v clientView) Stir() { v.Set.Stir() }

// All implements connection.Host.
func (v clientView) All() []*replica.Replica { return v.Set.All() }

// Home implements connection.Host.
func (v clientView) Home(id shard.SessionID) *replica.Replica { return v.Set.Home(id) }

// ForgetSession implements connection.Host.
func (v clientView) ForgetSession(id shard.SessionID, c replica.Conn) { v.Set.ForgetSession(id, c) }

// handlers returns the handlers for all requests. Every kind in the protocol's table has one, except the kinds that
// the connection handles itself.
func (h *Host) handlers() (all [connection.Kinds]handle.Handler) {
	table := make(handle.Table)
	for _, of := range []handle.Table{
		access.Handlers(h.core), h.backups.Handlers(), cluster.Handlers(h.core, h), node.Handlers(h.core),
		object.Handlers(h.core), session.Handlers(h.core), h.opening.Handlers(),
	} {
		maps.Copy(table, of)
	}
	for k, handler := range table {
		all[k] = handler
	}
	return all
}

// Close stops the host. Close the transports first; call Leave before that to let clients and leadership move away
// gracefully.
func (h *Host) Close() {
	h.member.Close()
	h.set.Close()
}

// Ready returns why the host cannot serve yet, nil if it can.
func (h *Host) Ready() error { return h.Readiness().Lacks }

// Readiness returns whether the host can serve.
func (h *Host) Readiness() replica.Readiness {
	is := h.set.Readiness()
	if is.Lacks == nil {
		is.Lacks = h.member.Ready()
	}
	c := &h.config
	if is.Lacks == nil && (c.AccessRules != nil || c.Access == nil && c.Closed) && h.meta.Rights().Open() {
		is.Lacks = errors.New("the cluster has no access rules yet: the leader of the meta shard will import its " +
			"--access-file")
	}
	return is
}

// Leave transfers every shard's leadership to a remote host if possible, notifies clients that the host stops, and
// asks the governor to relieve the host from its tasks. Leave returns when the host is recorded as offline and leads
// nothing, when no governor can help, or at the time limit.
func (h *Host) Leave(within time.Duration) {
	h.leaving.Store(true)
	deadline := h.config.Clock().Add(within)
	for h.set.LeadsData() && h.config.Clock().Before(deadline) {
		h.set.HandOver()
		time.Sleep(replica.Tick)
	}
	h.conns.Push(true, &protocol.GoingAway{
		Result: protocol.Result{Status: protocol.StatusUnavailable, Message: "the host stops"}})
	ctx, cancel := context.WithTimeout(context.Background(), max(deadline.Sub(h.config.Clock()), 0))
	defer cancel()
	h.member.Stop(ctx)
	for h.set.HandOver() && h.config.Clock().Before(deadline) {
		time.Sleep(replica.Tick)
	}
}

// Opened implements transport.Handler.
func (h *Host) Opened(peer transport.Conn) transport.Events {
	if h.leaving.Load() || h.set.Foreign() {
		return nil
	}
	return h.conns.Open(peer)
}

// ownRefusal returns the reason if the host rejects changes in all shards because its own disk or memory is nearly
// full.
func (h *Host) ownRefusal() error {
	for _, guard := range []func() error{h.config.Guard, h.config.Memory} {
		if guard == nil {
			continue
		}
		if err := guard(); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns the reason if the host rejects changes in a shard, nil if it accepts them.
func (h *Host) refusal() error {
	if err := h.ownRefusal(); err != nil {
		return err
	}
	for _, r := range h.set.All() {
		if err := r.Guard(); err != nil {
			return err
		}
	}
	return h.meta.Guard()
}

// maintain does the host's work in a round of the loop. busy reports whether connections are open, so that the next
// round has work too.
func (h *Host) maintain(now time.Time, changed bool) (busy bool) {
	h.routes.announceLeaders()
	if changed {
		h.routes.announce(now)
		h.member.Changed()
	}
	h.gate.MakeSure(now)
	return h.conns.Maintain(now)
}
