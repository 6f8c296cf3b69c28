package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/hub"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Host is one running server. It implements transport.Handler: connections of any transport are given
// to it.
type Host struct {
	config   Config
	log      *slog.Logger
	access   Access
	proposer uint64
	started  time.Time
	meta     *metaReplica
	replicas []*replica // data shard i+1 at i
	slots    [shard.Slots]uint8
	routes   routes
	timing   *timing
	quotas   quotas
	metrics  *metrics
	pending  pendingBytes
	partial  partialBytes
	watches  *hub.Budget
	cuts     cuts
	refusals lineBudget // of administrative acts

	wakes     chan struct{}
	looking   atomic.Bool // the routing or the meta shard may need something
	stop      chan struct{}
	loop      sync.WaitGroup
	digesting sync.WaitGroup // those who take digests
	leaving   atomic.Bool    // this host is about to stop
	foreign   atomic.Bool    // the cluster is not the one that this host is configured for
	// afterBind, where a test sets it, is called between the binding of a session and the look whether it still lives.
	afterBind func()

	mu     sync.Mutex // guards what follows
	conns  map[*conn]struct{}
	silent []*conn // the connections that the loop looks through for silence, in rounds
}

// Open starts a host: its replicas are restored and take part in their shards when it returns. It serves
// what transports bring.
func Open(config Config) (*Host, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	h := &Host{
		config: config, log: config.Log, access: config.Access, proposer: rand.Uint64(),
		timing: newTiming(), wakes: make(chan struct{}, 1), stop: make(chan struct{}),
		conns: make(map[*conn]struct{}), quotas: quotas{nodes: make(map[shard.NodeID]shard.Limits)},
	}
	h.started = h.now()
	h.routes.host = h
	h.pending.limit = int64(config.PendingBytes)
	h.watches = hub.NewBudget(config.WatchBytes)
	h.partial.limit = int64(config.PartialBytes)
	h.metrics = newMetrics(h)
	h.cuts.init(h, h.metrics.set)
	if h.access == nil {
		h.access = open{}
	}
	h.meta = h.newMetaReplica()
	for i, g := range meta.BirthRanges(dataShards(config.Shards)) {
		for slot := int(g.First); slot <= int(g.Last); slot++ {
			h.slots[slot] = uint8(i)
		}
		var slots shard.SlotSet
		slots.Add(g.First, g.Last)
		h.replicas = append(h.replicas, h.newReplica(uint64(g.Shard), slots))
	}
	if err := h.openLogs(); err != nil {
		h.closeLogs()
		return nil, err
	}
	h.loop.Go(h.run)
	return h, nil
}

// dataShards returns the ids of the data shards of a cluster that has n of them.
func dataShards(n int) []meta.ShardID {
	ids := make([]meta.ShardID, n)
	for i := range ids {
		ids[i] = meta.ShardID(i + 1)
	}
	return ids
}

func (h *Host) openLogs() error {
	if err := h.meta.open(); err != nil {
		return err
	}
	for _, r := range h.replicas {
		if err := r.open(); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) closeLogs() {
	for _, r := range h.replicas {
		r.pipeline.Close()
		if r.log != nil {
			_ = r.log.Close()
		}
	}
	if h.meta.log != nil {
		_ = h.meta.log.Close()
	}
}

// Close stops the host. Transports should be closed before; Leave before them lets clients and leadership
// go in peace.
func (h *Host) Close() {
	close(h.stop)
	h.loop.Wait()
	h.closeLogs()
	h.digesting.Wait()
	for _, r := range h.replicas {
		r.hub.Close()
	}
}

// Leave hands the leadership of every shard to another host where there is one, tells the clients that
// this host goes, and returns when no shard is led from here any more or the time is up.
func (h *Host) Leave(within time.Duration) {
	h.leaving.Store(true)
	deadline := h.now().Add(within)
	push := protocol.GoingAway{Result: protocol.Result{Status: protocol.StatusUnavailable, Message: "the host stops"}}
	for {
		led := h.handOver()
		if !led || !h.now().Before(deadline) {
			break
		}
		time.Sleep(tick)
	}
	h.eachConn(func(c *conn) {
		c.push(0, &push)
		c.flush()
	})
}

// handOver asks other hosts to lead what this one leads, and tells whether it still leads anything that
// another host could.
func (h *Host) handOver() (led bool) {
	others := slices.DeleteFunc(slices.Clone(h.config.Hosts), func(id shard.HostID) bool { return id == h.config.ID })
	if len(others) == 0 {
		return false
	}
	if h.meta.leads() {
		led = true
		_ = h.meta.log.Transfer(successor(h.meta.log, others))
	}
	for _, r := range h.replicas {
		if r.leads() {
			led = true
			_ = r.log.Transfer(successor(r.log, others))
		}
	}
	return led
}

// now is the host's time, by which it judges leases and how far it may be trusted: monotonic, and that of a
// clock of its own where a simulation wants it to be.
func (h *Host) now() time.Time {
	if h.config.Clock != nil {
		return h.config.Clock()
	}
	return time.Now()
}

// since turns a time into nanoseconds since the host began.
func (h *Host) since(t time.Time) int64 { return int64(t.Sub(h.started)) }

func (h *Host) clock() int64 { return h.since(h.now()) }

// replicaOf returns the replica of the shard that serves a slot.
func (h *Host) replicaOf(slot shard.Slot) *replica { return h.replicas[h.slots[slot%shard.Slots]] }

// Opened implements transport.Handler.
func (h *Host) Opened(peer transport.Conn) transport.Events {
	if h.leaving.Load() || h.foreign.Load() {
		return nil
	}
	c := h.newConn(peer)
	h.mu.Lock()
	h.conns[c] = struct{}{}
	h.mu.Unlock()
	return c
}

func (h *Host) greeted(c *conn) {
	h.metrics.greeted.Inc()
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

// drained is told by a connection that keeps up again.
func (h *Host) drained(c *conn) {
	for _, r := range h.replicas {
		r.hub.Drained(c)
	}
}

// admitsWrites tells whether this host takes changes at the moment, and answers where it does not.
func (h *Host) admitsWrites(c *conn, r *protocol.Request) bool {
	if h.config.Guard == nil {
		return true
	}
	if err := h.config.Guard(); err != nil {
		c.Fail(r.ID, r.Kind, &protocol.Result{
			Status: protocol.StatusStorageFull, Message: clip(err.Error()), WaitMillis: 1000,
		})
		return false
	}
	return true
}

// open lets everybody in.
type open struct{}

func (open) Enter([]byte) (Rights, string, bool) { return everything{}, "", true }
