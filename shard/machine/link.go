package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// link is one session's part in one object, as an owner or a waiter.
type link struct {
	session arena.Handle
	object  arena.Handle
	order   shard.OrderID
	count   uint64
	number  uint64       // of the latest acquire
	since   uint64       // when the session began to wait, or to own: wall clock, milliseconds; for people
	data    arena.Text   // of the store of links
	timeout waitTime     // of the latest acquire
	body    arena.Handle // what the object's kind holds for the link, in a store of the kind; zero for nothing
	stamp   uint32
	owner   bool
}

// waitTime is for how long an acquire may wait: milliseconds, or forever.
type waitTime uint32

const waitForever = ^waitTime(0)

// newWaitTime converts the milliseconds of a command or a record; ok is false for a time that is too long.
func newWaitTime(millis uint64) (w waitTime, ok bool) {
	if millis == shard.Forever {
		return waitForever, true
	}
	return waitTime(millis), millis < uint64(waitForever)
}

func (w waitTime) millis() uint64 {
	if w == waitForever {
		return shard.Forever
	}
	return uint64(w)
}

// walkedLinks is up to how many links of an object find looks through one by one.
const walkedLinks = 8

// linkStore holds links in two orders, both by order id: per object and per session.
type linkStore struct {
	arena.Slab[link]
	byObject  arena.Forest
	bySession arena.Forest
	index     map[linkKey]arena.Handle // the links of indexed objects
	peak      int                      // the largest size of the index since its making
	texts     arena.Texts
}

type linkKey struct {
	object, session arena.Handle
}

func newLinkStore() linkStore {
	return linkStore{index: make(map[linkKey]arena.Handle), texts: arena.NewTexts()}
}

// find returns the link between the object and the session, or zero.
func (st *linkStore) find(o *object, object, session arena.Handle) arena.Handle {
	if o.linkCount == 0 {
		return 0
	}
	if o.indexed {
		return st.index[linkKey{object, session}]
	}
	for h := st.byObject.First(o.links); h != 0; h = st.byObject.Next(h) {
		if st.At(h).session == session {
			return h
		}
	}
	return 0
}

// addLink makes the session the last owner or waiter of the object under the next order id.
func (m *Machine) addLink(session, object arena.Handle, c *shard.Command, owner bool) arena.Handle {
	m.lastOrder = m.nextOrder()
	h := m.insertLink(session, object, m.lastOrder)
	l := m.links.At(h)
	l.count, l.number, l.owner, l.since = c.Count, c.Number, owner, c.Time
	var ok bool
	l.timeout, ok = newWaitTime(c.Timeout)
	assert.That(ok, "no acquire waits for longer than MaxAcquireTimeout but those that wait forever")
	if len(c.Data) > 0 {
		m.setData(h, c.Data)
	}
	if !owner {
		m.countWaiter(session, 1)
	}
	return h
}

// insertLink puts a new link at the end of the links of its session and of its object.
func (m *Machine) insertLink(session, object arena.Handle, order shard.OrderID) arena.Handle {
	h := m.links.Alloc()
	l := m.links.At(h)
	s, o := m.sessions.At(session), m.objects.At(object)
	l.session, l.object, l.order, l.stamp = session, object, order, m.epoch
	m.charge(m.objects.node(o), shard.LinkBytes)
	m.links.byObject.Add(&o.links, o.lastLink, false, h)
	m.links.bySession.Add(&s.links, s.lastLink, false, h)
	o.lastLink, s.lastLink = h, h
	s.linkCount++
	o.linkCount++
	m.touched++
	if o.indexed || o.linkCount > walkedLinks {
		m.links.addToIndex(o, object, h)
	}
	return h
}

// growth returns how many bytes longer a link would be with the data.
func (st *linkStore) growth(l *link, data []byte) int { return len(data) - len(st.texts.Bytes(l.data)) }

// setData replaces the data of a link.
func (m *Machine) setData(h arena.Handle, data []byte) {
	l := m.links.At(h)
	if m.links.texts.Is(l.data, data) {
		return
	}
	m.charge(m.objects.node(m.objects.At(l.object)), m.links.growth(l, data))
	m.links.texts.Replace(&l.data, data)
}

// setBody gives a link its body of the object's kind, once. A kind that changes a body calls touchLink before, and
// charges its node for the growth of the body.
func (m *Machine) setBody(h, body arena.Handle) {
	m.touchLink(h)
	l := m.links.At(h)
	assert.That(l.body == 0, "a link gets a body once")
	l.body = body
	o := m.objects.At(l.object)
	m.charge(m.objects.node(o), m.kinds[o.kind].linkSize(body))
}

