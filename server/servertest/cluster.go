package servertest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/server/transport/conntest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// Cluster is a running cluster of one or more hosts.
type Cluster struct {
	options    options
	logs       Logs
	ctx        context.Context // ends with the cluster
	cancel     context.CancelFunc
	announcing sync.WaitGroup // who leads

	mu     sync.Mutex // guards what follows
	hosts  map[shard.HostID]*host
	starts map[shard.HostID]uint64 // number of starts of each host
	// bootstrapped are the bootstrap hosts, members also includes joined hosts, known lists the hosts known to each
	// host at its start.
	bootstrapped []shard.HostID
	members      []shard.HostID
	known        map[shard.HostID][]shard.HostID
}

// host is one host of the cluster.
type host struct {
	server *server.Host
	memory *transport.Inside
	conns  []net.Conn // client ends, for cutting
	halt   func(error)
}

// Option adjusts a cluster.
type Option func(*options)

type options struct {
	hosts, shards int
	room          int // 0: no more than exist
	seed          uint64
	log           *slog.Logger
	network       func(*memlog.Config)
	logs          func(initialMembers []shard.HostID) (Logs, error)
	config        func(*server.Config)
}

// Hosts sets the number of hosts. Default: 1.
func Hosts(n int) Option { return func(o *options) { o.hosts = n } }

// Shards sets the number of data shards. Default: 1.
func Shards(n int) Option { return func(o *options) { o.shards = n } }

// Seed is the seed for log delays and elections.
func Seed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// Log has the hosts log.
func Log(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// Network changes the log's network before the start: delays, losses, election timeouts.
func Network(change func(*memlog.Config)) Option { return func(o *options) { o.network = change } }

// Config changes every host's config before its start.
func Config(change func(*server.Config)) Option { return func(o *options) { o.config = change } }

// Start runs a cluster until the test ends, and returns when the cluster is ready. The governor does not move elected
// leaders, so that a test knows them.
func Start(tb testing.TB, opts ...Option) *Cluster {
	tb.Helper()
	c, err := Run(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	if err := c.WaitReady(30 * time.Second); err != nil {
		tb.Fatal(err)
	}
	if c.Records() != nil {
		if err := c.Policy(func(p *kind.Policy) { p.BalanceEvery = 0 }); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// Run starts a cluster outside a test. Close stops it.
func Run(opts ...Option) (*Cluster, error) {
	o := options{hosts: 1, shards: 1, seed: 1}
	for _, opt := range opts {
		opt(&o)
	}
	initialMembers := firstIDs(o.hosts)
	if o.logs == nil {
		o.logs = func(initialMembers []shard.HostID) (Logs, error) { return openMemory(&o, initialMembers) }
	}
	logs, err := o.logs(initialMembers)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: o, logs: logs, hosts: make(map[shard.HostID]*host),
		starts:       make(map[shard.HostID]uint64),
		bootstrapped: initialMembers, members: firstIDs(o.hosts), known: make(map[shard.HostID][]shard.HostID)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for _, id := range c.initialMembers() {
		c.known[id] = c.initialMembers()
	}
	for _, id := range c.initialMembers() {
		if err := c.open(id); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// open starts one host's process, and its server on the host's logs.
func (c *Cluster) open(id shard.HostID) error {
	c.mu.Lock()
	known, shards := c.known[id], c.options.shards
	c.mu.Unlock()
	if err := c.logs.Boot(id, known); err != nil {
		return err
	}
	config := server.Config{
		ID: id, Name: Name(id), Cluster: clusterID, ClientAddress: Address(id),
		RaftAddress: raftAddress(id), Version: version, Hosts: known, Shards: shards,
		Incarnation: Incarnation(id), Start: c.start(id), InitialMembers: make(map[shard.HostID]hosts.Incarnation),
		Logs:     func(group uint64, sm shard.StateMachine) (shard.Log, error) { return c.logs.OpenLog(id, group, sm) },
		Replicas: replicasOf{c, id}, Calls: callsOf{c, id},
		Leads:        func() { c.announce(id) },
		HostsChanged: func(r *hosts.Records) { c.noteHosts(id, r) },
		Log:          c.options.log, AcquireDelay: -1, // in a bubble with stopped time, waiters are queued
	}
	for _, initialMember := range c.initialMembers() {
		config.InitialMembers[initialMember] = Incarnation(initialMember)
	}
	if c.options.config != nil {
		c.options.config(&config)
	}
	s, err := server.Open(config)
	if err != nil {
		c.logs.Ended(id)
		return err
	}
	c.mu.Lock()
	c.hosts[id] = &host{server: s, memory: transport.NewInside(s, conntest.Pair), halt: config.Halt}
	c.mu.Unlock()
	for _, other := range c.Members() {
		c.announce(other)
	}
	return nil
}

// start is a host's next start.
func (c *Cluster) start(id shard.HostID) hosts.Start {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts[id]++
	return hosts.Start{Number: c.starts[id], Draw: uint64(id)<<32 | c.starts[id]}
}

// firstIDs are the ids of the first n hosts.
func firstIDs(n int) []shard.HostID {
	ids := make([]shard.HostID, n)
	for i := range ids {
		ids[i] = shard.HostID(i + 1)
	}
	return ids
}

// initialMembers are the bootstrap hosts.
func (c *Cluster) initialMembers() []shard.HostID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bootstrapped
}

const (
	clusterID = "test"
	version   = "test"
)

// Name is a host's name.
func Name(id shard.HostID) string { return fmt.Sprintf("host-%d", id) }

// Address is a host's address for Dial.
func Address(id shard.HostID) string { return fmt.Sprintf("host-%d.test:7420", id) }

// Addresses lists the addresses of all hosts, in the form used by clients.
func (c *Cluster) Addresses() string {
	var list []string
	for _, id := range c.Members() {
		list = append(list, Address(id))
	}
	return strings.Join(list, ",")
}

// Dial connects a client to the host with the address.
func (c *Cluster) Dial(ctx context.Context, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.hosts {
		if Address(id) != address {
			continue
		}
		conn, err := h.memory.Dial()
		if err != nil {
			return nil, err
		}
		h.conns = append(h.conns, conn)
		return conn, nil
	}
	return nil, fmt.Errorf("servertest: no host listens at %s", address)
}

// Host returns a host's server.
func (c *Cluster) Host(id shard.HostID) *server.Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hosts[id]; h != nil {
		return h.server
	}
	return nil
}

// WaitReady waits until every running host is ready.
func (c *Cluster) WaitReady(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		var why error
		for _, id := range c.Members() {
			if s := c.Host(id); s != nil {
				if err := s.Ready(); err != nil {
					why = fmt.Errorf("servertest: host %d is not ready: %w", id, err)
				}
			}
		}
		if why == nil || time.Now().After(deadline) {
			return why
		}
		time.Sleep(time.Millisecond)
	}
}

// Close stops everything.
func (c *Cluster) Close() {
	c.cancel()
	for _, id := range c.Members() {
		c.Stop(id)
	}
	c.announcing.Wait()
	_ = c.logs.Close()
}
