package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/memlog"
	"github.com/signalbox/signalbox/test/workload"
)

// path is the programs' node.
const path = "/jobs"

// Worlds use upgrades to an unreleased level.
func init() { level.Newest = level.First + 1 }

// digestInterval is how often replicas are compared.
const digestInterval = 20 * time.Second

// world is one run of a plan.
type world struct {
	plan       Plan
	bug        *Bug
	did        func(FaultKind) // may be nil
	joined     func(hosts int) // may be nil
	moved      func(slots int) // may be nil
	record     *history.Recorder
	cluster    *servertest.Cluster
	times      *times
	network    *network
	disks      disks
	clients    []*process
	operators  []workload.Operator // for rollouts and processes
	desks      []*client.Client    // of operators
	background sync.WaitGroup      // the operators and the faults
	began      time.Time

	joining chan struct{} // capacity for one joining host: a blocked sender lets virtual time advance

	mu   sync.Mutex // guards what follows
	down map[shard.HostID]bool
	gone map[shard.HostID]bool // hosts that have left the cluster permanently
	// expelled are the hosts that operators have tried to expel.
	expelled map[shard.HostID]bool
	data     int // data shards: a restore can change their number
	// lost are shards that permanently lost their majority and were not rebuilt yet. node is the node's id.
	lost map[uint64]bool
	node shard.NodeID
	// made are nodes created before and during a backup. Nodes created before the backup started are in the restored
	// cluster. published is the last version number of a node's rollout.
	made      map[string]madeNode
	published map[string]uint64
	savedFrom history.Time
	// generations are the slots' generations, as counted by countMoves. While movesHeld is above 0, no move is ordered.
	generations [shard.Slots]uint64
	movesHeld   atomic.Int32
}

// Run runs a plan's world in the caller's bubble, and returns its history.
func Run(p Plan, o Options) (*history.History, error) {
	w := &world{plan: p, bug: o.Bug, did: o.Did, joined: o.Joined, moved: o.Moved, began: time.Now(),
		down: make(map[shard.HostID]bool), gone: make(map[shard.HostID]bool),
		expelled: make(map[shard.HostID]bool), joining: make(chan struct{}, 1),
		data: p.Shards, lost: make(map[uint64]bool), made: make(map[string]madeNode),
		published: make(map[string]uint64),
		disks:     disks{syncs: make(map[shard.HostID]*metrics.Histogram), slow: make(map[shard.HostID]bool)}}
	clock := history.NewClock(func() history.Time { return time.Since(w.began) })
	w.record = history.NewRecorder(fmt.Sprintf("%v; again: %s", p, p.Again()), clock)
	w.record.Grace(p.Node.SessionGracePeriod)
	if err := w.open(o); err != nil {
		return nil, err
	}
	defer w.cluster.Close()
	if err := w.prepare(); err != nil {
		return nil, err
	}
	w.work()
	w.end()
	return w.record.History(), nil
}

// Again is the command that repeats the plan's world.
func (p Plan) Again() string {
	kind := ""
	switch {
	case p.Restore != nil:
		kind = " -restores"
	case p.Room == wide:
		kind = " -wide"
	case p.Moves:
		kind = " -moves"
	case p.Policy.Replicas > 0:
		kind = " -spread"
	case p.Measured:
		kind = " -slow"
	case p.Members:
		kind = " -members"
	}
	if p.Apart {
		kind += " -apart"
	}
	return fmt.Sprintf("go test ./test/simulation -run TestWorld -seed %d%s", p.Seed, kind)
}

