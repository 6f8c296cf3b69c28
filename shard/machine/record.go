package machine

import (
	"encoding/binary"
	"fmt"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/slots"
)

// Snapshot records. Each record follows its own length. A reader consumes all fields in a record, or rejects the file.

// recordForm selects how records refer to sessions and objects.
type recordForm uint8

const (
	// withPlaces refers to their handles in the machine's memory, as a file does. Session and object records begin with
	// their own handle.
	withPlaces recordForm = 1
	// withNames refers to ids or names, so equal entries have equal records in every replica.
	withNames recordForm = 2
)

// appendRecord appends the record for an entry.
func (snaps *Snapshots) appendRecord(dst []byte, p phase, h arena.Handle, as recordForm) []byte {
	start := len(dst)
	dst = snaps.appendFields(append(dst, 0, 0, 0, 0), p, h, as)
	return endRecord(snaps.appendBody(dst, p, h), start)
}

// endRecord fills in the length for a record that begins at start.
func endRecord(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// appendFields appends a record's fields, without the length and without the kind's body.
func (snaps *Snapshots) appendFields(dst []byte, p phase, h arena.Handle, as recordForm) []byte {
	if p != phaseLinks && as == withPlaces {
		dst = binary.AppendUvarint(dst, uint64(h))
	}
	switch p {
	case phaseSessions:
		dst = snaps.appendSession(dst, h)
	case phaseObjects:
		dst = snaps.appendObject(dst, h)
	case phaseLinks:
		dst = snaps.appendLinkEnds(dst, h, as)
		dst = snaps.appendLink(dst, h)
	}
	return dst
}

// appendBody appends the body for an object or a holding, encoded by the object's kind.
func (snaps *Snapshots) appendBody(dst []byte, p phase, h arena.Handle) []byte {
	switch k, body := snaps.bodyOf(p, h); {
	case body == 0:
		return dst
	case p == phaseObjects:
		return k.Save(dst, body)
	default:
		return k.SaveHolding(dst, body)
	}
}

// freezeBody fixes the bytes that appendBody would append. For a small body the result is nil.
func (snaps *Snapshots) freezeBody(p phase, h arena.Handle) Frozen {
	switch k, body := snaps.bodyOf(p, h); {
	case body == 0:
		return nil
	case p == phaseObjects:
		return k.Freeze(body)
	default:
		return k.FreezeHolding(body)
	}
}

// bodyOf returns an entry's body and its kind, or zero.
func (snaps *Snapshots) bodyOf(p phase, h arena.Handle) (Kind, arena.Handle) {
	switch p {
	case phaseObjects:
		o := snaps.core.Objects.At(h)
		return snaps.core.kinds[o.Kind], o.State
	case phaseLinks:
		l := snaps.core.Holdings.At(h)
		return snaps.core.kinds[snaps.core.Objects.At(l.Object).Kind], l.State
	}
	return nil, 0
}

func (snaps *Snapshots) appendSession(dst []byte, h arena.Handle) []byte {
	s := snaps.core.Sessions.At(h)
	var buf [listSlots]shard.Slot
	used := snaps.core.Sessions.sets.appendTo(buf[:0], h)
	return snaps.appendSessionPart(dst, s, s.home, s.losses, used, snaps.core.Sessions.answersOf(s))
}

// appendSessionPart appends what a session has as a home session or as a remote session, with losses, a slot set, and
// some of its answers.
func (snaps *Snapshots) appendSessionPart(dst []byte, s *session, home bool, losses uint64, used []shard.Slot,
	answers []answer) []byte {
	var timeout uint64
	var details, key []byte
	if home {
		timeout, details, key = uint64(s.timeout), snaps.core.Sessions.texts.Bytes(s.details), s.key[:s.keyLen]
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.id))
	dst = binary.AppendUvarint(dst, uint64(snaps.core.Sessions.Node(s).ID))
	dst = binary.AppendUvarint(dst, timeout)
	dst = codec.AppendBytes(dst, details)
	dst = codec.AppendBytes(dst, key)
	dst = binary.AppendUvarint(dst, s.applied)
	dst = binary.AppendUvarint(dst, s.acked)
	dst = snaps.core.Answers.appendList(dst, s, answers)
	dst = binary.AppendUvarint(dst, losses)
	dst = appendSlots(dst, used)
	if !home {
		return dst
	}
	dst = binary.AppendUvarint(dst, s.created)
	for _, t := range s.client {
		dst = codec.AppendBytes(dst, snaps.core.Sessions.texts.Bytes(t))
	}
	return binary.AppendUvarint(dst, s.numberSpace)
}

