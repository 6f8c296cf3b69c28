package machine

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// burdens are the most expensive commands, each for a machine in which it would touch n links at once.
var burdens = []struct {
	name string
	make func(b *bed, n int)
	// run is proposed again as long as it reports more, as by its leader; for some commands the rest is only pending.
	run  func(b *bed, n int) shard.Command
	over func(c shard.Counts) bool
}{
	{"session-end, ephemerals", func(b *bed, n int) { b.ephemerals(0, n) }, func(b *bed, _ int) shard.Command {
		return shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[0]}
	}, noLinks},
	{"session-end, each with a waiter", func(b *bed, n int) {
		b.ephemerals(0, n/2)
		for i := range n / 2 {
			b.As(1, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "e%d", i), Count: shard.Exclusive,
				Timeout: shard.Forever, Flags: shard.FlagEphemeral})
		}
	}, func(b *bed, _ int) shard.Command { return shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[0]} },
		func(c shard.Counts) bool { return c.Waiters == 0 }},
	{"sessions-expire", func(b *bed, n int) { b.everyone(n / 4) }, func(b *bed, n int) shard.Command {
		return shard.Command{Kind: shard.CmdSessionsExpire, Sessions: b.IDs[:n/4]}
	}, noLinks},
	{"semaphore-delete, waiters", func(b *bed, n int) { b.queue(n, 1) }, func(*bed, int) shard.Command {
		return shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Name: []byte("hall"), Flags: shard.FlagForce}
	}, noLinks},
	{"semaphore-delete, owners", func(b *bed, n int) { b.queue(n, shard.Forever) }, func(*bed, int) shard.Command {
		return shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Name: []byte("hall"), Flags: shard.FlagForce}
	}, noLinks},
	{"node-drop", func(b *bed, n int) { b.queue(n/2, 1); b.everyone(n / 8) }, func(*bed, int) shard.Command {
		return shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: shard.MaxList}
	}, func(c shard.Counts) bool { return c.Nodes == 0 }},
	{"release that lets many in", func(b *bed, n int) {
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: 1 << 40})
		b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("hall"), Count: 1 << 40})
		b.joinHall(1, n)
	}, func(b *bed, _ int) shard.Command {
		return b.Next(0, shard.Command{Kind: shard.CmdRelease, Name: []byte("hall")})
	},
		func(c shard.Counts) bool { return c.Waiters == 0 }},
	{"acquire of less that lets many in", func(b *bed, n int) {
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: 1 << 40})
		b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("hall"), Count: 1 << 40})
		b.joinHall(1, n)
	}, func(b *bed, _ int) shard.Command {
		return b.Next(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("hall"), Count: 1})
	},
		func(c shard.Counts) bool { return c.Waiters == 0 }},
	{"waiter-withdraw that lets many in", func(b *bed, n int) {
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: 1 << 40})
		b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("hall"), Count: 1})
		b.As(n, shard.Command{Kind: shard.CmdAcquire, Name: []byte("hall"), Count: 1 << 40, Timeout: shard.Forever})
		b.joinHall(1, n-1)
	}, func(b *bed, n int) shard.Command {
		head := b.M.State().Semaphores[0].Links[1]
		return shard.Command{Kind: shard.CmdWaiterWithdraw, Node: 1, Name: []byte("hall"), Session: b.IDs[n],
			Order: head.Order, Number: head.Number}
	}, func(c shard.Counts) bool { return c.Waiters == 0 }},
	{"due, waiters", func(b *bed, n int) { b.queue(n, 1) }, func(b *bed, _ int) shard.Command {
		b.One.Stamp.Elapsed = uint64(time.Hour.Milliseconds())
		return shard.Command{Kind: shard.CmdDue}
	}, func(c shard.Counts) bool { return c.Waiters == 0 }},
}

func noLinks(c shard.Counts) bool { return c.Links == 0 }

func (b *bed) ephemerals(i, n int) {
	for j := range n {
		b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "e%d", j), Count: 1,
			Flags: shard.FlagEphemeral})
	}
}

// everyone gives the first sessions four ephemeral semaphores each.
func (b *bed) everyone(sessions int) {
	for i := range sessions {
		for j := range 4 {
			b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "s%d/%d", i, j), Count: 1,
				Flags: shard.FlagEphemeral})
		}
	}
}

// queue creates a semaphore with n owners and waiters.
func (b *bed) queue(n int, limit uint64) {
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("hall"), Count: limit})
	b.joinHall(0, n)
}

func (b *bed) joinHall(first, n int) {
	for i := first; i < first+n; i++ {
		b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: []byte("hall"), Count: 1, Timeout: 60_000})
	}
}

// burdened returns a machine with a burden of n links.
func burdened(i, n int) *bed {
	b := newBed(n + 1)
	burdens[i].make(b, n)
	return b
}

