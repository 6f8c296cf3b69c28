package pipeline

import (
	"bytes"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// newPipeline returns the pipeline of a leading host, with a level, on a log. Rounds are slow by its clock, so that one
// batch is in flight.
func newPipeline(log shard.Log) *Pipeline {
	now := time.Now()
	p := New(Options{Proposer: 1, Clock: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	p.pace.shortest, p.pace.disk = slowRound, true
	p.SetLevel(level.Newest)
	p.Open(log)
	p.term = term{number: 1, stage: leading, zero: p.clock()}
	return p
}

// heldLog is a log that holds proposals until the test lands them.
type heldLog struct {
	shard.Log
	t        *testing.T
	p        *Pipeline
	proposed [][]byte // guarded by the pipeline's lock
}

func (l *heldLog) Propose(data []byte, _ func(shard.Outcome)) error {
	l.proposed = append(l.proposed, bytes.Clone(data))
	return nil
}

// land applies every proposed batch, and returns the number of commands.
func (l *heldLog) land() (commands int) {
	l.t.Helper()
	var b shard.Batch
	for data := l.take(); data != nil; data = l.take() {
		if err := shard.DecodeBatch(data, &b, level.Newest); err != nil {
			l.t.Fatal(err)
		}
		ops, _, err := l.p.Land(b.Sequence, len(b.Commands))
		if err != nil {
			l.t.Fatal(err)
		}
		commands += len(ops)
		l.p.Completed(ops)
	}
	return commands
}

// take removes and returns the first proposed batch, nil without a batch.
func (l *heldLog) take() (data []byte) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if len(l.proposed) > 0 {
		data, l.proposed = l.proposed[0], l.proposed[1:]
	}
	return data
}

func newHeld(t *testing.T) *heldLog {
	l := &heldLog{t: t}
	l.p = newPipeline(l)
	return l
}

func (l *heldLog) add(n int, c *shard.Command) {
	l.t.Helper()
	source := NewSource("", nil)
	for range n {
		if !l.p.Add(Op{Source: source, Done: func(*shard.Effect, protocol.Status) {}}, c) {
			l.t.Fatal("the queue is full")
		}
	}
}

// TestAQueueGivesTheMemoryOfABurstBack: a queue that was long releases its memory after it was emptied.
func TestAQueueGivesTheMemoryOfABurstBack(t *testing.T) {
	l := newHeld(t)
	c := &shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: 1, Name: []byte("data"), Data: make([]byte, 1000)}
	for _, n := range []int{maxQueuedCommands / 2, 10} {
		l.add(n, c)
		l.p.Flush()
		if landed := l.land(); landed != n {
			t.Fatalf("%d of %d commands landed", landed, n)
		}
	}
	p := l.p
	room, ops := cap(p.bytes)+cap(p.other), cap(p.queue)
	for _, spare := range p.spare {
		ops += cap(spare)
	}
	if room > 2*keptBytes || ops > 2*keptOps {
		t.Fatalf("room for %d bytes and %d commands is kept", room, ops)
	}
}

// TestABatchThatWasNotProposedDoesNotLand: a landed batch must have been proposed, with the same commands.
func TestABatchThatWasNotProposedDoesNotLand(t *testing.T) {
	for what, land := range map[string]func(*Pipeline) error{
		"a batch that comes later": func(p *Pipeline) error { _, _, err := p.Land(2, 3); return err },
		"a batch without a number": func(p *Pipeline) error { _, _, err := p.Land(0, 3); return err },
		"a batch that lost one":    func(p *Pipeline) error { _, _, err := p.Land(1, 2); return err },
		"a batch that gained one":  func(p *Pipeline) error { _, _, err := p.Land(1, 4); return err },
	} {
		t.Run(what, func(t *testing.T) {
			l := newHeld(t)
			l.add(3, &shard.Command{Kind: shard.CmdContinue})
			l.p.Flush()
			if err := land(l.p); err == nil {
				t.Fatal("it landed")
			}
		})
	}
}

// TestABatchThatWasAnsweredBeforeLandsWithoutOps: a batch whose ops were answered with an unknown outcome may still be
// applied.
func TestABatchThatWasAnsweredBeforeLandsWithoutOps(t *testing.T) {
	l := newHeld(t)
	l.add(3, &shard.Command{Kind: shard.CmdContinue})
	l.p.Flush()
	l.p.missed(1, shard.OutcomeUnknown)
	if ops, _, err := l.p.Land(1, 3); err != nil || ops != nil {
		t.Fatalf("%d ops, %v", len(ops), err)
	}
}

// TestCallersThatAreAlikeAreNotSharedOut: commands of equally busy connections are proposed in arrival order, in
// full-size batches.
func TestCallersThatAreAlikeAreNotSharedOut(t *testing.T) {
	p := newPipeline(nil)
	const conns, requests = 8, 64
	now := int64(time.Hour)
	all := make([]*Source, conns)
	for i := range all {
		all[i] = NewSource("", nil)
	}
	release := &shard.Command{Kind: shard.CmdRelease, Name: []byte("lock")}
	round := func() {
		for _, source := range all {
			for range requests {
				now += int64(time.Microsecond)
				if !p.Add(Op{Source: source, Ticket: Ticket{Started: now}}, release) {
					t.Fatal("the queue is full")
				}
			}
		}
		now += int64(10 * time.Millisecond)
	}
	take := func() {
		for len(p.queue)+p.flows.queued > 0 {
			p.next()
		}
	}
	for range 2 * sharedFor / (10 * time.Millisecond) { // until all are known as busy
		round()
		take()
	}
	before := p.shared.Load()
	for range 1000 {
		round()
		if ops, _ := p.next(); len(ops) != conns*requests {
			t.Fatalf("a batch has %d commands; want all %d", len(ops), conns*requests)
		}
	}
	if n := p.shared.Load() - before; n != 0 {
		t.Fatalf("%d batches were shared out", n)
	}
}

// landingLog is a log that applies each batch on the test's request, without copying it.
type landingLog struct {
	shard.Log
	sequence uint64
}

func (l *landingLog) Propose([]byte, func(shard.Outcome)) error {
	l.sequence++
	return nil
}

// TestABatchAllocatesNoMoreThanItsOutcome: the pipeline allocates only the function called by the log.
func TestABatchAllocatesNoMoreThanItsOutcome(t *testing.T) {
	l := &landingLog{}
	p := newPipeline(l)
	c, source := &shard.Command{Kind: shard.CmdRelease, Name: []byte("lock")}, NewSource("", nil)
	const commands = 100
	batch := func() {
		for range commands {
			if !p.Add(Op{Source: source, Done: func(*shard.Effect, protocol.Status) {}}, c) {
				t.Fatal("the queue is full")
			}
		}
		p.Flush()
		ops, _, err := p.Land(l.sequence, commands)
		if err != nil || len(ops) != commands {
			t.Fatalf("%d ops, %v", len(ops), err)
		}
		p.Completed(ops)
	}
	batch()
	if each := testing.AllocsPerRun(100, batch); each > 1 {
		t.Fatalf("a batch takes %.0f allocations", each)
	}
}

// TestCommandsBehindABatchThatIsNotConfirmedAreAnsweredWithIt: in the next batch they would only wait again.
func TestCommandsBehindABatchThatIsNotConfirmedAreAnsweredWithIt(t *testing.T) {
	l := newHeld(t)
	var failed []protocol.Status
	add := func() {
		done := func(_ *shard.Effect, why protocol.Status) { failed = append(failed, why) }
		if !l.p.Add(Op{Done: done}, &shard.Command{Kind: shard.CmdContinue}) {
			t.Fatal("the queue is full")
		}
		l.p.Flush()
	}
	add()
	add()
	l.p.missed(1, shard.OutcomeUnknown)
	if len(failed) != 2 || failed[0] != protocol.StatusUnavailable || failed[1] != failed[0] {
		t.Errorf("answered: %v, want both with UNAVAILABLE", failed)
	}
	add()
	l.p.missed(2, shard.OutcomeDropped)
	if n := len(l.proposed); n != 2 {
		t.Errorf("%d batches were proposed, want 2", n)
	}
}

// TestATimeOfDayBeforeAllTimesIsNone: a host clock with an error of decades yields no wall clock time in the far
// future.
func TestATimeOfDayBeforeAllTimesIsNone(t *testing.T) {
	l := newHeld(t)
	for wall, want := range map[int64]uint64{
		int64(5 * time.Hour): 5*3_600_000 + 20, int64(-5 * time.Hour): 0, int64(-20 * time.Millisecond): 0,
	} {
		l.p.SetWall(wall)
		c := &shard.Command{Kind: shard.CmdContinue}
		o := Op{Ticket: Ticket{Started: int64(20 * time.Millisecond)}, Done: func(*shard.Effect, protocol.Status) {}}
		if !l.p.Add(o, c) {
			t.Fatal("the queue is full")
		}
		if c.Time != want {
			t.Errorf("a host that began at %v has the time %d, want %d", time.Duration(wall), c.Time, want)
		}
	}
}
