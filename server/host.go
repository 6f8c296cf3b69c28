package server

import (
	"context"
	"fmt"
	"log/slog"
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

// Host is one running server. It implements transport.Handler: connections of any transport are given
// to it.
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
	cuts     cuts
	refusals lineBudget // of administrative acts
	guessers guessers
	denials  denials // for want of a right
	// askedAt is when this host last tried to make sure of the rights that the cluster keeps; used on the loop.
	askedAt time.Time

	governing governing

	leaving atomic.Bool // this host is about to stop

	governor overview.Governor // answers questions about what is changed among the hosts
	asking   chan struct{}     // has a place for each question about the cluster that is being answered
	saved    savedStates
	saving   chan struct{}        // has a place for each state that is saved for a backup
	load     atomic.Pointer[Load] // nil before the first report
	book     *concern.Book

	mu     sync.Mutex // guards what follows
	conns  map[*conn]struct{}
	silent []*conn // the connections that the loop checks for silence, in rounds
}

// Open starts a host: its replicas are restored and take part in their shards when it returns. It serves
// what transports bring.
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
	h.metrics.Set.NewGauge(`signalbox_generation`,
		func() float64 { return float64(h.meta.Machine.Generation().Number) })
	h.cuts.init(h, h.metrics.Set)
	h.set = replica.New(replica.Config{
		Self: meta.Host{
			ID: config.ID, Name: config.Name, RaftAddress: config.RaftAddress, ClientAddress: config.ClientAddress,
			AdminAddress: config.AdminAddress, Version: config.Version, Level: config.Level,
		},
		Cluster: config.Cluster, Hosts: config.Hosts, Incarnations: config.Founders, Shards: config.Shards,
		Gained: config.Replicas,
		Quotas: shard.Limits{Objects: config.ShardObjects, Bytes: config.ShardBytes}, Logs: config.Logs,
		Delay: config.AcquireDelay, DigestInterval: config.DigestInterval,
		Halt: config.Halt, Clock: config.Clock, NextAlarm: config.NextAlarm, Log: config.Log,
		Metrics: h.metrics, Watches: h.watches, Chores: h.chores,
	})
	h.meta, h.replicas = h.set.Meta, h.set.Replicas
	h.governing.init(h) // the loop of the replicas wakes it
	if err := h.set.Open(); err != nil {
		return nil, err
	}
	h.governor = h.governing.executor
	h.governing.start()
	return h, nil
}

// Close stops the host. Transports should be closed before; Leave before them lets clients and leadership
// go in peace.
func (h *Host) Close() {
	h.governing.close()
	h.set.Close()
}

// Ready returns what this host still lacks to serve everything, nil where it lacks nothing.
func (h *Host) Ready() error {
	if err := h.set.Ready(); err != nil {
		return err
	}
	return h.governing.attendance.ready()
}

// Leave hands the leadership of every shard to another host where there is one, notifies the clients that this host
// goes, and has the governor take it out of what it is needed for. It returns when the host is offline on record and
// leads nothing any more, when no host governs that could do it, or when the time is up.
func (h *Host) Leave(within time.Duration) {
	h.leaving.Store(true)
	deadline := h.now().Add(within)
	for h.set.LeadsData() && h.now().Before(deadline) {
		h.set.HandOver()
		time.Sleep(replica.Tick)
	}
	push := protocol.GoingAway{Result: protocol.Result{Status: protocol.StatusUnavailable, Message: "the host stops"}}
	h.eachConn(func(c *conn) {
		c.Push(0, &push)
		c.flush()
	})
	ctx, cancel := context.WithTimeout(context.Background(), max(deadline.Sub(h.now()), 0))
	defer cancel()
	h.governing.attendance.stop(ctx)
	for h.set.HandOver() && h.now().Before(deadline) {
		time.Sleep(replica.Tick)
	}
}

// now is the host's time, since the nanoseconds that had passed at a time since it began, clock those until now.
func (h *Host) now() time.Time          { return h.set.Now() }
func (h *Host) since(t time.Time) int64 { return h.set.Since(t) }
func (h *Host) clock() int64            { return h.set.Clock() }

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

func (h *Host) remove(c *conn) {
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
}

func (h *Host) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// eachConn calls fn for every connection that there is now, without a lock.
func (h *Host) eachConn(fn func(*conn)) {
	h.mu.Lock()
	all := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		all = append(all, c)
	}
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

// guarded is a shard that says why its leader must not take changes at the moment: see replica.Replica.Guard.
type guarded interface{ Guard() error }

// admitsWrites reports whether this host, which leads a shard, takes changes of it at the moment, and answers where it
// does not.
func (h *Host) admitsWrites(c *conn, id uint64, k protocol.Kind, of guarded) bool {
	err := of.Guard()
	if err == nil && h.config.Guard != nil {
		err = h.config.Guard()
	}
	if err != nil {
		c.Fail(id, k, &protocol.Result{
			Status: protocol.StatusStorageFull, Message: clip(err.Error()), WaitMillis: 1000,
		})
	}
	return err == nil
}

// refusal returns why this host refuses changes in some shard, nil where it does not.
func (h *Host) refusal() error {
	if h.config.Guard != nil {
		if err := h.config.Guard(); err != nil {
			return err
		}
	}
	for _, r := range h.replicas {
		if err := r.Guard(); err != nil {
			return err
		}
	}
	return h.meta.Guard()
}
