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

	// mu guards all that follows, and every host, link, group, replica and log of the network. It is
	// never held while a state machine or a callback runs.
	mu   sync.Mutex
	idle sync.Cond // told whenever a call of a state machine has ended

	rng     *rand.Rand
	epoch   time.Time     // what the clocks of all hosts showed at the beginning
	now     time.Duration // virtual time since then
	events  eventHeap
	spare   []*event
	lastSeq uint64

	hosts  []*host
	links  [][]*link // by position of the sender, then of the receiver
	groups []*Group  // in the order in which they were made
	logs   []*Log    // all that were opened and not closed, in that order

	timers   []func() // functions of AfterFunc that are due
	ready    []*Log   // simulated: logs with calls to make, first come first served
	stepping bool     // simulated: a Step is under way,
	atOnce   int      // in which so many events have happened since time moved on
	real     *realTime
	closed   bool
	trace    trace
}

// NewNetwork makes a network at virtual time zero, with all its hosts up and nothing open.
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
	n.links = make([][]*link, len(n.hosts))
	for i, from := range n.hosts {
		for _, to := range n.hosts {
			n.links[i] = append(n.links[i], &link{Link: cfg.Link, from: from, to: to})
		}
	}
	return n, nil
}

// do runs f under the lock. In real time it first brings the network up to now, and afterwards lets
// everything happen that f made due.
func (n *Network) do(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.real != nil {
		n.pump()
	}
	f()
	if n.real != nil {
		n.pump()
		n.real.rearm()
	}
}

// outside runs f, which may call anything of the network, without the lock.
func (n *Network) outside(f func()) {
	n.mu.Unlock()
	defer n.mu.Lock()
	f()
}

// Group returns the group of that id. One that does not exist yet is made, with a replica on every
// host.
func (n *Network) Group(id GroupID) *Group {
	var g *Group
	n.do(func() {
		if g = n.group(id); g == nil {
			g = n.addGroup(id, n.hosts)
		}
	})
	return g
}

// NewGroup makes a group with replicas on the named hosts only. The first of them leads first, where
// all are open before an election timeout has passed.
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
	g := &Group{net: n, id: id}
	for i, h := range hosts {
		g.replicas = append(g.replicas, &replica{group: g, host: h, pos: i, store: newStore()})
	}
	n.groups = append(n.groups, g)
	return g
}

// Open starts the host's replica of a group, which is made with a replica on every host where it does
// not exist yet. The state machine must be a new one: it is given the last snapshot and the entries
// after it, possibly after Open has returned.
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
	g := n.group(group)
	if g == nil {
		g = n.addGroup(group, n.hosts)
	}
	r := g.replicaOn(id)
	if r == nil {
		return fail(shard.ErrNotMember)
	}
	if r.log != nil {
		return fail(ErrOpen)
	}
	return startLog(r, machine), nil
}

// Close closes every log and stops the network. Callbacks that are outstanding are made before it
// returns. It must not be called from a callback.
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

// mustHost is for the calls that set faults: a test that names a wrong host is wrong.
func (n *Network) mustHost(id shard.HostID) *host {
	h := n.host(id)
	if h == nil {
		panic(fmt.Sprintf("memlog: the network has no host %d", id))
	}
	return h
}

// disturb is called after every change that may come between a leader and its followers: from now on
// they find out by messages whether they still hear each other.
func (n *Network) disturb() {
	for _, g := range n.groups {
		g.disturb()
	}
}
