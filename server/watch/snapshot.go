package watch

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// snapshot is a semaphore with all its owners at one revision, encoded for all watches that want owners.
type snapshot struct {
	revision shard.Revision
	// The first page exists with and without the data.
	bare, full *protocol.SharedPush
	rest       []protocol.SharedPush
	readers    int       // watches that are still reading the snapshot
	used       time.Time // when a watch last began to read the snapshot
	brief      bool      // read in a single page, so reading it again is cheap
	dropped    bool
}

// snapshotTime is how long a snapshot is kept after its last use, for watches that are opened slightly later: after a
// failover, thousands of watches are opened within seconds.
const snapshotTime = time.Second

func (s *snapshot) pages() int { return 1 + len(s.rest) }

func (s *snapshot) at(page int, w wants) *protocol.SharedPush {
	switch {
	case page > 0:
		return &s.rest[page-1]
	case w&wantsData != 0:
		return s.full
	}
	return s.bare
}

// drop releases a snapshot's memory. A watch that reads the snapshot restarts with a newer one. Planned pages stay
// intact.
func (s *snapshot) drop() {
	s.dropped = true
	s.bare, s.full, s.rest = nil, nil, nil
}

// startReading gives the watch a snapshot to read. startReading returns false if no snapshot is possible now, because
// the object changes too much: the changes themselves trigger the worker again.
func (wo *worker) startReading(w *watch) bool {
	s := wo.snapshot(w.topic, w.revision)
	if s == nil {
		return false
	}
	s.readers++
	s.used = wo.now
	w.reading, w.page = s, 0
	return true
}

// planPage plans the next page of the watch's snapshot.
func (wo *worker) planPage(w *watch) {
	s := w.reading
	if s.dropped {
		wo.releaseSnapshot(w)
		return
	}
	if w.page == 0 && w.missed {
		// Only here is it certain that a snapshot follows: while it waits to be sent, a snapshot may be dropped for a
		// newer one.
		wo.append(w, &wo.resync, false)
		wo.hub.counters.resyncs.Add(1)
		w.missed = false
	}
	push := s.at(w.page, w.wants)
	// The first page clears the client's view.
	w.begun = false
	wo.append(w, push, false)
	wo.addInflight(w.subscriber, push.Size())
	if w.page++; w.page < s.pages() {
		return
	}
	w.begun, w.absent, w.revision = true, false, s.revision
	wo.releaseSnapshot(w)
	wo.hub.counters.snapshots.Add(1)
}

// releaseSnapshot ends a watch's reading.
func (wo *worker) releaseSnapshot(w *watch) {
	s := w.reading
	if s == nil {
		return
	}
	w.reading = nil
	s.readers--
	if t := w.topic; t.older == s && s.readers == 0 {
		t.older = nil
	}
}

// dropUnused removes the snapshots no watch has used recently.
func (wo *worker) dropUnused() {
	wo.cached = slices.DeleteFunc(wo.cached, func(t *topic) bool {
		s := t.snapshot
		if s.readers > 0 || !s.brief && t.count > 0 && wo.now.Sub(s.used) < snapshotTime {
			return false
		}
		t.snapshot = nil
		return true
	})
}

// snapshot returns a snapshot of the topic that is newer than a revision: the snapshot being sent, if the changes
// since then fit in a delta, or else a new snapshot.
func (wo *worker) snapshot(t *topic, than shard.Revision) *snapshot {
	if s := t.snapshot; s != nil && s.revision > than && wo.continuesFrom(t, s) {
		return s
	}
	s := t.form.snapshot(t)
	if s == nil {
		return nil
	}
	if t.snapshot == nil {
		wo.cached = append(wo.cached, t)
	} else if t.snapshot.readers > 0 {
		if t.older != nil {
			t.older.drop()
		}
		t.older = t.snapshot
	}
	t.snapshot = s
	return s
}

// continuesFrom reports whether a delta leads from the snapshot to the current state.
func (wo *worker) continuesFrom(t *topic, s *snapshot) bool {
	c := wo.change(t, s.revision)
	return c.kind == shard.DeltaNone || !s.brief &&
		c.kind == shard.DeltaChanges && wo.encodeUpdate(t, c, wantsData|wantsOwners).kind != updateWhole
}
