package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/slots"
)

// A slot snapshot is merged in two steps. The first step restores the slot snapshot into an empty Core, with all checks
// of a snapshot file, and compares this Core with the shard. The second step changes the shard, and cannot fail.

// unpacked is a restored slot snapshot.
type unpacked struct {
	core    *Core
	home    shard.Slot
	entries []numberEntry
}

// numberEntry has the numbers of a session that has nothing else in the slot.
type numberEntry struct {
	id             shard.SessionID
	node           shard.NodeID
	applied, acked uint64
}

// mergedShare multiplies the limits of a session's cached responses when slots are merged. Above the usual limits, new
// mutations of the session are refused until the client acknowledges responses.
const mergedShare = 4

// unpack restores a slot snapshot.
func (co *Core) unpack(slot shard.Slot, sn *slots.Snapshot) (*unpacked, error) {
	if max(sn.Now, sn.LastOrder, sn.LastRevision) >= lastJump || sn.LastSession > maxLastSession {
		return nil, errors.New("a counter is too high")
	}
	var home shard.SlotSet
	home.Add(slot, slot)
	u := &unpacked{home: slot, core: newCore(co.known, Options{
		Shard: uint64(co.class), Slots: home, History: historyMin, Bounds: co.bounds,
	})}
	u.core.lastOrder, u.core.lastRevision = shard.OrderID(sn.LastOrder), shard.Revision(sn.LastRevision)
	u.core.Sessions.last, u.core.Clock.Now = sn.LastSession, sn.Now
	r, re := codec.Input{Data: sn.Bytes}, restorer{m: u.core}
	for p := range phases {
		if _, err := re.block(p, r.Bytes()); err != nil {
			return nil, err
		}
	}
	u.readEntries(&r)
	r.Must(len(r.Data) == 0, "bytes behind the last entry")
	if !r.Sound() {
		return nil, r.Err()
	}
	if err := re.insertLinks(); err != nil {
		return nil, err
	}
	if err := u.core.linkAll(); err != nil {
		return nil, err
	}
	return u, u.check(slot, sn.Records)
}

func (u *unpacked) readEntries(r *codec.Input) {
	const shortest = 8 + 1 + 1 + 1
	n := r.Number()
	r.Must(n <= uint64(len(r.Data))/shortest, "more entries than bytes")
	last := shard.SessionID(0)
	for range n {
		e := numberEntry{id: shard.SessionID(r.Uint64()), node: shard.NodeID(r.Number()), applied: r.Number()}
		seen := r.Number()
		if !r.Must(e.id > last && e.id.Counter() != 0 && e.id.Slot() != u.home && seen <= e.applied &&
			u.core.Sessions.Find(e.id) == 0, "a number entry is none") {
			return
		}
		e.acked, last = e.applied-seen, e.id
		u.entries = append(u.entries, e)
	}
}

// check checks the rules that only slot snapshots have.
func (u *unpacked) check(slot shard.Slot, records uint64) error {
	n := u.core.Objects.Size() + u.core.Holdings.Size() + u.core.Sessions.Size() + len(u.entries)
	for h := arena.Handle(1); h < u.core.Sessions.End(); h++ {
		s := u.core.Sessions.At(h)
		answers := u.core.Sessions.answersOf(s)
		for _, a := range answers {
			if a.slot != numberOf(slot) {
				return fmt.Errorf("session %v has an answer of another slot", s.id)
			}
			n++
		}
		if s.losses != 0 || s.acked > s.applied || len(answers) > 0 && !u.core.Sessions.sets.has(h, slot) {
			return fmt.Errorf("session %v has losses, has seen more than there was, or has not used the slot", s.id)
		}
	}
	for h := arena.Handle(1); h < u.core.Holdings.End(); h++ {
		l := u.core.Holdings.At(h)
		if l.Number > u.core.Sessions.At(l.Session).applied || !u.core.Sessions.sets.has(l.Session, slot) {
			return fmt.Errorf("order id %d has a number that was not applied", l.Order)
		}
	}
	if uint64(n) != records {
		return fmt.Errorf("%d records, not %d", n, records)
	}
	return nil
}

// Check implements slots.Content.
func (sc *slotContent) Check(slot shard.Slot, sn *slots.Snapshot) error {
	u, err := sc.co.unpack(slot, sn)
	if err == nil {
		err = sc.co.accepts(u)
	}
	if err != nil {
		return err
	}
	sc.checked = u
	return nil
}

