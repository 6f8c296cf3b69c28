package memlog

import (
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/signalbox/signalbox/shard"
)

// proposal is a batch whose proposer waits for its outcome.
type proposal struct {
	log      *Log
	done     func(shard.Outcome) // nil once the outcome is decided
	bytes    int
	deadline time.Duration
}

func (p *proposal) over() bool         { return p.done == nil }
func (p *proposal) due() time.Duration { return p.deadline }

func (l *Log) propose(batch []byte, done func(shard.Outcome)) error {
	n := l.net
	if l.ended {
		return shard.ErrLogClosed
	}
	if l.proposals.count >= n.cfg.MaxInFlight || l.proposalBytes+len(batch) > n.cfg.MaxInFlightBytes {
		return shard.ErrLogBusy
	}
	p := &proposal{
		log: l, done: done, bytes: len(batch),
		deadline: n.now + l.host.virtual(n.cfg.ProposalTimeout),
	}
	l.proposals.add(p)
	l.proposalBytes += p.bytes
	data := append(make([]byte, 0, len(batch)), batch...)
	l.onHost(func() { l.take(p, data) })
	if !l.proposals.armed {
		l.proposals.expire(l, l.giveUpProposal)
	}
	return nil
}

// take appends a batch to the log of the leader that the host believes to be.
func (l *Log) take(p *proposal, data []byte) {
	if p.over() {
		return
	}
	if l.leading == nil || l.leading.transfer != nil {
		l.finish(p, shard.OutcomeDropped)
		return
	}
	l.appendBatch(data, p)
	if late := l.net.cfg.LateOutcome; late > 0 && l.net.rng.Float64() < late {
		l.finish(p, shard.OutcomeUnknown)
	}
}

// appendBatch appends a batch to the log of this leader, and sets about committing it. Where nobody
// waits for its outcome the proposal is nil.
func (l *Log) appendBatch(data []byte, p *proposal) {
	n := l.net
	e := &entry{data: data, proposal: p}
	l.append(e)
	n.trace.mix(xxhash.Sum64(data))
	n.trace.add(n.now, Record{Kind: RecordProposed, Group: l.group.id, Host: l.host.id, Term: e.term, Index: e.index})
	l.replicate()
	l.sync()
}

// decide marks a proposal as decided and returns the callback to make.
func (l *Log) decide(p *proposal, o shard.Outcome) func(shard.Outcome) {
	done := p.done
	p.done = nil
	l.proposals.count--
	l.proposalBytes -= p.bytes
	l.net.trace.add(l.net.now, Record{Kind: RecordOutcome, Group: l.group.id, Host: l.host.id, Outcome: o})
	return done
}

// finish decides a proposal by anything but applying it. It may be decided already.
func (l *Log) finish(p *proposal, o shard.Outcome) {
	if !p.over() {
		l.addCall(call{kind: callOutcome, done: l.decide(p, o), outcome: o})
	}
}

func (l *Log) giveUpProposal(p *proposal) { l.finish(p, shard.OutcomeUnknown) }

// doubtProposals is called when the host learns of a newer term: some proposers are told right away
// that they cannot know what becomes of their batch.
func (l *Log) doubtProposals() {
	doubt := l.net.cfg.UnknownOnTermChange
	if doubt == 0 {
		return
	}
	for _, p := range l.proposals.items {
		if !p.over() && l.net.rng.Float64() < doubt {
			l.finish(p, shard.OutcomeUnknown)
		}
	}
}

// loseProposals tells the proposers of entries that this log will not apply as entries: overwritten
// ones, and those that came with a snapshot. It cannot say what became of them elsewhere.
func (l *Log) loseProposals(gone []*entry) {
	for _, e := range gone {
		if p := e.proposal; p != nil && p.log == l {
			l.finish(p, shard.OutcomeUnknown)
		}
	}
}
