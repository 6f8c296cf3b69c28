package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
	"github.com/signalbox/signalbox/test/memlog"
)

// production is the logs of all hosts as in production: engine, store, files and transport, on in-memory disks and
// network. It implements servertest.Logs.
type production struct {
	world          *world
	network        *raftlogtest.Network
	initialMembers map[shard.HostID]hosts.Incarnation

	mu         sync.Mutex // guards what follows
	hosts      map[shard.HostID]*productionHost
	path       memlog.Path
	disk       memlog.Delay
	cuts       map[[2]shard.HostID]bool // from, to
	random     *rand.Rand               // of power failures
	bootstraps uint64                   // how often the logs were made
	// members are a shard's members, as last known by a leader.
	members map[uint64][]shard.Member
}

// productionHost is one host.
type productionHost struct {
	*raftlogtest.Machine
	id   shard.HostID
	logs map[uint64]*raftlog.Log // of the running process
	rate float64
	// down, paused and stuck are the active faults. A host that was never started is not down: it may ask to join.
	down, paused, stuck bool
}

// newProduction creates the logs of a plan's hosts.
func newProduction(w *world, initialMembers []shard.HostID) *production {
	p := &production{world: w, network: raftlogtest.NewNetwork(),
		initialMembers: make(map[shard.HostID]hosts.Incarnation), hosts: make(map[shard.HostID]*productionHost),
		path: w.plan.Log.Path, disk: w.plan.Log.Disk, cuts: make(map[[2]shard.HostID]bool), random: w.random(700),
		members: make(map[uint64][]shard.Member)}
	for _, id := range initialMembers {
		p.initialMembers[id] = servertest.Incarnation(id)
	}
	p.network.Delay(func(string, string) time.Duration { return p.delay() })
	for n := range w.places() {
		id := shard.HostID(n + 1)
		p.hosts[id] = p.newHost(id)
		p.hosts[id].rate = w.plan.Rates[n]
	}
	return p
}

// electionTicks is the minimum number of host ticks for an election.
const electionTicks = 15

// newHost returns a stopped host with an empty disk. Settings outside the plan are as in server/host.
func (p *production) newHost(id shard.HostID) *productionHost {
	plan := &p.world.plan.Log
	timeout := max(raftlog.DefaultProposalTimeout, 4*plan.ElectionTimeout)
	h := &productionHost{id: id, logs: make(map[uint64]*raftlog.Log), rate: 1}
	h.Machine = raftlogtest.NewMachine(p.network, address(id), raftlog.Config{
		Host: id, Incarnation: servertest.Incarnation(id), InitialMembers: p.initialMembers,
		InitialShards:   uint64(p.world.plan.Shards),
		Deployment:      1 + p.bootstraps,
		ProposalTimeout: timeout, BarrierTimeout: timeout,
		SnapshotBytes: int64(plan.SnapshotEvery * raftlog.BatchBytes),
		KeepBytes:     int64(max(plan.SnapshotKeep, 1) * raftlog.BatchBytes),
		Damaged:       func(err error) { p.damaged(h, err) },
	})
	h.Disk().Slow(func() time.Duration {
		p.mu.Lock()
		defer p.mu.Unlock()
		return draw(p.disk)
	})
	return h
}

func address(id shard.HostID) string { return servertest.Name(id) + ":7421" }

// draw draws a delay. Goroutines ask in varying order, so it is not derived from the seed.
func draw(d memlog.Delay) time.Duration {
	return d.Min + time.Duration(rand.Int64N(int64(d.Max-d.Min)+1))
}

// retransmission is the time until lost data is sent again.
const retransmission = 200 * time.Millisecond

// delay is the next message's delay. Lost messages are retransmitted, because the transport uses TCP.
func (p *production) delay() time.Duration {
	p.mu.Lock()
	path := p.path
	p.mu.Unlock()
	d := draw(path.Delay)
	for path.Loss > 0 && rand.Float64() < path.Loss {
		d += retransmission
	}
	return d
}

// damaged is called by a process that cannot continue. It ends the process and the goroutine, like an engine panic.
func (p *production) damaged(h *productionHost, err error) {
	p.world.record.Note("the log of host %d cannot go on: %v", h.id, err)
	h.Damaged(err)
}

func (p *production) host(id shard.HostID) *productionHost {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hosts[id]
}

