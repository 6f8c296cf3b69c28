package connection

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/mutation"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// Kinds is the array length for one element per request kind.
const Kinds = protocol.MaxRequestKind + 1

// Config contains the connections' dependencies.
type Config struct {
	Host         Host
	Gate         *caller.Gate
	Metrics      *metrics.Metrics
	Clock        func() time.Time // the host's clock
	Started      time.Time        // host start time, by Clock
	Handlers     [Kinds]handle.Handler
	Limits       protocol.Limits
	PingInterval time.Duration
	PendingBytes int64 // maximum unsent bytes over all connections
	PartialBytes int64 // maximum bytes held for partially received frames
	Audit        *audit.Log
	Log          *slog.Logger
	// Left is called after a connection has closed.
	Left func(handle.Connection)
}

// Host is the connections' interface to their host.
type Host interface {
	// Welcome returns the host and cluster information for an admitted client.
	Welcome() protocol.Welcome
	// RoutingVersion returns the routing version the host has applied.
	RoutingVersion() uint64
	// Wake makes the host's loop check for due work immediately; Stir does so before its next long pause.
	Wake()
	Stir()
	// All returns the host's replicas of all data shards, and Home the replica of a session's home shard.
	All() []*replica.Replica
	Home(id shard.SessionID) *replica.Replica
	// ForgetSession drops a session's binding, waits and watches through one connection, in all shards.
	ForgetSession(id shard.SessionID, c replica.Conn)
}

// Set is all connections on a host.
type Set struct {
	Config
	timed    [Kinds]bool // request kinds whose durations are measured
	pending  pendingBytes
	partial  partialBytes
	arrivals atomic.Uint64 // number of frame arrivals over all connections
	cuts     cuts
	clients  counters[TrafficClient]
	nodes    counters[shard.NodeID]

	mu     sync.Mutex // guards the fields below
	conns  map[*Conn]struct{}
	silent []*Conn // connections the loop still has to check for silence
}

// New returns an empty Set.
func New(c Config) *Set {
	s := &Set{Config: c, conns: make(map[*Conn]struct{})}
	s.pending.limit, s.partial.limit = c.PendingBytes, c.PartialBytes
	s.cuts.init(c.Metrics.Set)
	s.clients.init(c.Clock())
	s.nodes.init(c.Clock())
	for k := range s.timed {
		s.timed[k] = mutation.All[k].Command != nil
	}
	for _, k := range []protocol.Kind{
		protocol.KindSessionStart, protocol.KindSessionStop, protocol.KindSessionDestroy, protocol.KindSessionDetach,
	} {
		s.timed[k] = true
	}
	s.Handlers[protocol.KindHello] = func(*handle.Request) (handle.Reply, error) {
		return nil, handle.BadRequest("a second HELLO")
	}
	return s
}

// Open creates the connection for a peer.
func (s *Set) Open(peer transport.Conn) *Conn {
	c := newConn(s, peer)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	s.Host.Stir()
	return c
}

// since returns a time as nanoseconds since host start.
func (s *Set) since(t time.Time) int64 { return int64(t.Sub(s.Started)) }

// Len returns the number of connections.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// each calls fn for every current connection, without a lock.
func (s *Set) each(fn func(*Conn)) {
	s.mu.Lock()
	all := slices.AppendSeq(make([]*Conn, 0, len(s.conns)), maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}

// Push sends messages over every admitted connection, or over all.
func (s *Set) Push(all bool, messages ...protocol.PushMessage) {
	s.each(func(c *Conn) {
		if !all && c.Caller() == nil {
			return
		}
		for _, m := range messages {
			c.Push(0, m)
		}
		c.flush()
	})
}

// Maintain does the connections' work in a round of the host's loop. busy reports whether connections are open, so
// that the next round has work too.
func (s *Set) Maintain(now time.Time) (busy bool) {
	if s.pending.full() || s.pending.over.Load() {
		s.relievePending()
	}
	s.review(now)
	return s.Len() > 0
}

const (
	// reviewStep is the number of connections checked per round.
	reviewStep = 1000
	// helloTime is the time limit for a connection's HELLO.
	helloTime = 5 * time.Second
	// silences is the number of ping intervals after which a silent connection is closed.
	silences = 3
)

// review checks a few connections in every round.
func (s *Set) review(now time.Time) {
	s.mu.Lock()
	if len(s.silent) == 0 {
		s.silent = slices.AppendSeq(s.silent, maps.Keys(s.conns))
	}
	n := min(len(s.silent), reviewStep)
	look := s.silent[len(s.silent)-n:]
	s.mu.Unlock()
	for i, c := range look {
		look[i] = nil
		c.review(now)
	}
	s.mu.Lock()
	s.silent = s.silent[:len(s.silent)-n]
	s.mu.Unlock()
}

// remove forgets a closed connection.
func (s *Set) remove(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.Left(c)
}
