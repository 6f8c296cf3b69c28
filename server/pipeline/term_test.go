package pipeline

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// termBed is a pipeline with a log and a clock controlled by the test.
type termBed struct {
	shard.Log
	t        *testing.T
	p        *Pipeline
	now      time.Time
	proposed []shard.Batch
	outcomes []func(shard.Outcome)
	refuses  bool // the log
	answers  []protocol.Status
}

func newTermBed(t *testing.T) *termBed {
	b := &termBed{t: t, now: time.Unix(1000, 0)}
	b.p = New(Options{Proposer: 1, Clock: func() time.Time { return b.now }})
	b.p.SetLevel(level.Newest)
	b.p.Open(b)
	return b
}

func (b *termBed) Propose(data []byte, done func(shard.Outcome)) error {
	if b.refuses {
		return errors.New("the log is busy")
	}
	var batch shard.Batch
	if err := shard.DecodeBatch(bytes.Clone(data), &batch, level.Newest); err != nil {
		b.t.Fatal(err)
	}
	b.proposed, b.outcomes = append(b.proposed, batch), append(b.outcomes, done)
	return nil
}

func (b *termBed) answered(e *shard.Effect, failed protocol.Status) {
	b.answers = append(b.answers, failed)
}

// ask queues client commands.
func (b *termBed) ask(n int) {
	b.t.Helper()
	for range n {
		if !b.p.Add(Op{Done: b.answered}, &shard.Command{Kind: shard.CmdContinue}) {
			b.t.Fatal("the queue is full")
		}
	}
	b.p.Flush()
}

func (b *termBed) lead(term uint64) { b.p.Lead(term, b.answered) }

// next takes the oldest proposed batch, which must have these commands and this stamp.
func (b *termBed) next(want clock.Stamp, kinds ...shard.CommandKind) (shard.Batch, func(shard.Outcome)) {
	b.t.Helper()
	if len(b.proposed) == 0 {
		b.t.Fatal("nothing was proposed")
	}
	batch, outcome := b.proposed[0], b.outcomes[0]
	b.proposed, b.outcomes = b.proposed[1:], b.outcomes[1:]
	var got []shard.CommandKind
	for i := range batch.Commands {
		got = append(got, batch.Commands[i].Kind)
	}
	if batch.Stamp != want || !slices.Equal(got, kinds) {
		b.t.Fatalf("%v was proposed with %+v, want %v with %+v", got, batch.Stamp, kinds, want)
	}
	return batch, outcome
}

// apply is next, and has the batch applied.
func (b *termBed) apply(want clock.Stamp, kinds ...shard.CommandKind) {
	b.t.Helper()
	batch, outcome := b.next(want, kinds...)
	ops, _, err := b.p.Land(batch.Sequence, len(batch.Commands))
	if err != nil {
		b.t.Fatal(err)
	}
	b.p.Completed(ops)
	outcome(shard.OutcomeApplied)
}

func (b *termBed) nothing() {
	b.t.Helper()
	if len(b.proposed) > 0 {
		b.t.Fatalf("%+v was proposed", b.proposed)
	}
}

const asks = shard.CmdContinue

// TestTheCommandThatBeginsATermGoesFirst: client commands wait for it and share its batch; nothing else is proposed
// until it was applied; the term's time counts from then on.
func TestTheCommandThatBeginsATermGoesFirst(t *testing.T) {
	for _, round := range []time.Duration{0, slowRound} {
		b := newTermBed(t)
		b.p.pace.shortest, b.p.pace.disk = round, true
		b.p.Elect(5)
		b.ask(2)
		b.nothing()
		b.now = b.now.Add(time.Hour)
		b.lead(5)
		b.ask(1)
		if _, ok := b.p.Elapsed(); ok {
			t.Fatal("the term is counted before it began")
		}
		b.apply(clock.Stamp{Term: 5}, shard.CmdLead, asks, asks)
		b.now = b.now.Add(1999 * time.Microsecond)
		if ms, ok := b.p.Elapsed(); ms != 1 || !ok {
			t.Fatal(ms, ok)
		}
		b.apply(clock.Stamp{Term: 5}, asks) // waited for the first batch only
		b.ask(1)
		b.apply(clock.Stamp{Term: 5, Elapsed: 1}, asks)
		if len(b.answers) != 0 {
			t.Fatalf("answered with %v", b.answers)
		}
	}
}

