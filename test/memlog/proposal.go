package memlog

import (
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/signalbox/signalbox/shard"
)

// operation is a proposal or a barrier, with one outcome and a deadline.
type operation interface {
	decided() bool
	deadline() time.Duration
}

// inFlight is a log's operations of one kind in flight, oldest first. A decided operation stays in the list until it is
// the oldest.
type inFlight[T operation] struct {
	items []T
	count int  // undecided operations
	armed bool // the timer is set
}

func (f *inFlight[T]) add(item T) {
	f.trim()
	f.items = append(f.items, item)
	f.count++
}

func (f *inFlight[T]) trim() {
	var none T
	for len(f.items) > 0 && f.items[0].decided() {
		f.items[0] = none
		f.items = f.items[1:]
	}
}

// expire gives up overdue operations, and sets the timer for the next deadline. One timer suffices, because most
// operations are decided long before their deadline.
func (f *inFlight[T]) expire(l *Log, giveUp func(T)) {
	f.trim()
	for len(f.items) > 0 && f.items[0].deadline() <= l.net.now {
		giveUp(f.items[0])
		f.trim()
	}
	if f.armed || len(f.items) == 0 {
		return
	}
	f.armed = true
	l.net.schedule(f.items[0].deadline()-l.net.now, event{host: l.host, log: l, despiteStuckDisk: true, run: func() {
		f.armed = false
		f.expire(l, giveUp)
	}})
}

// proposal is a batch whose proposer waits for its outcome.
type proposal struct {
	log     *Log
	done    func(shard.Outcome) // nil once the outcome is decided
	bytes   int
	expires time.Duration
	change  *change // membership change; nil for a batch
}

func (p *proposal) decided() bool           { return p.done == nil }
func (p *proposal) deadline() time.Duration { return p.expires }

func (l *Log) propose(batch []byte, done func(shard.Outcome)) error {
	return l.begin(&proposal{log: l, done: done, bytes: len(batch)}, batch)
}

// begin passes a proposal to the log: either a batch or a membership change.
func (l *Log) begin(p *proposal, batch []byte) error {
	n := l.net
	if l.ended {
		return shard.ErrLogClosed
	}
	if l.proposals.count >= n.cfg.MaxInFlight || l.proposalBytes+p.bytes > n.cfg.MaxInFlightBytes {
		return shard.ErrLogBusy
	}
	p.expires = n.now + l.host.virtual(n.cfg.ProposalTimeout)
	l.proposals.add(p)
	l.proposalBytes += p.bytes
	data := append(make([]byte, 0, len(batch)), batch...)
	l.onHost(func() { l.appendProposal(p, data) })
	if !l.proposals.armed {
		l.proposals.expire(l, func(p *proposal) { l.complete(p, shard.OutcomeUnknown) })
	}
	return nil
}

// appendProposal appends a batch to the log if this host believes to lead.
func (l *Log) appendProposal(p *proposal, data []byte) {
	if p.decided() {
		return
	}
	if l.leading == nil || l.leading.transfer != nil || p.change != nil && l.takesNo(p.change) {
		l.complete(p, shard.OutcomeDropped)
		return
	}
	l.appendBatch(data, p)
	if late := l.net.cfg.LateOutcome; late > 0 && l.net.rng.Float64() < late {
		l.complete(p, shard.OutcomeUnknown)
	}
}

// appendBatch appends a batch to this leader's log and starts replication.
func (l *Log) appendBatch(data []byte, p *proposal) {
	n := l.net
	e := &entry{data: data, proposal: p}
	if p.change != nil {
		e.empty, e.change = true, p.change
	}
	l.append(e)
	n.trace.mix(xxhash.Sum64(data))
	l.record(Record{Kind: RecordProposed, Term: e.term, Index: e.index})
	l.replicate()
	l.keepTicking()
	l.sync()
}

// decide marks a proposal as decided and returns its callback, for the caller to call or queue.
func (l *Log) decide(p *proposal, o shard.Outcome) func(shard.Outcome) {
	done := p.done
	p.done = nil
	l.proposals.count--
	l.proposalBytes -= p.bytes
	l.record(Record{Kind: RecordOutcome, Outcome: o})
	return done
}

// complete decides an undecided proposal that was not applied.
func (l *Log) complete(p *proposal, o shard.Outcome) {
	if !p.decided() {
		done := l.decide(p, o)
		l.enqueue(func() { l.net.unlocked(func() { done(o) }) })
	}
}

// giveUpSomeProposals is called when the host learns of a newer term: the configured share of proposals ends as unknown
// at once.
func (l *Log) giveUpSomeProposals() {
	probability := l.net.cfg.UnknownOnTermChange
	if probability == 0 {
		return
	}
	for _, p := range l.proposals.items {
		if !p.decided() && l.net.rng.Float64() < probability {
			l.complete(p, shard.OutcomeUnknown)
		}
	}
}

// giveUpProposalsOf ends the proposals of overwritten entries and of entries replaced by a snapshot. Their outcome is
// unknown here.
func (l *Log) giveUpProposalsOf(gone []*entry) {
	for _, e := range gone {
		if p := e.proposal; p != nil && p.log == l {
			l.complete(p, shard.OutcomeUnknown)
		}
	}
}
