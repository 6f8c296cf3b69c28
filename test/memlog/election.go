package memlog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// electionKind is why a host stands for election.
type electionKind uint8

const (
	// electTimedOut: no leader heard. A host that heard from a leader refuses its vote.
	electTimedOut electionKind = iota + 1
	// electHandedOver: the leader transferred leadership.
	electHandedOver
	// electForced: requested by the test, or the group never had a leader.
	electForced
)

// resetElectionTimer postpones the next election after contact with the leader.
func (l *Log) resetElectionTimer() {
	l.lastHeard = l.net.now
	l.armElection()
}

// armElection schedules the host's next candidacy: T to 2T from now, by its own clock.
func (l *Log) armElection() {
	t := l.net.cfg.ElectionTimeout
	l.electionAt = l.net.now + l.host.virtual(t+time.Duration(l.net.rng.Int64N(int64(t))))
	if !l.electionArmed {
		l.electionArmed = true
		l.scheduleElection()
	}
}

func (l *Log) scheduleElection() {
	l.net.schedule(l.electionAt-l.net.now, event{host: l.host, log: l, run: l.electionDue})
}

// electionDue stands for election unless a leader was heard since the timer was set.
func (l *Log) electionDue() {
	if l.leading != nil || l.heartbeatsElided || l.group.removed[l.replica.id] {
		l.electionArmed = false
		return
	}
	if l.net.now < l.electionAt {
		l.scheduleElection()
		return
	}
	l.electionArmed = false
	l.setLeadership(0, l.leadership.Term)
	l.campaign(electTimedOut)
	l.armElection()
}

// campaign schedules an election for the time at which votes of the nearest majority would arrive. The election is
// decided at that time, and a failed election changes nothing. Learners do not stand for election.
func (l *Log) campaign(kind electionKind) {
	if !l.replica.voter {
		return
	}
	n, term := l.net, l.replica.store.term
	needed := l.host.disk.draw(n.rng)
	var others []time.Duration
	for r := range l.group.voters() {
		if r == l.replica {
			continue
		}
		out, back := n.paths[l.host.pos][r.host.pos], n.paths[r.host.pos][l.host.pos]
		others = append(others, out.Delay.draw(n.rng)+r.host.disk.draw(n.rng)+back.Delay.draw(n.rng))
	}
	slices.Sort(others)
	if k := l.group.quorum() - 1; k > 0 {
		needed = max(needed, others[k-1])
	}
	n.schedule(needed, event{host: l.host, log: l, run: func() {
		// The candidacy is void if the candidate has learned of a term or a leader meanwhile.
		if l.leading == nil && l.replica.store.term == term && (kind != electTimedOut || l.leadership.Leader == 0) {
			_ = l.elect(kind) // if votes are missing, the next timeout tries again
		}
	}})
}

// elect makes this host the leader if a majority votes for it. Voters adopt the term at once, and learn the leader from
// its first message.
func (l *Log) elect(kind electionKind) error {
	g := l.group
	if l.leading != nil && l.leading.term == g.term {
		return nil
	}
	if !l.replica.voter {
		return fmt.Errorf("%w: it has no vote", ErrNotElectable)
	}
	var voters []*replica
	var reasons []string
	for r := range g.voters() {
		if reason := l.refusal(r, kind); reason != "" {
			reasons = append(reasons, fmt.Sprintf("host %d %s", r.host.id, reason))
			continue
		}
		voters = append(voters, r)
	}
	if len(voters) < g.quorum() {
		return fmt.Errorf("%w: %d of %d would vote for it: %s",
			ErrNotElectable, len(voters), g.votes(), strings.Join(reasons, ", "))
	}
	term := g.term + 1
	g.checkWinner(l.replica, term)
	g.term, g.leader = term, l.replica
	l.net.trace.add(l.net.now, Record{
		Kind: RecordElected, Group: g.id, Host: l.host.id, Term: term, Index: l.replica.store.last(),
	})
	for _, r := range voters {
		if r != l.replica {
			r.log.adoptTerm(term, 0)
			r.log.resetElectionTimer()
		}
	}
	l.adoptTerm(term, l.host.id)
	l.becomeLeader(term)
	return nil
}

// refusal returns why a replica would not vote for this host now, or "".
func (l *Log) refusal(r *replica, kind electionKind) string {
	n := l.net
	switch {
	case r.log == nil:
		return "has no open log"
	case !r.host.runs():
		return "is down or paused"
	case r.host.stuck:
		return "cannot write its vote: its disk is stuck"
	case !n.connected(l.host, r.host):
		return "is cut off"
	case !l.replica.store.reaches(r.store):
		return "has a longer log"
	}
	if r == l.replica || kind == electForced {
		return ""
	}
	if kind == electTimedOut && r.log.hearsLeader() {
		return "hears a leader"
	}
	if n.paths[l.host.pos][r.host.pos].lose(n) || n.paths[r.host.pos][l.host.pos].lose(n) {
		return "was not heard: a message was lost"
	}
	return ""
}

// hearsLeader reports whether the host leads, or has heard from its leader within the election timeout.
func (l *Log) hearsLeader() bool {
	if l.leading != nil || l.heartbeatsElided {
		return true
	}
	return l.leadership.Leader != 0 && l.net.now < l.lastHeard+l.host.virtual(l.net.cfg.ElectionTimeout)
}
