package machine

import (
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// A snapshot is fixed by writing down counters and the sizes of the three slabs: nothing is copied. During a Save the
// machine writes each thing that is about to change aside in its old form, once, right before the first change. Save
// walks the slabs in pieces under the read lock and takes all untouched things.
//
// The file has all sessions, then all objects, then all links. A link names its session and its object by their
// handles at the moment of the snapshot; the records of sessions and objects have their handles for the purpose.

// phase is a part of the file: the sessions, the objects or the links.
type phase int

const (
	phaseSessions phase = iota
	phaseObjects
	phaseLinks
	phases
)

// Snapshots are the snapshots that are not discarded, and preserve what they need.
type Snapshots struct {
	core *Core
	// epoch is the number of the newest snapshot. A session, object or holding with a stamp below the epoch may have to
	// be preserved before it changes.
	epoch uint32
	list  []*snapshot
}

// snapshot is a state fixed by PrepareSnapshot. All but once is guarded by the machine's lock: Apply
// writes under the write lock, Save under the read lock, and they touch different snapshots' fields
// only one at a time.
type snapshot struct {
	m      *Machine
	header snapshotHeader
	as     recordForm
	epoch  uint32

	at     phase        // the present part of Save
	cursor arena.Handle // Save has done all places before the cursor
	ends   [phases]arena.Handle
	aside  [phases][]byte         // records of things that changed before Save came to them
	frozen [phases][]frozenRecord // records set aside with a frozen body, which Save encodes without the lock
	over   bool                   // the machine's content was replaced: nothing is left to save

	// The number of things when the state was fixed, and the number of records by now.
	things, records [phases]int
	size            uint64 // of all things with a record, in the measure of quotas

	once sync.Once
}

// snapshotHeader has the content of a snapshot besides its records.
type snapshotHeader struct {
	level        level.Level
	slots        shard.SlotSet
	lastOrder    shard.OrderID
	lastRevision shard.Revision
	lastSession  uint64
	clock        clock.Clock
	dropping     []shard.NodeID
	pending      []shard.PendingState
	limits       shard.Limits
	limited      []shard.NodeLimits
	bytes        uint64 // the sum over all nodes, which must be the sum over the records
	group        shard.Group
}

// PrepareSnapshot fixes the present state. The call costs next to nothing, however much the machine holds.
func (m *Machine) PrepareSnapshot() (shard.Snapshot, error) {
	return m.fix(withPlaces), nil
}

// fix fixes the present state, for records of a form.
func (m *Machine) fix(as recordForm) *snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.core.Snapshots.epoch++
	sn := &snapshot{
		m: m, as: as, epoch: m.core.Snapshots.epoch, cursor: 1,
		header: snapshotHeader{
			level: m.core.level, slots: m.core.slots, lastOrder: m.core.lastOrder, lastRevision: m.core.lastRevision,
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

// Discard lets the machine forget the snapshot.
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

// touchSession, TouchObject and TouchHolding must be called before a change to any recorded field of the session,
// object or link, and before a removal.

func (snaps *Snapshots) touchSession(h arena.Handle) {
	if s := snaps.core.Sessions.At(h); s.stamp != snaps.epoch {
		snaps.preserve(phaseSessions, h, s.stamp)
		s.stamp = snaps.epoch
	}
}

// TouchObject preserves the record of an object before it changes.
func (snaps *Snapshots) TouchObject(h arena.Handle) {
	if o := snaps.core.Objects.At(h); o.stamp != snaps.epoch {
		snaps.preserve(phaseObjects, h, o.stamp)
		o.stamp = snaps.epoch
	}
}

// TouchHolding preserves the record of a holding before it changes, and counts it.
func (snaps *Snapshots) TouchHolding(h arena.Handle) {
	snaps.core.Run.Touched++
	snaps.PreserveHolding(h)
}

// PreserveHolding is for a link that the command has touched already: it does not count again.
func (snaps *Snapshots) PreserveHolding(h arena.Handle) {
	if l := snaps.core.Holdings.At(h); l.stamp != snaps.epoch {
		snaps.preserve(phaseLinks, h, l.stamp)
		l.stamp = snaps.epoch
	}
}

// preserve writes a thing aside for every snapshot that needs the present form of the thing.
func (snaps *Snapshots) preserve(p phase, h arena.Handle, stamp uint32) {
	for _, sn := range snaps.list {
		if stamp < sn.epoch && (sn.at < p || sn.at == p && sn.cursor <= h) {
			sn.setAside(p, h)
		}
	}
}

// frozenRecord is the record of a thing whose body was fixed and is not encoded yet.
type frozenRecord struct {
	fields []byte
	body   Frozen
}

func (r *frozenRecord) append(dst []byte) []byte {
	start := len(dst)
	dst = append(append(dst, 0, 0, 0, 0), r.fields...)
	return endRecord(r.body(dst), start)
}

// setAside takes the record of a thing before a change. A body that may be long is only frozen, because the whole
// machine waits for setAside.
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
