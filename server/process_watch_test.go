package server_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/servertest"
)

// view opens a watch on a view, and waits until it is complete.
func (b *processBed) view(s *speaker, name string, since uint64) *viewer {
	b.t.Helper()
	id := s.say(&protocol.Watch{
		NodeID: b.node, Name: cache, ObjectKind: protocol.ObjectProcess, View: []byte(name), Since: since,
	})
	got := s.must(s.await(id, protocol.KindWatch.Answer())).Watch
	want(b.t, "what is watched", got.ObjectKind, protocol.ObjectProcess)
	return &viewer{t: b.t, s: s, id: id, revision: since, rows: make(map[uint64][]byte)}
}

// processHead decodes the process head from the full view.
func (v *viewer) processHead() (h kind.Overview) {
	v.t.Helper()
	if len(v.head) > 0 {
		v.record(&h)
	}
	return h
}

// TestEachViewOfAProcessShowsItsChanges: members, states and results; requests and replies change no view.
func TestEachViewOfAProcessShowsItsChanges(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		whole, results := b.view(speak(t, b.c, 1), "", 0), b.view(speak(t, b.c, 1), "results", 0)
		all := b.run("a", "b")
		a := all[0]
		whole.until("a round", func() bool {
			h := whole.processHead()
			return h.Phase == kind.Running && h.Epoch == a.epoch && h.Of == 2
		})
		want(t, "its coordinator", whole.processHead().Coordinator, a.member)
		whole.until("members that are prepared", func() bool {
			prepared := 0
			for _, row := range whole.rows {
				var m kind.MemberState
				readRecord(t, row, &m)
				if m.Prepared == a.epoch && m.Of {
					prepared++
				}
			}
			return prepared == 2
		})
		before := whole.revision
		for range 3 {
			a.broadcast("x")
			all[0].answer("y")
			all[1].answer("y")
			a.next(kind.ItemEnd)
		}
		a.complete("done")
		whole.until("a result", func() bool { return len(whole.rows) == 3 })
		results.until("the result", func() bool { return len(results.rows) == 1 })
		var r kind.ResultRow
		readRecord(t, results.rows[a.epoch*2+1], &r)
		want(t, "its payload", string(r.Payload), "done")
		readRecord(t, whole.rows[a.epoch*2+1], &r)
		want(t, "its bytes, in all of the process", r.Size, 4)
		want(t, "the view has changed", whole.revision > before, true)
		all[1].s.must(all[1].s.ask(&protocol.SessionStop{SessionID: all[1].id}))
		whole.until("the next epoch", func() bool {
			return whole.processHead().Epoch > a.epoch && len(whole.rows) == 2
		})
		b.s.must(b.s.ask(&protocol.ProcessDelete{NodeID: b.node, Name: cache, Force: true}))
		whole.until("the end", func() bool { return !whole.exists })
		results.until("the end", func() bool { return !results.exists })
	})
}

// TestAWatchOfAProcessGoesOnAtAnotherHost: from its revision, with later changes only.
func TestAWatchOfAProcessGoesOnAtAnotherHost(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b")
		v := b.view(speak(t, b.c, 1), "", 0)
		v.until("the members", func() bool { return len(v.rows) == 2 })
		_ = v.s.conn.Close()
		all[0].complete("done")
		on := b.view(speak(t, b.c, b.c.Leader(1)%3+1), "", v.revision)
		on.head, on.exists = v.head, true
		on.until("what has changed", func() bool { return on.processHead().Phase == kind.Complete })
		want(t, "rows that have changed", len(on.rows), 1)
	}, servertest.Hosts(3))
}

// TestAWatcherThatIsSlowIsBroughtToThePresent: it skips intermediate states, and ends with the last one.
func TestAWatcherThatIsSlowIsBroughtToThePresent(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		b.put(kind.Spec{KeepResults: 64})
		v := b.view(speak(t, b.c, 1), "results", 0)
		a := b.join("a")
		epoch := uint64(0)
		for range 40 {
			epoch = a.prepare()
			a.next(kind.ItemCoordinate)
			a.complete(string(make([]byte, 60_000)))
			a.finish()
			b.act(kind.ActionRestart, 0, "again")
		}
		v.until("the last result", func() bool { return v.rows[epoch*2+1] != nil })
		want(t, "results", len(v.rows), 40)
	})
}