// accepts returns an error if a slot snapshot cannot be merged into this shard.
func (co *Core) accepts(u *unpacked) error {
	for h := arena.Handle(1); h < u.core.Sessions.End(); h++ {
		if err := co.acceptsSession(u, u.core.Sessions.At(h)); err != nil {
			return err
		}
	}
	for i := range u.entries {
		e := &u.entries[i]
		if known := co.Sessions.Find(e.id); known != 0 && co.Sessions.Node(co.Sessions.At(known)).ID != e.node {
			return fmt.Errorf("session %v is of another node here", e.id)
		}
	}
	return co.hasCapacity(u)
}

func (co *Core) acceptsSession(u *unpacked, s *session) error {
	known := co.Sessions.Find(s.id)
	if known == 0 {
		return nil
	}
	k := co.Sessions.At(known)
	switch {
	case co.Sessions.Node(k).ID != u.core.Sessions.Node(s).ID:
		return fmt.Errorf("session %v is of another node here", s.id)
	case len(co.Sessions.answersOf(k))+len(u.core.Sessions.answersOf(s)) > mergedShare*shard.MaxUnacknowledged,
		co.Answers.bodiesSize(k)+u.core.Answers.bodiesSize(s) > mergedShare*shard.MaxAnswerBytes:
		return fmt.Errorf("session %v would have too many answers", s.id)
	}
	for h := u.core.Holdings.bySession.First(s.links); h != 0; h = u.core.Holdings.bySession.Next(h) {
		order := u.core.Holdings.At(h).Order
		if at := co.Holdings.Behind(known, order-1); at != 0 && co.Holdings.At(at).Order == order {
			return fmt.Errorf("session %v has order id %d here", s.id, order)
		}
	}
	return nil
}

// hasCapacity returns an error if a quota would be exceeded. Sealed slot snapshots count too, because they may return.
func (co *Core) hasCapacity(u *unpacked) error {
	bytes, objects := shard.SessionBytes*len(u.entries), u.core.Objects.Size()
	for _, n := range u.core.Nodes.listed {
		bytes += int(n.bytes)
		if q := co.Nodes.Exceeded(co.Nodes.byID[n.ID], n.objects, int(n.bytes)); q != shard.QuotaNone {
			return fmt.Errorf("the %v quota would be exceeded, for node %d", q, n.ID)
		}
	}
	for _, x := range co.slots.Changed() {
		if x.State == slots.Sealed {
			bytes += len(x.Content.Bytes)
			objects += int(x.Content.Records)
		}
	}
	if q := co.Nodes.Exceeded(&Node{quota: noQuota}, objects, bytes); q != shard.QuotaNone {
		return fmt.Errorf("the %v quota would be exceeded", q)
	}
	return nil
}

// noQuota limits nothing.
var noQuota = newNodeQuota(shard.Limits{Objects: shard.Forever, Bytes: shard.Forever})

// Merge implements slots.Content.
func (sc *slotContent) Merge(slot shard.Slot, sn *slots.Snapshot) {
	co, u := sc.co, sc.checked
	if u == nil {
		var err error
		u, err = co.unpack(slot, sn)
		assert.That(err == nil, "a slot snapshot of this shard can be restored")
	}
	co.lastOrder = max(co.lastOrder, u.core.lastOrder)
	co.lastRevision = max(co.lastRevision, u.core.lastRevision)
	co.Sessions.last = max(co.Sessions.last, u.core.Sessions.last)
	co.Run.Emit(shard.EffectSlotArrived).Slot = slot
	m := merge{co: co, u: u, slot: slot, moment: func(at uint64) uint64 { return sn.Moment(at, co.Clock.Now) }}
	m.arriveHome()
	m.sessions()
	m.objects()
	m.endMissing()
}

// merge merges one slot snapshot into a shard.
type merge struct {
	co     *Core
	u      *unpacked
	slot   shard.Slot
	moment func(uint64) uint64
	known  []arena.Handle // sessions in the shard, or 0, by their handles in the slot snapshot
}

// arriveHome makes the slot's remote sessions home sessions.
func (m *merge) arriveHome() {
	se := &m.co.Sessions
	for _, h := range se.slots[m.slot].Handles(nil) {
		m.co.Snapshots.touchSession(h)
		s := se.At(h)
		s.home = true
		se.remote--
		if s.ending {
			s.losses = 0 // its client has ended
		}
		se.pass(s.id)
	}
}