// runToEnd proposes the command and its remaining work until nothing is left, and returns the maximum number of links
// touched by one command, and the longest duration.
func (b *bed) runToEnd(c shard.Command) (touched int, longest time.Duration) {
	step := func(c shard.Command) {
		began := time.Now()
		b.Do(c)
		longest, touched = max(longest, time.Since(began)), max(touched, b.M.core.Run.Touched)
	}
	for step(c); b.Result().Flags&shard.FlagMore != 0; {
		step(c)
	}
	for b.M.Pending() > 0 {
		step(shard.Command{Kind: shard.CmdContinue})
	}
	return touched, longest
}

func TestNoCommandTouchesMoreLinksThanItMay(t *testing.T) {
	const n = 3 * shard.MaxTouched
	for i, burden := range burdens {
		t.Run(burden.name, func(t *testing.T) {
			b := burdened(i, n)
			touched, _ := b.runToEnd(burden.run(b, n))
			if touched > shard.MaxTouched {
				t.Errorf("a command touched %d links", touched)
			}
			if touched < shard.MaxWork/4 {
				t.Errorf("no command touched more than %d links: it was no burden", touched)
			}
			if c := b.M.Count(); !burden.over(c) {
				t.Errorf("at the end there are %+v", c)
			}
		})
	}
}

// BenchmarkWorstCommands: for each worst command, how long the machine's lock is held by the longest command of a run:
// median and maximum over all runs.
func BenchmarkWorstCommands(b *testing.B) {
	const n = 20_000
	for i, burden := range burdens {
		b.Run(burden.name, func(b *testing.B) {
			var longests []time.Duration
			for b.Loop() {
				b.StopTimer()
				bed := burdened(i, n)
				c := burden.run(bed, n)
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

// TestASessionThatEndedIsOverBeforeItsLinksAreReleased: the session is over from its ending command on, whatever it
// still holds.
func TestASessionThatEndedIsOverBeforeItsLinksAreReleased(t *testing.T) {
	b := burdened(0, 3*shard.MaxWork)
	id, command := b.IDs[0],
		b.Next(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("more"), Count: 1, Flags: shard.FlagEphemeral})
	b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: id})
	if b.M.Pending() != 1 {
		t.Fatalf("%d things are pending", b.M.Pending())
	}
	if _, known := b.M.Session(id); known || b.M.Liveness(id) != shard.Dead {
		t.Errorf("the session is known %v, and %v", known, b.M.Liveness(id))
	}
	for _, c := range []shard.Command{command, {Kind: shard.CmdSessionEnd, Session: id},
		{Kind: shard.CmdSessionUpdate, Session: id}} {
		if b.Do(c); b.Result().Status != protocol.StatusSessionExpired {
			t.Errorf("%v: %v", c.Kind, b.Result().Status)
		}
	}
	b.Do(shard.Command{Kind: shard.CmdSessionsExpire, Sessions: []shard.SessionID{id}})
	for _, e := range b.Out.List {
		if e.Kind == shard.EffectSessionEnded {
			t.Error("it ended twice")
		}
	}
}

func TestASessionHasALimitOfLinks(t *testing.T) {
	b := newBed(2)
	b.ephemerals(0, shard.MaxLinksPerSession)
	one := func(i int, name string, want protocol.Status) {
		t.Helper()
		c := b.Next(i, shard.Command{Kind: shard.CmdAcquire, Name: []byte(name), Count: shard.Exclusive,
			Timeout: shard.Forever, Flags: shard.FlagEphemeral})
		if b.Do(c); b.Result().Status != want {
			t.Errorf("%s: %v, not %v", name, b.Result().Status, want)
		}
	}
	one(1, "of another", protocol.StatusSuccess)
	one(0, "one more", protocol.StatusPreconditionFailed)
	one(0, "of another", protocol.StatusPreconditionFailed)
	b.As(0, shard.Command{Kind: shard.CmdRelease, Name: []byte("e7")})
	one(0, "of another", protocol.StatusSuccess)
}

// TestALongBatchLetsReadersIn: readers get access between the commands of an expensive batch.
func TestALongBatchLetsReadersIn(t *testing.T) {
	const n = 20 * shard.MaxWork
	for range 50 {
		b := newBed(1)
		b.ephemerals(0, n)
		batch := shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionEnd, Session: b.IDs[0]}}}
		for range 2 * n / shard.MaxWork {
			batch.Commands = append(batch.Commands, shard.Command{Kind: shard.CmdContinue})
		}
		between := make(chan bool)
		go func() {
			for {
				if links := b.M.Count().Links; links < n {
					between <- links > 0
					return
				}
			}
		}()
		b.M.Apply(&batch, &b.Out)
		if <-between {
			return
		}
	}
	t.Error("nobody sees the state between two commands of a batch")
}

func TestAnIndexThatWasLargeIsGivenBackWhenItIsEmpty(t *testing.T) {
	b := newBed(2 * keptIndex)
	b.queue(2*keptIndex, 1)
	before := b.M.core.Holdings.index
	for i := range b.IDs {
		b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[i]})
	}
	if len(b.M.core.Holdings.index) != 0 ||
		reflect.ValueOf(b.M.core.Holdings.index).Pointer() == reflect.ValueOf(before).Pointer() {
		t.Errorf("%d entries; the map of before is kept", len(b.M.core.Holdings.index))
	}
}
