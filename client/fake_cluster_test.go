package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// fakeCluster is a cluster in memory under a test's control: the test moves leaders, cuts connections, drops, delays
// and refuses. A shard's answers come from the real machine, so numbers, repetitions and queues are real. All hosts
// share the machines: a command applied once is applied everywhere.
//
// One lock guards everything.
type fakeCluster struct {
	t    testing.TB
	stop chan struct{}

	mu     sync.Mutex
	id     string
	hosts  []*fakeHost
	shards []*fakeShard              // shard 1 is the first
	meta   int                       // place of the meta shard's leader
	nodes  map[string]*protocol.Node // those of metaMachine
	ids    map[uint64]string
	// metaMachine has the nodes.
	metaMachine *meta.Machine
	// version of the routing
	version  uint64
	sessions map[uint64]*fakeSession
	fault    func(h *fakeHost, r *protocol.Request) fault
	seen     []protocol.Kind
	welcome  protocol.Welcome
	token    string
	tls      *tls.Config
	// lost is in the lease of each attached session.
	lost protocol.List[protocol.LostHoldings, *protocol.LostHoldings]
	// lossAtHome: a loss is reported only over the connection of the session's attachment.
	lossAtHome bool
	// advertised are the addresses in the routing, if other than the hosts' own.
	advertised map[uint64]string
	pageSize   int
	// places are the moved slots. The routing has their old places.
	places map[shard.Slot]fakePlace
	tells  bool // the routing also has the places of moved slots
	// answered are the mutations with an answer: a client may acknowledge its repeated mutations.
	answered map[openMutation]bool
}

// fakePlace is a slot's place and its generation.
type fakePlace struct {
	shard      *fakeShard
	generation uint64
}

type fakeHost struct {
	cluster *fakeCluster
	id      uint64
	address string
	down    bool // refuses connections
	mute    bool // takes connections, and says nothing
	hang    bool // neither accepts connections nor refuses them
	// expelled: the host has left the cluster, by the routing.
	expelled bool
	conns    map[*fakeConn]struct{}
	dials    int
}

// fault is the deviation from a request's normal handling.
type fault struct {
	ignore bool             // the request is ignored
	refuse *protocol.Result // answered with this
	after  bool             // the result, after the request was carried out
	silent bool             // carried out and not answered
	cut    bool             // the connection is cut, after the rest
	delay  time.Duration    // delay of all further data over the connection
}

func newFakeCluster(t testing.TB, hosts, shards int) *fakeCluster {
	f := &fakeCluster{
		t: t, stop: make(chan struct{}), id: "fake", nodes: make(map[string]*protocol.Node),
		answered: make(map[openMutation]bool), ids: make(map[uint64]string), version: 1,
		sessions: make(map[uint64]*fakeSession), pageSize: 1000,
		welcome: protocol.Welcome{
			Version: 1, Limits: protocol.FrameLimits(protocol.DefaultDataBytes), PingIntervalMillis: 10_000,
		},
	}
	f.welcome.Limits.RequestsInFlight, f.welcome.Limits.Watches = 1000, 1000
	for i := range hosts {
		f.hosts = append(f.hosts, &fakeHost{
			cluster: f, id: uint64(i + 1), address: fmt.Sprintf("host-%d", i+1), conns: make(map[*fakeConn]struct{}),
		})
	}
	for i := range shards {
		f.shards = append(f.shards, newFakeShard(f, i, shards))
	}
	f.metaMachine = meta.New()
	go f.tick()
	return f
}

// ready has nothing to wait for.
func (f *fakeCluster) ready() {}

func (f *fakeCluster) size() int { return len(f.hosts) }

func (f *fakeCluster) close() {
	close(f.stop)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.hosts {
		h.cutAll()
	}
}

// tick lets time pass for sessions and waiters.
func (f *fakeCluster) tick() {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.mu.Lock()
			for _, s := range f.shards {
				s.expire()
				s.timeOut()
			}
			f.mu.Unlock()
		case <-f.stop:
			return
		}
	}
}

// addresses returns all hosts' addresses, in Open's format.
func (f *fakeCluster) addresses() string {
	var list []string
	for _, h := range f.hosts {
		list = append(list, h.address)
	}
	return strings.Join(list, ",")
}

// dial is a client.DialFunc.
func (f *fakeCluster) dial(ctx context.Context, address string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.hosts {
		if h.address != address {
			continue
		}
		h.dials++
		if h.hang {
			f.mu.Unlock()
			<-ctx.Done()
			f.mu.Lock()
			return nil, ctx.Err()
		}
		if h.down {
			return nil, errors.New("connection refused")
		}
		ours, theirs := net.Pipe()
		if f.tls != nil {
			ours = tls.Server(ours, f.tls)
		}
		return &clientEnd{Conn: theirs, left: &h.serve(ours).left}, nil
	}
	return nil, fmt.Errorf("no such host: %s", address)
}

