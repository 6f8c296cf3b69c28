package hub

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// snapshot is a semaphore with all its owners at one revision, encoded for all watches that want owners.
type snapshot struct {
	revision shard.Revision
	// The first page is there with the semaphore's data and without.
	bare, full *protocol.SharedPush
	rest       []protocol.SharedPush
	readers    int       // watches that have begun with it and are not through
	used       time.Time // when a watch began with it last
	brief      bool      // it was one page to read, and is as well read again
	dropped    bool
}

// snapshotTime is how long a snapshot is kept after it was used, for watches that are opened a little later
// than others: after a failover thousands are within seconds.
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

// drop gives up the memory of a snapshot. Who reads it begins again with another. Pages that are planned
// stay what they are.
func (s *snapshot) drop() {
	s.dropped = true
	s.bare, s.full, s.rest = nil, nil, nil
}

// startReading gives the watch a snapshot to read. It returns false where there is none to be had now,
// because the semaphore changes too much: those changes bring the worker back.
func (k *worker) startReading(w *watch) bool {
	s := k.snapshot(w.topic, w.revision)
	if s == nil {
		return false
	}
	if w.missed {
		k.append(w, &k.resync, false)
		k.hub.counters.resyncs.Add(1)
		w.missed = false
	}
	s.readers++
	s.used = k.now
	w.reading, w.page = s, 0
	return true
}

// planPage plans the next page of the snapshot that the watch reads.
func (k *worker) planPage(w *watch) {
	s := w.reading
	if s.dropped {
		k.leaveSnapshot(w)
		return
	}
	push := s.at(w.page, w.wants)
	// The first page clears the client's view.
	w.begun = false
	k.append(w, push, false)
	k.fly(w.link, push.Size())
	if w.page++; w.page < s.pages() {
		return
	}
	w.begun, w.absent, w.revision = true, false, s.revision
	k.leaveSnapshot(w)
	k.hub.counters.snapshots.Add(1)
}

// leaveSnapshot ends the reading of a watch.
func (k *worker) leaveSnapshot(w *watch) {
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

// tidy lets go of snapshots that nobody has used for a while.
func (k *worker) tidy() {
	k.cached = slices.DeleteFunc(k.cached, func(t *topic) bool {
		s := t.snapshot
		if s.readers > 0 || !s.brief && t.count > 0 && k.now.Sub(s.used) < snapshotTime {
			return false
		}
		t.snapshot = nil
		return true
	})
}

// snapshot returns a snapshot of the topic's semaphore that is newer than a revision: the one that is being
// sent, if what happened since can be told by a delta, or a new one.
func (k *worker) snapshot(t *topic, than shard.Revision) *snapshot {
	if s := t.snapshot; s != nil && s.revision > than && k.leadsOn(t, s) {
		return s
	}
	s := k.readSnapshot(t)
	if s == nil {
		return nil
	}
	if t.snapshot == nil {
		k.cached = append(k.cached, t)
	} else if t.snapshot.readers > 0 {
		if t.older != nil {
			t.older.drop()
		}
		t.older = t.snapshot
	}
	t.snapshot = s
	return s
}

// leadsOn tells whether a delta leads from the snapshot to the present.
func (k *worker) leadsOn(t *topic, s *snapshot) bool {
	c := k.change(t, s.revision)
	return c.kind == shard.DeltaNone || !s.brief &&
		c.kind == shard.DeltaChanges && k.tell(t, c, wantsData|wantsOwners).kind != newsWhole
}