func (w *world) open(o Options) error {
	p := w.plan
	w.times = newTimes(w)
	options := []servertest.Option{
		servertest.Room(w.places()),
		servertest.Hosts(p.Hosts), servertest.Shards(p.Shards), servertest.Seed(p.Seed), servertest.Log(o.Log),
		servertest.Network(func(c *memlog.Config) {
			hosts := c.Hosts
			*c = p.Log
			c.Hosts = hosts
		}),
		servertest.Config(func(c *server.Config) {
			c.AcquireDelay, c.Apart = server.DefaultAcquireDelay, p.Apart
			c.Clock = clockAt(p.Rates[c.ID-1])
			if i := int(c.ID) - 1; i < len(p.Upgrades) && time.Since(w.began) < p.Upgrades[i] {
				c.Level = p.Before
			}
			c.DigestInterval = digestInterval
			c.ShardObjects, c.ShardBytes = p.Quotas.Objects, p.Quotas.Bytes
			id := c.ID
			if p.Seed%2 == 0 {
				c.NextAlarm = alwaysLater
			}
			c.Halt = func(err error) { w.halt(id, err) }
			if p.Measured {
				c.LogSyncs = w.disks.measured(id)
			}
			w.times.watch(c)
			w.bug.configure(c)
		}),
	}
	if o.Production {
		options = append(options, servertest.On(func(initialMembers []shard.HostID) (servertest.Logs, error) {
			return newProduction(w, initialMembers), nil
		}))
	}
	cluster, err := servertest.Run(options...)
	if err != nil {
		return err
	}
	w.cluster = cluster
	w.times.cluster.Store(cluster)
	for i, rate := range p.Rates {
		cluster.Net().SetClockRate(shard.HostID(i+1), rate)
	}
	if err := cluster.WaitReady(time.Minute); err != nil {
		cluster.Close()
		return err
	}
	w.network = newNetwork(cluster)
	if p.Members {
		return w.setPolicy()
	}
	return nil
}

// halt is called if a host cannot continue. An expelled host exits.
func (w *world) halt(id shard.HostID, err error) {
	if errors.Is(err, server.ErrRefused) && w.isRefusable(id) {
		go w.cluster.Stop(id)
		return
	}
	w.record.Note("host %d cannot go on: %v", id, err)
}

// places is the maximum number of hosts over time.
func (w *world) places() int {
	if w.plan.Members {
		return w.plan.Room.Ever
	}
	return w.plan.Hosts
}

// shards is the number of data shards.
func (w *world) shards() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data
}

// addresses are the addresses of all hosts that clients may meet: a restore changes the hosts.
func (w *world) addresses() string {
	if w.plan.Restore == nil {
		return w.cluster.Addresses()
	}
	var list []string
	for n := range w.places() {
		list = append(list, servertest.Address(shard.HostID(n+1)))
	}
	return strings.Join(list, ",")
}

// alwaysLater reports an alarm in every shard, later than the end of the world, if there is no other alarm.
func alwaysLater(_ uint64, m *machine.Machine) (at uint64, ok bool) {
	if at, ok := m.NextAlarm(); ok {
		return at, true
	}
	return 1 << 60, true
}

// clockAt is a clock with a rate.
func clockAt(rate float64) func() time.Time {
	began := time.Now()
	return func() time.Time {
		return began.Add(time.Duration(float64(time.Since(began)) * rate))
	}
}

// prepare creates the node and its semaphores.
func (w *world) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Open(ctx, w.addresses(), client.WithDialer(w.cluster.Dial))
	if err != nil {
		return err
	}
	defer c.Close()
	n, err := c.CreateNode(ctx, path, w.plan.Node)
	if err != nil {
		return err
	}
	w.node = shard.NodeID(n.ID)
	for _, s := range targets {
		if s.Ephemeral {
			continue
		}
		o := history.Operation{Kind: history.Create, Semaphore: of(s.Name), Limit: s.Limit, Data: s.Name,
			Called: w.record.Now()}
		if err := workload.Make(ctx, c.Node(path), s.Name, s.Limit, []byte(s.Name)); err != nil {
			return err
		}
		o.Outcome = history.Done
		w.record.Operation(o)
	}
	return nil
}

// of is a semaphore's name in the history.
func of(name string) history.Semaphore { return history.Semaphore{Node: path, Name: name} }

// work has programs work and faults happen, until the time is up and all faults are over.
func (w *world) work() {
	ctx, cancel := context.WithCancel(context.Background())
	for i, p := range w.plan.Clients {
		w.network.setDelay(i, p.Delay)
		w.clients = append(w.clients, &process{world: w, id: i, plan: p})
	}
	for _, c := range w.clients {
		c.start()
	}
	w.startOperators(ctx)
	if w.plan.Operator {
		w.background.Go(func() { w.operate(ctx, w.random(500)) })
	}
	if w.plan.Restore == nil {
		w.background.Go(func() { w.reuseNumbers(ctx, w.random(600)) })
	}
	if w.plan.Moves {
		w.background.Go(func() { w.moveSlots(ctx, w.random(800)) })
	}
	for _, f := range w.plan.Faults {
		w.background.Go(func() { w.inject(ctx, f) })
	}
	for i, at := range w.plan.Upgrades {
		if at > 0 && i < w.plan.Hosts {
			w.background.Go(func() { w.inject(ctx, Fault{Kind: Restart, At: at, Host: shard.HostID(i + 1)}) })
		}
	}
	if w.plan.Members {
		w.background.Go(func() { w.watchLeaders(ctx) })
	}
	measuring, enough := context.WithCancel(context.Background())
	defer enough()
	if w.plan.Measured {
		go w.disks.measure(measuring)
	}
	if w.plan.Restore != nil {
		w.background.Go(func() { w.restore(ctx) })
	}
	time.Sleep(w.plan.Length)
	cancel()
	for _, c := range w.clients {
		c.stopPrograms()
	}
	w.background.Wait()
	w.cluster.Net().HealAll()
	if w.plan.Members {
		w.comeToRest()
	}
	w.finishOperators()
	time.Sleep(w.plan.Recovery)
}