// clientEnd is the client's side of a connection. A host may notice the end later than the client dials again.
type clientEnd struct {
	net.Conn
	left *atomic.Bool
}

func (e *clientEnd) Close() error {
	e.left.Store(true)
	return e.Conn.Close()
}

// do calls fn under the lock.
func (f *fakeCluster) do(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

// on sets the fault handler; nil for no faults.
func (f *fakeCluster) on(fn func(h *fakeHost, r *protocol.Request) fault) {
	f.do(func() { f.fault = fn })
}

// once applies a fault to the next request of a kind.
func (f *fakeCluster) once(kind protocol.Kind, x fault) { f.times(1, kind, x) }

// times applies a fault to the next n requests of a kind.
func (f *fakeCluster) times(n int, kind protocol.Kind, x fault) {
	f.on(func(_ *fakeHost, r *protocol.Request) fault {
		if r.Kind != kind || n == 0 {
			return fault{}
		}
		n--
		return x
	})
}

// count returns how many requests have a kind, without the ignored ones.
func (f *fakeCluster) count(kind protocol.Kind) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, k := range f.seen {
		if k == kind {
			n++
		}
	}
	return n
}

// take takes a host down: connections break, and no client gets in.
func (f *fakeCluster) take(i int) {
	f.do(func() {
		f.hosts[i].down = true
		f.hosts[i].cutAll()
	})
}

func (f *fakeCluster) bring(i int) { f.do(func() { f.hosts[i].down = false }) }

// cut breaks all connections to all hosts.
func (f *fakeCluster) cut() {
	f.do(func() {
		for _, h := range f.hosts {
			h.cutAll()
		}
	})
}

func (h *fakeHost) cutAll() {
	for c := range h.conns {
		c.close()
	}
}

// lead makes a host the leader of all shards, like an election.
func (f *fakeCluster) lead(host int) {
	f.do(func() {
		f.meta = host
		for _, s := range f.shards {
			s.moveTo(host)
		}
	})
}

// shardOf returns a slot's shard.
func (f *fakeCluster) shardOf(slot shard.Slot) *fakeShard {
	if p, moved := f.places[slot]; moved {
		return p.shard
	}
	return f.shards[int(slot)*len(f.shards)/shard.Slots]
}

func (f *fakeCluster) leaderResult(s *fakeShard) *protocol.Result {
	leader := f.hosts[s.leader]
	return &protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
		ShardID: s.id, LeaderHostID: leader.id, LeaderAddress: f.advertise(leader), RoutingVersion: f.version,
	}}
}

// placeResult is the answer of a host that does not lead a slot's shard.
func (f *fakeCluster) placeResult(slot shard.Slot) *protocol.Result {
	r := f.leaderResult(f.shardOf(slot))
	r.Moved.Slot, r.Moved.Generation = uint64(slot), f.places[slot].generation
	return r
}

// advertise returns a host's address as hosts report it.
func (f *fakeCluster) advertise(h *fakeHost) string {
	if f.advertised != nil {
		return f.advertised[h.id]
	}
	return h.address
}

func (f *fakeCluster) routing() *protocol.RoutingAnswer {
	a := &protocol.RoutingAnswer{Version: f.version, MetaShardID: 0}
	var all protocol.HostIDs
	for _, h := range f.hosts {
		state := protocol.HostOnline
		if h.expelled {
			state = protocol.HostExpelled
		}
		a.Hosts.Append(protocol.Host{ID: h.id, Name: []byte(h.address), Address: []byte(f.advertise(h)), State: state})
		if h.expelled {
			continue
		}
		all.Append(protocol.HostID(h.id))
	}
	a.Shards.Append(protocol.Shard{ID: 0, LeaderHostID: f.hosts[f.meta].id, ReplicaHostIDs: all})
	for i, s := range f.shards {
		a.Shards.Append(protocol.Shard{ID: s.id, LeaderHostID: f.hosts[s.leader].id, ReplicaHostIDs: all})
		a.Slots.Append(protocol.SlotRange{
			First:   uint64((i*shard.Slots + len(f.shards) - 1) / len(f.shards)),
			Last:    uint64(((i+1)*shard.Slots+len(f.shards)-1)/len(f.shards) - 1),
			ShardID: s.id,
		})
	}
	for slot, p := range f.places {
		if f.tells {
			a.Slots.Append(protocol.SlotRange{First: uint64(slot), Last: uint64(slot), ShardID: p.shard.id,
				Generation: p.generation})
		}
	}
	return a
}