// pass ensures that no later session gets the counter of a home session. The former home may never have known the
// session.
func (se *Sessions) pass(id shard.SessionID) {
	if counter := id.Counter(); counter <= maxLastSession {
		se.last = max(se.last, counter)
	}
}

// sessions merges the sessions and the number entries.
func (m *merge) sessions() {
	from := &m.u.core.Sessions
	m.known = make([]arena.Handle, from.End())
	for h := arena.Handle(1); h < from.End(); h++ { // by id
		s := from.At(h)
		e := numberEntry{s.id, from.Node(s).ID, s.applied, s.acked}
		to := m.session(&e, from.answersOf(s), func(number uint64) string { return m.u.core.Answers.body(s, number) },
			s.linkCount > 0, from.sets.has(h, m.slot))
		m.known[h] = to
		if to != 0 && s.home && m.co.Sessions.At(to).id == s.id {
			m.homeSession(to, s)
		}
	}
	for i := range m.u.entries {
		m.session(&m.u.entries[i], nil, nil, false, true)
	}
}

// session merges a session's numbers and answers, and returns the session. For an ended session without holdings,
// session merges nothing and returns 0. The end of an ended session with holdings becomes pending work. used is set if
// the session's slot set at the other shard had the slot.
func (m *merge) session(e *numberEntry, answers []answer, body func(uint64) string, holds, used bool) arena.Handle {
	co := m.co
	h := co.Sessions.Find(e.id)
	if h != 0 && co.Sessions.Node(co.Sessions.At(h)).ID != e.node {
		return m.stranger(e, holds)
	}
	if h == 0 {
		ended := e.id.Slot() != m.slot && co.slots.Has(e.id.Slot())
		if ended && !holds {
			return 0
		}
		h = co.Sessions.add(e.id, co.Nodes.see(e.node))
		switch {
		case ended:
			co.Sessions.pass(e.id)
			co.Pending.deferSession(h)
		case !co.Sessions.At(h).home:
			seen := co.Run.Emit(shard.EffectSessionSeen)
			seen.Session, seen.Node = e.id, e.node
		}
	}
	if used {
		co.Sessions.noteSlot(h, m.slot)
	}
	co.Snapshots.touchSession(h)
	s := co.Sessions.At(h)
	before := co.Sessions.size(h)
	s.applied, s.acked = max(s.applied, e.applied), max(s.acked, e.acked)
	co.Answers.merge(s, answers, body)
	co.Nodes.Charge(co.Sessions.Node(s), co.Sessions.size(h)-before)
	return h
}

// stranger handles a session in a returning slot snapshot if, meanwhile, a session of another node has appeared under
// the same id. No correct client uses such an id. The holdings get a new session, which has ended and so releases them.
func (m *merge) stranger(e *numberEntry, holds bool) arena.Handle {
	if !holds {
		return 0
	}
	se := &m.co.Sessions
	se.last++
	h := se.add(shard.NewSessionID(m.slot, se.last), m.co.Nodes.see(e.node))
	se.At(h).applied = e.applied
	m.co.Pending.deferSession(h)
	return h
}

// homeSession copies the fields that only a session's home shard has.
func (m *merge) homeSession(h arena.Handle, from *session) {
	co, theirs := m.co, &m.u.core.Sessions
	s := co.Sessions.At(h)
	if s.ending {
		return
	}
	before := co.Sessions.size(h)
	s.timeout, s.created, s.numberSpace = from.timeout, from.created, from.numberSpace
	s.keyLen, s.key = from.keyLen, from.key
	co.Sessions.texts.Replace(&s.details, theirs.texts.Bytes(from.details))
	client := theirs.clientOf(from)
	co.Sessions.note(s, &client)
	co.Nodes.Charge(co.Sessions.Node(s), co.Sessions.size(h)-before)
	if s.losses > 0 {
		e := co.Run.Emit(shard.EffectCheckHoldings)
		e.Session, e.Node, e.Limit = s.id, co.Sessions.Node(s).ID, s.losses
		s.losses = 0
	}
}

