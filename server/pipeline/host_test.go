package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// The host's own proposals and client commands share a queue. Neither excludes the other, and neither waits for more
// than a few small batches of the other.

// ownPerBatch is the maximum number of small host commands in a batch.
const ownPerBatch = hostPerBatch / commandCost

// fillOwn queues host commands until refused, and returns their number.
func fillOwn(p *Pipeline) (n int) {
	for p.Add(Op{Done: func(*shard.Effect, protocol.Status) {}}, &shard.Command{Kind: shard.CmdContinue}) {
		n++
	}
	return n
}

// client queues a client command, and reports when it is done.
func (l *heldLog) client(s *Source, at time.Duration) (through *bool) {
	through = new(bool)
	c := &shard.Command{Kind: shard.CmdRelease, Node: 1, Session: 1, Number: 1, Name: []byte("lock")}
	done := &caller{answered: through}
	if !l.p.Add(Op{Source: s, Caller: done, Ticket: Ticket{Started: int64(time.Hour + at)}}, c) {
		l.t.Fatal("a client's command is refused")
	}
	return through
}

// caller records that its request was answered.
type caller struct{ answered *bool }

func (c *caller) Fail(Ticket, *protocol.Result) { *c.answered = true }
func (c *caller) Flush(bool)                    {}

// landOne applies the oldest proposed batch, and returns its numbers of host and client commands.
func (l *heldLog) landOne() (own, clients int) {
	l.t.Helper()
	var b shard.Batch
	if err := shard.DecodeBatch(l.proposed[0], &b, l.p.Level()); err != nil {
		l.t.Fatal(err)
	}
	l.proposed = l.proposed[1:]
	ops, _, err := l.p.Land(b.Sequence, len(b.Commands))
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range ops {
		if c, is := ops[i].Caller.(*caller); is {
			*c.answered = true
			clients++
		} else {
			own++
		}
	}
	l.p.Completed(ops)
	return own, clients
}

// TestAClientIsInTheNextBatchThoughTheHostHasMuchToDo: however many host commands are due, a client's command is in the
// next proposed batch, and the batches before it are small.
func TestAClientIsInTheNextBatchThoughTheHostHasMuchToDo(t *testing.T) {
	for _, due := range []int{1000, hostCommands - 1, 20_000} {
		t.Run(fmt.Sprint(due), func(t *testing.T) {
			l, source := newHeld(t), NewSource("", nil)
			queued := 0
			for queued < due && l.p.Add(Op{Done: func(*shard.Effect, protocol.Status) {}},
				&shard.Command{Kind: shard.CmdContinue}) {
				queued++
			}
			l.p.Flush()
			for round := range 20 {
				through := l.client(source, time.Duration(round)*time.Millisecond)
				l.p.Flush()
				for batches := 0; !*through; batches++ {
					if own, _ := l.landOne(); own > ownPerBatch || batches > 1 {
						t.Fatalf("round %d: batch %d before the client's has %d commands of the host", round, batches,
							own)
					}
				}
				if commands, _ := l.p.Waiting(); commands == 0 {
					t.Logf("all of the host's are through after round %d", round)
					return
				}
			}
		})
	}
}

// TestTheHostsOwnCommandsTakeNoRoomFromClients: the host may fill only its share of the queue, and clients still have
// theirs.
func TestTheHostsOwnCommandsTakeNoRoomFromClients(t *testing.T) {
	l := newHeld(t)
	if n := fillOwn(l.p); n != hostCommands {
		t.Fatalf("%d commands of the host are queued; want %d", n, hostCommands)
	}
	commands := 0
	for token := 0; commands < maxQueuedCommands; token++ {
		source := NewSource(fmt.Sprint("token-", token), nil)
		for range lightCommands {
			l.client(source, 0)
			commands++
		}
	}
	c := &shard.Command{Kind: shard.CmdRelease, Node: 1, Session: 1, Number: 1, Name: []byte("lock")}
	if l.p.Add(Op{Source: NewSource("one more", nil), Caller: &caller{new(bool)}}, c) {
		t.Error("a full queue takes one more command of a client")
	}
	for range hostCommands { // nothing remains in flight
		l.p.Flush()
		if len(l.proposed) == 0 {
			break
		}
		l.landOne()
	}
	if waiting, batches := l.p.Waiting(); waiting+batches != 0 {
		t.Errorf("%d commands and %d batches are left", waiting, batches)
	}
}

// TestClientsThatFillTheQueueLeaveTheHostItsShare: while clients refill the queue as fast as it empties, the host's
// proposals complete within a few batches.
func TestClientsThatFillTheQueueLeaveTheHostItsShare(t *testing.T) {
	l := newHeld(t)
	sources := make([]*Source, 64)
	for i := range sources {
		sources[i] = NewSource(fmt.Sprint("token-", i), nil)
	}
	now := int64(time.Hour)
	c := &shard.Command{Kind: shard.CmdRelease, Node: 1, Session: 1, Number: 1, Name: []byte("lock")}
	fill := func() {
		for refused := 0; refused < len(sources); {
			refused = 0
			for _, s := range sources {
				now++
				if !l.p.Add(Op{Source: s, Caller: &caller{new(bool)}, Ticket: Ticket{Started: now}}, c) {
					refused++
				}
			}
		}
	}
	fill()
	l.p.Flush()
	through := 0
	const own = 500
	for range own {
		if !l.p.Add(Op{Done: func(*shard.Effect, protocol.Status) {}}, &shard.Command{Kind: shard.CmdContinue}) {
			t.Fatal("the host is refused because clients fill the queue")
		}
	}
	batches, clients := 0, 0
	for ; through < own; batches++ {
		mine, theirs := l.landOne()
		through, clients = through+mine, clients+theirs
		if fill(); batches > 100 {
			t.Fatalf("%d of %d are through after %d batches, and %d of clients", through, own, batches, clients)
		}
	}
	if clients == 0 {
		t.Error("no client's command was in the batches of the host")
	}
	t.Logf("%d commands of the host in %d batches, with %d of clients", own, batches, clients)
}