func (snaps *Snapshots) appendObject(dst []byte, h arena.Handle) []byte {
	o := snaps.core.Objects.At(h)
	dst = append(dst, byte(o.Kind))
	dst = binary.AppendUvarint(dst, uint64(snaps.core.Objects.Node(o).ID))
	dst = codec.AppendBytes(dst, snaps.core.Objects.names.Bytes(o.name))
	return binary.AppendUvarint(dst, uint64(o.Revision))
}

// appendLinkEnds appends the session and the object a holding connects.
func (snaps *Snapshots) appendLinkEnds(dst []byte, h arena.Handle, as recordForm) []byte {
	l := snaps.core.Holdings.At(h)
	if as == withPlaces {
		dst = binary.AppendUvarint(dst, uint64(l.Session))
		return binary.AppendUvarint(dst, uint64(l.Object))
	}
	o := snaps.core.Objects.At(l.Object)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(snaps.core.Sessions.At(l.Session).id))
	dst = binary.AppendUvarint(dst, uint64(snaps.core.Objects.Node(o).ID))
	return codec.AppendBytes(dst, snaps.core.Objects.names.Bytes(o.name))
}

func (snaps *Snapshots) appendLink(dst []byte, h arena.Handle) []byte {
	l := snaps.core.Holdings.At(h)
	dst = binary.AppendUvarint(dst, uint64(l.Order))
	dst = binary.AppendUvarint(dst, l.Count)
	dst = binary.AppendUvarint(dst, l.timeout.millis())
	dst = binary.AppendUvarint(dst, l.Number)
	owner := byte(0)
	if l.Owner {
		owner = 1
	}
	dst = append(dst, owner)
	dst = codec.AppendBytes(dst, snaps.core.Holdings.texts.Bytes(l.data))
	dst = binary.AppendUvarint(dst, l.Since)
	return binary.AppendUvarint(dst, snaps.core.Holdings.deadline(l))
}

// restorer decodes records into a machine that is empty at first.
type restorer struct {
	m        *Core
	sessions arena.Places // in the snapshot -> now
	objects  arena.Places
	pending  []shard.PendingState
	contents []*slots.Snapshot // sealed and transferred slots
	bytes    uint64            // total over all nodes at the time of saving, if the snapshot has the total
	links    [][]savedLink     // in chunks; inserted in order-id order once all are read
}

// savedLink is a holding read from the snapshot.
type savedLink struct {
	Holding
	deadline uint64
}

// record restores one record, and checks everything that other parts of the machine rely on. So a corrupt file never
// produces a machine that breaks later.
func (re *restorer) record(p phase, data []byte) error {
	r := codec.Input{Data: data}
	var err error
	switch p {
	case phaseSessions:
		err = re.session(&r)
	case phaseObjects:
		err = re.object(&r)
	case phaseLinks:
		err = re.link(&r)
	}
	if err == nil {
		r.Must(len(r.Data) == 0, "bytes behind its last field")
	}
	if !r.Sound() {
		return BadSnapshot("a record is wrong: %s", r.Bad())
	}
	return err
}

func (re *restorer) session(r *codec.Input) error {
	m := re.m
	place := arena.Handle(r.Number())
	id := shard.SessionID(r.Uint64())
	node := shard.NodeID(r.Number())
	timeout := r.Number()
	details, key := r.Bytes(), r.Bytes()
	applied, acked := r.Number(), r.Number()
	answers, bodies := readAnswers(r, applied, acked)
	var created, numberSpace uint64
	var client shard.ClientRef
	home := m.slots.Has(id.Slot())
	losses := r.Number()
	used := readSlots(r, m.slots.Has)
	r.Must(losses == 0 || !home, "a session has losses at home")
	if home {
		created, client = r.Number(), shard.ClientRef{Address: r.Bytes(), Name: r.Bytes(), Version: r.Bytes()}
		numberSpace = r.Number()
		r.Must(numberSpace <= lastNumberSpace, "a session has drawn more numbers than there are")
	}
	switch {
	case !r.Sound():
		return nil
	case id.Counter() == 0 || m.Sessions.Find(id) != 0:
		return BadSnapshot("session %v is there twice or has no number", id)
	case re.sessions.Of(place) != 0:
		return BadSnapshot("two sessions have the place %d", place)
	case home && id.Counter() > m.Sessions.last && id.Counter() <= maxLastSession:
		return BadSnapshot("session %v is newer than the last one, %d", id, m.Sessions.last)
	case timeout > uint64(shard.MaxSessionTimeout.Milliseconds()) || len(details) > shard.MaxSessionDetails ||
		len(key) > shard.MaxKey || !client.Fits():
		return BadSnapshot("session %v is beyond the session limits", id)
	}
	h := m.Sessions.add(id, m.Nodes.restored(node))
	s := m.Sessions.At(h)
	s.timeout, s.details = uint32(timeout), m.Sessions.texts.Keep(details)
	s.keyLen = uint8(copy(s.key[:], key))
	s.applied, s.acked = applied, acked
	m.Sessions.setAnswers(s, answers)
	s.created, s.numberSpace, s.losses = created, numberSpace, losses
	m.Sessions.note(s, &client)
	for _, b := range bodies {
		m.Answers.keepBody(s, b.number, b.body)
	}
	m.Sessions.sets.set(h, used)
	m.Nodes.Charge(m.Sessions.Node(s), m.Sessions.sizeOf(h)-shard.SessionBytes)
	re.sessions.Put(place, h)
	return nil
}

