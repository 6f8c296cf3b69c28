package memlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

var (
	// ErrUnknownHost: the network or the group does not have the host.
	ErrUnknownHost = errors.New("memlog: no such host")
	// ErrHostDown: a log cannot be opened on a killed host before its restart.
	ErrHostDown = errors.New("memlog: the host is down")
	// ErrOpen: the log is already open on the host.
	ErrOpen = errors.New("memlog: the log is open already")
	// ErrGroupExists: the group to create already exists.
	ErrGroupExists = errors.New("memlog: the group exists already")
	// ErrNotElectable: no majority would elect the host now.
	ErrNotElectable = errors.New("memlog: no majority would elect that host")
)

// Network is a set of hosts and their replica groups. Its methods may be called from any goroutine; repeatable runs
// call them from a single goroutine.
type Network struct {
	cfg Config

	// mu guards the following fields, and every host, path, group, replica and log of the network. It is never held
	// while a state machine or a callback runs.
	mu   sync.Mutex
	idle sync.Cond // signalled after every state machine call

	rng     *rand.Rand
	epoch   time.Time     // initial reading of all clocks
	now     time.Duration // virtual time since then
	events  eventHeap
	free    []*event
	lastSeq uint64

	hosts  []*host
	paths  [][]*path // by sender position, then receiver position
	groups []*Group  // in creation order
	logs   []*Log    // open logs, in opening order

	timers   []func() // due functions of AfterFunc
	ready    []*Log   // simulated: logs with runnable callbacks, in ready order
	stepping bool     // simulated: a Step is under way
	// eventsAtNow counts the events of a Step since virtual time last advanced.
	eventsAtNow int
	real        *realTime
	closed      bool
	trace       trace
}

// NewNetwork creates a network at virtual time zero, with all hosts up and no log open.
func NewNetwork(cfg Config) (*Network, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	n := &Network{
		cfg:   cfg,
		rng:   rand.New(rand.NewPCG(cfg.Seed, 0x5349474e414c)),
		epoch: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		trace: trace{sink: cfg.Trace},
	}
	n.idle.L = &n.mu
	for i, id := range cfg.Hosts {
		n.hosts = append(n.hosts, &host{id: id, pos: i, rate: 1, disk: cfg.Disk})
	}
	n.paths = make([][]*path, len(n.hosts))
	for i, from := range n.hosts {
		for _, to := range n.hosts {
			n.paths[i] = append(n.paths[i], &path{Path: cfg.Path, from: from, to: to})
		}
	}
	return n, nil
}

// do runs f under the lock. In real time it first advances the network to the current time, and afterwards runs newly
// due events.
func (n *Network) do(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.real != nil {
		n.runDue()
	}
	f()
	if n.real != nil {
		n.runDue()
		n.real.wakeDriver()
	}
}

// locked returns the result of f, run as in do.
func locked[T any](n *Network, f func() T) (result T) {
	n.do(func() { result = f() })
	return result
}

// unlocked runs f without the lock. f may call all methods of the network.
func (n *Network) unlocked(f func()) {
	n.mu.Unlock()
	defer n.mu.Lock()
	f()
}

// Group returns the group with an id. If missing, it is created with a replica on every host.
func (n *Network) Group(id GroupID) *Group {
	return locked(n, func() *Group { return n.groupOf(id) })
}

// NewGroup creates a group with replicas on the given hosts only. The first host leads first, if all replicas are open
// before an election timeout has passed.
func (n *Network) NewGroup(id GroupID, members ...shard.HostID) (*Group, error) {
	var g *Group
	var err error
	n.do(func() { g, err = n.newGroup(id, members) })
	return g, err
}

func (n *Network) newGroup(id GroupID, members []shard.HostID) (*Group, error) {
	if n.group(id) != nil {
		return nil, fmt.Errorf("%w: group %d", ErrGroupExists, id)
	}
	var hosts []*host
	for _, m := range members {
		h := n.host(m)
		if h == nil || slices.Contains(hosts, h) {
			return nil, fmt.Errorf("%w: group %d, host %d (or it is named twice)", ErrUnknownHost, id, m)
		}
		hosts = append(hosts, h)
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%w: group %d has no members", ErrConfig, id)
	}
	return n.addGroup(id, hosts), nil
}

func (n *Network) addGroup(id GroupID, hosts []*host) *Group {
	g := &Group{net: n, id: id, removed: make(map[uint64]bool)}
	for _, h := range hosts {
		r := g.newReplica(h, uint64(h.id))
		r.voter = true
		g.replicas = append(g.replicas, r)
	}
	n.groups = append(n.groups, g)
	return g
}

// Open starts the host's replica of a group. A missing group is created with a replica on every host. The state machine
// must be new: it receives the last snapshot and later entries, possibly after Open has returned.
func (n *Network) Open(host shard.HostID, group GroupID, machine shard.StateMachine) (*Log, error) {
	var l *Log
	var err error
	n.do(func() { l, err = n.open(host, group, machine) })
	return l, err
}

func (n *Network) open(id shard.HostID, group GroupID, machine shard.StateMachine) (*Log, error) {
	fail := func(err error) (*Log, error) {
		return nil, fmt.Errorf("opening group %d on host %d: %w", group, id, err)
	}
	if n.closed {
		return fail(shard.ErrLogClosed)
	}
	h := n.host(id)
	if h == nil {
		return fail(ErrUnknownHost)
	}
	if h.down {
		return fail(ErrHostDown)
	}
	g := n.groupOf(group)
	r := g.replicaOn(id)
	if r == nil { // a removed initial member starts too, as in production
		r = g.replica(uint64(id))
	}
	if r == nil || g.retired && g.removed[r.id] {
		return fail(shard.ErrNotMember)
	}
	if r.log != nil {
		return fail(ErrOpen)
	}
	return startLog(r, machine), nil
}

// Close closes every log and stops the network. Outstanding callbacks run before it returns. It must not be called from
// a callback.
func (n *Network) Close() error {
	n.do(func() {
		n.closed = true
		for len(n.logs) > 0 {
			l := n.logs[0]
			l.close()
			l.awaitMachine()
		}
		if n.real == nil {
			n.drain()
		}
	})
	n.stopRealTime()
	return nil
}

// groupOf returns the group with an id. If missing, it is created with a replica on every host.
func (n *Network) groupOf(id GroupID) *Group {
	if g := n.group(id); g != nil {
		return g
	}
	return n.addGroup(id, n.hosts)
}

// group returns the group with an id, or nil.
func (n *Network) group(id GroupID) *Group {
	for _, g := range n.groups {
		if g.id == id {
			return g
		}
	}
	return nil
}

// host returns the host with an id, or nil.
func (n *Network) host(id shard.HostID) *host {
	for _, h := range n.hosts {
		if h.id == id {
			return h
		}
	}
	return nil
}

// mustHost returns the host with an id, for calls that set faults. It panics for an unknown host.
func (n *Network) mustHost(id shard.HostID) *host {
	h := n.host(id)
	if h == nil {
		panic(fmt.Sprintf("memlog: the network has no host %d", id))
	}
	return h
}

// resumeHeartbeats is called after every change that may stop a heartbeat.
func (n *Network) resumeHeartbeats() {
	for _, g := range n.groups {
		g.resumeHeartbeats()
	}
}
