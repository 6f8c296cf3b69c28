package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
)

func TestWatchersThatOpenTogetherShareOneSnapshot(t *testing.T) {
	const owners = 5000
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{})
		b.create("sem", shard.Forever, "data")
		b.own(owners, "sem", "")
		m := &stepping{Machine: b.machine, before: func(shard.DescribeOptions) {}}
		b.hub.machine = m
		c := newClient(t, b.hub)
		c.slow = true
		// The connection holds a few; the remaining watches get their snapshots later.
		for range 15 {
			c.watch("sem", all)
			c.watch("sem", wantsOwners)
		}
		synctest.Wait()
		b.acquire(0, "sem", "changed")
		rest()
		c.watch("sem", all)
		c.hasten()
		rest()
		for _, v := range c.views {
			c.expect(v, b.machine)
		}
		if most := 2 * (owners/shard.MaxPage + 1); m.pages > most {
			t.Errorf("%d pages were read, at most %d", m.pages, most)
		}
	})
}

func TestASemaphoreHasTwoSnapshotsAtTheMostHoweverSlowlyTheyAreRead(t *testing.T) {
	const owners, generations = 1500, 6
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{SlowBytes: 4 << 10, PageBytes: 8 << 10})
		b.create("sem", shard.Forever, "data")
		b.own(owners, "sem", "")
		var clients []*client
		for g := range generations {
			c := newClient(t, b.hub)
			c.slow = true
			clients = append(clients, c)
			c.watch("sem", all)
			rest()
			b.own(owners, "sem", fmt.Sprint(g))
			rest()
			alive := make(map[*snapshot]bool)
			for _, sub := range b.hub.subscribers {
				for _, w := range sub.watches {
					if w.reading != nil && !w.reading.dropped {
						alive[w.reading] = true
					}
				}
			}
			if len(alive) > 2 {
				t.Errorf("%d snapshots are alive", len(alive))
			}
		}
		for _, c := range clients {
			c.hasten()
		}
		rest()
		for _, c := range clients {
			for _, v := range c.views {
				c.expect(v, b.machine)
			}
			c.close()
		}
		rest()
		b.quiet(b.hub)
	})
}

// TestAWatchWhoseSnapshotIsDroppedHalfwayBeginsAnother: a client with an incomplete view cannot apply a delta, even if
// one would follow its last view.
func TestAWatchWhoseSnapshotIsDroppedHalfwayBeginsAnother(t *testing.T) {
	const owners, data = 40, 1 << 10
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{PageBytes: 8 * data, SlowBytes: 4 * data})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", "short")
		c := newClient(t, b.hub)
		v := c.watch("sem", all)
		rest()
		clients := []*client{c, newClient(t, b.hub), newClient(t, b.hub)}
		for i, c := range clients {
			c.slow = true
			b.own(owners, "sem", strings.Repeat(fmt.Sprint(i), data))
			if i > 0 {
				c.watch("sem", all)
			}
			rest()
		}
		for _, w := range b.hub.subscribers[c].watches {
			if w.reading == nil || w.page == 0 || !w.reading.dropped {
				t.Fatalf("page %d of %+v", w.page, w.reading)
			}
		}
		b.own(owners, "sem", "short")
		for _, c := range clients {
			c.hasten()
		}
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.snapshots != 2 || got.pages < 3 {
			t.Errorf("%d snapshots, %d pages", got.snapshots, got.pages)
		}
	})
}

func TestASnapshotIsKeptForAMomentAndUsedOnlyIfADeltaLeadsOn(t *testing.T) {
	const owners = 2500
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", "")
		m := &stepping{Machine: b.machine, before: func(shard.DescribeOptions) {}}
		b.hub.machine = m
		c := newClient(t, b.hub)
		c.watch("sem", wantsData) // keeps the topic alive
		pages := 0
		for _, step := range []struct {
			changes, reads int
			sleep          time.Duration
		}{{0, 3, 0}, {10, 0, snapshotTime / 2}, {0, 0, snapshotTime / 2}, {shard.MaxPage + 10, 3, 0}, {0, 3,
			2 * snapshotTime}} {
			for i := range step.changes {
				b.addAs(i, acquire("sem", fmt.Sprint(step.changes)))
			}
			b.commit()
			time.Sleep(step.sleep)
			synctest.Wait()
			v := c.watch("sem", all)
			rest()
			c.expect(v, b.machine)
			if got := c.look(v); got.snapshots != 1 || m.pages-pages != step.reads {
				t.Errorf("%+v: %d pages were read, %d snapshots", step, m.pages-pages, got.snapshots)
			}
			pages = m.pages
			c.stop(v)
		}
		c.watch("sem", all)
		time.Sleep(2 * snapshotTime)
		synctest.Wait()
		topic := &b.hub.objects[shard.ObjectName{Node: 1, Name: "sem"}].semaphore
		if topic.snapshot != nil || len(b.hub.worker.cached) > 0 {
			t.Error("it is kept for good")
		}
	})
}

// TestASnapshotIsNotSharedWithAWatchThatIsFurther: one watch gets a snapshot. In the same round, before anything shows
// that the snapshot is outdated, a watch with a later revision needs a snapshot too.
func TestASnapshotIsNotSharedWithAWatchThatIsFurther(t *testing.T) {
	const data = 1 << 10
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 4, 1, Options{PageBytes: data})
		b.create("sem", shard.Forever, "")
		b.own(3, "sem", strings.Repeat("b", data))
		_, revision := stateOf(b.machine, 1, "sem")
		b.hub.machine = &stepping{Machine: b.machine, before: func(shard.DescribeOptions) {},
			changes: func(since shard.Revision) {
				if since == revision+1 {
					b.update("sem", "new")
					for range 2 * longDelta {
						b.acquire(3, "sem", "")
						b.release(3, "sem")
					}
				}
			}}
		c := newClient(t, b.hub)
		b.hub.running = true // so that both are opened before the worker starts
		behind := c.watch("sem", all)
		further := c.resume(&view{node: 1, name: "sem", wants: all, begun: true, revision: uint64(revision + 1)})
		go b.hub.worker.run()
		rest()
		c.expect(behind, b.machine)
		c.expect(further, b.machine)
	})
}

func TestASnapshotWhoseReaderStoppedIsLetGo(t *testing.T) {
	const owners, data = 20, 1 << 10
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{PageBytes: 2 * data, SlowBytes: 4 * data})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", strings.Repeat("b", data))
		slow, fast := newClient(t, b.hub), newClient(t, b.hub)
		slow.slow = true
		v := slow.watch("sem", all)
		fast.watch("sem", all)
		time.Sleep(2 * snapshotTime)
		synctest.Wait()
		topic := &b.hub.objects[shard.ObjectName{Node: 1, Name: "sem"}].semaphore
		if topic.snapshot == nil || topic.snapshot.readers != 1 {
			t.Fatalf("%+v", topic.snapshot)
		}
		slow.stop(v)
		time.Sleep(2 * snapshotTime)
		synctest.Wait()
		if topic.snapshot != nil {
			t.Error("it is kept")
		}
	})
}
