package memlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// barrier is a read barrier started on one host.
type barrier struct {
	done    func(error) // nil once decided
	expires time.Duration
	floor   uint64 // highest index known by any replica to be committed when the barrier started
	index   uint64 // index to apply first; 0 until a majority has confirmed the leader
}

func (b *barrier) decided() bool           { return b.done == nil }
func (b *barrier) deadline() time.Duration { return b.expires }

// read is a barrier at its leader.
type read struct {
	barrier *barrier
	log     *Log   // origin
	index   uint64 // commit index when the leader received the barrier
	round   uint64 // confirming heartbeat round
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
		done: done, floor: l.group.knownCommitted,
		expires: n.now + l.host.virtual(n.cfg.BarrierTimeout),
	}
	l.barriers.add(b)
	l.onHost(func() { l.startBarrier(b) })
	if !l.barriers.armed {
		l.barriers.expire(l, func(b *barrier) { l.completeBarrier(b, shard.ErrNoQuorum) })
	}
	return nil
}

// startBarrier starts a barrier here if this host leads, otherwise at its known leader.
func (l *Log) startBarrier(b *barrier) {
	switch {
	case b.decided():
	case l.leading != nil:
		l.beginRead(&read{barrier: b, log: l})
	case l.leadership.Leader == 0:
		l.completeBarrier(b, shard.ErrNoQuorum)
	default:
		l.unconfirmed = append(l.unconfirmed, b)
		l.sendBarrier(b)
		if !l.resendArmed {
			l.resendArmed = true
			l.after(l.net.cfg.Heartbeat, l.resendBarriers)
		}
	}
}

// sendBarrier sends a barrier to this host's known leader.
func (l *Log) sendBarrier(b *barrier) {
	l.sendTo(l.group.replicaOn(l.leadership.Leader), func(at *Log) {
		if at.leading != nil {
			at.beginRead(&read{barrier: b, log: l})
		}
	})
}

// resendBarriers sends unanswered barriers, possibly lost, to the current leader.
func (l *Log) resendBarriers() {
	l.resendArmed = false
	l.unconfirmed = slices.DeleteFunc(l.unconfirmed, func(b *barrier) bool { return b.decided() || b.index > 0 })
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
	if l.leadership.Leader != 0 {
		for _, b := range l.unconfirmed {
			l.sendBarrier(b)
		}
	}
	l.resendArmed = true
	l.after(l.net.cfg.Heartbeat, l.resendBarriers)
}

// beginRead asks the followers whether this host still leads. The read notes the commit index before sending: when
// followers in a majority answer, they had not heard from a later leader. A leader without a commit in its own term
// does not know the commit index yet, so the read waits for the first commit.
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
		l.beginRound()
	}
}

// beginRound starts the next round, which serves every waiting read.
func (l *Log) beginRound() {
	l.leading.round++
	for r := range l.peers() {
		l.sendAppend(r, true)
	}
	l.keepTicking()
	l.confirmReads()
}

// confirmReads confirms reads whose round a majority has answered.
func (l *Log) confirmReads() {
	ld := l.leading
	confirmed := l.group.majority(func(r *replica) uint64 {
		if r == l.replica {
			return ld.round
		}
		return ld.peer(r).round
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
		l.beginRound()
	}
}

// readConfirmed lets a barrier wait until the state machine has applied the index.
func (l *Log) readConfirmed(b *barrier, index uint64) {
	if b.decided() || b.index > 0 {
		return
	}
	b.index = index
	l.confirmed = append(l.confirmed, b)
	l.releaseBarriers()
}

// releaseBarriers ends barriers with an applied index, or with an index queued to be applied before their callback
// runs.
func (l *Log) releaseBarriers() {
	l.confirmed = slices.DeleteFunc(l.confirmed, func(b *barrier) bool {
		if b.index <= l.queued {
			l.completeBarrier(b, nil)
		}
		return b.decided()
	})
}

// failReads ends this host's own reads when it steps down. Other hosts resend their barriers.
func (l *Log) failReads(ld *leaderState) {
	for _, r := range append(ld.early, ld.reads...) {
		if r.log == l {
			l.completeBarrier(r.barrier, shard.ErrNoQuorum)
		}
	}
}

// completeBarrier decides an undecided barrier.
func (l *Log) completeBarrier(b *barrier, err error) {
	if b.decided() {
		return
	}
	done := b.done
	b.done = nil
	l.barriers.count--
	l.enqueue(func() {
		err := l.checkBarrier(b, err)
		l.net.unlocked(func() { done(err) })
	})
	kind := RecordBarrierFailed
	if err == nil {
		kind = RecordBarrierPassed
	}
	l.record(Record{Kind: kind, Term: l.leadership.Term, Index: b.index})
}

// checkBarrier checks, before a barrier callback runs, that the state machine has applied the promised index.
func (l *Log) checkBarrier(b *barrier, err error) error {
	switch {
	case err != nil:
		return err
	case l.ended:
		return shard.ErrLogClosed
	case l.failed != nil:
		return fmt.Errorf("%w: %w", shard.ErrNoQuorum, l.failed)
	case l.applied < b.floor:
		l.group.violated("a barrier passes on host %d at entry %d: %d was committed before it began",
			l.host.id, l.applied, b.floor)
	}
	return nil
}