func (re *restorer) object(r *codec.Input) error {
	m := re.m
	place := arena.Handle(r.Number())
	k := shard.ObjectKind(r.Byte())
	id := shard.NodeID(r.Number())
	name := r.Bytes()
	revision := shard.Revision(r.Number())
	if !r.Sound() {
		return nil
	}
	hash := shard.ObjectHash(id, name)
	switch {
	case k >= shard.MaxKinds || m.kinds[k] == nil:
		return fmt.Errorf("shard: object %q has kind %d: %w", name, k, shard.ErrNewerFormat)
	case len(name) == 0 || len(name) > shard.MaxName || m.Objects.find(hash, id, name) != 0:
		return BadSnapshot("object %q of node %d is there twice or has no fit name", name, id)
	case re.objects.Of(place) != 0:
		return BadSnapshot("two objects have the place %d", place)
	case !m.slots.Has(shard.Slot(hash % shard.Slots)):
		return BadSnapshot("object %q of node %d is in a slot that the shard does not serve", name, id)
	case revision == 0 || revision > m.lastRevision:
		return BadSnapshot("object %q of node %d has revision %d, the last one is %d", name, id, revision,
			m.lastRevision)
	}
	body, ok := m.kinds[k].Load(r.Data)
	r.Data = nil
	if !ok {
		return BadSnapshot("object %q of node %d is not sound", name, id)
	}
	t := Target{hash: hash, slot: shard.Slot(hash % shard.Slots), Node: m.Nodes.restored(id)}
	h := m.Objects.Add(k, &t, id, name, body)
	o := m.Objects.At(h)
	o.Revision, o.base = revision, revision
	re.objects.Put(place, h)
	return nil
}

func (re *restorer) link(r *codec.Input) error {
	session, object := arena.Handle(r.Number()), arena.Handle(r.Number())
	var l savedLink
	l.Order = shard.OrderID(r.Number())
	l.Count = r.Number()
	var ok bool
	l.timeout, ok = newWaitTime(r.Number())
	r.Must(ok, "a link waits for longer than an acquire may")
	l.Number = r.Number()
	l.Owner = r.Byte() == 1
	data := r.Bytes()
	l.Since, l.deadline = r.Number(), r.Number()
	r.Must(l.deadline == 0 || !l.Owner && l.timeout != waitForever, "a link without an end of its wait has a deadline")
	if !r.Sound() {
		return nil
	}
	l.Session, l.Object = re.sessions.Of(session), re.objects.Of(object)
	if l.Session == 0 || l.Object == 0 {
		return BadSnapshot("the link with order id %d has no session or no object", l.Order)
	}
	if len(r.Data) > 0 {
		m := re.m
		o := m.Objects.At(l.Object)
		if l.State, ok = m.kinds[o.Kind].LoadHolding(r.Data); !ok || l.State == 0 {
			return BadSnapshot("the link with order id %d to object %q is not sound", l.Order, m.Objects.Name(o))
		}
		r.Data = nil
	}
	l.data = re.m.Holdings.texts.Keep(data)
	if last := len(re.links) - 1; last < 0 || len(re.links[last]) == linkPiece {
		re.links = append(re.links, make([]savedLink, 0, linkPiece))
	}
	last := len(re.links) - 1
	re.links[last] = append(re.links[last], l)
	return nil
}
