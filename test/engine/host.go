package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// shardID is the id of the only shard.
const shardID = 7

// host is one host of a world.
type host struct {
	*raftlogtest.Machine
	world *world
	id    shard.HostID

	mu   sync.Mutex
	run  *run  // guarded by mu; nil: the host is down
	full error // guarded by mu: why the process had to end

	older atomic.Bool // its directory is an older copy: others may refuse it
}

// run is one process of a host.
type run struct {
	*raftlogtest.Process
	log     shard.Log
	replica uint64 // replica of the log
	machine *tally
	refused atomic.Bool // refused as an older copy of itself. Production ends such a process.
}

func incarnation(id shard.HostID) hosts.Incarnation { return hosts.Incarnation{byte(id), 'e'} }

func name(id shard.HostID) string { return fmt.Sprint("host-", id) }

func address(id shard.HostID) string { return fmt.Sprintf("host-%d:7421", id) }

// newHost returns a stopped host.
func (w *world) newHost(id shard.HostID) *host {
	h := &host{world: w, id: id}
	initialMembers := make(map[shard.HostID]hosts.Incarnation)
	for n := range w.plan.Hosts {
		initialMembers[shard.HostID(n+1)] = incarnation(shard.HostID(n + 1))
	}
	h.Machine = raftlogtest.NewMachine(w.network, address(id), raftlog.Config{
		Host: id, Incarnation: initialMembers[id], InitialMembers: initialMembers, Deployment: 42,
		Tick: w.plan.Ticks[id-1], ProposalTimeout: 4 * time.Second, BarrierTimeout: 4 * time.Second,
		SnapshotBytes: w.plan.logBytes(w.plan.SnapshotEntries), KeepBytes: w.plan.logBytes(w.plan.KeepEntries),
		Damaged: func(err error) { h.damaged(err) },
	})
	return h
}

// current returns the running process, nil if the host is down.
func (h *host) current() *run {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.run != nil && h.run.Ended() {
		return nil
	}
	return h.run
}

// book is the host addresses; nil for a single host.
func (w *world) book() (book []transport.Host) {
	if w.plan.Hosts == 1 {
		return nil
	}
	for _, o := range w.hosts {
		book = append(book, transport.Host{ID: o.id, Name: name(o.id), Incarnation: incarnation(o.id),
			Address: o.Address})
	}
	return book
}

// start starts the host, with its current replica.
func (h *host) start() error {
	r := new(run)
	p, err := h.Start(h.world.book(), func(c *transport.Config) {
		h.world.talk(c)
		c.Answer = func(context.Context, transport.Peer, []byte) ([]byte, error) { return []byte(name(h.id)), nil }
		c.TurnedAway = func(why *transport.Refused) { h.turnedAway(r, why) }
	})
	if err != nil {
		return err
	}
	defer h.Disk().Hurry()()
	r.Process, r.machine = p, h.tally(p)
	if r.log, err = p.Host.Start(shardID, r.machine); err != nil && !errors.Is(err, shard.ErrNotMember) {
		if p.Ended() {
			return raftlogtest.ErrEnded
		}
		return fmt.Errorf("start host %d: %w", h.id, err)
	}
	r.replica, _ = p.Host.Replica(shardID)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run = r
	return nil
}

// startAnew starts the host, again if it ends meanwhile.
func (h *host) startAnew() error {
	err := h.start()
	for errors.Is(err, raftlogtest.ErrEnded) {
		err = h.start()
	}
	return err
}

// turnedAway records that another host considers a process an older copy. No other process may be refused.
func (h *host) turnedAway(r *run, why *transport.Refused) {
	if why.Code != transport.CodeOlderCopy {
		return
	}
	if !h.older.Load() {
		h.world.oracle.fail("host %d is taken for an older copy: %w", h.id, why)
	}
	r.refused.Store(true)
}

func (h *host) tally(p *raftlogtest.Process) *tally {
	return &tally{oracle: h.world.oracle, host: h.id, ended: p.Ended}
}

// stop ends the process in order.
func (h *host) stop() {
	h.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.run = nil
}

// powerFails keeps a random part of the unsynced data, and every second time nothing.
func (h *host) powerFails(random *rand.Rand) {
	draw := outage.RandomDraw(random)
	if random.IntN(2) == 0 {
		draw = outage.Extremes[0]
	}
	h.PowerFailure(draw)
}

// damaged is called by a process that cannot continue. It ends the process and the goroutine, like an engine panic.
func (h *host) damaged(err error) {
	h.mu.Lock()
	h.full = err
	h.mu.Unlock()
	h.world.hung.Store(true)
	h.Damaged(err)
}

// whyDamaged returns the reason for the last process's end, and clears it.
func (h *host) whyDamaged() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.full
	h.full = nil
	return err
}

// read reads with a barrier. Everything acknowledged before must be present.
func (r *run) read(o *oracle) error {
	want, _ := o.acknowledged()
	if r.log == nil {
		return shard.ErrNotMember
	}
	done := make(chan error, 1)
	if err := r.log.Barrier(func(err error) { done <- err }); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	if _, last := r.machine.state(); last < want && !r.Ended() {
		o.fail("a stale read on host %d: it is at %d, and %d was acknowledged", r.machine.host, last, want)
	}
	return nil
}
