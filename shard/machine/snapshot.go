package machine

import (
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/slots"
)

// Fixing a snapshot only records counters and the sizes of the three slabs: nothing is copied. During a Save, the
// machine sets aside the old form of each entry right before the entry's first change. Save scans the slabs in pieces
// under the read lock and takes all unchanged entries.
//
// The file has all sessions, then all objects, then all holdings. A holding refers to its session and its object by
// their handles at the time of the snapshot; session and object records therefore include their handles.

// phase is a section of the file: the sessions, the objects or the holdings.
type phase int

const (
	phaseSessions phase = iota
	phaseObjects
	phaseLinks
	phases
)

// Snapshots are the snapshots that are not discarded yet. They preserve the old records that each still needs.
type Snapshots struct {
	core *Core
	// epoch is the number of the newest snapshot. A session, object or holding with a stamp below the epoch may have to
	// be preserved before it changes.
	epoch uint32
	list  []*snapshot
}

// snapshot is a state fixed by PrepareSnapshot. The machine's lock guards all fields but once: Apply writes under the
// write lock, Save under the read lock.
type snapshot struct {
	m      *Machine
	header snapshotHeader
	as     recordForm
	epoch  uint32

	at     phase        // the phase that Save is in
	cursor arena.Handle // Save has done all handles before the cursor
	ends   [phases]arena.Handle
	aside  [phases][]byte         // records of entries that changed before Save reached them
	frozen [phases][]frozenRecord // records set aside with a frozen body, which Save encodes without the lock
	over   bool                   // the machine's content was replaced: nothing is left to save

	// Entry counts when the state was fixed, and record counts so far.
	things, records [phases]int
	size            uint64 // quota bytes of all recorded entries

	once sync.Once
}

// snapshotHeader has the snapshot content besides the records.
type snapshotHeader struct {
	level        level.Level
	slots        slots.Slots
	lastOrder    shard.OrderID
	lastRevision shard.Revision
	lastSession  uint64
	clock        clock.Clock
	dropping     []shard.NodeID
	pending      []shard.PendingState
	limits       shard.Limits
	limited      []shard.NodeLimits
	bytes        uint64 // total over all nodes, which must equal the total over the records
	group        shard.Group
}

// PrepareSnapshot fixes the present state. The call costs almost nothing, however much the machine holds.
func (m *Machine) PrepareSnapshot() (shard.Snapshot, error) {
	return m.fix(withPlaces), nil
}

// fix fixes the present state, for records in the given form.
func (m *Machine) fix(as recordForm) *snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.Snapshots.epoch++
	sn := &snapshot{
		m: m, as: as, epoch: m.core.Snapshots.epoch, cursor: 1,
		header: snapshotHeader{
			level: m.core.level, slots: m.core.slots.Clone(),
			lastOrder: m.core.lastOrder, lastRevision: m.core.lastRevision,
			lastSession: m.core.Sessions.last, clock: m.core.Clock, dropping: slices.Clone(m.core.Nodes.dropping),
			pending: m.core.Pending.state(),
			limits:  m.core.Nodes.quota.set, limited: slices.Clone(m.core.Nodes.limited), bytes: m.core.Nodes.bytes,
			group: m.core.group,
		},
		ends:   [phases]arena.Handle{m.core.Sessions.End(), m.core.Objects.End(), m.core.Holdings.End()},
		things: [phases]int{m.core.Sessions.Size(), m.core.Objects.Size(), m.core.Holdings.Size()},
	}
	m.core.Snapshots.list = append(m.core.Snapshots.list, sn)
	return sn
}

// Slots returns the shard's slots in the fixed state. The caller must not modify them.
func (sn *snapshot) Slots() *slots.Slots { return &sn.header.slots }

// Discard releases the snapshot.
func (sn *snapshot) Discard() {
	sn.once.Do(func() {
		sn.m.mu.Lock()
		defer sn.m.mu.Unlock()
		sn.m.core.Snapshots.list = slices.DeleteFunc(sn.m.core.Snapshots.list,
			func(o *snapshot) bool { return o == sn })
		sn.aside, sn.frozen = [phases][]byte{}, [phases][]frozenRecord{}
		sn.over = true
	})
}

// touchSession, TouchObject and TouchHolding must be called before any recorded field of the session, object or holding
// changes, and before a removal.

func (snaps *Snapshots) touchSession(h arena.Handle) {
	if s := snaps.core.Sessions.At(h); s.stamp != snaps.epoch {
		snaps.preserve(phaseSessions, h, s.stamp)
		s.stamp = snaps.epoch
	}
}

// TouchObject preserves an object's record before the object changes.
func (snaps *Snapshots) TouchObject(h arena.Handle) {
	if o := snaps.core.Objects.At(h); o.stamp != snaps.epoch {
		snaps.preserve(phaseObjects, h, o.stamp)
		o.stamp = snaps.epoch
	}
}

// TouchHolding preserves a holding's record before the holding changes, and counts the touch.
func (snaps *Snapshots) TouchHolding(h arena.Handle) {
	snaps.core.Run.Touched++
	snaps.PreserveHolding(h)
}

// PreserveHolding is for a holding the command has touched already: it does not count a second touch.
func (snaps *Snapshots) PreserveHolding(h arena.Handle) {
	if l := snaps.core.Holdings.At(h); l.stamp != snaps.epoch {
		snaps.preserve(phaseLinks, h, l.stamp)
		l.stamp = snaps.epoch
	}
}

// preserve sets an entry's record aside for every snapshot that needs the present form.
func (snaps *Snapshots) preserve(p phase, h arena.Handle, stamp uint32) {
	for _, sn := range snaps.list {
		if stamp < sn.epoch && (sn.at < p || sn.at == p && sn.cursor <= h) {
			sn.setAside(p, h)
		}
	}
}

// frozenRecord is a record with a body that is captured and not encoded yet.
type frozenRecord struct {
	fields []byte
	body   Frozen
}

func (r *frozenRecord) append(dst []byte) []byte {
	start := len(dst)
	dst = append(append(dst, 0, 0, 0, 0), r.fields...)
	return endRecord(r.body(dst), start)
}

// setAside stores an entry's record before a change. A body that may be long is only frozen, because the whole machine
// waits for setAside.
func (sn *snapshot) setAside(p phase, h arena.Handle) {
	body := sn.m.core.Snapshots.freezeBody(p, h)
	if body == nil {
		sn.aside[p] = sn.appendRecord(sn.aside[p], p, h)
		return
	}
	sn.count(p, h)
	fields := sn.m.core.Snapshots.appendFields(nil, p, h, sn.as)
	sn.frozen[p] = append(sn.frozen[p], frozenRecord{fields, body})
}
