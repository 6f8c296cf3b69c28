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

// Holdings holds links in two orders, both by order id: per object and per session.
type Holdings struct {
	core *Core
	arena.Slab[link]
	byObject  arena.Forest
	bySession arena.Forest
	index     map[linkKey]arena.Handle // the links of indexed objects
	peak      int                      // the largest size of the index since its making
	texts     arena.Texts
	waiters   int // holdings that do not own
}

type linkKey struct {
	object, session arena.Handle
}

func newHoldings() Holdings {
	return Holdings{index: make(map[linkKey]arena.Handle), texts: arena.NewTexts()}
}

// find returns the link between the object and the session, or zero.
func (ho *Holdings) find(o *object, object, session arena.Handle) arena.Handle {
	if o.linkCount == 0 {
		return 0
	}
	if o.indexed {
		return ho.index[linkKey{object, session}]
	}
	for h := ho.byObject.First(o.links); h != 0; h = ho.byObject.Next(h) {
		if ho.At(h).session == session {
			return h
		}
	}
	return 0
}

// Add makes the session the last owner or waiter of the object under the next order id.
func (ho *Holdings) Add(session, object arena.Handle, c *shard.Command, owner bool) arena.Handle {
	ho.core.lastOrder = ho.NextOrder()
	h := ho.insert(session, object, ho.core.lastOrder)
	l := ho.At(h)
	l.count, l.number, l.owner, l.since = c.Count, c.Number, owner, c.Time
	var ok bool
	l.timeout, ok = newWaitTime(c.Timeout)
	assert.That(ok, "no acquire waits for longer than MaxAcquireTimeout but those that wait forever")
	if len(c.Data) > 0 {
		ho.SetData(h, c.Data)
	}
	if !owner {
		ho.CountWaiter(session, 1)
	}
	return h
}

// NextOrder is the order id that the shard gives next.
func (ho *Holdings) NextOrder() shard.OrderID {
	next := ho.core.lastOrder&^shard.MaxShard | ho.core.class
	if next <= ho.core.lastOrder {
		next += shard.MaxShard + 1
	}
	return next
}

// insert puts a new link at the end of the links of its session and of its object.
func (ho *Holdings) insert(session, object arena.Handle, order shard.OrderID) arena.Handle {
	h := ho.Alloc()
	l := ho.At(h)
	s, o := ho.core.Sessions.At(session), ho.core.Objects.At(object)
	l.session, l.object, l.order, l.stamp = session, object, order, ho.core.Snapshots.epoch
	ho.core.Nodes.Charge(ho.core.Objects.node(o), shard.LinkBytes)
	ho.byObject.Add(&o.links, o.lastLink, false, h)
	ho.bySession.Add(&s.links, s.lastLink, false, h)
	o.lastLink, s.lastLink = h, h
	s.linkCount++
	o.linkCount++
	ho.core.Run.Touched++
	if o.indexed || o.linkCount > walkedLinks {
		ho.addToIndex(o, object, h)
	}
	return h
}

// growth returns how many bytes longer a link would be with the data.
func (ho *Holdings) growth(l *link, data []byte) int { return len(data) - len(ho.texts.Bytes(l.data)) }

// SetData replaces the data of a link.
func (ho *Holdings) SetData(h arena.Handle, data []byte) {
	l := ho.At(h)
	if ho.texts.Is(l.data, data) {
		return
	}
	ho.core.Nodes.Charge(ho.core.Objects.node(ho.core.Objects.At(l.object)), ho.growth(l, data))
	ho.texts.Replace(&l.data, data)
}

// SetState gives a link its body of the object's kind, once. A kind that changes a body calls TouchHolding before, and
// charges its node for the growth of the body.
func (ho *Holdings) SetState(h, body arena.Handle) {
	ho.core.Snapshots.TouchHolding(h)
	l := ho.At(h)
	assert.That(l.body == 0, "a link gets a body once")
	l.body = body
	o := ho.core.Objects.At(l.object)
	ho.core.Nodes.Charge(ho.core.Objects.node(o), ho.core.kinds[o.kind].linkSize(body))
}

// keptIndex is up to how many entries a map of the index may have had to be kept when it is empty: maps do not shrink.
const keptIndex = 4096

