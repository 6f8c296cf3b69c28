package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// playLibrary runs a story about shelves in a bubble.
func playLibrary(t *testing.T, o Options, story func(t *testing.T, l *library, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(t, o)
		c := newClient(t, l.hub)
		story(t, l, c)
		c.close()
		synctest.Wait()
		(&bed{TB: t}).quiet(l.hub)
	})
}

func TestAViewComesWithAHeadAndRowsAndGoesOnWithDeltas(t *testing.T) {
	playLibrary(t, Options{}, func(t *testing.T, l *library, c *client) {
		l.make("shelf", "a", "b")
		l.put("shelf", 1, "a", "one")
		views := []*view{c.watchView("shelf", ""), c.watchView("shelf", headView), c.watchView("shelf", "a")}
		missing := c.watchView("shelf", "c")
		rest()
		l.head("shelf", "a head")
		rest()
		l.put("shelf", 1, "b", "moved")
		rest()
		l.put("shelf", 2, "a", "two")
		rest()
		for i, deltas := range []int{3, 1, 2} {
			l.expect(c, views[i])
			if got := c.look(views[i]); got.snapshots != 1 || got.deltas != deltas || got.resyncs != 0 {
				t.Errorf("%v: %d snapshots, %d deltas, %d resyncs", views[i], got.snapshots, got.deltas, got.resyncs)
			}
		}
		l.expect(c, missing)
		for _, op := range []string{"board", "unboard", "board"} { // a view comes and goes as an object does
			l.do(shelfOp{Op: op, Name: "shelf", Board: "c"})
			rest()
			l.expect(c, missing)
		}
		l.do(shelfOp{Op: "remove", Name: "shelf"})
		rest()
		for _, v := range append(views, missing) {
			l.expect(c, v)
		}
	})
}

// TestASemaphoreAndAnotherKindOfOneNameAreTopicsOfTheirOwn: kinds share names, so one of the two objects is missing.
func TestASemaphoreAndAnotherKindOfOneNameAreTopicsOfTheirOwn(t *testing.T) {
	playLibrary(t, Options{}, func(t *testing.T, l *library, c *client) {
		l.make("shelf", "a")
		semaphore, shelf := c.watch("shelf", all), c.watchView("shelf", "a")
		rest()
		if got := l.hub.Counters(); got.Topics != 2 || len(l.hub.objects) != 1 {
			t.Errorf("%+v, %d objects", got, len(l.hub.objects))
		}
		l.put("shelf", 1, "a", "one")
		rest()
		l.expect(c, shelf)
		l.expect(c, semaphore)
		c.stop(shelf)
		rest()
		if got := l.hub.Counters(); got.Topics != 1 || len(l.hub.objects) != 1 {
			t.Errorf("%+v, %d objects", got, len(l.hub.objects))
		}
		l.hub.EndNode(1, protocol.Result{Status: protocol.StatusNotFound})
		rest()
		if c.look(semaphore).ended == nil || len(l.hub.objects) != 0 {
			t.Error("the end of the node passed over a watch")
		}
	})
}

// TestTenThousandWatchesOfOneViewAreSentOneSmallDeltaEach: their board changes once among a thousand changes to other
// boards. The machine is asked once for each unrelated change, and nothing is sent.
func TestTenThousandWatchesOfOneViewAreSentOneSmallDeltaEach(t *testing.T) {
	const watches, rows, others = 10_000, 20, 1000
	playLibrary(t, Options{}, func(t *testing.T, l *library, c *client) {
		l.make("shelf", "a", "b")
		l.fill("shelf", "a", rows, "body")
		views := make([]*view, watches)
		for i := range views {
			views[i] = c.watchView("shelf", "a")
		}
		rest()
		l.put("shelf", 7, "a", "seen")
		rest()
		before, asked, read := l.hub.Counters(), l.questions, l.reads
		for i := range others {
			l.put("shelf", uint64(rows+1+i%50), "b", fmt.Sprint(i))
			rest()
		}
		if got := l.hub.Counters(); got.Bytes != before.Bytes || got.Deltas != before.Deltas {
			t.Errorf("%d bytes were sent for changes of another view", got.Bytes-before.Bytes)
		}
		if asked = l.questions - asked; asked > others || l.reads != read {
			t.Errorf("%d questions for %d changes, %d reads", asked, others, l.reads-read)
		}
		asked = l.questions
		l.put("shelf", 9, "a", "changed")
		rest()
		got := l.hub.Counters()
		if sent := got.Deltas - before.Deltas; sent != watches || got.Snapshots != before.Snapshots {
			t.Errorf("%d deltas, %d snapshots", sent, got.Snapshots-before.Snapshots)
		}
		if bytes := got.Bytes - before.Bytes; bytes > watches*40 {
			t.Errorf("%d bytes for each watch", bytes/watches)
		}
		if asked = l.questions - asked; asked != 1 || l.reads != read {
			t.Errorf("%d questions and %d reads for one change", asked, l.reads-read)
		}
		for _, v := range views[:100] {
			l.expect(c, v)
		}
	})
}

