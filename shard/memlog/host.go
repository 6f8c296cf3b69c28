package memlog

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// host is one host: a process, a clock and a disk, shared by its replicas of all groups.
type host struct {
	id  shard.HostID
	pos int

	down   bool
	paused bool
	boot   uint64   // grows when the process ends and when it starts
	held   []*event // what happened on the host while it was paused, in order

	rate      float64 // local time per virtual time
	clockSet  time.Duration
	clockRead time.Duration // what the clock showed at clockSet

	disk   Delay
	stuck  bool
	parked []diskWrite // writes that a stuck disk does not finish
}

// diskWrite is what goes on once a write of a replica is durable.
type diskWrite struct {
	log  *Log
	done func()
}

// virtual is how long a local duration takes.
func (h *host) virtual(local time.Duration) time.Duration {
	if h.rate == 1 {
		return local
	}
	return time.Duration(float64(local) / h.rate)
}

// clock is what the host's clock shows, since the beginning.
func (h *host) clock(now time.Duration) time.Duration {
	passed := now - h.clockSet
	if h.rate != 1 {
		passed = time.Duration(float64(passed) * h.rate)
	}
	return h.clockRead + passed
}

// runs tells whether the process does anything now.
func (h *host) runs() bool { return !h.down && !h.paused }

// Pause stops a host as SIGSTOP would: nothing of it runs, and what arrives waits. A call of a state
// machine that is under way is finished first. What is called on its logs meanwhile is done after
// Resume. Its clock goes on.
func (n *Network) Pause(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		if h.paused || h.down {
			return
		}
		h.paused = true
		n.trace.add(n.now, Record{Kind: RecordPaused, Host: h.id})
		n.disturb()
		n.awaitMachines(h)
	})
}

// Resume lets a paused host go on. First happens, in order, what came due by its own clock and what
// was called on its logs. The messages that arrived meanwhile are read after as long as their links
// take: until then the host acts on what it believed before.
func (n *Network) Resume(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		if !h.paused {
			return
		}
		h.paused = false
		n.trace.add(n.now, Record{Kind: RecordResumed, Host: h.id})
		n.release(&h.held)
		n.eachReplica(h, func(r *replica) { r.log.wakeCaller() })
		n.disturb()
	})
}

// Kill ends a host's process as SIGKILL would: all that was written, synced or not, is there after
// Restart. Its logs are dead, and call nothing any more: no state machine, and callbacks only once
// they are closed.
func (n *Network) Kill(id shard.HostID) { n.crash(id, false) }

// PowerFail ends a host as a power failure would: what its disk had not synced is lost. Apart from
// that it is like Kill.
func (n *Network) PowerFail(id shard.HostID) { n.crash(id, true) }

func (n *Network) crash(id shard.HostID, loseUnsynced bool) {
	n.do(func() {
		h := n.mustHost(id)
		if h.down {
			return
		}
		n.trace.add(n.now, Record{Kind: RecordDown, Host: h.id, Lost: loseUnsynced})
		h.down, h.paused = true, false
		h.boot++
		h.held, h.parked = nil, nil
		n.eachReplica(h, func(r *replica) {
			r.log.end()
			r.crashed(loseUnsynced)
		})
		n.disturb()
		n.awaitMachines(h)
	})
}

// Restart starts a killed host again. Its logs are opened anew, with new state machines.
func (n *Network) Restart(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		if !h.down {
			return
		}
		n.trace.add(n.now, Record{Kind: RecordUp, Host: h.id})
		h.down = false
		h.boot++
		n.disturb()
	})
}

// SetDisk sets how long an fsync on the host takes.
func (n *Network) SetDisk(id shard.HostID, sync Delay) {
	if err := sync.validate("the delay of a disk"); err != nil {
		panic(err)
	}
	n.do(func() { n.mustHost(id).disk = sync })
}

// StickDisk lets no write of the host become durable until FreeDisk. A replica that has something to
// write hangs from then on, as the loop of a real log does in its fsync: it reads no message, calls
// nobody and votes for nobody. The rest of its host goes on, and the timeouts of what is in flight
// there run out.
func (n *Network) StickDisk(id shard.HostID) {
	n.do(func() { n.mustHost(id).stuck = true })
}

// FreeDisk undoes StickDisk: the writes that hung are done now.
func (n *Network) FreeDisk(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		h.stuck = false
		for _, w := range h.parked {
			n.schedule(0, event{host: h, log: w.log, run: w.done})
		}
		h.parked = nil
		n.eachReplica(h, func(r *replica) {
			r.log.hanging = 0
			n.release(&r.log.held)
		})
		n.disturb()
	})
}

// SetClockRate makes the host's clock and timers run fast (above 1) or slow. Timers that are set
// already keep their time.
func (n *Network) SetClockRate(id shard.HostID, rate float64) {
	if !(rate > 0) {
		panic(fmt.Sprintf("memlog: clock rate %v of host %d: want more than 0", rate, id))
	}
	n.do(func() {
		h := n.mustHost(id)
		h.clockRead, h.clockSet = h.clock(n.now), n.now
		h.rate = rate
		n.disturb()
	})
}

// Now is what the host's clock shows. Clocks of two hosts tell nothing about each other.
func (n *Network) Now(id shard.HostID) time.Time {
	var t time.Time
	n.do(func() { t = n.epoch.Add(n.mustHost(id).clock(n.now)) })
	return t
}

// eachReplica visits the open replicas of a host.
func (n *Network) eachReplica(h *host, visit func(*replica)) {
	for _, g := range n.groups {
		if r := g.replicaOn(h.id); r != nil && r.log != nil {
			visit(r)
		}
	}
}

// awaitMachines waits until no state machine of the host is being called.
func (n *Network) awaitMachines(h *host) {
	for _, l := range n.logs {
		if l.host == h {
			l.awaitMachine()
		}
	}
}
