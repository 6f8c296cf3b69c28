package memlog

import (
	"iter"
	"time"
)

// leaderState is a host's state while it believes to lead.
type leaderState struct {
	term  uint64
	first uint64 // the empty entry at the start of the term
	// peers are indexed by position in the group; the leader's own entry is unused. Entries for later replicas are
	// created on demand.
	peers []peer

	transfer   *replica // target of a leadership transfer
	transferBy time.Duration

	ticking bool // a heartbeat is scheduled

	// A round asks the followers whether this host still leads. Only one round is in flight.
	round     uint64  // latest started round
	confirmed uint64  // latest round answered by a majority
	reads     []*read // waiting for a round, the earliest first
	early     []*read // waiting for the first commit of the term
}

// peer is a follower's state at its leader.
type peer struct {
	probed bool          // the matching index is known
	next   uint64        // the next entry to send
	match  uint64        // last durable matching index
	round  uint64        // latest answered round
	heard  time.Duration // time of the last answer
}

// peer returns the leader's state for a replica.
func (s *leaderState) peer(r *replica) *peer {
	for len(s.peers) <= r.pos {
		s.peers = append(s.peers, peer{next: s.first, heard: r.group.net.now})
	}
	return &s.peers[r.pos]
}

// peers yields the remaining group members.
func (l *Log) peers() iter.Seq[*replica] {
	return func(yield func(*replica) bool) {
		for _, r := range l.group.replicas {
			if r != l.replica && !yield(r) {
				return
			}
		}
	}
}

// becomeLeader starts a leadership. Its empty entry commits entries of earlier terms.
func (l *Log) becomeLeader(term uint64) {
	s := l.replica.store
	l.leading = &leaderState{term: term, first: s.last() + 1}
	l.append(&entry{empty: true})
	for r := range l.peers() {
		l.sendAppend(r, true)
	}
	l.sync()
	l.keepTicking()
}

// append adds an entry to the leader's own log.
func (l *Log) append(e *entry) {
	e.index, e.term = l.replica.store.last()+1, l.leading.term
	l.replica.store.append(e)
}

// replicate sends new entries to the followers. A follower not probed yet gets them at a heartbeat.
func (l *Log) replicate() {
	for r := range l.peers() {
		if l.leading.peer(r).probed {
			l.sendAppend(r, false)
		}
	}
}

// sendAppend sends a follower its next missing entries, or the snapshot if these are compacted. A message without
// entries still carries the commit index. With reply set, it is a heartbeat, always answered by the follower.
func (l *Log) sendAppend(r *replica, reply bool) {
	s, p := l.replica.store, l.leading.peer(r)
	if p.next <= s.before {
		l.sendSnapshot(r)
		p.next = s.snapshot.index + 1
		return
	}
	m := appendMessage{
		from: l.replica, term: l.leading.term,
		prev: p.next - 1, prevTerm: s.termAt(p.next - 1),
		entries: s.from(p.next, maxAppendEntries),
		commit:  s.commit, round: l.leading.round, reply: reply,
	}
	if p.probed {
		p.next += uint64(len(m.entries))
	}
	l.sendTo(r, func(at *Log) { at.onAppend(m) })
}

func (l *Log) sendSnapshot(r *replica) {
	snap, term, from := l.replica.store.snapshot, l.leading.term, l.replica
	l.sendTo(r, func(at *Log) { at.onSnapshot(snap, term, from) })
}

// onAppendReply handles a follower's reply to this host.
func (l *Log) onAppendReply(from *replica, a appendReply) {
	if a.term > l.replica.store.term {
		l.adoptTerm(a.term, 0)
		return
	}
	if l.leading == nil || a.term != l.leading.term || a.outdated {
		return
	}
	p := l.leading.peer(from)
	p.heard = l.net.now
	if a.round > p.round {
		p.round = a.round
		l.confirmReads()
	}
	if !a.connects {
		if p.probed {
			p.next = p.match + 1
		} else {
			p.next = min(p.next, a.match+1)
		}
		l.sendAppend(from, true)
		return
	}
	p.probed = true
	p.match = max(p.match, a.match)
	p.next = max(p.next, p.match+1)
	l.commit()
	l.handOver()
	if p.next <= l.replica.store.last() {
		l.sendAppend(from, false)
	}
}

