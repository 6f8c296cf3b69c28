package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

// playSlow is play with one paused client, and one client that reads.
func playSlow(t *testing.T, sessions int, o Options, story func(t *testing.T, b *bed, slow, fast *client)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, sessions, 1, o)
		slow, fast := newClient(t, b.hub), newClient(t, b.hub)
		slow.slow = true
		story(t, b, slow, fast)
		slow.close()
		fast.close()
		synctest.Wait()
		b.quiet(b.hub)
	})
}

func TestASlowWatcherIsLeftOutAndGetsOneDeltaWhenItHasDrained(t *testing.T) {
	const slowBytes, data = 8 << 10, 1 << 10
	playSlow(t, 1, Options{SlowBytes: slowBytes}, func(t *testing.T, b *bed, slow, fast *client) {
		b.create("sem", 1, "")
		s, f := slow.watch("sem", all), fast.watch("sem", all)
		rest()
		for i := range 100 {
			b.update("sem", fmt.Sprint(i)+strings.Repeat("x", data))
			rest()
		}
		fast.expect(f, b.machine)
		if got := fast.look(f); got.deltas != 100 {
			t.Errorf("the fast watcher got %d deltas", got.deltas)
		}
		if slow.Pending() > slowBytes+2*data {
			t.Errorf("%d bytes wait for the slow one", slow.Pending())
		}
		if got := b.hub.Counters(); got.Slow != 1 {
			t.Errorf("%+v", got)
		}
		slow.take(1 << 30)
		rest()
		slow.take(1 << 30)
		slow.expect(s, b.machine)
		if got := slow.look(s); got.resyncs != 0 || got.deltas > slowBytes/data+2 {
			t.Errorf("%d deltas, %d resyncs", got.deltas, got.resyncs)
		}
		if got := b.hub.Counters(); got.Slow != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestASlowWatcherThatMissedTooMuchGetsAResyncAndASnapshot(t *testing.T) {
	playSlow(t, shard.MaxPage+10, Options{SlowBytes: 4 << 10}, func(t *testing.T, b *bed, slow, fast *client) {
		b.create("sem", shard.Forever, strings.Repeat("x", 5<<10))
		s, f := slow.watch("sem", all), fast.watch("sem", all)
		rest()
		b.own(shard.MaxPage+10, "sem", "")
		rest()
		fast.expect(f, b.machine)
		for slow.Pending() > 0 {
			slow.take(1 << 30)
			rest()
		}
		slow.expect(s, b.machine)
		if got := slow.look(s); got.resyncs != 1 || got.snapshots != 2 {
			t.Errorf("%d snapshots, %d resyncs", got.snapshots, got.resyncs)
		}
		if got := fast.look(f); got.resyncs != 0 {
			t.Errorf("the fast watcher got %d resyncs", got.resyncs)
		}
	})
}

func TestASlowWatcherIsTriedAgainWithTheNextChange(t *testing.T) {
	playSlow(t, 1, Options{SlowBytes: 1 << 10}, func(t *testing.T, b *bed, slow, fast *client) {
		b.create("sem", 1, strings.Repeat("x", 2<<10))
		v := slow.watch("sem", all)
		rest()
		b.update("sem", "missed")
		rest()
		slow.high = false // its transport never signals draining
		slow.take(1 << 30)
		b.update("sem", "seen")
		rest()
		slow.take(1 << 30)
		slow.expect(v, b.machine)
	})
}

func TestWhatASlowConnectionCostsDoesNotGrowWithWhatItMisses(t *testing.T) {
	const slowBytes, watches = 64 << 10, 500
	playSlow(t, 1, Options{SlowBytes: slowBytes}, func(t *testing.T, b *bed, slow, fast *client) {
		var views []*view
		for i := range watches {
			name := fmt.Sprint("sem", i)
			b.create(name, 1, strings.Repeat("y", 1000))
			views = append(views, slow.watch(name, all))
		}
		rest()
		size := func() int {
			k := &b.hub.worker
			n := len(k.queue) + len(k.resume) + len(k.spare) + len(b.hub.tasks)
			for _, sub := range b.hub.subscribers {
				n += sub.late.Len() + cap(sub.plan)
			}
			return n
		}
		before := size()
		for range 20 {
			for i := range watches {
				b.update(fmt.Sprint("sem", i), strings.Repeat("z", 1000))
			}
			rest()
		}
		if after := size(); after > before+watches {
			t.Errorf("the hub held %d things and then %d", before, after)
		}
		if answers := 20 * watches; slow.most > slowBytes+4<<10+answers {
			t.Errorf("up to %d bytes waited", slow.most)
		}
		slow.hasten()
		rest()
		for _, v := range views {
			slow.expect(v, b.machine)
		}
	})
}

func TestAWatcherOfASlowConnectionCanStop(t *testing.T) {
	playSlow(t, 1, Options{SlowBytes: 1 << 10}, func(t *testing.T, b *bed, slow, fast *client) {
		b.create("sem", 1, strings.Repeat("x", 2<<10))
		slow.watch("sem", all)
		v := slow.watch("sem", all)
		rest()
		b.update("sem", "missed")
		rest()
		if !slow.stop(v) {
			t.Error("there was no watch")
		}
		slow.hasten()
		rest()
		if got := b.hub.Counters(); got.Watches != 1 || got.Slow != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// TestAConnectionThatTakesItsFullPlanAtOnceGetsTheRestAtOnce: the transport signals draining only after exceeding its
// mark. A connection that never exceeded the mark has capacity again without a signal.
func TestAConnectionThatTakesItsFullPlanAtOnceGetsTheRestAtOnce(t *testing.T) {
	playSlow(t, 1, Options{SlowBytes: 4 << 10}, func(t *testing.T, b *bed, slow, fast *client) {
		var views []*view
		for i := range 100 {
			name := fmt.Sprint("sem", i)
			b.create(name, 1, strings.Repeat("y", 1000))
			views = append(views, fast.watch(name, all))
		}
		synctest.Wait()
		for _, v := range views {
			fast.expect(v, b.machine)
		}
	})
}

func TestOnlySoManyBytesOfSnapshotsAreUnderWayAndStuckClientsHoldUpOthersForAMomentOnly(t *testing.T) {
	const owners, clients, inflight = 3000, 40, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{InflightBytes: inflight})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", strings.Repeat("d", 60))
		var slow []*client
		for range clients {
			c := newClient(t, b.hub)
			c.slow = true
			c.watch("sem", all)
			slow = append(slow, c)
		}
		waiting := func() (sum int) {
			for _, c := range slow {
				sum += c.Pending()
			}
			return sum
		}
		synctest.Wait()
		page := b.hub.options.PageBytes
		if sum := waiting(); sum > inflight+page+1<<10 || sum < inflight/2 {
			t.Errorf("%d bytes wait", sum)
		}
		time.Sleep(inflightTime - 2*checkEvery)
		synctest.Wait()
		if sum := waiting(); sum > inflight+page+1<<10 {
			t.Errorf("%d bytes wait", sum)
		}
		// Watches of the paused client stop counting after a while; watches of the reading client free capacity at
		// once.
		fast := newClient(t, b.hub)
		v := fast.watch("sem", all)
		time.Sleep(clients * inflightTime)
		synctest.Wait()
		fast.expect(v, b.machine)
		for _, c := range slow {
			c.hasten()
		}
		rest()
		for _, c := range slow {
			for _, v := range c.views {
				c.expect(v, b.machine)
			}
			c.close()
		}
		fast.close()
		rest()
		b.quiet(b.hub)
	})
}

// TestManyWhoOpenALargeListDoNotTakeTheLoopsForThemselves: however much room connections have, so many bytes are handed
// to the event loops at a time.
func TestManyWhoOpenALargeListDoNotTakeTheLoopsForThemselves(t *testing.T) {
	const owners, clients = 3000, 40
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, owners, 1, Options{})
		b.create("sem", shard.Forever, "")
		b.own(owners, "sem", strings.Repeat("d", 60))
		var crowd []*client
		for range clients {
			c := newClient(t, b.hub)
			c.slow = true // so that passed data can be counted
			c.watch("sem", all)
			crowd = append(crowd, c)
		}
		before, bursts := 0, 0
		for ; bursts < 1000; bursts++ {
			synctest.Wait()
			sum := 0
			for _, c := range crowd {
				sum += c.Pending()
			}
			if more := sum - before; more > burstBytes+b.hub.options.PageBytes+4<<10 {
				t.Errorf("%d bytes are handed over at a time", more)
			} else if more == 0 && bursts > 1 {
				break
			}
			before = sum
			time.Sleep(checkEvery)
		}
		if bursts < 5 {
			t.Errorf("there were %d bursts: the test shows nothing", bursts)
		}
		for _, c := range crowd {
			c.hasten()
		}
		rest()
		for _, c := range crowd {
			for _, v := range c.views {
				c.expect(v, b.machine)
			}
			c.close()
		}
		rest()
		b.quiet(b.hub)
	})
}

