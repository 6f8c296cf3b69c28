package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

// openStagger is how long Open waits for one host before Open tries the next host too.
const openStagger = 200 * time.Millisecond

var errOtherCluster = errors.New("the host belongs to another cluster")

// State is the new state of a connection.
type State string

// The states of a connection.
const (
	Up     State = "up"
	Down   State = "down"
	Failed State = "failed" // it was not made
)

// Config is the config of a Cluster.
type Config struct {
	conn.Config
	// Connections is the largest number of connections to each host.
	Connections int
	// ConnectionChanged is called with no lock held.
	ConnectionChanged func(state State, hostID uint64, address string, why error)
	// TokenExpiring is called with no lock held, for each connection.
	TokenExpiring func(hostID uint64, address, token string, left time.Duration)
}

// Cluster is the client's knowledge of the hosts and of the routing.
type Cluster struct {
	config               Config
	given                []string // the addresses given to New
	scope                *lifecycle.Scope
	dialer               *conn.Dialer
	routes               atomic.Pointer[routes]
	sessions, requests   atomic.Uint32 // numbers of connections drawn so far
	home                 uint32        // chooses the host to read from, and the first host of sessions
	starts               atomic.Uint32 // of sessions
	leaders, connections news
	// numbers are the numbers of changes of nodes.
	numbers numbers

	mu         sync.Mutex      // guards the fields below; a host's lock is taken under mu
	id         string          // empty until a host was met
	hosts      []*Host         // all with an id, and the addresses given to New and not met
	expelled   map[uint64]bool // ids, by the routing
	refreshing chan struct{}
	refreshed  lifecycle.Instant
	failure    error // of the latest refresh
	reconnects bool  // a goroutine makes a connection, as the last connection was lost
	// terms are the latest terms of shards in which the client knows the leader.
	terms map[uint64]uint64
}

// New returns a cluster of which some addresses are known.
func New(config Config, addresses []string) *Cluster {
	c := &Cluster{
		config: config, given: addresses, scope: config.Scope, dialer: conn.NewDialer(config.Config),
		home: rand.Uint32(), refreshed: longAgo, terms: make(map[uint64]uint64),
	}
	c.leaders.init()
	c.connections.init()
	c.routes.Store(noRoutes)
	c.numbers.init()
	for _, address := range addresses {
		c.hosts = append(c.hosts, newHost(c, 0, address))
	}
	return c
}

// Open tries the hosts in random order, the next host when the host before has failed or is slow, and asks the first
// host that answers for the routing.
func (c *Cluster) Open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout,
		fmt.Errorf("no host answered within %v", c.config.Timeout))
	defer cancel()
	hosts := c.Hosts()
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	results := make(chan error, len(hosts))
	next := time.NewTimer(0)
	defer next.Stop()
	var errs []error
	for started := 0; len(errs) < len(hosts); {
		select {
		case <-next.C:
			if started < len(hosts) {
				h := hosts[started]
				c.scope.Go(func() { results <- c.askFirst(ctx, h) })
				started++
				next.Reset(openStagger)
			}
		case err := <-results:
			if err == nil {
				return nil
			}
			errs = append(errs, err)
			next.Reset(0)
		}
	}
	return errors.Join(errs...)
}

// askFirst asks one host for the routing. It ends with the context at the latest.
func (c *Cluster) askFirst(ctx context.Context, h *Host) error {
	for {
		to, err := h.Conn(ctx, 0)
		switch {
		case err == nil:
			if err = c.askOver(ctx, to); err == nil {
				return nil
			}
			return &failure.Transport{Address: to.Address(), Err: err}
		case context.Cause(ctx) != nil:
			return &failure.Transport{Address: h.Address(), Err: context.Cause(ctx)}
		case !errors.Is(err, errDialWait):
			return err
		}
	}
}

// Scope returns the scope of the cluster's client.
func (c *Cluster) Scope() *lifecycle.Scope { return c.scope }

// NextStripe returns the number of a new session's connection to a host. Sessions and requests have separate counts:
// with a common count, a program that sends one request per new session would have all sessions on every second
// connection.
func (c *Cluster) NextStripe() int { return int(c.sessions.Add(1)) }

// Hosts returns the hosts that are known.
func (c *Cluster) Hosts() []*Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.hosts)
}