// merge adds answers to a session, except under numbers with an answer in the session, and drops answers that the
// client has acknowledged. The caller charges the node.
func (an *Answers) merge(s *session, more []answer, body func(number uint64) string) {
	var bodies []answerBody
	list := an.core.Sessions.answersOf(s)
	if s.bodies != 0 {
		bodies = an.bodies.At(s.bodies).list
	}
	all := slices.DeleteFunc(slices.Clone(list), func(a answer) bool { return a.number <= s.acked })
	texts := slices.DeleteFunc(slices.Clone(bodies), func(b answerBody) bool { return b.number <= s.acked })
	for _, a := range more {
		at, has := slices.BinarySearchFunc(all, a.number, func(a answer, number uint64) int {
			return cmp.Compare(a.number, number)
		})
		if has || a.number <= s.acked {
			continue
		}
		all = slices.Insert(all, at, a)
		if text := body(a.number); text != "" {
			of := answerBodies{list: texts}
			texts = slices.Insert(texts, of.after(a.number), answerBody{a.number, text})
		}
	}
	if len(all) == 0 {
		all = nil
	}
	an.core.Sessions.setAnswers(s, all)
	an.dropBodies(s)
	if len(texts) > 0 {
		s.bodies = an.bodies.Alloc()
		of := an.bodies.At(s.bodies)
		of.list = texts
		for i := range texts {
			of.size += texts[i].size()
		}
	}
}

// objects merges the objects with their holdings.
func (m *merge) objects() {
	co, from := m.co, &m.u.core.Objects
	for object := arena.Handle(1); object < from.End(); object++ { // by node and name
		o := from.At(object)
		node, name := from.Node(o).ID, from.names.Bytes(o.name)
		theirs, ours := m.u.core.kinds[o.Kind], co.kinds[o.Kind]
		body, sound := ours.Load(theirs.Save(nil, o.State))
		assert.That(sound, "what was restored and saved can be loaded")
		ours.Shift(body, m.moment)
		hash := shard.ObjectHash(node, name)
		t := Target{hash: hash, slot: m.slot, Node: co.Nodes.see(node)}
		h := co.Objects.Add(o.Kind, &t, node, name, body)
		arrived := co.Objects.At(h)
		arrived.Revision, arrived.base = o.Revision, o.Revision
		for link := m.u.core.Holdings.First(o); link != 0; link = m.u.core.Holdings.Next(link) {
			m.holding(h, link, ours, theirs)
		}
		err := ours.Linked(co, h)
		assert.That(err == nil, "what was linked in a slot snapshot can be linked")
	}
}

// holding merges a holding of a merged object.
func (m *merge) holding(object, link arena.Handle, ours, theirs Kind) {
	ho, from := &m.co.Holdings, &m.u.core.Holdings
	l := from.At(link)
	session := m.known[l.Session]
	h := ho.enter(session, object, l.Order, false)
	to, o := ho.At(h), m.co.Objects.At(object)
	to.Count, to.timeout, to.Number, to.Owner, to.Since = l.Count, l.timeout, l.Number, l.Owner, l.Since
	to.data = ho.texts.Keep(from.texts.Bytes(l.data))
	if l.State != 0 {
		state, sound := ours.LoadHolding(theirs.SaveHolding(nil, l.State))
		assert.That(sound, "what was restored and saved can be loaded")
		ours.ShiftHolding(state, m.moment)
		to.State = state
	}
	m.co.Nodes.Charge(m.co.Objects.Node(o), ho.sizeOf(to)-shard.LinkBytes)
	if !l.Owner {
		ho.setDeadline(h, m.moment(from.deadline(l)))
		ho.countWaiter(session, 1)
		if o.FirstWaiter == 0 {
			o.FirstWaiter = h
		}
	}
}

// endMissing ends the slot's sessions that this shard knew as remote sessions, and that are missing in the slot
// snapshot: these sessions have ended at their home.
func (m *merge) endMissing() {
	co := m.co
	list := co.Sessions.slots[m.slot].Handles(nil)
	slices.SortFunc(list, func(a, b arena.Handle) int {
		return cmp.Compare(co.Sessions.At(a).id, co.Sessions.At(b).id)
	})
	for _, h := range list {
		s := co.Sessions.At(h)
		there := m.u.core.Sessions.Find(s.id)
		if s.ending || there != 0 && m.known[there] == h {
			continue
		}
		e := co.Run.Emit(shard.EffectSessionEnded)
		e.Session, e.Node, e.End = s.id, co.Sessions.Node(s).ID, protocol.EndUnknown
		if s.losses = 0; s.linkCount > 0 {
			co.Pending.deferSession(h)
		} else {
			co.Sessions.drop(h)
		}
	}
}
