package memlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// host is one host: a process, a clock and a disk, shared by its replicas.
type host struct {
	id  shard.HostID
	pos int

	down   bool
	paused bool
	boot   uint64   // incremented when the process ends and when it starts
	held   []*event // events waiting for Resume, in order

	rate      float64 // local time per virtual time
	clockSet  time.Duration
	clockRead time.Duration // clock reading at clockSet

	disk        Delay
	stuck       bool
	stuckWrites []diskWrite // writes delayed by a stuck disk
}

// diskWrite is a replica's write, and the function to run once the write is durable.
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

// clock is the host's clock reading, as time since the start.
func (h *host) clock(now time.Duration) time.Duration {
	passed := now - h.clockSet
	if h.rate != 1 {
		passed = time.Duration(float64(passed) * h.rate)
	}
	return h.clockRead + passed
}

// runs reports whether the process is neither down nor paused.
func (h *host) runs() bool { return !h.down && !h.paused }

// Pause stops a host like SIGSTOP: nothing runs, and incoming messages wait. A running state machine call is finished
// first. Calls to the host's logs take effect after Resume. The host's clock continues.
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

// Resume continues a paused host. Overdue timers and log calls come first, in order. Messages received meanwhile arrive
// after another path delay; until then the host acts on its old beliefs.
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

// Kill ends a host's process like SIGKILL: all written data, synced or not, is present after Restart. Its logs have
// ended: they no longer call their state machine, and run callbacks only once closed.
func (n *Network) Kill(id shard.HostID) { n.crash(id, false) }

// PowerFail is Kill, with the loss of unsynced data.
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

// Restart restarts a killed host. The caller opens its logs with new state machines.
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

// StickDisk blocks all disk writes of the host until FreeDisk. A replica with a pending write hangs like a real log
// loop in fsync: it neither reads nor sends messages, and does not vote. The rest of the host continues, and in-flight
// operations time out.
func (n *Network) StickDisk(id shard.HostID) {
	n.do(func() { n.mustHost(id).stuck = true })
}

// FreeDisk undoes StickDisk and completes the blocked writes.
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

// SetClockRate makes the host's clock and timers run fast (above 1) or slow. Timers already set are unchanged.
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

// Now is the host's clock reading. Clocks of different hosts may differ.
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

// awaitMachines waits until no state machine call is running on the host.
func (n *Network) awaitMachines(h *host) {
	for _, l := range slices.Clone(n.logs) { // waiting releases the lock
		if l.host == h {
			l.awaitMachine()
		}
	}
}

// write starts a disk write on the host, and runs done when the write is durable.
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

// sync makes the log durable. A replica runs one fsync at a time, which covers all earlier writes.
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
