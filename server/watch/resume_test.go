package watch

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestAWatchSinceTheCurrentRevisionGetsNothingButItsAnswer(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 1, "data")
		_, revision := stateOf(b.machine, 1, "sem")
		for _, name := range []string{"sem", "missing"} {
			v := c.resume(&view{node: 1, name: name, wants: all, begun: true, revision: uint64(revision)})
			rest()
			if got := c.look(v); !got.answered || got.bytes != 0 {
				t.Errorf("%q: answered: %v, %d bytes", name, got.answered, got.bytes)
			}
		}
	})
}

func TestAWatchSinceAnEarlierRevisionGetsTheChangesSince(t *testing.T) {
	play(t, 3, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "data")
		b.acquire(0, "sem", "a")
		v := c.watch("sem", all)
		rest()
		c.stop(v)
		b.acquire(1, "sem", "b")
		b.release(0, "sem")
		b.update("sem", "other")
		c.resume(v)
		rest()
		c.expect(v, b.machine)
		c.stop(v)
		b.remove("sem")
		c.resume(v)
		rest()
		c.expect(v, b.machine)
		if got := c.look(v); got.snapshots != 1 || got.deltas != 2 {
			t.Errorf("%d snapshots, %d deltas", got.snapshots, got.deltas)
		}
	})
}

// TestAViewOfDataIsTakenUpThoughManyOwnersCameAndWent: a view keeps the revision of its last change, and can be resumed
// from there without gaps, even if the owner history does not reach back that far.
func TestAViewOfDataIsTakenUpThoughManyOwnersCameAndWent(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "data")
		v := c.watch("sem", wantsData)
		rest()
		for range shard.MaxPage {
			b.acquire(0, "sem", "")
			b.release(0, "sem")
		}
		rest()
		if got := c.look(v); got.deltas+got.snapshots != 1 {
			t.Errorf("%d deltas, %d snapshots", got.deltas, got.snapshots)
		}
		b.update("sem", "other")
		rest()
		c.expect(v, b.machine)
		c.stop(v)
		b.update("sem", "third")
		c.resume(v)
		rest()
		c.expect(v, b.machine)
	})
}

func TestASemaphoreThatCameAndWentInOneBurstIsNotReported(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("other", 9, "")
		v := c.watch("sem", all)
		w := c.resume(&view{node: 1, name: "sem", wants: all, begun: true, revision: 1})
		rest()
		before := c.look(v).bytes
		b.add(shard.Command{Kind: shard.CmdSemaphoreCreate, Name: []byte("sem"), Count: 7})
		b.add(shard.Command{Kind: shard.CmdSemaphoreDelete, Name: []byte("sem"), Flags: shard.FlagForce})
		b.commit()
		rest()
		if got := c.look(v); got.bytes != before || c.look(w).bytes != 0 {
			t.Errorf("%d and %d bytes", got.bytes-before, c.look(w).bytes)
		}
	})
}

func TestAWatchOfWhatIsNotThereYetWaitsForItAndNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 1, 2, Options{})
		b.create("sem", 9, "old")
		b.replicas[1].apply(1)
		c, late := newClient(t, b.hub), newClient(t, b.replicas[1].hub)
		v := c.watch("sem", all)
		gone := c.watch("gone", all)
		synctest.Wait()
		b.create("x", 1, "")
		b.update("sem", "new")
		rest()
		c.close()
		missing := late.resume(&view{node: 1, name: "gone", wants: all, begun: true, revision: v.revision})
		before := v.bytes
		late.resume(v)
		late.resume(gone)
		rest()
		if got := b.replicas[1].hub.Counters(); got.Ahead != 2 ||
			late.look(v).bytes+late.look(missing).bytes != before {
			t.Errorf("%+v", got)
		}
		b.replicas[1].apply(1)
		rest()
		if got := b.replicas[1].hub.Counters(); got.Ahead != 2 {
			t.Errorf("%+v", got)
		}
		b.replicas[1].apply(1)
		rest()
		if got := b.replicas[1].hub.Counters(); got.Ahead != 0 {
			t.Errorf("%+v", got)
		}
		b.update("sem", "newer")
		b.replicas[1].apply(1)
		rest()
		late.expect(v, b.machine)
		late.expect(gone, b.machine)
		late.close()
		synctest.Wait()
		b.quiet(b.replicas[1].hub)
	})
}

// TestAWatchIsReachedByAChangeOfAnotherSemaphore: the revision of a view on a missing object is the shard's, so any
// change may reach the watch's revision.
func TestAWatchIsReachedByAChangeOfAnotherSemaphore(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "old")
		v := c.resume(&view{node: 1, name: "gone", wants: all, begun: true, revision: 3, state: state{exists: true}})
		rest()
		for range 2 {
			if got := b.hub.Counters(); got.Ahead != 1 || c.look(v).bytes != 0 {
				t.Errorf("%+v", got)
			}
			b.update("sem", fmt.Sprint(b.hub.revision))
			rest()
		}
		if got := b.hub.Counters(); got.Ahead != 0 {
			t.Errorf("%+v", got)
		}
		// At exactly its revision the view counts as missing; only a later state must be sent.
		b.create("gone", 1, "")
		rest()
		c.expect(v, b.machine)
	})
}

func TestAViewNeverGoesBackThoughTheReplicaDid(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "old")
		file := save(b.machine)
		v := c.watch("sem", all)
		b.update("sem", "new")
		b.update("other", "x")
		rest()
		before := c.look(v)
		if err := b.machine.Restore(bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		b.hub.Restored(time.Now())
		rest()
		if got := c.look(v); got.bytes != before.bytes || b.hub.Counters().Ahead != 1 {
			t.Errorf("%+v", b.hub.Counters())
		}
		b.update("sem", "new")
		rest()
		b.update("sem", "newer")
		rest()
		c.expect(v, b.machine)
	})
}

func TestAWatchOfARevisionThatNeverWasIsEnded(t *testing.T) {
	play(t, 1, func(t *testing.T, b *bed, c *client) {
		b.create("sem", 9, "old")
		early := c.resume(&view{node: 1, name: "sem", wants: all, begun: true, revision: 99})
		fine := c.watch("sem", all)
		time.Sleep(time.Second)
		barrier := time.Now()
		late := c.resume(&view{node: 1, name: "sem", wants: all, begun: true, revision: 99})
		synctest.Wait()
		b.hub.EndAhead(barrier, protocol.Result{Status: protocol.StatusStale})
		rest()
		if got := c.look(early); got.ended == nil || got.ended.Status != protocol.StatusStale {
			t.Errorf("%+v", got.ended)
		}
		if c.look(late).ended != nil || c.look(fine).ended != nil || b.hub.Counters().Ahead != 1 {
			t.Errorf("others were ended: %+v", b.hub.Counters())
		}
	})
}
