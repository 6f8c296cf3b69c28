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

// openStagger is the delay before Open also tries the next host.
const openStagger = 200 * time.Millisecond

var errOtherCluster = errors.New("the host belongs to another cluster")

// State is a connection's new state.
type State string

// Connection states.
const (
	Up     State = "up"
	Down   State = "down"
	Failed State = "failed" // could not be established
)

// Config configures a Cluster.
type Config struct {
	conn.Config
	// Connections is the maximum number of connections per host.
	Connections int
	// ConnectionChanged is called with no lock held.
	ConnectionChanged func(state State, hostID uint64, address string, why error)
	// TokenExpiring is called with no lock held, once per connection.
	TokenExpiring func(hostID uint64, address, token string, left time.Duration)
}

// Cluster stores the client's knowledge about hosts and routing.
type Cluster struct {
	config               Config
	given                []string // the addresses given to New
	scope                *lifecycle.Scope
	dialer               *conn.Dialer
	routes               atomic.Pointer[routes]
	sessions, requests   atomic.Uint32 // connection numbers assigned so far
	home                 uint32        // selects the host for reads and the first host for sessions
	starts               atomic.Uint32 // of sessions
	leaders, connections news
	// numbers assigns numbers to node changes.
	numbers numbers

	mu         sync.Mutex      // guards the fields below; a host's lock is taken under mu
	id         string          // empty until a host was met
	hosts      []*Host         // all with an id, and the addresses given to New and not met
	expelled   map[uint64]bool // ids, by the routing
	refreshing chan struct{}
	refreshed  lifecycle.Instant
	failure    error // from the latest refresh
	reconnects bool  // a goroutine makes a connection, as the last connection was lost
	// terms has the latest known term for each shard with a known leader.
	terms map[uint64]uint64
}

// New returns a cluster with some known addresses.
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

// askFirst asks one host for the routing, until ctx ends.
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

// Scope returns the client's scope.
func (c *Cluster) Scope() *lifecycle.Scope { return c.scope }

// NextStripe returns the connection number for a new session. Sessions and requests have separate counters: with a
// common counter, a program that sends one request per new session would put all sessions on every second connection.
func (c *Cluster) NextStripe() int { return int(c.sessions.Add(1)) }

// Hosts returns all known hosts.
func (c *Cluster) Hosts() []*Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.hosts)
}

// AskEach asks all known hosts concurrently, once per host. If two entries turn out to be the same host, the first
// entry's answer counts.
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

// host returns the host with the given id and records a host address. A new address is tried first, unless the host is
// currently connected over another address. The lock is held.
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

// meet records which host answered at an address of h, and returns the host.
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
		h.removeAddress(address) // another host now uses the address
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

// merge turns a host without a known id into an alias for the host that answered.
func (c *Cluster) merge(h, into *Host) {
	if h.id != 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mergedTo = into
	c.hosts = slices.DeleteFunc(c.hosts, func(other *Host) bool { return other == h })
}

// Moved records a shard's leader and a slot's new location, as reported by a host. If the client knows a higher slot
// generation, the host lags: Moved drops the report and returns false.
func (c *Cluster) Moved(m *protocol.Moved, from *conn.Conn) (current bool) {
	if m.Generation != 0 && !c.place(m) {
		c.refreshSoon(nil) // the recorded shard may have another leader
		return false
	}
	r := c.routes.Load()
	known := r.shard(m.ShardID) != nil
	if !known || m.LeaderHostID == 0 || m.RoutingVersion > r.version {
		c.refreshSoon(from)
	}
	// A slot can move to a shard that the client does not know yet.
	if m.LeaderHostID == 0 || !known && m.Generation == 0 {
		return true
	}
	c.mu.Lock()
	if !c.belongs(m) {
		c.mu.Unlock()
		c.refreshSoon(from)
		return true
	}
	leader := c.host(m.LeaderHostID, m.LeaderAddress)
	c.mu.Unlock()
	for {
		r := c.routes.Load()
		last := r.shard(m.ShardID).leaderOf()
		if last == leader {
			return true
		}
		if c.routes.CompareAndSwap(r, r.withLeader(m.ShardID, leader)) {
			if last != nil && (from == nil || last != HostOf(from)) {
				last.doubt()
			}
			return true
		}
	}
}

// belongs reports whether a leader can be a host in the cluster. A host without a replica of a shard may name a leader
// that was expelled long ago. The lock is held.
func (c *Cluster) belongs(m *protocol.Moved) bool {
	known := slices.ContainsFunc(c.hosts, func(h *Host) bool { return h.id == m.LeaderHostID })
	return !c.expelled[m.LeaderHostID] && (known || m.LeaderAddress != "")
}

// place records a slot's new location. It returns false if the client knows a higher generation.
func (c *Cluster) place(m *protocol.Moved) bool {
	slot := uint16(m.Slot % protocol.Slots)
	c.mu.Lock() // learn keeps the generations that it has read
	defer c.mu.Unlock()
	for {
		r := c.routes.Load()
		if known := r.moved[slot].generation; m.Generation <= known {
			return m.Generation == known
		}
		next := *r
		next.moved = maps.Clone(r.moved)
		next.place(slot, place{m.ShardID, m.Generation})
		if c.routes.CompareAndSwap(r, &next) {
			return true
		}
	}
}
