package watch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const all = wantsData | wantsOwners

// play runs a story in a bubble, with common fixtures.
func play(t *testing.T, sessions int, story func(t *testing.T, b *bed, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, sessions, 1, Options{Window: testWindow})
		c := newClient(t, b.hub)
		story(t, b, c)
		c.close()
		synctest.Wait()
		b.quiet(b.hub)
	})
}

// testWindow is distinguishable from all durations in a bubble, which are zero.
const testWindow = 10 * time.Millisecond

// rest lets the worker finish, and windows end.
func rest() {
	synctest.Wait()
	time.Sleep(2 * testWindow)
	synctest.Wait()
}

func TestAWatchBeginsWithASnapshotAndGoesOnWithDeltas(t *testing.T) {
	play(t, 3, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 2, "first")
		b.acquire(0, "sem", "a")
		v := c.watch("sem", all)
		synctest.Wait()
		c.expect(v, b.machine)
		b.acquire(1, "sem", "b")
		rest()
		c.expect(v, b.machine)
		b.update("sem", "second")
		rest()
		c.expect(v, b.machine)
		b.acquire(2, "sem", "waits")
		b.release(0, "sem")
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.snapshots != 1 || got.deltas != 3 || got.resyncs != 0 {
			t.Errorf("%d snapshots, %d deltas, %d resyncs", got.snapshots, got.deltas, got.resyncs)
		}
	})
}

func TestANameThatDoesNotExistIsWatchedUntilItComesAndGoes(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("other", 1, "")
		v := c.watch("sem", all)
		synctest.Wait()
		c.expect(v, b.machine)
		if got := c.look(v); got.revision != 1 || got.state.exists {
			t.Errorf("revision %d, %v", got.revision, got.state)
		}
		for range 2 {
			b.create("sem", 1, "data")
			rest()
			c.expect(v, b.machine)
			b.remove("sem")
			rest()
			c.expect(v, b.machine)
		}
		b.as(0, shard.Command{
			Kind: shard.CmdAcquire, Name: []byte("sem"), Count: 1, Timeout: shard.Forever, Flags: shard.FlagEphemeral,
		})
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.snapshots != 4 || got.deltas != 2 {
			t.Errorf("%d snapshots, %d deltas", got.snapshots, got.deltas)
		}
	})
}

func TestADeletionAndRecreationInOneBurstIsASnapshotOfTheNewOne(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 1, "old")
		b.acquire(0, "sem", "")
		v := c.watch("sem", all)
		rest()
		b.add(shard.Command{Kind: shard.CmdSemaphoreDelete, Name: []byte("sem"), Flags: shard.FlagForce})
		b.add(shard.Command{Kind: shard.CmdSemaphoreCreate, Name: []byte("sem"), Count: 7})
		b.commit()
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.snapshots != 2 || got.deltas != 0 || got.resyncs != 0 {
			t.Errorf("%d snapshots, %d deltas, %d resyncs", got.snapshots, got.deltas, got.resyncs)
		}
	})
}

func TestWatchersGetWhatTheyWantAndNothingElse(t *testing.T) {
	play(t, 3, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "data")
		b.acquire(0, "sem", "")
		var views [wantKinds]*view
		for w := range views {
			views[w] = c.watch("sem", wants(w))
		}
		rest()
		b.acquire(1, "sem", "")
		rest()
		b.update("sem", "other")
		rest()
		b.acquire(2, "sem", "")
		rest()
		for w, want := range []int{0, 1, 2, 3} {
			c.expect(views[w], b.machine)
			if got := c.look(views[w]); got.deltas != want || got.snapshots != 1 {
				t.Errorf("wants %d: %d deltas, %d snapshots", w, got.deltas, got.snapshots)
			}
		}
		b.remove("sem")
		rest()
		for w := range views {
			c.expect(views[w], b.machine)
		}
	})
}
