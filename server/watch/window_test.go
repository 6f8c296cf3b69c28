package watch

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

// times starts to record when views arrive at the client, in milliseconds from now. The returned function returns the
// recorded times.
func (c *client) times() func() []int {
	began := time.Now()
	var at []int
	c.check = func(*view) error {
		at = append(at, int(time.Since(began)/time.Millisecond))
		return nil
	}
	return func() []int {
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(at)
	}
}

func TestTheFirstChangeGoesOutAtOnceAndABurstWhenItsWindowEnds(t *testing.T) {
	play(t, 8, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 99, "")
		v := c.watch("sem", all)
		rest()
		times := c.times()
		began := time.Now()
		// The window is 10 ms. The change at 0 is sent at once. The changes at 3 and 7 are sent together at 10, when
		// the first window ends, and the change at 12 at 20. No window is open at 35, so this change is sent at once.
		for i, at := range []int{0, 3, 7, 12, 35, 36} {
			time.Sleep(time.Until(began.Add(time.Duration(at) * time.Millisecond)))
			b.acquire(i, "sem", "")
		}
		rest()
		if got, want := times(), []int{0, 10, 20, 35, 45}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v", got, want)
		}
		c.expect(v, b.machine)
	})
}

func TestEachSemaphoreHasAWindowOfItsOwn(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		for _, name := range []string{"a", "b", "c"} {
			b.create(name, 1, "")
			c.watch(name, all)
		}
		rest()
		times := c.times()
		b.update("a", "1") // at 0
		time.Sleep(4 * time.Millisecond)
		b.update("b", "1") // at 4
		b.update("a", "2") // at 10
		time.Sleep(2 * time.Millisecond)
		b.update("b", "2") // at 14
		b.update("c", "1") // at 6
		rest()
		if got, want := times(), []int{0, 4, 6, 10, 14}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v", got, want)
		}
	})
}

func TestChangesThatNoWatchGetsBeginNoWindow(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 1, "")
		c.watch("sem", wantsData)
		rest()
		times := c.times()
		b.acquire(0, "sem", "")
		time.Sleep(3 * time.Millisecond)
		b.update("sem", "x")
		rest()
		if got, want := times(), []int{3}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v", got, want)
		}
	})
}

func TestAWatchThatIsOpenedInAWindowDoesNotWaitForItsEnd(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 1, "")
		c.watch("sem", all)
		rest()
		b.update("sem", "x")
		time.Sleep(time.Millisecond)
		b.update("sem", "y")
		other := newClient(t, b.hub)
		times := other.times()
		v := other.watch("sem", all)
		rest()
		if got, want := times(), []int{0}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v", got, want)
		}
		other.expect(v, b.machine)
		other.close()
	})
}

func TestAllWatchesOfAConnectionAreFlushedTogether(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		var views []*view
		for i := range 50 {
			name := string(rune('a' + i))
			b.create(name, 1, "")
			for w := range wants(wantKinds) {
				views = append(views, c.watch(name, w))
			}
		}
		rest()
		before := c.flushes
		for i := range 50 {
			b.add(shard.Command{Kind: shard.CmdSemaphoreUpdate, Name: []byte(string(rune('a' + i))), Data: []byte("x")})
		}
		b.commit()
		rest()
		if c.flushes != before+1 {
			t.Errorf("%d flushes", c.flushes-before)
		}
		for _, v := range views {
			c.expect(v, b.machine)
		}
	})
}

func TestADeltaIsReadAndEncodedOnceForAllThatStandAtTheSameRevision(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 1, "")
		for range 1000 {
			c.watch("sem", all)
			c.watch("sem", wantsOwners)
		}
		rest()
		counted := &countingMachine{Machine: b.machine}
		b.hub.machine = counted
		b.acquire(0, "sem", "")
		rest()
		if counted.changes != 1 || counted.describes != 0 {
			t.Errorf("%d reads of changes, %d of the semaphore", counted.changes, counted.describes)
		}
		if got := b.hub.Counters().Deltas; got != 2000 {
			t.Errorf("%d deltas", got)
		}
	})
}

func TestTenThousandWatchersOfOneSemaphoreAllSeeIt(t *testing.T) {
	for _, connections := range []int{10, 10_000} {
		t.Run(fmt.Sprintf("%d connections", connections), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, 5, 1, Options{})
				b.create("sem", 9, "")
				b.acquire(0, "sem", "endpoint")
				clients, views := make([]*client, connections), make([]*view, 10_000)
				for i := range clients {
					clients[i] = newClient(t, b.hub)
				}
				for i := range views {
					views[i] = clients[i%connections].watch("sem", all)
				}
				rest()
				before := b.hub.Counters()
				if before.Watches != len(views) || before.Snapshots != uint64(len(views)) {
					t.Errorf("%+v", before)
				}
				b.acquire(1, "sem", "another")
				for i := range 3 {
					b.update("sem", fmt.Sprint(i))
					b.release(i, "sem")
				}
				rest()
				after := b.hub.Counters()
				if sent := after.Deltas - before.Deltas; sent > uint64(2*len(views)) ||
					after.Snapshots != before.Snapshots {
					t.Errorf("%d deltas: %+v", sent, after)
				}
				for i, v := range views {
					clients[i%connections].expect(v, b.machine)
				}
				for _, c := range clients {
					c.close()
				}
				rest()
				b.quiet(b.hub)
			})
		})
	}
}

type countingMachine struct {
	Machine
	changes, describes int
}

func (m *countingMachine) Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind {
	m.changes++
	return m.Machine.Changes(r, since, d)
}

func (m *countingMachine) Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool {
	m.describes++
	return m.Machine.Describe(r, o, d)
}

func TestARestIsInProportionToTheRound(t *testing.T) {
	for _, c := range []struct{ window, round, want time.Duration }{
		{0, 50 * time.Microsecond, 0},
		{0, restShare*minRest - restShare, 0},
		{0, restShare * minRest, minRest},
		{0, 40 * time.Millisecond, 10 * time.Millisecond},
		{time.Millisecond, 50 * time.Microsecond, time.Millisecond},
		{time.Millisecond, 40 * time.Millisecond, 10 * time.Millisecond},
	} {
		h := New(machine.New(kinds.All(), machine.Options{}), Options{Window: c.window})
		if got := h.rest(c.round); got != c.want {
			t.Errorf("window %v, round %v: rest %v, want %v", c.window, c.round, got, c.want)
		}
		h.Close()
	}
}