// commit advances the commit index to the index that a majority and the leader have made durable, once this index
// belongs to the leader's own term.
func (l *Log) commit() {
	s, ld := l.replica.store, l.leading
	index := l.group.majority(func(r *replica) uint64 {
		if r == l.replica {
			return s.synced
		}
		return ld.peer(r).match
	})
	index = min(index, s.synced)
	if index <= s.commit || s.termAt(index) != ld.term {
		return
	}
	before := s.commit
	s.commit = index
	l.enqueueCommitted()
	l.replicate()
	for _, e := range s.between(before, index) {
		l.dismiss(e)
	}
	early := ld.early
	ld.early = nil
	for _, r := range early {
		l.beginRead(r)
	}
}

// keepTicking starts the leader's heartbeats if none is scheduled.
func (l *Log) keepTicking() {
	if len(l.group.replicas) > 1 && !l.leading.ticking {
		l.leading.ticking = true
		l.scheduleTick(l.leading)
	}
}

func (l *Log) scheduleTick(ld *leaderState) {
	l.after(l.net.cfg.Heartbeat, func() {
		if l.leading == ld {
			l.tick()
		}
	})
}

// tick sends heartbeats, whose replies report missing entries. A follower with a complete log that is certain to
// receive every heartbeat needs none. If no follower needs heartbeats, ticking ends, so an idle group without faults
// has no events.
func (l *Log) tick() {
	ld, s := l.leading, l.replica.store
	if ld.transfer != nil && l.net.now >= ld.transferBy {
		ld.transfer = nil
	}
	busy := ld.transfer != nil || ld.round > ld.confirmed
	for r := range l.peers() {
		p := ld.peer(r)
		if l.surelyHeardBy(r) {
			r.log.heartbeatsElided = true
			p.heard = l.net.now
			if p.match == s.last() && r.store.commit == s.commit && ld.round == ld.confirmed {
				continue
			}
		}
		busy = true
		l.sendAppend(r, true) // if an earlier message was lost, this one does not connect, and the reply reports that
	}
	l.confirmReads() // the awaited peer may have been removed
	if l.net.cfg.CheckQuorum && l.lostMajority() {
		l.setLeadership(0, ld.term)
		l.stepDown()
		return
	}
	l.handOver()
	if ld.ticking = busy; busy {
		l.scheduleTick(ld)
	}
}

// countElidedHeartbeats counts followers without heartbeats as heard now.
func (l *Log) countElidedHeartbeats() {
	for _, r := range l.group.replicas {
		if r.log != nil && r.log.heartbeatsElided && r.log.leadership == l.leadership {
			l.leading.peer(r).heard = l.net.now
		}
	}
}

// surelyHeardBy reports whether heartbeats to a follower can be elided, because no fault can affect them.
func (l *Log) surelyHeardBy(r *replica) bool {
	cfg := &l.net.cfg
	out, back := l.net.paths[l.host.pos][r.host.pos], l.net.paths[r.host.pos][l.host.pos]
	interval := l.host.virtual(cfg.Heartbeat)
	timeout := r.host.virtual(cfg.ElectionTimeout)
	return r.log != nil && r.host.runs() && !r.log.hangs() && r.log.leadership == l.leadership &&
		out.sure(interval, timeout) && back.sure(interval, timeout)
}

// lostMajority reports whether fewer than a majority, this host included, answered within the election timeout.
func (l *Log) lostMajority() bool {
	since := l.net.now - l.host.virtual(l.net.cfg.ElectionTimeout)
	heard := 0
	for r := range l.group.voters() {
		if r == l.replica || l.leading.peer(r).heard >= since {
			heard++
		}
	}
	return heard < l.group.quorum()
}

// stepDown ends this host's leadership. The caller has already changed the belief.
func (l *Log) stepDown() {
	ld := l.leading
	l.leading = nil
	l.failReads(ld)
	l.group.resumeHeartbeats()
	l.resetElectionTimer()
}

// transferTo begins to transfer leadership to a replica.
func (l *Log) transferTo(r *replica) {
	if l.leading == nil || r == l.replica {
		return
	}
	l.leading.transfer = r
	l.leading.transferBy = l.net.now + l.host.virtual(l.net.cfg.ElectionTimeout)
	l.keepTicking()
	l.handOver()
}

// handOver starts an election at the transfer target once the target has the whole log.
func (l *Log) handOver() {
	ld := l.leading
	if ld.transfer == nil || ld.peer(ld.transfer).match < l.replica.store.last() {
		return
	}
	term := ld.term
	l.sendTo(ld.transfer, func(at *Log) {
		if at.replica.store.term == term {
			at.campaign(electHandedOver)
		}
	})
}
