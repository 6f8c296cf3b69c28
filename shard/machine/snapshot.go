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
	m.epoch++
	sn := &snapshot{
		m: m, as: as, epoch: m.epoch, cursor: 1,
		header: snapshotHeader{
			level: m.level, slots: m.slots, lastOrder: m.lastOrder, lastRevision: m.lastRevision,
			lastSession: m.lastSession, clock: m.clock, dropping: slices.Clone(m.dropping), pending: m.pendingState(),
			limits: m.quota.set, limited: slices.Clone(m.limited), bytes: m.bytes, group: m.group,
		},
		ends:   [phases]arena.Handle{m.sessions.End(), m.objects.End(), m.links.End()},
		things: [phases]int{m.sessions.Size(), m.objects.Size(), m.links.Size()},
	}
	m.snapshots = append(m.snapshots, sn)
	return sn
}

// Discard lets the machine forget the snapshot.
func (sn *snapshot) Discard() {
	sn.once.Do(func() {
		sn.m.mu.Lock()
		defer sn.m.mu.Unlock()
		sn.m.snapshots = slices.DeleteFunc(sn.m.snapshots, func(o *snapshot) bool { return o == sn })
		sn.aside, sn.frozen = [phases][]byte{}, [phases][]frozenRecord{}
		sn.over = true
	})
}

// touchSession, touchObject and touchLink must be called before a change to any recorded field of the session, object
// or link, and before a removal.

func (m *Machine) touchSession(h arena.Handle) {
	if s := m.sessions.At(h); s.stamp != m.epoch {
		m.preserve(phaseSessions, h, s.stamp)
		s.stamp = m.epoch
	}
}

func (m *Machine) touchObject(h arena.Handle) {
	if o := m.objects.At(h); o.stamp != m.epoch {
		m.preserve(phaseObjects, h, o.stamp)
		o.stamp = m.epoch
	}
}

func (m *Machine) touchLink(h arena.Handle) {
	m.touched++
	m.preserveLink(h)
}

// preserveLink is for a link that the command has touched already: it does not count again.
func (m *Machine) preserveLink(h arena.Handle) {
	if l := m.links.At(h); l.stamp != m.epoch {
		m.preserve(phaseLinks, h, l.stamp)
		l.stamp = m.epoch
	}
}

// preserve writes a thing aside for every snapshot that needs the present form of the thing.
func (m *Machine) preserve(p phase, h arena.Handle, stamp uint32) {
	for _, sn := range m.snapshots {
		if stamp < sn.epoch && (sn.at < p || sn.at == p && sn.cursor <= h) {
			sn.setAside(p, h)
		}
	}
}

// frozenRecord is the record of a thing whose body was fixed and is not encoded yet.
type frozenRecord struct {
	fields []byte
	body   frozen
}

func (r *frozenRecord) append(dst []byte) []byte {
	start := len(dst)
	dst = append(append(dst, 0, 0, 0, 0), r.fields...)
	return endRecord(r.body(dst), start)
}

// setAside takes the record of a thing before a change. A body that may be long is only frozen, because the whole
// machine waits for setAside.
func (sn *snapshot) setAside(p phase, h arena.Handle) {
	body := sn.m.freezeBody(p, h)
	if body == nil {
		sn.aside[p] = sn.appendRecord(sn.aside[p], p, h)
		return
	}
	sn.count(p, h)
	fields := sn.m.appendFields(nil, p, h, sn.as)
	sn.frozen[p] = append(sn.frozen[p], frozenRecord{fields, body})
}
