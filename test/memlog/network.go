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
	// ErrUnknownHost is returned for a host that the network or the group does not have.
	ErrUnknownHost = errors.New("memlog: no such host")
	// ErrHostDown is returned for opening a log on a host that was killed and not restarted.
	ErrHostDown = errors.New("memlog: the host is down")
	// ErrOpen is returned for opening a log that is open on that host already.
	ErrOpen = errors.New("memlog: the log is open already")
	// ErrGroupExists is returned for making a group that exists.
	ErrGroupExists = errors.New("memlog: the group exists already")
	// ErrNotElectable is returned for a host that no majority would elect now.
	ErrNotElectable = errors.New("memlog: no majority would elect that host")
)

// Network is a set of hosts and the groups of replicas on them. Its methods may be called from any
// goroutine; for a run that can be repeated they are called from one.
type Network struct {
	cfg Config

	// mu guards all that follows, and every host, path, group, replica and log of the network. It is never held while a
	// state machine or a callback runs.
	mu   sync.Mutex
	idle sync.Cond // signalled whenever a call of a state machine has ended

	rng     *rand.Rand
	epoch   time.Time     // what the clocks of all hosts showed at the beginning
	now     time.Duration // virtual time since then
	events  eventHeap
	free    []*event
	lastSeq uint64

	hosts  []*host
	paths  [][]*path // by position of the sender, then of the receiver
	groups []*Group  // in the order in which they were made
	logs   []*Log    // the open logs, in the order of opening

	timers   []func() // functions of AfterFunc that are due
	ready    []*Log   // simulated: logs whose callbacks may run, in the order in which they became ready
	stepping bool     // simulated: a Step is under way
	// eventsAtNow counts the events of a Step since virtual time last moved on.
	eventsAtNow int
	real        *realTime
	closed      bool
	trace       trace
}

// NewNetwork makes a network at virtual time zero, with all its hosts up and no log open.
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

// do runs f under the lock. In real time it first brings the network up to now, and afterwards runs the events that f
// made due.
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

// locked returns the result of f, which runs as in do.
func locked[T any](n *Network, f func() T) (result T) {
	n.do(func() { result = f() })
	return result
}

// unlocked runs f, which may call all methods of the network, without the lock.
func (n *Network) unlocked(f func()) {
	n.mu.Unlock()
	defer n.mu.Lock()
	f()
}

// Group returns the group of that id. If there is none it makes one with a replica on every host.
func (n *Network) Group(id GroupID) *Group {
	return locked(n, func() *Group { return n.groupOf(id) })
}

// NewGroup makes a group with replicas on the named hosts only. The first of them leads first, if all are open before
// an election timeout has passed.
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

// Open starts the host's replica of a group. If there is no such group it makes one with a replica on every host. The
// state machine must be a new one: it is given the last snapshot and the entries after it, possibly after Open has
// returned.
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
	if r == nil { // an initial member that was removed starts too, as in production
		r = g.replica(uint64(id))
	}
	if r == nil {
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

// groupOf returns the group of that id, and makes it with a replica on every host if there is none.
func (n *Network) groupOf(id GroupID) *Group {
	if g := n.group(id); g != nil {
		return g
	}
	return n.addGroup(id, n.hosts)
}

// group returns the group of that id, or nil.
func (n *Network) group(id GroupID) *Group {
	for _, g := range n.groups {
		if g.id == id {
			return g
		}
	}
	return nil
}

// host returns the host of that id, or nil.
func (n *Network) host(id shard.HostID) *host {
	for _, h := range n.hosts {
		if h.id == id {
			return h
		}
	}
	return nil
}

// mustHost returns the host of that id. It is for the calls that set faults, where an unknown host is the test's
// mistake.
func (n *Network) mustHost(id shard.HostID) *host {
	h := n.host(id)
	if h == nil {
		panic(fmt.Sprintf("memlog: the network has no host %d", id))
	}
	return h
}

// resumeHeartbeats is called after every change that may keep a heartbeat from arriving.
func (n *Network) resumeHeartbeats() {
	for _, g := range n.groups {
		g.resumeHeartbeats()
	}
}
