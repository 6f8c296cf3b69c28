package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/concern"
	"github.com/signalbox/signalbox/server/hub"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/overview"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Host is one running server. It implements transport.Handler: transports of all kinds bring their connections to the
// Host.
type Host struct {
	config   Config
	log      *slog.Logger
	set      *replica.Set
	meta     *replica.Meta      // of the set
	replicas []*replica.Replica // of the set
	routes   routes
	metrics  *metrics.Metrics
	pending  pendingBytes
	arrivals atomic.Uint64 // how often frames have arrived, over all connections
	partial  partialBytes
	watches  *hub.Budget
	openings openings
	cuts     cuts
	refusals lineBudget // of administrative acts
	guessers guessers
	denials  denials // for lack of a right
	// askedAt is when this host last tried to make sure of the cluster's rights; used on the loop.
	askedAt time.Time

	governing governing

	leaving atomic.Bool // this host is about to stop

	governor overview.Governor // answers questions about changes among the hosts; nil if this host has none
	asking   chan struct{}     // has a place for each open question about the cluster
	saved    savedStates
	saving   chan struct{}        // has a place for each state under way for a backup
	load     atomic.Pointer[Load] // nil before the first report
	book     *concern.Book
	// strangers are the sessions that the book names by the word of other hosts.
	strangers strangers

	mu     sync.Mutex // guards the fields below
	conns  map[*conn]struct{}
	silent []*conn // the connections that the loop checks for silence, in rounds
}

// Open starts a host: when Open returns, the host's replicas are restored and take part in their shards. The host
// serves the connections of transports.
func Open(config Config) (*Host, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	h := &Host{
		config: config, log: config.Log, conns: make(map[*conn]struct{}),
		metrics: metrics.New(config.Shards), watches: hub.NewBudget(config.WatchBytes),
		asking: make(chan struct{}, maxQuestions), saving: make(chan struct{}, maxSavings),
	}
	h.book = concern.New(h.gather)
	h.routes = routes{host: h, led: make(map[uint64]uint64)}
	h.pending.limit = int64(config.PendingBytes)
	h.partial.limit = int64(config.PartialBytes)
	h.metrics.Set.NewGauge(`signalbox_feature_level`, func() float64 { return float64(h.meta.Machine.Level()) })
	h.metrics.Set.NewGauge(`signalbox_cluster_generation`,
		func() float64 { return float64(h.meta.Machine.Generation().Number) })
	h.cuts.init(h, h.metrics.Set)
	h.set = replica.New(replica.Config{
		Self: meta.Host{
			ID: config.ID, Name: config.Name, RaftAddress: config.RaftAddress, ClientAddress: config.ClientAddress,
			AdminAddress: config.AdminAddress, Version: config.Version, Level: config.Level,
		},
		Cluster: config.Cluster, Hosts: config.Hosts, Incarnations: config.Founders, Shards: config.Shards,
		Gained: config.Replicas, Calls: config.Calls, Rejoin: config.Rejoin, Show: h.showSession, Apart: config.Apart,
		Quotas: shard.Limits{Objects: config.ShardObjects, Bytes: config.ShardBytes}, Logs: config.Logs,
		Delay: config.AcquireDelay, QueuedBytes: int(config.QueuedBytes), DigestInterval: config.DigestInterval,
		Halt: config.Halt, Clock: config.Clock, NextAlarm: config.NextAlarm, Log: config.Log,
		Metrics: h.metrics, Watches: h.watches, Chores: h.chores, Fits: config.Fits,
	})
	h.meta, h.replicas = h.set.Meta, h.set.Replicas
	h.governing.init(h) // the loop of the replicas wakes governing
	if err := h.set.Open(); err != nil {
		return nil, err
	}
	h.governor = h.governing.executor
	h.governing.start()
	return h, nil
}

// Close stops the host. Transports should be closed earlier; Leave before them lets clients and leadership go in
// peace.
func (h *Host) Close() {
	h.governing.close()
	h.set.Close()
}

// Ready returns why this host cannot serve yet, nil if it can.
func (h *Host) Ready() error { return h.Readiness().Lacks }

// Readiness returns whether this host can serve.
func (h *Host) Readiness() replica.Readiness {
	is := h.set.Readiness()
	if is.Lacks == nil {
		is.Lacks = h.governing.attendance.ready()
	}
	return is
}

// Leave hands the leadership of every shard to another host if possible, notifies the clients of the stop, and has
// the governor relieve the host of its tasks. Leave returns when the host is offline on record and leads nothing,
// when no host governs and could help, or when the time is up.
func (h *Host) Leave(within time.Duration) {
	h.leaving.Store(true)
	deadline := h.config.Clock().Add(within)
	for h.set.LeadsData() && h.config.Clock().Before(deadline) {
		h.set.HandOver()
		time.Sleep(replica.Tick)
	}
	push := protocol.GoingAway{Result: protocol.Result{Status: protocol.StatusUnavailable, Message: "the host stops"}}
	h.eachConn(func(c *conn) {
		c.Push(0, &push)
		c.flush()
	})
	ctx, cancel := context.WithTimeout(context.Background(), max(deadline.Sub(h.config.Clock()), 0))
	defer cancel()
	h.governing.attendance.stop(ctx)
	for h.set.HandOver() && h.config.Clock().Before(deadline) {
		time.Sleep(replica.Tick)
	}
}

// Opened implements transport.Handler.
func (h *Host) Opened(peer transport.Conn) transport.Events {
	if h.leaving.Load() || h.set.Foreign() {
		return nil
	}
	c := h.newConn(peer)
	h.mu.Lock()
	h.conns[c] = struct{}{}
	h.mu.Unlock()
	h.set.Stir()
	return c
}

func (h *Host) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// eachConn calls fn for every present connection, without a lock.
func (h *Host) eachConn(fn func(*conn)) {
	h.mu.Lock()
	all := slices.AppendSeq(make([]*conn, 0, len(h.conns)), maps.Keys(h.conns))
	h.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}

// drained is called by a connection that keeps up again.
func (h *Host) drained(c *conn) {
	for _, r := range h.replicas {
		r.Hub.Drained(c)
		r.Inboxes.Drained(c)
	}
}