// inject waits until a fault is due, starts it, and ends it.
func (w *world) inject(ctx context.Context, f Fault) {
	if !workload.Sleep(ctx, f.At) {
		return
	}
	client := -1
	if f.clientOnly() {
		client = f.Client
	}
	f.Host, f.Other = w.member(f.Host), w.member(f.Other)
	over := w.record.Fault(f.String(), client)
	defer over()
	if end := w.begin(f); end != nil {
		if w.did != nil {
			w.did(f.Kind)
		}
		workload.Sleep(ctx, f.For)
		end()
	}
}

// random returns the random source of one part of the world, by number.
func (w *world) random(part int) *rand.Rand {
	return rand.New(rand.NewPCG(w.plan.Seed, uint64(1000+part)))
}

// hostIDs are the cluster members.
func (w *world) hostIDs() []shard.HostID { return w.livingHosts() }

// markDown records that a host is down, and reports whether it was up.
func (w *world) markDown(id shard.HostID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.down[id]
	w.down[id] = true
	return !was
}

func (w *world) markUp(id shard.HostID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.down, id)
}

// end records the final state, and ends the clients.
func (w *world) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.cluster.WaitReady(10 * time.Second); err != nil {
		w.record.Note("in the end a host is not ready: %v", err)
	}
	for _, id := range w.hostIDs() {
		h := w.cluster.Host(id)
		if h == nil {
			w.record.Note("in the end host %d does not run", id)
			continue
		}
		if at := h.Level(); at.Cluster != level.Newest {
			w.record.Note("in the end all hosts can follow level %d, and host %d knows of %v", level.Newest, id, at)
		}
	}
	c, err := client.Open(ctx, w.addresses(), client.WithDialer(w.cluster.Dial))
	if err != nil {
		w.record.Note("in the end no host lets a client in: %v", err)
		return
	}
	revisions := make(map[string]uint64)
	for _, s := range targets {
		o := history.Operation{Kind: history.Describe, Semaphore: of(s.Name), Called: w.record.Now()}
		d, err := c.Node(path).Describe(ctx, s.Name,
			client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict))
		o.Found, o.Outcome, o.Error = workload.StateOf(d, err)
		w.record.Operation(o)
		if o.Found == nil {
			w.record.Note("in the end %v cannot be described: %v", o.Semaphore, err)
			continue
		}
		revisions[s.Name] = o.Found.Revision
		var watchers []int
		for _, p := range w.clients {
			watchers = append(watchers, p.watchersOf(s.Name)...)
		}
		w.record.Final(o.Semaphore, *o.Found, watchers, false)
	}
	w.checkSessions(ctx, c)
	w.checkMade(ctx, c)
	w.readOperators()
	for _, p := range w.clients {
		p.checkOneShotWatches(revisions)
		p.close()
	}
	if err := c.Close(); err != nil {
		w.record.Note("the last client did not end in order: %v", err)
	}
}

// checkSessions notes sessions that exist on hosts but at no client.
func (w *world) checkSessions(ctx context.Context, c *client.Client) {
	known := make(map[uint64]bool)
	for _, p := range w.clients {
		p.mu.Lock()
		for _, id := range p.sessions {
			known[id] = true
		}
		p.mu.Unlock()
	}
	for s, err := range c.Node(path).Sessions(ctx) {
		if err != nil {
			w.record.Note("in the end sessions cannot be listed: %v", err)
			return
		}
		if !known[s.ID] {
			w.record.Note("in the end hosts have session %x, and no client has it", s.ID)
		}
	}
}
