package watch

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestAnIDIsInUseUntilItsWatchIsOver(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		v := c.watch("sem", all)
		m := protocol.Watch{NodeID: 1, Name: []byte("other")}
		if err := b.hub.Open(c, 1, &m); !errors.Is(err, ErrInUse) {
			t.Errorf("opening twice: %v", err)
		}
		if !c.stop(v) || b.hub.Stop(c, 1) || b.hub.Stop(c, 2) {
			t.Error("stopped what is not open, or not what is")
		}
		c.next = 0
		v = c.watch("sem", all)
		rest()
		c.expect(v, b.machine)
	})
}

func TestNothingIsKeptOfAConnectionThatIsGone(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		other := newClient(t, b.hub)
		for range 10 {
			other.watch("sem", all)
			other.watch("missing", all)
		}
		rest()
		other.close()
		m := protocol.Watch{NodeID: 1, Name: []byte("sem")}
		if err := b.hub.Open(other, 99, &m); !errors.Is(err, ErrGone) {
			t.Errorf("opening on a closed connection: %v", err)
		}
		synctest.Wait()
		if got := b.hub.Counters(); got.Watches != 0 || got.Topics != 0 {
			t.Errorf("%+v", got)
		}
		// The hub learns of this one only when it appends.
		silent := newClient(t, b.hub)
		silent.watch("sem", all)
		rest()
		silent.closed = true
		b.update("sem", "x")
		rest()
		if got := b.hub.Counters(); got.Watches != 0 || got.Topics != 0 || len(b.hub.subscribers) != 0 {
			t.Errorf("%+v, %d links", got, len(b.hub.subscribers))
		}
	})
}

// TestOfSnapshotsInFlightNothingIsKeptWhenConnectionsAreGone closes connections with unread snapshots.
func TestOfSnapshotsInFlightNothingIsKeptWhenConnectionsAreGone(t *testing.T) {
	const owners, clients = 1500, 20
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{})
		b.create("sem", shard.Forever, "data")
		b.own(owners, "sem", strings.Repeat("x", 50))
		var all []*client
		for range clients {
			c := newClient(t, b.hub)
			c.slow = true
			c.watch("sem", wantsOwners)
			all = append(all, c)
		}
		rest()
		if n := len(b.hub.worker.inflight); n != clients {
			t.Fatalf("%d snapshots are in flight", n)
		}
		for _, c := range all {
			c.close()
		}
		rest()
		b.quiet(b.hub)
	})
}

func TestAWatchIsCountedBeforeOthersCanSeeIt(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		counted := -1
		c.during = func() {
			if counted < 0 {
				counted = b.hub.Len()
			}
		}
		c.watch("sem", all)
		if counted != 1 {
			t.Errorf("%d watches are counted while the first is opened", counted)
		}
		rest()
		gone := newClient(t, b.hub)
		gone.closed = true
		if err := b.hub.Open(gone, 1, &protocol.Watch{NodeID: 1, Name: []byte("sem")}); !errors.Is(err, ErrGone) {
			t.Errorf("opening on a closed connection: %v", err)
		}
		if n := b.hub.Len(); n != 1 {
			t.Errorf("%d watches are counted, and one is open", n)
		}
	})
}

// TestAClosedConnectionThatIsRefusedIsNotKept: a connection's end is reported once, here before the watch.
func TestAClosedConnectionThatIsRefusedIsNotKept(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, _ *client) {
		b.hub.options.Budget = NewBudget(0)
		gone := newClient(t, b.hub)
		gone.closed = true
		if err := b.hub.Open(gone, 1, &protocol.Watch{NodeID: 1, Name: []byte("sem")}); !errors.Is(err, ErrBudget) {
			t.Errorf("opening without any room: %v", err)
		}
		if n := len(b.hub.subscribers); n != 0 {
			t.Errorf("the hub keeps %d connections", n)
		}
	})
}

// TestAFailedOpeningGivesItsBudgetBack: for each reason to refuse a watch.
func TestAFailedOpeningGivesItsBudgetBack(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		budget := NewBudget(1 << 20)
		b.hub.options.Budget = budget
		refused := func(sink Sink, id uint64, want error) {
			t.Helper()
			used := budget.Used()
			if err := b.hub.Open(sink, id, &protocol.Watch{NodeID: 1, Name: []byte("sem")}); !errors.Is(err, want) {
				t.Errorf("opening failed with %v, want %v", err, want)
			}
			if now := budget.Used(); now != used {
				t.Errorf("%v: %d bytes are counted, want %d", want, now, used)
			}
		}
		gone := newClient(t, b.hub)
		gone.closed = true
		c.watch("sem", all)
		refused(c, c.next, ErrInUse)
		refused(gone, 1, ErrGone)
		c.close()
		rest()
		if used := budget.Used(); used != 0 {
			t.Errorf("%d bytes are counted without a watch", used)
		}
		b.hub.Close()
		refused(newClient(t, b.hub), 1, ErrClosed)
	})
}

// TestTheLockThatStopTakesIsHeldWhileFramesAreAppended: so nothing is appended for a watch after Stop has returned.
func TestTheLockThatStopTakesIsHeldWhileFramesAreAppended(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		c.watch("sem", all)
		rest()
		appended := 0
		c.during = func() {
			appended++
			if sub := b.hub.subscribers[c]; sub.mu.TryLock() {
				sub.mu.Unlock()
				t.Error("it is not")
			}
		}
		b.update("sem", "x")
		rest()
		if c.during = nil; appended != 1 {
			t.Errorf("appended %d times", appended)
		}
	})
}

func TestEndEndsWhatIsOpenAndNothingThatIsOpenedAfter(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		first, second := c.watch("sem", all), c.watch("other", wantsData)
		b.hub.End(protocol.Result{Status: protocol.StatusUnavailable, Message: "stale"})
		after := c.watch("sem", all)
		rest()
		for _, v := range []*view{first, second} {
			if got := c.look(v).ended; got == nil || got.Status != protocol.StatusUnavailable ||
				got.Message != "stale" {
				t.Errorf("%+v", got)
			}
		}
		if len(c.ended) != 2 || b.hub.Len() != 1 {
			t.Errorf("told of %v, %d are open", c.ended, b.hub.Len())
		}
		b.update("sem", "x")
		rest()
		c.expect(after, b.machine)
		if b.hub.Stop(c, 1) {
			t.Error("stopped a watch that was ended")
		}
	})
}

func TestEndNodeEndsTheWatchesOfTheNodeOnly(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		mine, other := c.watch("sem", all), c.resume(&view{node: 2, name: "sem", wants: all})
		rest()
		b.hub.EndNode(2, protocol.Result{Status: protocol.StatusNotFound})
		rest()
		if c.look(mine).ended != nil || c.look(other).ended == nil {
			t.Errorf("%v, %v", c.look(mine).ended, c.look(other).ended)
		}
	})
}

func TestNothingIsSentAfterClose(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "")
		v := c.watch("sem", all)
		rest()
		b.update("sem", "x")
		b.hub.Close()
		before := c.look(v).bytes
		b.update("sem", "y")
		rest()
		m := protocol.Watch{NodeID: 1, Name: []byte("sem")}
		if err := b.hub.Open(c, 99, &m); !errors.Is(err, ErrClosed) || c.look(v).bytes != before {
			t.Errorf("%v, %d bytes more", err, c.look(v).bytes-before)
		}
		b.hub = New(b.machine, Options{})
		c.hub = b.hub
	})
}
