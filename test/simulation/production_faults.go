package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/test/memlog"
)

// The faults of a production world.

// alter changes the active faults, and applies them.
func (p *production) alter(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	for from, f := range p.hosts {
		f.Disk().Stick(f.stuck || f.paused)
		for to, t := range p.hosts {
			if from != to {
				p.network.Cut(f.Address, t.Address, p.cuts[[2]shard.HostID{from, to}] || f.paused || t.paused)
			}
		}
	}
}

// Isolate implements servertest.Faults.
func (p *production) Isolate(id shard.HostID) {
	p.alter(func() {
		for other := range p.hosts {
			p.cuts[[2]shard.HostID{id, other}], p.cuts[[2]shard.HostID{other, id}] = true, true
		}
	})
}

// Cut implements servertest.Faults.
func (p *production) Cut(from, to shard.HostID) {
	p.alter(func() { p.cuts[[2]shard.HostID{from, to}] = true })
}

// Heal implements servertest.Faults.
func (p *production) Heal(from, to shard.HostID) {
	p.alter(func() { delete(p.cuts, [2]shard.HostID{from, to}) })
}

// Partition implements servertest.Faults.
func (p *production) Partition(sets ...[]shard.HostID) {
	side := func(id shard.HostID) int {
		return slices.IndexFunc(sets, func(set []shard.HostID) bool { return slices.Contains(set, id) })
	}
	p.alter(func() {
		clear(p.cuts)
		for from := range p.hosts {
			for to := range p.hosts {
				if side(from) != side(to) {
					p.cuts[[2]shard.HostID{from, to}] = true
				}
			}
		}
	})
}

// HealAll implements servertest.Faults.
func (p *production) HealAll() { p.Partition() }

// Connected implements servertest.Faults.
func (p *production) Connected(a, b shard.HostID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	talks := func(h *productionHost) bool { return !h.down && !h.paused }
	return talks(p.hosts[a]) && talks(p.hosts[b]) &&
		(a == b || !p.cuts[[2]shard.HostID{a, b}] && !p.cuts[[2]shard.HostID{b, a}])
}

// SetPaths implements servertest.Faults.
func (p *production) SetPaths(to memlog.Path) { p.alter(func() { p.path = to }) }

// SetDisk implements servertest.Faults.
func (p *production) SetDisk(id shard.HostID, sync memlog.Delay) {
	p.host(id).Disk().Slow(func() time.Duration { return draw(sync) })
}

// StickDisk implements servertest.Faults.
func (p *production) StickDisk(id shard.HostID) { p.alter(func() { p.hosts[id].stuck = true }) }

// FreeDisk implements servertest.Faults.
func (p *production) FreeDisk(id shard.HostID) { p.alter(func() { p.hosts[id].stuck = false }) }

// Pause implements servertest.Faults: the host sends, receives and syncs nothing. Its timers continue.
func (p *production) Pause(id shard.HostID) { p.alter(func() { p.hosts[id].paused = true }) }

// Resume implements servertest.Faults.
func (p *production) Resume(id shard.HostID) { p.alter(func() { p.hosts[id].paused = false }) }

// SetClockRate implements servertest.Faults: effective for ticks after the next start.
func (p *production) SetClockRate(id shard.HostID, rate float64) {
	p.alter(func() { p.hosts[id].rate = rate })
}

// Kill implements servertest.Faults.
func (p *production) Kill(id shard.HostID) {
	p.ends(id)
	p.host(id).Machine.Kill()
}

// PowerFail implements servertest.Faults. Every second time all unsynced data is lost.
func (p *production) PowerFail(id shard.HostID) {
	p.ends(id)
	p.mu.Lock()
	draw := outage.RandomDraw(rand.New(rand.NewPCG(p.random.Uint64(), 1)))
	if p.random.IntN(2) == 0 {
		draw = outage.Extremes[0]
	}
	p.mu.Unlock()
	p.host(id).PowerFailure(draw)
}

// ends marks a host as down and no longer paused.
func (p *production) ends(id shard.HostID) {
	p.alter(func() { p.hosts[id].down, p.hosts[id].paused = true, false })
}