// runs reports whether the process exists and is not stalled. The lock is held.
func (h *productionHost) runs() bool {
	own := h.Process()
	return own != nil && !own.Ended() && !h.paused
}

// Boot implements servertest.Logs.
func (p *production) Boot(id shard.HostID, known []shard.HostID) error {
	h := p.host(id)
	h.Await()
	p.mu.Lock()
	clear(h.logs)
	h.down = false
	tick := time.Duration(float64(p.world.plan.Log.ElectionTimeout/electionTicks) / h.rate)
	h.Config.Tick, h.Config.ElectionTicks = tick.Round(time.Millisecond), electionTicks
	p.mu.Unlock()
	_, err := h.Start(book(known), func(c *transport.Config) {
		c.TurnedAway = func(why *transport.Refused) {
			if why.Code == transport.CodeOlderCopy {
				p.world.record.Note("host %d is taken for an older copy: %v", id, why)
			}
		}
	})
	return err
}

// book is the host addresses.
func book(known []shard.HostID) []transport.Host {
	list := make([]transport.Host, 0, len(known))
	for _, id := range known {
		list = append(list, transport.Host{ID: id, Name: servertest.Name(id), Address: address(id),
			Incarnation: servertest.Incarnation(id)})
	}
	return list
}

// Know implements servertest.Logs.
func (p *production) Know(id shard.HostID, known []shard.HostID) {
	if own := p.host(id).Process(); own != nil {
		own.Peers.SetHosts(book(known))
	}
}

// Ended implements servertest.Logs.
func (p *production) Ended(id shard.HostID) { p.host(id).Stop() }

// OpenLog implements servertest.Logs.
func (p *production) OpenLog(on shard.HostID, of uint64, machine shard.StateMachine) (shard.Log, error) {
	return p.open(on, of, func(own *raftlog.Host) (shard.Log, error) { return own.Start(of, machine) })
}

// JoinLog implements servertest.Logs.
func (p *production) JoinLog(on shard.HostID, of, replica uint64, machine shard.StateMachine) (shard.Log, error) {
	return p.open(on, of, func(own *raftlog.Host) (shard.Log, error) { return own.Join(of, replica, machine) })
}

// errNoProcess: the host's process has ended.
var errNoProcess = errors.New("simulation: the process of the host has ended")

func (p *production) open(on shard.HostID, of uint64, open func(*raftlog.Host) (shard.Log, error)) (shard.Log, error) {
	h := p.host(on)
	own := h.Process()
	if own == nil {
		return nil, errNoProcess
	}
	defer h.Disk().Hurry()()
	l, err := open(own.Host)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h.logs[of] = l.(*raftlog.Log)
	return changedLog{h.logs[of], p, of}, nil
}

// changedLog is a replica's log that records membership changes immediately: the leader that made one may be gone
// before it is read again.
type changedLog struct {
	*raftlog.Log
	production *production
	of         uint64
}

// AddLearner implements shard.Members.
func (l changedLog) AddLearner(ctx context.Context, replica uint64, host shard.HostID, incarnation shard.Incarnation,
	change uint64) error {
	return l.made(l.Log.AddLearner(ctx, replica, host, incarnation, change), func(m []shard.Member) []shard.Member {
		return append(m, shard.Member{Replica: replica, Host: host, Incarnation: incarnation})
	})
}

// Promote implements shard.Members.
func (l changedLog) Promote(ctx context.Context, replica, change uint64) error {
	return l.made(l.Log.Promote(ctx, replica, change), func(m []shard.Member) []shard.Member {
		for i := range m {
			m[i].Voter = m[i].Voter || m[i].Replica == replica
		}
		return m
	})
}

// Remove implements shard.Members.
func (l changedLog) Remove(ctx context.Context, replica, change uint64) error {
	return l.made(l.Log.Remove(ctx, replica, change), func(m []shard.Member) []shard.Member {
		return slices.DeleteFunc(m, func(x shard.Member) bool { return x.Replica == replica })
	})
}

// made changes the known members. After an error the members are unknown until a leader is read.
func (l changedLog) made(err error, change func([]shard.Member) []shard.Member) error {
	l.production.mu.Lock()
	defer l.production.mu.Unlock()
	if known := l.production.members[l.of]; err != nil || known == nil {
		delete(l.production.members, l.of)
	} else {
		l.production.members[l.of] = change(slices.Clone(known))
	}
	return err
}

