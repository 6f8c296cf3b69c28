package memlog

import "github.com/signalbox/signalbox/shard"

// appendMessage is what a leader tells a follower: entries, what is committed, and that it lives.
type appendMessage struct {
	from     *replica
	term     uint64
	prev     uint64 // the index before the entries, and the term there: where they connect
	prevTerm uint64
	entries  []*entry
	commit   uint64
	round    uint64 // the question whether it leads that it is waiting for
	answer   bool   // it wants to hear back even if there is nothing to sync
}

// answer is what a follower says back.
type answer struct {
	term     uint64
	outdated bool   // the message was of an earlier term
	connects bool   // the entries did
	match    uint64 // up to here it has the leader's log, durably; else where to try next
	round    uint64
}

// hear takes note that a leader of that term lives, and tells whether it is one to listen to.
func (l *Log) hear(term uint64, from *replica) bool {
	switch own := l.replica.store.term; {
	case term < own:
		l.answer(from, answer{term: own, outdated: true})
		return false
	case term > own:
		l.enterTerm(term, from.host.id)
	case l.leading != nil || l.belief.Leader != 0 && l.belief.Leader != from.host.id:
		l.group.violated("hosts %d and %d both lead term %d", l.host.id, from.host.id, term)
	default:
		l.setBelief(from.host.id, term)
	}
	l.heardLeader()
	return true
}

// enterTerm takes note of a newer term, and who leads it where that is known.
func (l *Log) enterTerm(term uint64, leader shard.HostID) {
	s := l.replica.store
	s.term = term
	l.quiet = false
	l.verified, l.known = s.commit, s.commit // committed entries are the same everywhere
	l.setBelief(leader, term)
	if l.leading != nil {
		l.stopLeading()
	}
	l.doubtProposals()
}

func (l *Log) answer(to *replica, a answer) {
	from := l.replica
	l.sendTo(to, func(at *Log) { at.onAnswer(from, a) })
}

// answerMatch tells the leader how far this log has its entries, durably.
func (l *Log) answerMatch(to *replica, round uint64) {
	s := l.replica.store
	l.answer(to, answer{term: s.term, connects: true, match: min(s.synced, l.verified), round: round})
}

// onAppend takes a message of a leader.
func (l *Log) onAppend(m appendMessage) {
	if !l.hear(m.term, m.from) {
		return
	}
	s := l.replica.store
	if !s.connects(m.prev, m.prevTerm) {
		l.answer(m.from, answer{term: s.term, match: s.retryFrom(m.prev), round: m.round})
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
	if m.answer || len(m.entries) > 0 && s.synced >= l.verified {
		l.answerMatch(m.from, m.round)
	}
	l.sync()
}

// overwrite drops the entries from index on, which the leader does not have.
func (l *Log) overwrite(index uint64) {
	l.net.trace.add(l.net.now, Record{
		Kind: RecordOverwritten, Group: l.group.id, Host: l.host.id, Term: l.replica.store.term, Index: index,
	})
	gone := l.replica.store.truncate(index)
	l.syncTo = min(l.syncTo, index-1)
	l.drop(gone)
}

func (l *Log) drop(gone []*entry) {
	for _, e := range gone {
		l.group.forbidLoss(l.replica, e)
	}
	l.loseProposals(gone)
}

// followCommit moves on what is committed here: what the leader said is, as far as this log has the
// same entries, durably.
func (l *Log) followCommit() {
	s := l.replica.store
	if c := min(l.known, l.verified, s.synced); c > s.commit {
		s.commit = c
		l.enqueueCommitted()
	}
}

// onImage takes a snapshot that a leader sends in place of entries it has no more.
func (l *Log) onImage(img *image, term uint64, from *replica) {
	if !l.hear(term, from) {
		return
	}
	if img.index <= l.replica.store.commit {
		l.answerMatch(from, 0)
		return
	}
	l.write(func() { l.install(img) })
}

// install puts a snapshot in the place of the log up to it. The term may have moved on: what is in the
// image is committed all the same.
func (l *Log) install(img *image) {
	s := l.replica.store
	if img.index <= s.commit {
		return
	}
	if img.index > l.group.truth.last() {
		l.group.violated("host %d gets a snapshot of entry %d, of which only %d are committed",
			l.host.id, img.index, l.group.truth.last())
	}
	l.loseProposals(s.between(l.queued, min(img.index, s.last())))
	l.drop(s.install(img))
	l.syncTo = min(l.syncTo, img.index)
	l.verified = max(l.verified, img.index)
	l.queued = img.index
	l.addCall(call{kind: callRestore, image: img})
	l.releaseBarriers()
	if l.belief.Leader != 0 && l.leading == nil {
		l.answerMatch(l.group.replicaOn(l.belief.Leader), 0)
	}
	l.group.trim()
	l.sync()
}

// connects tells whether entries after prev can follow here. What is compacted is committed, and so
// the same everywhere.
func (s *store) connects(prev, term uint64) bool {
	return prev < s.before || prev <= s.last() && s.termAt(prev) == term
}

// retryFrom returns an index before prev at which the logs may agree: the end of this log, or before
// the whole term that does not agree.
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
