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

// Kinds is the length of an array with an element for every kind of request.
const Kinds = protocol.MaxRequestKind + 1

// Config is what connections need of their host.
type Config struct {
	Host         Host
	Gate         *caller.Gate
	Metrics      *metrics.Metrics
	Clock        func() time.Time // the host's time
	Started      time.Time        // the start of the host, by Clock
	Replicas     []*replica.Replica
	Handlers     [Kinds]handle.Handler
	Limits       protocol.Limits
	PingInterval time.Duration
	PendingBytes int64 // how much may wait to be sent over all connections
	PartialBytes int64 // how much may be held of frames that have arrived in part
	Audit        *audit.Log
	Log          *slog.Logger
	// Left is called when a connection has closed.
	Left func(handle.Connection)
}

// Host is what connections ask of their host, and report to it.
type Host interface {
	// Welcome is what the host says of itself and of the cluster to a client that it lets in.
	Welcome() protocol.Welcome
	// RoutingVersion is the version of the routing that the host has applied.
	RoutingVersion() uint64
	// Wake has the loop of the host look for due work at once, Stir before its next long rest.
	Wake()
	Stir()
	// ForgetSession drops the waits and watches of a session through one connection, in all shards.
	ForgetSession(id shard.SessionID, c replica.Conn)
}

// Set is all connections of a host.
type Set struct {
	Config
	timed    [Kinds]bool // the kinds whose times are counted
	pending  pendingBytes
	partial  partialBytes
	arrivals atomic.Uint64 // how often frames have arrived, over all connections
	cuts     cuts

	mu     sync.Mutex // guards the fields below
	conns  map[*Conn]struct{}
	silent []*Conn // the connections that the loop checks for silence, in rounds
}

// New returns no connections.
func New(c Config) *Set {
	s := &Set{Config: c, conns: make(map[*Conn]struct{})}
	s.pending.limit, s.partial.limit = c.PendingBytes, c.PartialBytes
	s.cuts.init(c.Metrics.Set)
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

// Open makes the connection of a peer.
func (s *Set) Open(peer transport.Conn) *Conn {
	c := newConn(s, peer)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	s.Host.Stir()
	return c
}

// since returns a time in nanoseconds since the start of the host.
func (s *Set) since(t time.Time) int64 { return int64(t.Sub(s.Started)) }

// Len is the number of connections.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// each calls fn for every present connection, without a lock.
func (s *Set) each(fn func(*Conn)) {
	s.mu.Lock()
	all := slices.AppendSeq(make([]*Conn, 0, len(s.conns)), maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}

// Push sends messages over every connection whose client was let in, or over all.
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

// Maintain is the work for connections in a round of the host's loop. With connections open, the next round has work
// too.
func (s *Set) Maintain(now time.Time) (busy bool) {
	if s.pending.full() || s.pending.over.Load() {
		s.relievePending()
	}
	s.review(now)
	return s.Len() > 0
}

const (
	// reviewStep is how many connections one round checks.
	reviewStep = 1000
	// helloTime is how long a connection may stay without a Hello.
	helloTime = 5 * time.Second
	// silences is how many ping intervals a connection may be silent before it is closed.
	silences = 3
)

// review checks a few connections in each round.
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

// remove forgets a connection that has closed.
func (s *Set) remove(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.Left(c)
}
