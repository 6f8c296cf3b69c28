package pipeline

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// From the level of stamps on, a batch carries the term in which it is proposed, and how long its host had led by
// then. A batch has no effect if the machine has another term. So the command that begins the host's term comes
// first. Until it has been proposed, client commands wait in the queue; until it has been applied, no other command
// is proposed, so that nothing depends on a command that was lost.

// term is the host's leadership, as seen by the shard's pipeline. The pipeline's lock guards it.
type term struct {
	number uint64
	stage  stage
	op     Op     // the first command, while it waits
	bytes  []byte // the encoded first command
	// zero is when the first command was applied, on the host's clock. Time in the term is measured from zero:
	// everything before the first command in the log is older.
	zero time.Time
}

// stage is how far a term has come.
type stage uint8

const (
	following stage = iota // the host does not lead
	elected                // the host leads, but its first command has not arrived yet
	waiting                // the first command goes with the next batch
	beginning              // the first command is in flight
	leading                // the first command was applied
)

// Elect records that the host leads the shard. From the level of stamps on, commands queued from now on wait for
// Lead. Elect must be called before clients are admitted because of the new leadership.
func (p *Pipeline) Elect(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term.stage == following || p.term.number != number {
		p.term = term{number: number, stage: elected}
	}
}

// Lead proposes the command that begins a term, ahead of the whole queue. done is as in Op. If the command fails,
// call Lead again.
func (p *Pipeline) Lead(number uint64, done func(e *shard.Effect, failed protocol.Status)) {
	p.mu.Lock()
	if p.closed || p.term.number != number || p.term.stage != elected {
		p.mu.Unlock()
		done(nil, protocol.StatusUnavailable)
		return
	}
	c := shard.Command{Level: p.Level(), Kind: shard.CmdLead, Term: number}
	p.term.bytes = shard.AppendCommand(nil, &c)
	p.term.op = Op{Done: done, size: int32(len(p.term.bytes))}
	p.term.stage = waiting
	p.proposeAndUnlock(nil)
}

// Elapsed returns how many milliseconds the local host has led, as in the stamp of a batch that is proposed now. ok
// is false if the host does not lead, or its first command was not applied.
func (p *Pipeline) Elapsed() (ms uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term.stage != leading {
		return 0, false
	}
	return p.stamp(p.clock()).Elapsed, true
}

// stamp returns the stamp for a batch that is proposed at a time.
func (p *Pipeline) stamp(now time.Time) clock.Stamp {
	if p.term.stage == following {
		return clock.Stamp{}
	}
	s := clock.Stamp{Term: p.term.number}
	if p.term.stage == leading {
		s.Elapsed = uint64(max(now.Sub(p.term.zero), 0) / time.Millisecond)
	}
	return s
}

// begin puts the term's waiting first command before a batch, and returns the term.
func (p *Pipeline) begin(ops []Op, bytes []byte) (_ []Op, _ []byte, leads uint64) {
	t := &p.term
	ops, bytes = slices.Insert(ops, 0, t.op), append(t.bytes, bytes...)
	t.stage, t.op, t.bytes = beginning, Op{}, nil
	return ops, bytes, t.number
}

// begun is called when a batch that begins a term was committed.
func (p *Pipeline) begun(leads uint64) {
	if leads == p.term.number && p.term.stage == beginning {
		p.term.stage, p.term.zero = leading, p.clock()
	}
}

// lost is called when a batch may be lost, with the term that begins with the batch, if any.
func (p *Pipeline) lost(leads uint64) {
	if leads != 0 && leads == p.term.number && p.term.stage == beginning {
		p.term.stage = elected
	}
}

// endTerm is called when the host no longer leads. endTerm returns the term's first command if it is still waiting.
func (p *Pipeline) endTerm() (ops []Op) {
	if p.term.stage == waiting {
		ops = append(ops, p.term.op)
	}
	p.term = term{}
	return ops
}
