package memlog

import "time"

// lead is what a host keeps while it believes that it leads.
type lead struct {
	term  uint64
	first uint64 // the empty entry that began the term
	peers []peer // by position in the group; the leader's own is not used

	transfer   *replica // to whom leadership is being handed over
	transferBy time.Duration

	ticking bool

	// Questions whether it still leads go round one at a time.
	round     uint64  // the latest begun
	confirmed uint64  // the latest that a majority has answered
	reads     []*read // waiting for a round, the earliest first
	early     []*read // waiting for the first commit of the term
}

// peer is a follower as its leader sees it.
type peer struct {
	probed bool          // it has said how far its log agrees
	next   uint64        // the next entry to send
	match  uint64        // up to here it has the leader's log, durably
	round  uint64        // the latest question it has answered
	heard  time.Duration // when it last answered anything
}

// lead begins a leadership. The empty entry is what earlier entries are committed by.
func (l *Log) lead(term uint64) {
	s := l.replica.store
	ld := &lead{term: term, first: s.last() + 1, peers: make([]peer, len(l.group.replicas))}
	for i := range ld.peers {
		ld.peers[i] = peer{next: s.last() + 1, heard: l.net.now}
	}
	l.leading = ld
	l.append(&entry{empty: true})
	for _, r := range l.group.replicas {
		if r != l.replica {
			l.sendAppend(r, true)
		}
	}
	l.sync()
	l.keepTicking()
}

// append adds an entry to the leader's own log.
func (l *Log) append(e *entry) {
	e.index, e.term = l.replica.store.last()+1, l.leading.term
	l.replica.store.append(e)
}

// replicate sends what is new to the followers. One whose log is not known yet is told at a tick.
func (l *Log) replicate() {
	for _, r := range l.group.replicas {
		if r != l.replica && l.leading.peers[r.pos].probed {
			l.sendAppend(r, false)
		}
	}
	l.keepTicking()
}

// sendAppend sends a follower what it lacks next, or the snapshot where that is compacted. A message
// without entries tells what is committed; with answer set it also asks for a sign of life.
func (l *Log) sendAppend(r *replica, answer bool) {
	s, p := l.replica.store, &l.leading.peers[r.pos]
	if p.next <= s.before {
		l.sendImage(r)
		p.next = s.snapshot.index + 1
		return
	}
	m := appendMessage{
		from: l.replica, term: l.leading.term,
		prev: p.next - 1, prevTerm: s.termAt(p.next - 1),
		entries: s.from(p.next, maxAppendEntries),
		commit:  s.commit, round: l.leading.round, answer: answer,
	}
	if p.probed {
		p.next += uint64(len(m.entries))
	}
	l.sendTo(r, func(at *Log) { at.onAppend(m) })
}

func (l *Log) sendImage(r *replica) {
	img, term, from := l.replica.store.snapshot, l.leading.term, l.replica
	l.sendTo(r, func(at *Log) { at.onImage(img, term, from) })
}