// TestAViewThatChangedWhileItsObjectRestedIsSent: a watch opened meanwhile reads the change, and the existing watches
// must still get the change.
func TestAViewThatChangedWhileItsObjectRestedIsSent(t *testing.T) {
	playLibrary(t, Options{Window: testWindow}, func(t *testing.T, l *library, c *client) {
		l.make("shelf", "a", "b")
		v := c.watchView("shelf", "a")
		rest()
		l.put("shelf", 1, "b", "begins a window")
		synctest.Wait()
		l.put("shelf", 2, "a", "in the window")
		late := c.watchView("shelf", "a")
		rest()
		l.expect(c, v)
		l.expect(c, late)
	})
}

// TestALargeViewIsReadInPagesAndSentInPages: also to a slow connection, during changes.
func TestALargeViewIsReadInPagesAndSentInPages(t *testing.T) {
	const rows = 3000
	playLibrary(t, Options{PageBytes: 2 << 10, SlowBytes: 8 << 10}, func(t *testing.T, l *library, c *client) {
		l.make("shelf", "a")
		l.fill("shelf", "a", rows, "first")
		slow := newClient(t, l.hub)
		slow.slow = true
		views := []*view{c.watchView("shelf", ""), slow.watchView("shelf", "a")}
		rest()
		for i := range 200 {
			l.put("shelf", uint64(1+i*7%rows), "a", fmt.Sprint(i))
			slow.take(500)
			rest()
		}
		slow.hasten()
		rest()
		for i, x := range []*client{c, slow} {
			l.expect(x, views[i])
		}
		if got := slow.look(views[1]); got.pages < 10 || slow.most > 3*(8<<10) {
			t.Errorf("%d pages, %d bytes waited", got.pages, slow.most)
		}
		slow.close()
	})
}

// BenchmarkFanOutOfAView: changes to the view watched by all, and to another view, from the change to the last
// connection's flush.
func BenchmarkFanOutOfAView(b *testing.B) {
	const watchers, connections = 10_000, 100
	for _, board := range []string{"a", "b"} {
		b.Run("watched=a/changed="+board, func(b *testing.B) {
			l := newLibrary(b, Options{})
			l.make("shelf", "a", "b")
			l.fill("shelf", "a", 1000, strings.Repeat("e", 40))
			sinks := make([]*discarding, connections)
			for i := range sinks {
				sinks[i] = &discarding{encoder: protocol.NewEncoder()}
			}
			m := protocol.Watch{NodeID: 1, Name: []byte("shelf"), View: []byte("a"),
				ObjectKind: protocol.ObjectKind(kindShelf)}
			for i := range watchers {
				if err := l.hub.Open(sinks[i%connections], uint64(i+1), &m); err != nil {
					b.Fatal(err)
				}
			}
			l.hub.idle()
			before := l.hub.Counters()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.hub.mu.Lock()
				for _, x := range l.hub.objects {
					x.next = time.Time{}
				}
				l.hub.mu.Unlock()
				l.put("shelf", 7000, board, fmt.Sprint(i))
				l.hub.idle()
			}
			after := l.hub.Counters()
			b.ReportMetric(float64(after.Bytes-before.Bytes)/float64(b.N*watchers), "B/watcher")
		})
	}
}
