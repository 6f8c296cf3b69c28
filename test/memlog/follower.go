package memlog

import "github.com/signalbox/signalbox/shard"

// appendMessage is a leader's message to a follower: entries, the commit index, and a heartbeat.
type appendMessage struct {
	from     *replica
	term     uint64
	prev     uint64 // index and term before the entries: the follower must have this entry
	prevTerm uint64
	entries  []*entry
	commit   uint64
	round    uint64 // latest round of the leader
	reply    bool   // the follower must reply even without anything to sync
}

// appendReply is a follower's reply.
type appendReply struct {
	term     uint64
	outdated bool   // the message had an outdated term
	connects bool   // the follower had the entry before the entries
	match    uint64 // last durable index shared with the leader; without connects, the next index to try
	round    uint64
}

// acceptLeader handles sender and term of a leader's message, and reports whether this host follows the leader.
func (l *Log) acceptLeader(term uint64, from *replica) bool {
	switch own := l.replica.store.term; {
	case term < own:
		l.reply(from, appendReply{term: own, outdated: true})
		return false
	case term > own:
		l.adoptTerm(term, from.host.id)
	case l.leading != nil || l.leadership.Leader != 0 && l.leadership.Leader != from.host.id:
		l.group.violated("hosts %d and %d both lead term %d", l.host.id, from.host.id, term)
	default:
		l.setLeadership(from.host.id, term)
	}
	l.resetElectionTimer()
	return true
}

// adoptTerm moves to a newer term. leader is 0 if unknown.
func (l *Log) adoptTerm(term uint64, leader shard.HostID) {
	s := l.replica.store
	s.term = term
	l.heartbeatsElided = false
	l.verified, l.known = s.commit, s.commit // committed entries are equal everywhere
	l.setLeadership(leader, term)
	if l.leading != nil {
		l.stepDown()
	}
	l.giveUpSomeProposals()
}

func (l *Log) reply(to *replica, a appendReply) {
	from := l.replica
	l.sendTo(to, func(at *Log) { at.onAppendReply(from, a) })
}

// acknowledge reports the last durable matching index to the leader.
func (l *Log) acknowledge(to *replica, round uint64) {
	s := l.replica.store
	l.reply(to, appendReply{term: s.term, connects: true, match: min(s.synced, l.verified), round: round})
}

// onAppend handles a leader's message.
func (l *Log) onAppend(m appendMessage) {
	if !l.acceptLeader(m.term, m.from) {
		return
	}
	s := l.replica.store
	if !s.connects(m.prev, m.prevTerm) {
		l.reply(m.from, appendReply{term: s.term, match: s.retryFrom(m.prev), round: m.round})
		return
	}
	for _, e := range m.entries {
		if e.index <= s.before {
			continue
		}
		if s.has(e.index) {
			own := s.at(e.index)
			if own == e {
				continue
			}
			if own.term == e.term {
				l.group.violated("host %d has another entry %d of term %d than its leader", l.host.id, e.index, e.term)
			}
			l.overwrite(e.index)
		}
		s.append(e)
	}
	l.verified = max(l.verified, m.prev+uint64(len(m.entries)))
	l.known = max(l.known, m.commit)
	l.followCommit()
	if m.reply || len(m.entries) > 0 && s.synced >= l.verified {
		l.acknowledge(m.from, m.round)
	}
	l.sync()
}

// overwrite drops entries from index on, absent at the leader.
func (l *Log) overwrite(index uint64) {
	l.record(Record{Kind: RecordOverwritten, Term: l.replica.store.term, Index: index})
	gone := l.replica.store.truncate(index)
	l.syncTo = min(l.syncTo, index-1)
	l.drop(gone)
}

func (l *Log) drop(gone []*entry) {
	for _, e := range gone {
		l.group.checkDropped(l.replica, e)
	}
	l.giveUpProposalsOf(gone)
}

// followCommit advances the commit index to the leader's, limited to durable matching entries.
func (l *Log) followCommit() {
	s := l.replica.store
	if c := min(l.known, l.verified, s.synced); c > s.commit {
		s.commit = c
		l.enqueueCommitted()
	}
}

// onSnapshot handles a snapshot sent in place of compacted entries.
func (l *Log) onSnapshot(snap *savedSnapshot, term uint64, from *replica) {
	if !l.acceptLeader(term, from) {
		return
	}
	if snap.index <= l.replica.store.commit {
		l.acknowledge(from, 0)
		return
	}
	l.write(func() { l.install(snap) })
}

// install replaces the log up to the snapshot. A snapshot is committed, so it remains valid in later terms.
func (l *Log) install(snap *savedSnapshot) {
	s := l.replica.store
	if snap.index <= s.commit {
		return
	}
	if snap.index > l.group.committed.last() {
		l.group.violated("host %d gets a snapshot of entry %d, of which only %d are committed",
			l.host.id, snap.index, l.group.committed.last())
	}
	l.giveUpProposalsOf(s.between(l.queued, min(snap.index, s.last())))
	l.drop(s.install(snap))
	l.syncTo = min(l.syncTo, snap.index)
	l.verified = max(l.verified, snap.index)
	l.queued = snap.index
	l.enqueueMachine(func() { l.restore(snap) })
	l.releaseBarriers()
	if l.leadership.Leader != 0 && l.leading == nil {
		l.acknowledge(l.group.replicaOn(l.leadership.Leader), 0)
	}
	l.group.trim()
	l.sync()
}

// connects reports whether entries after prev may be appended. Compacted entries are committed, and so equal
// everywhere.
func (s *store) connects(prev, term uint64) bool {
	return prev < s.before || prev <= s.last() && s.termAt(prev) == term
}

// retryFrom returns an index before prev at which the logs may agree: the end of this log, or the index before the
// whole conflicting term.
func (s *store) retryFrom(prev uint64) uint64 {
	if prev > s.last() {
		return s.last()
	}
	term := s.termAt(prev)
	for prev > s.before && s.termAt(prev) == term {
		prev--
	}
	return max(prev, s.before)
}