// AskEach asks all known hosts at the same time, each once. A host that was given by another name than its own turns
// out meanwhile to be in the list already: the answer of its first place counts.
func AskEach[T any](c *Cluster, ask func(*Host) T) (answers []T) {
	hosts := c.Hosts()
	of := make([]T, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { of[i] = ask(h) })
	}
	all.Wait()
	seen := make(map[*Host]bool)
	for i, h := range hosts {
		if is := h.self(); !seen[is] {
			seen[is] = true
			answers = append(answers, of[i])
		}
	}
	return answers
}

// host returns the host of an id, and notes an address of the host. A new address is tried first, unless the host is
// connected over another address now. The lock is held.
func (c *Cluster) host(id uint64, address string) *Host {
	for _, h := range c.hosts {
		if h.id != id {
			continue
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if address != "" && !slices.Contains(h.addresses, address) {
			if h.up() != nil {
				h.addresses = append(h.addresses, address)
			} else {
				h.addresses = slices.Insert(h.addresses, 0, address)
			}
		}
		return h
	}
	for _, h := range c.hosts {
		if h.id == 0 && slices.Contains(h.addresses, address) {
			h.identify(id)
			return h
		}
	}
	h := newHost(c, id)
	if address != "" {
		h.addresses = []string{address}
	}
	c.hosts = append(c.hosts, h)
	return h
}

// meet notes which host answered at an address of h, and returns the host.
func (c *Cluster) meet(h *Host, address string, w *conn.Welcome) (*Host, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == "" {
		c.id = w.Cluster
	}
	if w.Cluster != c.id {
		return nil, errOtherCluster
	}
	c.numbers.learn(w.Since)
	if h.id == w.HostID {
		h.addAddress(address)
		return h, nil
	}
	if h.id != 0 {
		h.removeAddress(address) // another host has taken the address over
	}
	for _, other := range c.hosts {
		if other.id == w.HostID {
			other.addAddress(address)
			c.merge(h, other)
			return other, nil
		}
	}
	if h.id != 0 {
		h = newHost(c, 0)
		c.hosts = append(c.hosts, h)
	}
	h.identify(w.HostID)
	h.addAddress(address)
	return h, nil
}

// merge makes a host without a known id another name of the host that answered.
func (c *Cluster) merge(h, into *Host) {
	if h.id != 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mergedTo = into
	c.hosts = slices.DeleteFunc(c.hosts, func(other *Host) bool { return other == h })
}

// Moved notes the leader of a shard and the new place of a slot, as a host reports them. A host lags if the client
// knows a higher generation of the slot, and the report is dropped.
func (c *Cluster) Moved(m *protocol.Moved, from *conn.Conn) {
	lags := m.Generation != 0 && !c.place(m)
	r := c.routes.Load()
	switch {
	case lags || m.LeaderHostID == 0 || r.shard(m.ShardID) == nil:
		c.refreshSoon(from)
		return
	case m.RoutingVersion > r.version:
		c.refreshSoon(from)
	}
	c.mu.Lock()
	if !c.belongs(m) {
		c.mu.Unlock()
		c.refreshSoon(from)
		return
	}
	leader := c.host(m.LeaderHostID, m.LeaderAddress)
	c.mu.Unlock()
	for {
		r := c.routes.Load()
		s := r.shard(m.ShardID)
		if s == nil || s.leader == leader {
			return
		}
		if c.routes.CompareAndSwap(r, r.withLeader(m.ShardID, leader)) {
			if last := s.leader; last != nil && (from == nil || last != HostOf(from)) {
				last.doubt()
			}
			return
		}
	}
}

// belongs reports whether a leader can be a host of the cluster. A host without a replica of a shard may name a leader
// that was expelled long ago. The lock is held.
func (c *Cluster) belongs(m *protocol.Moved) bool {
	known := slices.ContainsFunc(c.hosts, func(h *Host) bool { return h.id == m.LeaderHostID })
	return !c.expelled[m.LeaderHostID] && (known || m.LeaderAddress != "")
}

// place notes the new place of a slot, and returns false if the client knows a higher generation.
func (c *Cluster) place(m *protocol.Moved) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := *c.routes.Load()
	next.moved = maps.Clone(next.moved)
	newest := next.place(uint16(m.Slot%protocol.Slots), place{m.ShardID, m.Generation})
	c.routes.Store(&next)
	return newest
}
