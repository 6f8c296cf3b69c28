package shard

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// burdens are the commands that have the most to do, each for a machine in which it would touch n links at once.
var burdens = []struct {
	name string
	make func(b *bed, n int)
	// run is proposed again for as long as it says that there is more, as its leader does; of some commands the rest is
	// pending only.
	run  func(b *bed, n int) Command
	over func(c Counts) bool
}{
	{"session-end, ephemerals", func(b *bed, n int) { b.ephemerals(0, n) }, func(b *bed, _ int) Command {
		return Command{Kind: CmdSessionEnd, Session: b.ids[0]}
	}, noLinks},
	{"session-end, each with a waiter", func(b *bed, n int) {
		b.ephemerals(0, n/2)
		for i := range n / 2 {
			b.as(1, Command{Kind: CmdAcquire, Name: fmt.Appendf(nil, "e%d", i), Count: Exclusive, Timeout: Forever,
				Flags: FlagEphemeral})
		}
	}, func(b *bed, _ int) Command { return Command{Kind: CmdSessionEnd, Session: b.ids[0]} },
		func(c Counts) bool { return c.Waiters == 0 }},
	{"sessions-expire", func(b *bed, n int) { b.everyone(n / 4) }, func(b *bed, n int) Command {
		return Command{Kind: CmdSessionsExpire, Sessions: b.ids[:n/4]}
	}, noLinks},
	{"semaphore-delete, waiters", func(b *bed, n int) { b.queue(n, 1) }, func(*bed, int) Command {
		return Command{Kind: CmdSemaphoreDelete, Node: 1, Name: []byte("hall"), Flags: FlagForce}
	}, noLinks},
	{"semaphore-delete, owners", func(b *bed, n int) { b.queue(n, Forever) }, func(*bed, int) Command {
		return Command{Kind: CmdSemaphoreDelete, Node: 1, Name: []byte("hall"), Flags: FlagForce}
	}, noLinks},
	{"node-drop", func(b *bed, n int) { b.queue(n/2, 1); b.everyone(n / 8) }, func(*bed, int) Command {
		return Command{Kind: CmdNodeDrop, Node: 1, Count: MaxList}
	}, func(c Counts) bool { return c.Nodes == 0 }},
	{"release that lets many in", func(b *bed, n int) {
		b.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: 1 << 40})
		b.as(0, Command{Kind: CmdAcquire, Name: []byte("hall"), Count: 1 << 40})
		b.joinHall(1, n)
	}, func(b *bed, _ int) Command { return b.next(0, Command{Kind: CmdRelease, Name: []byte("hall")}) },
		func(c Counts) bool { return c.Waiters == 0 }},
	{"acquire of less that lets many in", func(b *bed, n int) {
		b.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: 1 << 40})
		b.as(0, Command{Kind: CmdAcquire, Name: []byte("hall"), Count: 1 << 40})
		b.joinHall(1, n)
	}, func(b *bed, _ int) Command {
		return b.next(0, Command{Kind: CmdAcquire, Name: []byte("hall"), Count: 1})
	},
		func(c Counts) bool { return c.Waiters == 0 }},
	{"waiters-time-out", func(b *bed, n int) { b.queue(n, 1) }, func(b *bed, _ int) Command {
		c := Command{Kind: CmdWaitersTimeOut}
		for at, over := Cursor(0), false; !over; {
			at, over = b.m.WalkWaiters(at, func(w Waiter) { c.Waiters = append(c.Waiters, w.WaiterRef) })
		}
		return c
	}, func(c Counts) bool { return c.Waiters == 0 }},
}

func noLinks(c Counts) bool { return c.Links == 0 }

// next is the command as the next mutation of session i.
func (b *bed) next(i int, c Command) Command {
	b.numbers[i]++
	c.Node, c.Session, c.Number, c.Acked = 1, b.ids[i], b.numbers[i], b.numbers[i]-1
	return c
}

