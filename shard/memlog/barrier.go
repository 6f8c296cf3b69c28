package memlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// barrier is a read barrier begun on one host.
type barrier struct {
	done     func(error) // nil once it is decided
	deadline time.Duration
	floor    uint64 // what had been known to be committed, by anybody, when it was begun
	index    uint64 // once a majority confirmed it: what this host must have applied
}

func (b *barrier) over() bool         { return b.done == nil }
func (b *barrier) due() time.Duration { return b.deadline }

// read is a barrier as its leader sees it.
type read struct {
	barrier *barrier
	log     *Log // where it was begun
	index   uint64
	round   uint64 // the round of questions that confirms it
}

func (l *Log) barrier(done func(error)) error {
	n := l.net
	if l.ended {
		return shard.ErrLogClosed
	}
	if l.barriers.count >= n.cfg.MaxInFlight {
		return shard.ErrLogBusy
	}
	b := &barrier{
		done: done, floor: l.group.known,
		deadline: n.now + l.host.virtual(n.cfg.BarrierTimeout),
	}
	l.barriers.add(b)
	l.onHost(func() { l.route(b) })
	if !l.barriers.armed {
		l.barriers.expire(l, func(b *barrier) { l.finishBarrier(b, shard.ErrNoQuorum) })
	}
	return nil
}

// route takes a barrier to the leader that this host knows.
func (l *Log) route(b *barrier) {
	switch {
	case b.over():
	case l.leading != nil:
		l.beginRead(&read{barrier: b, log: l})
	case l.belief.Leader == 0:
		l.finishBarrier(b, shard.ErrNoQuorum)
	default:
		l.unconfirmed = append(l.unconfirmed, b)
		l.askLeader(b)
		if !l.askArmed {
			l.askArmed = true
			l.after(l.net.cfg.Heartbeat, l.askAgain)
		}
	}
}

// askLeader passes a barrier on to the leader that this host knows.
func (l *Log) askLeader(b *barrier) {
	l.sendTo(l.group.replicaOn(l.belief.Leader), func(at *Log) {
		if at.leading != nil {
			at.beginRead(&read{barrier: b, log: l})
		}
	})
}

// askAgain repeats what may have been lost, to whoever leads by now.
func (l *Log) askAgain() {
	l.askArmed = false
	l.unconfirmed = slices.DeleteFunc(l.unconfirmed, func(b *barrier) bool { return b.over() || b.index > 0 })
	if len(l.unconfirmed) == 0 {
		return
	}
	if l.leading != nil {
		mine := l.unconfirmed
		l.unconfirmed = nil
		for _, b := range mine {
			l.beginRead(&read{barrier: b, log: l})
		}
		return
	}
	if l.belief.Leader != 0 {
		for _, b := range l.unconfirmed {
			l.askLeader(b)
		}
	}
	l.askArmed = true
	l.after(l.net.cfg.Heartbeat, l.askAgain)
}

// beginRead asks the followers whether this host still leads. What is committed is taken down before
// the question goes out; a majority that answers it had, when it did, not heard of a later leader. A
// leader that has committed nothing in its own term yet does not know what is committed: it waits.
func (l *Log) beginRead(r *read) {
	ld := l.leading
	if l.replica.store.commit < ld.first {
		ld.early = append(ld.early, r)
		return
	}
	r.index = l.replica.store.commit
	r.round = ld.round + 1
	ld.reads = append(ld.reads, r)
	if ld.round == ld.confirmed {
		l.askAround()
	}
}

// askAround begins the next round: it serves every read that was waiting for one.
func (l *Log) askAround() {
	ld := l.leading
	ld.round++
	for _, r := range l.group.replicas {
		if r != l.replica {
			l.sendAppend(r, true)
		}
	}
	l.keepTicking()
	l.confirmReads()
}

// confirmReads lets the reads go of which a majority has answered the round.
func (l *Log) confirmReads() {
	ld := l.leading
	confirmed := l.group.majority(func(r *replica) uint64 {
		if r == l.replica {
			return ld.round
		}
		return ld.peers[r.pos].round
	})
	if confirmed <= ld.confirmed {
		return
	}
	ld.confirmed = confirmed
	k := 0
	for k < len(ld.reads) && ld.reads[k].round <= confirmed {
		r := ld.reads[k]
		if r.log == l {
			l.readConfirmed(r.barrier, r.index)
		} else {
			l.sendTo(r.log.replica, func(at *Log) {
				if at == r.log {
					at.readConfirmed(r.barrier, r.index)
				}
			})
		}
		k++
	}
	ld.reads = slices.Delete(ld.reads, 0, k)
	if len(ld.reads) > 0 {
		l.askAround()
	}
}

// readConfirmed lets a barrier go as soon as the state machine has got to the index.
func (l *Log) readConfirmed(b *barrier, index uint64) {
	if b.over() || b.index > 0 {
		return
	}
	b.index = index
	l.confirmed = append(l.confirmed, b)
	l.releaseBarriers()
}

// releaseBarriers ends the barriers for which everything needed is applied, or queued before them.
func (l *Log) releaseBarriers() {
	if len(l.confirmed) == 0 {
		return
	}
	l.confirmed = slices.DeleteFunc(l.confirmed, func(b *barrier) bool {
		if b.index <= l.queued {
			l.finishBarrier(b, nil)
		}
		return b.over()
	})
}

// failReads ends the reads of a leader that leads no more. Those of other hosts are asked again by
// these.
func (l *Log) failReads(ld *lead) {
	for _, r := range append(ld.early, ld.reads...) {
		if r.log == l {
			l.finishBarrier(r.barrier, shard.ErrNoQuorum)
		}
	}
}

// finishBarrier decides a barrier. It may be decided already.
func (l *Log) finishBarrier(b *barrier, err error) {
	if b.over() {
		return
	}
	l.addCall(call{kind: callBarrier, barrier: b, barrierDone: b.done, err: err})
	b.done = nil
	l.barriers.count--
	kind := RecordBarrierFailed
	if err == nil {
		kind = RecordBarrierPassed
	}
	l.net.trace.add(l.net.now, Record{Kind: kind, Group: l.group.id, Host: l.host.id, Term: l.belief.Term, Index: b.index})
}

// checkBarrier looks once more at a barrier before its callback is made: whether the state machine
// really got there.
func (l *Log) checkBarrier(c *call) {
	switch {
	case c.err != nil:
	case l.ended:
		c.err = shard.ErrLogClosed
	case l.failed != nil:
		c.err = fmt.Errorf("%w: %w", shard.ErrNoQuorum, l.failed)
	case l.applied < c.barrier.floor:
		l.group.violated("a barrier passes on host %d at entry %d: %d was committed before it began",
			l.host.id, l.applied, c.barrier.floor)
	}
}