// removeFromIndex takes a link out of the index.
func (ho *Holdings) removeFromIndex(k linkKey) {
	ho.peak = max(ho.peak, len(ho.index))
	delete(ho.index, k)
	if len(ho.index) == 0 && ho.peak > keptIndex {
		ho.index, ho.peak = make(map[linkKey]arena.Handle), 0
	}
}

// addToIndex puts the link into the index; for an object without an index, addToIndex puts all links of the object
// in.
func (ho *Holdings) addToIndex(o *object, object, h arena.Handle) {
	if o.indexed {
		ho.index[linkKey{object, ho.At(h).session}] = h
		return
	}
	o.indexed = true
	for h := ho.byObject.First(o.links); h != 0; h = ho.byObject.Next(h) {
		ho.index[linkKey{object, ho.At(h).session}] = h
	}
}

// Remove removes a link from its object and its session.
func (ho *Holdings) Remove(h arena.Handle) {
	l := ho.At(h)
	ho.core.Snapshots.TouchHolding(h)
	s, o := ho.core.Sessions.At(l.session), ho.core.Objects.At(l.object)
	if o.indexed {
		ho.removeFromIndex(linkKey{l.object, l.session})
	}
	if o.firstWaiter == h {
		o.firstWaiter = ho.byObject.Next(h)
	}
	if o.lastLink == h {
		o.lastLink = ho.byObject.Prev(h)
	}
	if s.lastLink == h {
		s.lastLink = ho.bySession.Prev(h)
	}
	ho.byObject.Remove(&o.links, h)
	ho.bySession.Remove(&s.links, h)
	if !l.owner {
		ho.CountWaiter(l.session, -1)
	}
	ho.core.Nodes.Charge(ho.core.Objects.node(o), -ho.sizeOf(l))
	ho.texts.Free(l.data)
	if l.body != 0 {
		ho.core.kinds[o.kind].freeLink(l.body)
	}
	ho.Release(h)
	ho.core.Run.Left--
	s.linkCount--
	o.linkCount--
	if o.linkCount == 0 {
		o.indexed = false
	}
}

// CountWaiter counts waiting links, of the shard and of the session.
func (ho *Holdings) CountWaiter(session arena.Handle, by int) {
	ho.waiters += by
	s := ho.core.Sessions.At(session)
	s.waits = uint32(int(s.waits) + by)
}

// Emit emits an effect about the link's acquire to the link's session.
func (ho *Holdings) Emit(k shard.EffectKind, h arena.Handle) *shard.Effect {
	l := ho.At(h)
	o := ho.core.Objects.At(l.object)
	e := ho.core.Run.Emit(k)
	e.Node, e.Name = ho.core.Objects.node(o).id, ho.core.Run.speller.Spell(ho.core.Objects.names.Bytes(o.name))
	e.Session, e.Number, e.Order = ho.core.Sessions.At(l.session).id, l.number, l.order
	return e
}

// Admits returns StatusSuccess if the session may have a further link now, and otherwise the refusal, with a text
// for people.
func (ho *Holdings) Admits(session arena.Handle) (refusal protocol.Status, why string) {
	switch {
	case ho.core.group.Waits(ho.core.Clock.Now):
		return protocol.StatusOverloaded, shard.QuietReason
	case ho.core.Sessions.At(session).linkCount >= uint32(ho.core.bounds.SessionLinks):
		return protocol.StatusPreconditionFailed, "the session has as many links as it may have"
	}
	return protocol.StatusSuccess, ""
}

// AnswerAcquired answers that the session is an owner. The limit is the semaphore's limit in the answer.
func (ho *Holdings) AnswerAcquired(h arena.Handle, limit uint64) {
	e := ho.core.Run.Answer(protocol.StatusSuccess)
	e.Flags, e.Order, e.Limit = shard.FlagAcquired, ho.At(h).order, limit
}

// AnswerQueued answers that the session waits.
func (ho *Holdings) AnswerQueued(h arena.Handle, limit uint64) {
	l := ho.At(h)
	e := ho.core.Run.Answer(protocol.StatusSuccess)
	e.Flags, e.Order, e.Limit, e.Timeout = shard.FlagQueued, l.order, limit, l.timeout.millis()
}

// Of returns the link of a session to an object, or zero, also for no session.
func (ho *Holdings) Of(object, session arena.Handle) arena.Handle {
	if session == 0 {
		return 0
	}
	return ho.find(ho.core.Objects.At(object), object, session)
}