func (b *bed) ephemerals(i, n int) {
	for j := range n {
		b.as(i, Command{Kind: CmdAcquire, Name: fmt.Appendf(nil, "e%d", j), Count: 1, Flags: FlagEphemeral})
	}
}

// everyone gives the first sessions four ephemeral semaphores each.
func (b *bed) everyone(sessions int) {
	for i := range sessions {
		for j := range 4 {
			b.as(i, Command{Kind: CmdAcquire, Name: fmt.Appendf(nil, "s%d/%d", i, j), Count: 1, Flags: FlagEphemeral})
		}
	}
}

// queue makes a semaphore that n sessions own or wait for.
func (b *bed) queue(n int, limit uint64) {
	b.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: limit})
	b.joinHall(0, n)
}

func (b *bed) joinHall(first, n int) {
	for i := first; i < first+n; i++ {
		b.as(i, Command{Kind: CmdAcquire, Name: []byte("hall"), Count: 1, Timeout: 60_000})
	}
}

// burdened returns a machine with a burden of n links.
func burdened(i, n int) *bed {
	b := newBed(n + 1)
	burdens[i].make(b, n)
	return b
}

// runToEnd proposes the command and what it leaves until nothing is left, and returns the most links that one command
// touched, and the longest that one took.
func (b *bed) runToEnd(c Command) (touched int, longest time.Duration) {
	step := func(c Command) {
		began := time.Now()
		b.do(c)
		longest, touched = max(longest, time.Since(began)), max(touched, b.m.touched)
	}
	for step(c); b.result().Flags&FlagMore != 0; {
		step(c)
	}
	for b.m.Pending() > 0 {
		step(Command{Kind: CmdContinue})
	}
	return touched, longest
}

func TestNoCommandTouchesMoreLinksThanItMay(t *testing.T) {
	const n = 3 * MaxTouched
	for i, burden := range burdens {
		t.Run(burden.name, func(t *testing.T) {
			b := burdened(i, n)
			touched, _ := b.runToEnd(burden.run(b, n))
			if touched > MaxTouched {
				t.Errorf("a command touched %d links", touched)
			}
			if touched < MaxWork/4 {
				t.Errorf("no command touched more than %d links: it was no burden", touched)
			}
			if c := b.m.Count(); !burden.over(c) {
				t.Errorf("at the end there are %+v", c)
			}
		})
	}
}