// TestNoSnapshotIsAnnouncedThatIsDroppedBeforeItBegins: a watch waits for capacity to begin a snapshot, two newer ones
// are read for others, and then the semaphore is deleted. The watch is sent the deletion, without an earlier
// announcement.
func TestNoSnapshotIsAnnouncedThatIsDroppedBeforeItBegins(t *testing.T) {
	const owners, data, history = 30, 1 << 10, 64
	synctest.Test(t, func(t *testing.T) {
		m := machine.New(kinds.All(), machine.Options{History: history})
		o := Options{SlowBytes: 2 * data, PageBytes: 8 * data, InflightBytes: 1}
		b := newBedOf(t, owners, &replica{machine: m, hub: New(m, o)})
		for _, name := range []string{"sem", "other"} {
			b.create(name, shard.Forever, "")
			b.own(owners, name, strings.Repeat("a", data))
		}
		churn := func() {
			for i := range 2 * history {
				b.acquire(0, "sem", fmt.Sprint(i))
			}
			synctest.Wait()
		}
		left, blocker := newClient(t, b.hub), newClient(t, b.hub)
		second, third := newClient(t, b.hub), newClient(t, b.hub)
		v := left.watch("sem", all)
		rest()
		left.slow, blocker.slow = true, true
		for range 4 {
			b.update("sem", strings.Repeat("x", data)+fmt.Sprint(left.Pending()))
			rest()
		}
		blocker.watch("other", all)
		synctest.Wait()
		churn()
		left.hasten() // the connection has drained, and is due a snapshot, which waits for the blocker
		synctest.Wait()
		for _, c := range []*client{second, third} {
			churn()
			c.watch("sem", all)
			synctest.Wait()
		}
		b.remove("sem")
		synctest.Wait()
		blocker.hasten()
		rest()
		left.expect(v, b.machine)
		for _, c := range []*client{left, blocker, second, third} {
			c.close()
		}
		rest()
		b.quiet(b.hub)
	})
}