// DiscardLog implements servertest.Logs.
func (p *production) DiscardLog(ctx context.Context, on shard.HostID, of, replica uint64) error {
	h := p.host(on)
	own := h.Process()
	if own == nil {
		return errNoProcess
	}
	defer h.Disk().Hurry()()
	return own.Host.Discard(ctx, of, replica)
}

// RenewLog implements servertest.Logs.
func (p *production) RenewLog(ctx context.Context, on shard.HostID, n servertest.Renewal) error {
	h := p.host(on)
	own := h.Process()
	if own == nil {
		return errNoProcess
	}
	defer h.Disk().Hurry()()
	p.mu.Lock()
	delete(p.members, n.Shard)
	p.mu.Unlock()
	return own.Host.Renew(ctx, n.Shard, n.Replica, n.Group, n.Before, n.Renew)
}

// Recorded implements servertest.Logs.
func (p *production) Recorded(on shard.HostID) []uint64 {
	own := p.host(on).Process()
	if own == nil {
		return nil
	}
	return own.Host.Recorded()
}

// Last implements servertest.Logs.
func (p *production) Last(on shard.HostID, of uint64) (term, index uint64) {
	own := p.host(on).Process()
	if own == nil {
		return 0, 0
	}
	r, err := own.Host.Remnant(of)
	if err != nil {
		return 0, 0
	}
	return r.Term, r.Index
}

// Remake implements servertest.Logs.
func (p *production) Remake(on shard.HostID, shards []servertest.Remade) error {
	states := make(map[uint64]raftlog.State)
	for _, s := range shards {
		states[s.Shard] = raftlog.State{Replica: s.Replica, Machine: s.Machine}
	}
	p.mu.Lock()
	p.bootstraps++
	p.initialMembers = map[shard.HostID]hosts.Incarnation{on: servertest.Incarnation(on)}
	clear(p.members)
	for id, h := range p.hosts {
		made := p.newHost(id)
		made.rate = h.rate
		p.hosts[id] = made
	}
	h := p.hosts[on]
	p.mu.Unlock()
	c := h.Config
	c.Files, c.DataDir = h.Disk().Files(), h.DataDir()
	defer h.Disk().Hurry()()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return raftlog.Import(ctx, c, states)
}

// leading returns the log of a shard's leader, or nil.
func (p *production) leading(of uint64) (on shard.HostID, log *raftlog.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	term := uint64(0)
	for id, h := range p.hosts {
		if l := h.logs[of]; l != nil && h.runs() {
			if is := l.Leadership(); is.Leader == id && is.Term > term {
				on, log, term = id, l, is.Term
			}
		}
	}
	return on, log
}

// Leader implements servertest.Logs.
func (p *production) Leader(of uint64) shard.HostID {
	on, _ := p.leading(of)
	return on
}

// Elect implements servertest.Logs.
func (p *production) Elect(of uint64, to shard.HostID) error {
	if _, l := p.leading(of); l != nil {
		return l.Transfer(to)
	}
	return shard.ErrNoQuorum
}

// Replicas implements servertest.Logs. Without an answering leader, it uses the last answer.
func (p *production) Replicas(of uint64) (list []servertest.Replica) {
	if _, l := p.leading(of); l != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		m, err := l.Membership(ctx)
		cancel()
		if err == nil {
			p.mu.Lock()
			p.members[of] = m.Members
			p.mu.Unlock()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members[of] {
		h := p.hosts[m.Host]
		l := h.logs[of]
		list = append(list, servertest.Replica{Host: m.Host, Voter: m.Voter,
			Leads: l != nil && h.runs() && l.Leadership().Leader == m.Host})
	}
	return list
}

// Describe implements servertest.Logs.
func (p *production) Describe(of uint64) (text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text = fmt.Sprintf("shard %d, members %+v", of, p.members[of])
	for id := shard.HostID(1); p.hosts[id] != nil; id++ {
		h := p.hosts[id]
		text += fmt.Sprintf("\n  host %d runs %v", id, h.runs())
		if l := h.logs[of]; l != nil {
			text += fmt.Sprintf(", replica %d applied %d, knows %+v", l.Replica(), l.Applied(), l.Leadership())
		}
	}
	return text + "\n"
}

// Close implements servertest.Logs.
func (p *production) Close() error {
	for id := shard.HostID(1); p.host(id) != nil; id++ {
		p.host(id).Stop()
		p.host(id).Await()
	}
	return nil
}