// BenchmarkWorstCommands: the worst of each kind: how long the machine's lock is held by the longest command of a run,
// in the median and at the worst of all runs.
func BenchmarkWorstCommands(b *testing.B) {
	const n = 20_000
	for i, burden := range burdens {
		b.Run(burden.name, func(b *testing.B) {
			var longests []time.Duration
			for b.Loop() {
				b.StopTimer()
				bed := burdened(i, n)
				c := burden.run(bed, n)
				if len(c.Waiters) > MaxList {
					c.Waiters = c.Waiters[:MaxList]
				}
				b.StartTimer()
				_, longest := bed.runToEnd(c)
				longests = append(longests, longest)
			}
			slices.Sort(longests)
			b.ReportMetric(float64(longests[len(longests)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(longests[len(longests)-1].Microseconds())/1000, "worst-ms")
		})
	}
}

// TestASessionThatEndedIsOverBeforeItsLinksAreReleased: from the command that ends it on a session is over, whatever it
// still has.
func TestASessionThatEndedIsOverBeforeItsLinksAreReleased(t *testing.T) {
	b := burdened(0, 3*MaxWork)
	id, command := b.ids[0], b.next(0, Command{Kind: CmdAcquire, Name: []byte("more"), Count: 1, Flags: FlagEphemeral})
	b.do(Command{Kind: CmdSessionEnd, Session: id})
	if b.m.Pending() != 1 {
		t.Fatalf("%d things are pending", b.m.Pending())
	}
	if _, known := b.m.Session(id); known || b.m.Liveness(id) != Dead {
		t.Errorf("the session is known %v, and %v", known, b.m.Liveness(id))
	}
	for _, c := range []Command{command, {Kind: CmdSessionEnd, Session: id}, {Kind: CmdSessionUpdate, Session: id}} {
		if b.do(c); b.result().Status != protocol.StatusSessionExpired {
			t.Errorf("%v: %v", c.Kind, b.result().Status)
		}
	}
	b.do(Command{Kind: CmdSessionsExpire, Sessions: []SessionID{id}})
	for _, e := range b.out.List {
		if e.Kind == EffectSessionEnded {
			t.Error("it ended twice")
		}
	}
}

func TestASessionHasALimitOfLinks(t *testing.T) {
	b := newBed(2)
	b.ephemerals(0, MaxLinksPerSession)
	one := func(i int, name string, want protocol.Status) {
		t.Helper()
		c := b.next(i, Command{Kind: CmdAcquire, Name: []byte(name), Count: Exclusive, Timeout: Forever,
			Flags: FlagEphemeral})
		if b.do(c); b.result().Status != want {
			t.Errorf("%s: %v, not %v", name, b.result().Status, want)
		}
	}
	one(1, "of another", protocol.StatusSuccess)
	one(0, "one more", protocol.StatusPreconditionFailed)
	one(0, "of another", protocol.StatusPreconditionFailed)
	b.as(0, Command{Kind: CmdRelease, Name: []byte("e7")})
	one(0, "of another", protocol.StatusSuccess)
}

// TestEffectsGiveTheMemoryOfABurstBack: what a burst took is not kept.
func TestEffectsGiveTheMemoryOfABurstBack(t *testing.T) {
	var e Effects
	e.List = append(e.List, make([]Effect, 100)...)
	before := cap(e.List)
	if e.Reset(); cap(e.List) != before {
		t.Error("the memory of a common batch is given back")
	}
	e.List = append(e.List, make([]Effect, 1_000_000)...)
	if e.Reset(); cap(e.List) > keptEffects {
		t.Errorf("room for %d effects is kept", cap(e.List))
	}
}

// TestALongBatchLetsReadersIn: readers get in between the commands of a batch that has much to do.
func TestALongBatchLetsReadersIn(t *testing.T) {
	const n = 20 * MaxWork
	for range 50 {
		b := newBed(1)
		b.ephemerals(0, n)
		batch := Batch{Commands: []Command{{Kind: CmdSessionEnd, Session: b.ids[0]}}}
		for range 2 * n / MaxWork {
			batch.Commands = append(batch.Commands, Command{Kind: CmdContinue})
		}
		between := make(chan bool)
		go func() {
			for {
				if links := b.m.Count().Links; links < n {
					between <- links > 0
					return
				}
			}
		}()
		b.m.Apply(&batch, &b.out)
		if <-between {
			return
		}
	}
	t.Error("nobody sees the state between two commands of a batch")
}

func TestAnIndexThatWasLargeIsGivenBackWhenItIsEmpty(t *testing.T) {
	b := newBed(2 * keptIndex)
	b.queue(2*keptIndex, 1)
	before := b.m.links.index
	for i := range b.ids {
		b.do(Command{Kind: CmdSessionEnd, Session: b.ids[i]})
	}
	if len(b.m.links.index) != 0 || reflect.ValueOf(b.m.links.index).Pointer() == reflect.ValueOf(before).Pointer() {
		t.Errorf("%d entries; the map of before is kept", len(b.m.links.index))
	}
}

func TestABatchGivesTheMemoryOfABurstBack(t *testing.T) {
	long := Batch{Commands: []Command{{Level: level.First, Kind: CmdSessionsExpire,
		Sessions: make([]SessionID, 10*MaxList)}}}
	short := Batch{Commands: []Command{{Level: level.First, Kind: CmdSessionsExpire, Sessions: make([]SessionID, 10)}}}
	var b Batch
	for _, from := range []*Batch{&long, &short} {
		if err := DecodeBatch(AppendBatch(nil, from), &b, level.First); err != nil {
			t.Fatal(err)
		}
	}
	if cap(b.sessions) > 2*MaxList {
		t.Errorf("room for %d sessions is kept", cap(b.sessions))
	}
}
