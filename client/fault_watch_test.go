package client_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// slotOf returns a semaphore's slot in the session's node.
func slotOf(session uint64, f *fakeCluster, name string) shard.Slot {
	node := uint64(1)
	if s := f.sessions[session]; s != nil {
		node = s.node
	}
	return shard.SlotOf(shard.NodeID(node), []byte(name))
}

func TestWatchesOfOneSemaphoreShareOneAtTheHost(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		var all []*watcher
		for range 10 {
			all = append(all, watching(t, t.Context(), c, name))
		}
		if n := fake.count(protocol.KindWatch); n != 1 {
			t.Errorf("%d watches", n)
		}
		for _, w := range all {
			if v, changes, n, err := w.last(); n != 1 || err != nil || v.Len() != 1 || len(changes.Joined) != 1 {
				t.Errorf("%d views, the last %+v, %v", n, v, err)
			}
		}
	})
}

func TestAWatchWithoutAReaderIsStopped(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		for range c.Node(path).Watch(t.Context(), name) {
			break
		}
		synctest.Wait()
		fake.do(func() {
			if n := len(fake.shards[0].watches); n != 0 {
				t.Errorf("%d watches are left", n)
			}
		})
	})
}

func TestAWatchThatIsHeldBackAndGivenUpIsNeverOpened(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		fake.do(func() { fake.welcome.Limits.RequestsInFlight = 5 })
		c := open(t, fake)
		s, node := session(t, c), c.Node(path)
		for range node.Watch(t.Context(), name) { // the client knows the node from here on
			break
		}
		synctest.Wait()
		before := fake.count(protocol.KindWatch)
		fake.times(1, protocol.KindAcquire, fault{delay: 700 * time.Millisecond})
		var waiting []<-chan result
		for i := range 20 {
			waiting = append(waiting, acquiring(t, t.Context(), s.Semaphore(name+string(rune('a'+i)), client.Limit(1))))
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range node.Watch(ctx, name) {
			}
		}()
		synctest.Wait()
		stop()
		<-done
		for _, w := range waiting {
			check(t, (<-w).err)
		}
		synctest.Wait()
		if n := fake.count(protocol.KindWatch) - before; n != 0 {
			t.Errorf("%d watches were opened after they were given up", n)
		}
		fake.do(func() {
			if n := len(fake.shards[0].watches); n != 0 {
				t.Errorf("%d watches are left", n)
			}
		})
		for range node.Watch(t.Context(), name) { // others go on
			break
		}
	})
}

func TestASnapshotComesInPages(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.do(func() { fake.pageSize = 7 })
		for i := range 40 {
			acquire(t, session(t, c).Semaphore(name, client.Limit(100)), client.Data([]byte(fmt.Sprint(i))))
		}
		if v := must(watching(t, t.Context(), c, name)); v.Len() != 40 {
			t.Errorf("%d owners", v.Len())
		}
		if d := describe(t, c); len(d.Owners) != 40 || string(d.Owners[39].Data) != "39" {
			t.Errorf("described %d owners", len(d.Owners))
		}
	})
}

// push sends something to all watches, as their host would.
func (f *fakeCluster) push(m protocol.PushMessage) {
	f.do(func() {
		for _, s := range f.shards {
			for _, w := range s.watches {
				w.conn.push(w.request, m)
			}
		}
	})
}

func TestAGapInAWatchIsNoticed(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		lease := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		w := watching(t, t.Context(), c, name)
		v := must(w)
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			if r.Kind == protocol.KindWatch && r.Watch.Since != 0 {
				t.Errorf("it was opened again since %d", r.Watch.Since)
			}
			return fault{}
		})
		fake.push(&protocol.WatchDelta{From: v.Revision + 5, To: v.Revision + 6})
		waitForQuiet()
		if n := fake.count(protocol.KindWatch); n != 2 {
			t.Errorf("it was opened %d times", n)
		}
		fake.do(func() {
			if n := len(fake.shards[0].watches); n != 1 {
				t.Errorf("%d watches are open at the host", n)
			}
		})
		check(t, lease.Release(t.Context()))
		waitForQuiet()
		if v, changes, n, _ := w.last(); v.Len() != 0 || n != 2 || len(changes.Left) != 1 {
			t.Errorf("%d views, the last %+v", n, v)
		}
	})
}

func TestDeltasThatOverlapAreAppliedOnce(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(9)))
		w := watching(t, t.Context(), c, name)
		v := must(w)
		owner := protocol.Owner{OrderID: 100, SessionID: 7, Count: 1}
		delta := &protocol.WatchDelta{From: v.Revision - 1, To: v.Revision + 3}
		delta.Joined.Append(owner)
		fake.push(delta)
		fake.push(delta)
		fake.push(&protocol.WatchDelta{From: 0, To: v.Revision}) // old
		fake.push(&protocol.WatchResync{})
		fake.push(&protocol.WatchDelta{From: v.Revision + 1, To: v.Revision + 9})
		waitForQuiet()
		if v, _, n, _ := w.last(); n != 2 || v.Len() != 2 {
			t.Errorf("%d views, the last %+v", n, v)
		}
		snapshot := &protocol.WatchSnapshot{Revision: v.Revision + 10, First: true, Last: true, Exists: true, Limit: 9}
		snapshot.Owners.Append(owner)
		fake.push(snapshot)
		waitForQuiet()
		if v, changes, n, _ := w.last(); n != 3 || v.Len() != 1 || len(changes.Left) != 1 || len(changes.Joined) != 0 ||
			changes.Created || changes.Deleted {
			t.Errorf("%d views, the last %+v with %+v", n, v, changes)
		}
		fake.push(&protocol.WatchDelta{From: v.Revision + 10, To: v.Revision + 11, Existence: protocol.ExistenceCreated,
			Limit: 9})
		waitForQuiet()
		if _, changes, _, _ := w.last(); !changes.Created || !changes.Deleted || len(changes.Left) != 1 {
			t.Errorf("made anew: %+v", changes)
		}
	})
}

func TestAWatchThatItsHostEndsGoesOn(t *testing.T) {
	for _, status := range []protocol.Status{protocol.StatusUnavailable, protocol.StatusOverloaded,
		protocol.StatusMoved} {
		playFake(t, 2, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
			w := watching(t, t.Context(), c, name)
			fake.do(func() {
				s := fake.shards[0]
				for _, x := range s.watches {
					x.conn.push(x.request, &protocol.WatchEnd{Result: protocol.Result{Status: status}})
				}
				s.watches = nil
			})
			time.Sleep(5 * time.Second)
			acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
			waitForQuiet()
			if v, _, n, err := w.last(); err != nil || n != 2 && n != 3 || v.Len() != 1 {
				t.Errorf("%v: %d views, %v", status, n, err)
			}
		})
	}
}