// onAnswer takes what a follower says to a message of this host.
func (l *Log) onAnswer(from *replica, a answer) {
	if a.term > l.replica.store.term {
		l.enterTerm(a.term, 0)
		return
	}
	if l.leading == nil || a.term != l.leading.term || a.outdated {
		return
	}
	p := &l.leading.peers[from.pos]
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

// commit moves on what is committed: what a majority and the leader itself have durable, as soon as
// that reaches into its own term.
func (l *Log) commit() {
	s, ld := l.replica.store, l.leading
	index := l.group.majority(func(r *replica) uint64 {
		if r == l.replica {
			return s.synced
		}
		return ld.peers[r.pos].match
	})
	index = min(index, s.synced)
	if index <= s.commit || s.termAt(index) != ld.term {
		return
	}
	s.commit = index
	l.enqueueCommitted()
	for _, r := range l.group.replicas {
		if r != l.replica && ld.peers[r.pos].probed {
			l.sendAppend(r, false)
		}
	}
	early := ld.early
	ld.early = nil
	for _, r := range early {
		l.beginRead(r)
	}
}

// keepTicking starts the leader's heartbeats where they stand still.
func (l *Log) keepTicking() {
	if len(l.group.replicas) > 1 && !l.leading.ticking {
		l.leading.ticking = true
		l.scheduleTick(l.leading)
	}
}

func (l *Log) scheduleTick(ld *lead) {
	l.after(l.net.cfg.Heartbeat, func() {
		if l.leading == ld {
			l.tick()
		}
	})
}

// tick calls the followers, which say what they lack. Followers that are sure to hear
// every heartbeat, and have everything, are left in peace: it would tell nobody anything. When all are
// the ticking ends, so an idle group without faults costs nothing.
func (l *Log) tick() {
	ld, s := l.leading, l.replica.store
	if ld.transfer != nil && l.net.now >= ld.transferBy {
		ld.transfer = nil
	}
	busy := ld.transfer != nil || ld.round > ld.confirmed
	for _, r := range l.group.replicas {
		if r == l.replica {
			continue
		}
		p := &ld.peers[r.pos]
		if l.surelyHeardBy(r) {
			r.log.quiet = true
			p.heard = l.net.now
			if p.match == s.last() && r.store.commit == s.commit && ld.round == ld.confirmed {
				continue
			}
		}
		busy = true
		l.sendAppend(r, true) // if something before it was lost it does not connect, and is answered so
	}
	if l.net.cfg.CheckQuorum && l.lostMajority() {
		l.setBelief(0, ld.term)
		l.stopLeading()
		return
	}
	l.handOver()
	if ld.ticking = busy; busy {
		l.scheduleTick(ld)
	}
}

// hearQuietFollowers counts those that needed no message as heard up to now.
func (l *Log) hearQuietFollowers() {
	for _, r := range l.group.replicas {
		if r.log != nil && r.log.quiet && r.log.belief == l.belief {
			l.leading.peers[r.pos].heard = l.net.now
		}
	}
}

// surelyHeardBy tells whether heartbeats to a follower need not be played through: nothing could
// happen to them.
func (l *Log) surelyHeardBy(r *replica) bool {
	cfg := &l.net.cfg
	out, back := l.net.links[l.host.pos][r.host.pos], l.net.links[r.host.pos][l.host.pos]
	interval := l.host.virtual(cfg.Heartbeat)
	timeout := r.host.virtual(cfg.ElectionTimeout)
	return r.log != nil && r.host.runs() && !r.log.hangs() && r.log.belief == l.belief &&
		out.clean(interval, timeout) && back.clean(interval, timeout)
}

// lostMajority tells that fewer than a majority, itself included, answered within the timeout.
func (l *Log) lostMajority() bool {
	since := l.net.now - l.host.virtual(l.net.cfg.ElectionTimeout)
	heard := 1
	for _, r := range l.group.replicas {
		if r != l.replica && l.leading.peers[r.pos].heard >= since {
			heard++
		}
	}
	return heard < l.group.quorum()
}

// stopLeading ends a leadership. The belief is changed already.
func (l *Log) stopLeading() {
	ld := l.leading
	l.leading = nil
	l.failReads(ld)
	l.group.disturb()
	l.heardLeader()
}

// transferTo begins to hand over leadership.
func (l *Log) transferTo(r *replica) {
	if l.leading == nil || r == l.replica {
		return
	}
	l.leading.transfer = r
	l.leading.transferBy = l.net.now + l.host.virtual(l.net.cfg.ElectionTimeout)
	l.keepTicking()
	l.handOver()
}

// handOver tells the host that is to lead to stand for election, once it has everything.
func (l *Log) handOver() {
	ld := l.leading
	if ld.transfer == nil || ld.peers[ld.transfer.pos].match < l.replica.store.last() {
		return
	}
	term := ld.term
	l.sendTo(ld.transfer, func(at *Log) {
		if at.replica.store.term == term {
			at.campaign(electHandedOver)
		}
	})
}