// keptIndex is up to how many entries a map of the index may have had to be kept when it is empty: maps do not shrink.
const keptIndex = 4096

// removeFromIndex takes a link out of the index.
func (st *linkStore) removeFromIndex(k linkKey) {
	st.peak = max(st.peak, len(st.index))
	delete(st.index, k)
	if len(st.index) == 0 && st.peak > keptIndex {
		st.index, st.peak = make(map[linkKey]arena.Handle), 0
	}
}

// addToIndex puts the link into the index; for an object without an index, addToIndex puts all links of the object
// in.
func (st *linkStore) addToIndex(o *object, object, h arena.Handle) {
	if o.indexed {
		st.index[linkKey{object, st.At(h).session}] = h
		return
	}
	o.indexed = true
	for h := st.byObject.First(o.links); h != 0; h = st.byObject.Next(h) {
		st.index[linkKey{object, st.At(h).session}] = h
	}
}

// removeLink removes a link from its object and its session.
func (m *Machine) removeLink(h arena.Handle) {
	l := m.links.At(h)
	m.touchLink(h)
	s, o := m.sessions.At(l.session), m.objects.At(l.object)
	if o.indexed {
		m.links.removeFromIndex(linkKey{l.object, l.session})
	}
	if o.firstWaiter == h {
		o.firstWaiter = m.links.byObject.Next(h)
	}
	if o.lastLink == h {
		o.lastLink = m.links.byObject.Prev(h)
	}
	if s.lastLink == h {
		s.lastLink = m.links.bySession.Prev(h)
	}
	m.links.byObject.Remove(&o.links, h)
	m.links.bySession.Remove(&s.links, h)
	if !l.owner {
		m.countWaiter(l.session, -1)
	}
	m.charge(m.objects.node(o), -m.linkSize(l))
	m.links.texts.Free(l.data)
	if l.body != 0 {
		m.kinds[o.kind].freeLink(l.body)
	}
	m.links.Release(h)
	m.left--
	s.linkCount--
	o.linkCount--
	if o.linkCount == 0 {
		o.indexed = false
	}
}

// countWaiter counts waiting links, of the shard and of the session.
func (m *Machine) countWaiter(session arena.Handle, by int) {
	m.waiters += by
	s := m.sessions.At(session)
	s.waits = uint32(int(s.waits) + by)
}

// emitFor emits an effect about the link's acquire to the link's session.
func (m *Machine) emitFor(k shard.EffectKind, h arena.Handle) *shard.Effect {
	l := m.links.At(h)
	o := m.objects.At(l.object)
	e := m.emit(k)
	e.Node, e.Name = m.objects.node(o).id, m.Spell(m.objects.names.Bytes(o.name))
	e.Session, e.Number, e.Order = m.sessions.At(l.session).id, l.number, l.order
	return e
}

// admitsLink returns StatusSuccess if the session may have a further link now, and otherwise the refusal, with a text
// for people.
func (m *Machine) admitsLink(session arena.Handle) (refusal protocol.Status, why string) {
	switch {
	case m.group.Waits(m.clock.Now):
		return protocol.StatusOverloaded, shard.QuietReason
	case m.sessions.At(session).linkCount >= uint32(m.bounds.SessionLinks):
		return protocol.StatusPreconditionFailed, "the session has as many links as it may have"
	}
	return protocol.StatusSuccess, ""
}

// answerAcquired answers that the session is an owner. The limit is the semaphore's limit in the answer.
func (m *Machine) answerAcquired(h arena.Handle, limit uint64) {
	e := m.answer(protocol.StatusSuccess)
	e.Flags, e.Order, e.Limit = shard.FlagAcquired, m.links.At(h).order, limit
}

func (m *Machine) answerQueued(h arena.Handle, limit uint64) {
	l := m.links.At(h)
	e := m.answer(protocol.StatusSuccess)
	e.Flags, e.Order, e.Limit, e.Timeout = shard.FlagQueued, l.order, limit, l.timeout.millis()
}

// linkOf returns the link of a session to an object, or zero, also for no session.
func (m *Machine) linkOf(object, session arena.Handle) arena.Handle {
	if session == 0 {
		return 0
	}
	return m.links.find(m.objects.At(object), object, session)
}
