package memlog

import (
	"fmt"
	"slices"
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
	held   []*event // events that wait until the host resumes, in order

	rate      float64 // local time per virtual time
	clockSet  time.Duration
	clockRead time.Duration // what the clock showed at clockSet

	disk        Delay
	stuck       bool
	stuckWrites []diskWrite // writes that a stuck disk does not finish
}

// diskWrite is a write of a replica, with what is done once it is durable.
type diskWrite struct {
	log  *Log
	done func()
}

// virtual is how much virtual time passes while the host's clock moves on by local.
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

// runs reports whether the process is neither down nor paused.
func (h *host) runs() bool { return !h.down && !h.paused }

// Pause stops a host as SIGSTOP would: nothing of it runs, and what arrives waits. A call of a state machine that is
// under way is finished first. Calls of its logs have their effect after Resume. Its clock goes on.
func (n *Network) Pause(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		if h.paused || h.down {
			return
		}
		h.paused = true
		n.trace.add(n.now, Record{Kind: RecordPaused, Host: h.id})
		n.resumeHeartbeats()
		n.awaitMachines(h)
	})
}

// Resume lets a paused host go on. Its overdue timers and the calls of its logs come first, in order. It reads the
// messages that arrived meanwhile after another delay of their paths, and until then acts on what it believed before.
func (n *Network) Resume(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		if !h.paused {
			return
		}
		h.paused = false
		n.trace.add(n.now, Record{Kind: RecordResumed, Host: h.id})
		n.release(&h.held)
		n.eachReplica(h, func(r *replica) { r.log.wakeCallbacks() })
		n.resumeHeartbeats()
	})
}

// Kill ends a host's process as SIGKILL would: all that was written, synced or not, is there after Restart. Its logs
// have ended: they call no state machine any more, and callbacks only once they are closed.
func (n *Network) Kill(id shard.HostID) { n.crash(id, false) }

// PowerFail is Kill with the loss of all that the host's disk had not synced.
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
		h.held, h.stuckWrites = nil, nil
		n.eachReplica(h, func(r *replica) {
			r.log.end()
			r.crashed(loseUnsynced)
		})
		n.resumeHeartbeats()
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
		n.resumeHeartbeats()
	})
}

// SetDisk sets how long an fsync on the host takes.
func (n *Network) SetDisk(id shard.HostID, sync Delay) {
	if err := sync.validate("the delay of a disk"); err != nil {
		panic(err)
	}
	n.do(func() { n.mustHost(id).disk = sync })
}

// StickDisk lets no write of the host become durable until FreeDisk. A replica that has something to write hangs from
// then on, as the loop of a real log does in its fsync: it reads and sends no message and does not vote. The rest of
// its host goes on, and the timeouts of what is in flight there run out.
func (n *Network) StickDisk(id shard.HostID) {
	n.do(func() { n.mustHost(id).stuck = true })
}

// FreeDisk undoes StickDisk: the writes that hung are done now.
func (n *Network) FreeDisk(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		h.stuck = false
		for _, w := range h.stuckWrites {
			n.schedule(0, event{host: h, log: w.log, run: w.done})
		}
		h.stuckWrites = nil
		n.eachReplica(h, func(r *replica) {
			r.log.hanging = 0
			n.release(&r.log.held)
		})
		n.resumeHeartbeats()
	})
}

// SetClockRate makes the host's clock and timers run fast (above 1) or slow. Timers that are set already keep their
// time.
func (n *Network) SetClockRate(id shard.HostID, rate float64) {
	if !(rate > 0) {
		panic(fmt.Sprintf("memlog: clock rate %v of host %d: want more than 0", rate, id))
	}
	n.do(func() {
		h := n.mustHost(id)
		h.clockRead, h.clockSet = h.clock(n.now), n.now
		h.rate = rate
		n.resumeHeartbeats()
	})
}

// Now is what the host's clock shows. The clocks of two hosts need not agree.
func (n *Network) Now(id shard.HostID) time.Time {
	return locked(n, func() time.Time { return n.epoch.Add(n.mustHost(id).clock(n.now)) })
}

// eachReplica visits the open replicas of a host.
func (n *Network) eachReplica(h *host, visit func(*replica)) {
	for _, g := range n.groups {
		for _, r := range slices.Concat(g.replicas, g.outside) {
			if r.host == h && r.log != nil {
				visit(r)
			}
		}
	}
}

// awaitMachines waits until no call of a state machine of the host is under way.
func (n *Network) awaitMachines(h *host) {
	for _, l := range slices.Clone(n.logs) { // waiting lets go of the lock
		if l.host == h {
			l.awaitMachine()
		}
	}
}

// write runs done when a write to the host's disk that begins now is durable.
func (l *Log) write(done func()) {
	h := l.host
	l.net.schedule(h.disk.draw(l.net.rng), event{host: h, log: l, despiteStuckDisk: true, run: func() {
		if !h.stuck {
			done()
			return
		}
		h.stuckWrites = append(h.stuckWrites, diskWrite{log: l, done: done})
		l.hanging++
		l.net.resumeHeartbeats()
	}})
}

// hangs reports whether the replica waits for a stuck disk.
func (l *Log) hangs() bool { return l.hanging > 0 }

// sync makes the log durable. One fsync of a replica runs at a time, and covers all that was written before it began.
func (l *Log) sync() {
	s := l.replica.store
	if l.syncing || s.synced >= s.last() {
		return
	}
	l.syncing, l.syncTo = true, s.last()
	l.write(l.onSynced)
}

func (l *Log) onSynced() {
	s := l.replica.store
	l.syncing = false
	s.synced = max(s.synced, l.syncTo)
	l.replica.recordAcceptance()
	if l.leading != nil {
		l.commit()
	} else {
		l.followCommit()
		if l.leadership.Leader != 0 {
			l.acknowledge(l.group.replicaOn(l.leadership.Leader), 0)
		}
	}
	l.sync()
}