// TestTheCommandThatBeginsATermNeedsNoRoomInTheQueue: a leader begins however much has been asked for.
func TestTheCommandThatBeginsATermNeedsNoRoomInTheQueue(t *testing.T) {
	b := newTermBed(t)
	b.p.Elect(5)
	queued := 0
	for b.p.Add(Op{Done: b.answered}, &shard.Command{Kind: asks}) {
		queued++
	}
	b.lead(5)
	if b.proposed[0].Commands[0].Kind != shard.CmdLead || b.proposed[0].Commands[0].Term != 5 {
		t.Fatalf("%v is the first command of the term", b.proposed[0].Commands[0].Kind)
	}
	through := -1
	for len(b.proposed) > 0 {
		batch := b.proposed[0]
		b.proposed = b.proposed[1:]
		ops, _, err := b.p.Land(batch.Sequence, len(batch.Commands))
		if err != nil {
			t.Fatal(err)
		}
		through += len(ops)
		b.p.Completed(ops)
	}
	if through != queued || len(b.answers) != 0 {
		t.Fatalf("%d of %d are through, %d were refused", through, queued, len(b.answers))
	}
}

// TestACommandThatBeginsATermAndIsLostHoldsTheOthersBack: commands that could not take effect are not proposed.
func TestACommandThatBeginsATermAndIsLostHoldsTheOthersBack(t *testing.T) {
	b := newTermBed(t)
	b.p.Elect(5)
	b.lead(5)
	b.ask(1)
	_, outcome := b.next(clock.Stamp{Term: 5}, shard.CmdLead)
	outcome(shard.OutcomeUnknown)
	b.nothing()
	b.refuses = true
	b.lead(5)
	b.refuses = false
	b.nothing()
	if want := []protocol.Status{protocol.StatusUnavailable, protocol.StatusUnavailable,
		protocol.StatusUnavailable}; !slices.Equal(b.answers, want) { // both first commands, and their batch
		t.Fatal(b.answers)
	}
	b.ask(1)
	b.lead(5)
	b.apply(clock.Stamp{Term: 5}, shard.CmdLead, asks)
}

// TestAHostThatDoesNotLeadProposesNothing: commands accepted too late are refused at once, without waiting for a
// leader.
func TestAHostThatDoesNotLeadProposesNothing(t *testing.T) {
	b := newTermBed(t)
	b.p.pace.shortest, b.p.pace.disk = slowRound, true // one batch is in flight
	b.ask(1)
	b.p.Elect(5)
	b.lead(4) // from an earlier term
	b.ask(1)
	b.p.Abandon(protocol.Result{Status: protocol.StatusMoved})
	b.ask(1)
	b.lead(5)
	b.p.Elect(6)
	b.lead(6)
	b.next(clock.Stamp{Term: 6}, shard.CmdLead)
	b.p.Elect(7)
	b.ask(1)
	b.nothing()
	b.lead(7) // and a batch is in flight
	b.p.Abandon(protocol.Result{Status: protocol.StatusMoved})
	if want := []protocol.Status{protocol.StatusUnavailable, protocol.StatusUnavailable, protocol.StatusMoved,
		protocol.StatusUnavailable, protocol.StatusUnavailable, protocol.StatusMoved,
		protocol.StatusMoved}; !slices.Equal(b.answers, want) {
		t.Fatal(b.answers)
	}
}

// TestATermThatIsOverCountsNoMore: a term's first command is applied after this host's next term has begun.
func TestATermThatIsOverCountsNoMore(t *testing.T) {
	b := newTermBed(t)
	b.p.Elect(5)
	b.lead(5)
	b.p.Elect(7)
	b.lead(7)
	b.apply(clock.Stamp{Term: 5}, shard.CmdLead)
	if _, ok := b.p.Elapsed(); ok {
		t.Fatal("the term is counted before it began")
	}
	b.now = b.now.Add(time.Second)
	b.apply(clock.Stamp{Term: 7}, shard.CmdLead)
	b.now = b.now.Add(time.Second)
	b.p.Elect(7) // the host leads again
	b.ask(1)
	b.apply(clock.Stamp{Term: 7, Elapsed: 1000}, asks)
}
