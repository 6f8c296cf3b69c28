package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Holding is one session's part in one object, as an owner or a waiter.
type Holding struct {
	Session arena.Handle
	Object  arena.Handle
	Order   shard.OrderID
	Count   uint64
	Number  uint64       // the latest acquire's number
	Since   uint64       // when the session began to wait, or to own: wall clock, milliseconds; informational
	data    arena.Text   // in the holdings' text store
	timeout waitTime     // the latest acquire's timeout
	State   arena.Handle // the kind's state for the holding, in a store of the kind; zero for none
	stamp   uint32
	alarm   uint32 // heap position of a waiter's alarm, plus one; zero without an alarm
	Owner   bool
}

// waitTime is how long an acquire may wait: milliseconds, or forever.
type waitTime uint32

const waitForever = ^waitTime(0)

// newWaitTime converts the milliseconds in a command or a record; ok is false if the time is too long.
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

// Timeout is how long the latest acquire may wait, in milliseconds.
func (ho *Holding) Timeout() uint64 { return ho.timeout.millis() }

// walkedLinks is the number of holdings up to which find scans an object's holdings one by one.
const walkedLinks = 8

// Holdings stores holdings in two orders, both by order id: per object and per session.
type Holdings struct {
	core *Core
	arena.Slab[Holding]
	byObject  arena.Forest
	bySession arena.Forest
	index     map[linkKey]arena.Handle // the holdings of indexed objects
	peak      int                      // the largest index size since the map was made
	texts     arena.Texts
	waiters   int // holdings that do not own
}

type linkKey struct {
	object, session arena.Handle
}

func newHoldings() Holdings {
	return Holdings{index: make(map[linkKey]arena.Handle), texts: arena.NewTexts()}
}

// Find returns the holding the session has on the object, or zero.
func (ho *Holdings) Find(o *Object, object, session arena.Handle) arena.Handle {
	if o.Held == 0 {
		return 0
	}
	if o.indexed {
		return ho.index[linkKey{object, session}]
	}
	for h := ho.byObject.First(o.holdings); h != 0; h = ho.byObject.Next(h) {
		if ho.At(h).Session == session {
			return h
		}
	}
	return 0
}

// Add makes the session the object's last owner or waiter, under the next order id.
func (ho *Holdings) Add(session, object arena.Handle, c *shard.Command, owner bool) arena.Handle {
	h := ho.insert(session, object, ho.TakeOrder())
	l := ho.At(h)
	l.Count, l.Number, l.Owner, l.Since = c.Count, c.Number, owner, c.Time
	ho.SetTimeout(h, c.Timeout)
	if len(c.Data) > 0 {
		ho.SetData(h, c.Data)
	}
	if !owner {
		ho.countWaiter(session, 1)
		if o := ho.core.Objects.At(object); o.FirstWaiter == 0 {
			o.FirstWaiter = h
		}
	}
	return h
}

// SetTimeout replaces a holding's timeout, in milliseconds: Forever, or at most MaxAcquireTimeout. The wait ends after
// that much shard time, counted from now.
func (ho *Holdings) SetTimeout(h arena.Handle, millis uint64) {
	l := ho.At(h)
	var ok bool
	l.timeout, ok = newWaitTime(millis)
	assert.That(ok, "no acquire waits for longer than MaxAcquireTimeout but those that wait forever")
	deadline := uint64(0)
	if !l.Owner && l.timeout != waitForever {
		deadline = ho.core.Clock.After(millis)
	}
	ho.setDeadline(h, deadline)
}

// Grant makes an object's first waiter an owner, as one piece of the command's work.
func (ho *Holdings) Grant(h arena.Handle) {
	ho.core.Run.Left--
	ho.core.Snapshots.TouchHolding(h)
	l := ho.At(h)
	l.Owner, l.Since = true, ho.core.Run.Wall
	ho.setDeadline(h, 0)
	ho.countWaiter(l.Session, -1)
	ho.core.Objects.At(l.Object).FirstWaiter = ho.byObject.Next(h)
}

// LastOrder is the highest order id the shard has issued.
func (ho *Holdings) LastOrder() shard.OrderID { return ho.core.lastOrder }

// TakeOrder issues the next order id, for a new holding or for anything else a kind sorts like holdings.
func (ho *Holdings) TakeOrder() shard.OrderID {
	ho.core.lastOrder = ho.NextOrder()
	return ho.core.lastOrder
}

// NextOrder is the order id the shard issues next.
func (ho *Holdings) NextOrder() shard.OrderID {
	next := ho.core.lastOrder&^shard.MaxShard | ho.core.class
	if next <= ho.core.lastOrder {
		next += shard.MaxShard + 1
	}
	return next
}

// insert appends a new holding to the lists of its session and its object.
func (ho *Holdings) insert(session, object arena.Handle, order shard.OrderID) arena.Handle {
	return ho.enter(session, object, order, true)
}

// Before sorts a session's holdings by order id.
func (ho *Holdings) Before(a, b arena.Handle) bool { return ho.At(a).Order < ho.At(b).Order }

// enter adds a holding behind all others of its object. With last it is also behind all others of its session.
func (ho *Holdings) enter(session, object arena.Handle, order shard.OrderID, last bool) arena.Handle {
	h := ho.Alloc()
	l := ho.At(h)
	s, o := ho.core.Sessions.At(session), ho.core.Objects.At(object)
	l.Session, l.Object, l.Order, l.stamp = session, object, order, ho.core.Snapshots.epoch
	ho.core.Nodes.Charge(ho.core.Objects.Node(o), shard.LinkBytes)
	ho.byObject.Add(&o.holdings, o.lastHolding, false, h)
	o.lastHolding = h
	if last {
		ho.bySession.Add(&s.links, s.lastLink, false, h)
	} else {
		ho.bySession.Insert(&s.links, h, ho)
	}
	if last || s.lastLink == 0 || ho.Before(s.lastLink, h) {
		s.lastLink = h
	}
	s.linkCount++
	o.Held++
	ho.core.Run.Touched++
	if o.indexed || o.Held > walkedLinks {
		ho.addToIndex(o, object, h)
	}
	return h
}

// HasData reports whether a holding has exactly this data.
func (ho *Holdings) HasData(l *Holding, data []byte) bool { return ho.texts.Is(l.data, data) }

// Growth returns how many bytes longer a holding would be with the data.
func (ho *Holdings) Growth(l *Holding, data []byte) int {
	return len(data) - len(ho.texts.Bytes(l.data))
}

// SetData replaces a holding's data.
func (ho *Holdings) SetData(h arena.Handle, data []byte) {
	l := ho.At(h)
	if ho.texts.Is(l.data, data) {
		return
	}
	ho.core.Nodes.Charge(ho.core.Objects.Node(ho.core.Objects.At(l.Object)), ho.Growth(l, data))
	ho.texts.Replace(&l.data, data)
}

// SetState gives a holding its kind state, once. Before a kind changes that state, it calls TouchHolding, and it
// charges its node for any growth.
func (ho *Holdings) SetState(h, body arena.Handle) {
	ho.core.Snapshots.TouchHolding(h)
	l := ho.At(h)
	assert.That(l.State == 0, "a link gets a body once")
	l.State = body
	o := ho.core.Objects.At(l.Object)
	ho.core.Nodes.Charge(ho.core.Objects.Node(o), ho.core.kinds[o.Kind].HoldingSize(body))
}

// keptIndex is the peak entry count up to which an empty index map is reused: maps do not shrink.
const keptIndex = 4096

// removeFromIndex removes a holding from the index.
func (ho *Holdings) removeFromIndex(k linkKey) {
	ho.peak = max(ho.peak, len(ho.index))
	delete(ho.index, k)
	if len(ho.index) == 0 && ho.peak > keptIndex {
		ho.index, ho.peak = make(map[linkKey]arena.Handle), 0
	}
}

// addToIndex adds the holding to the index; for an object that is not indexed yet, it adds all holdings on the object.
func (ho *Holdings) addToIndex(o *Object, object, h arena.Handle) {
	if o.indexed {
		ho.index[linkKey{object, ho.At(h).Session}] = h
		return
	}
	o.indexed = true
	for h := ho.byObject.First(o.holdings); h != 0; h = ho.byObject.Next(h) {
		ho.index[linkKey{object, ho.At(h).Session}] = h
	}
}

// Remove removes a holding from its object and its session.
func (ho *Holdings) Remove(h arena.Handle) {
	l := ho.At(h)
	ho.core.Snapshots.TouchHolding(h)
	s, o := ho.core.Sessions.At(l.Session), ho.core.Objects.At(l.Object)
	if o.indexed {
		ho.removeFromIndex(linkKey{l.Object, l.Session})
	}
	if o.FirstWaiter == h {
		o.FirstWaiter = ho.byObject.Next(h)
	}
	if o.lastHolding == h {
		o.lastHolding = ho.byObject.Prev(h)
	}
	if s.lastLink == h {
		s.lastLink = ho.bySession.Prev(h)
	}
	ho.byObject.Remove(&o.holdings, h)
	ho.bySession.Remove(&s.links, h)
	if !l.Owner {
		ho.setDeadline(h, 0)
		ho.countWaiter(l.Session, -1)
	}
	ho.core.Nodes.Charge(ho.core.Objects.Node(o), -ho.sizeOf(l))
	ho.texts.Free(l.data)
	if l.State != 0 {
		ho.core.kinds[o.Kind].FreeHolding(l.State)
	}
	ho.Release(h)
	ho.core.Run.Left--
	s.linkCount--
	o.Held--
	if o.Held == 0 {
		o.indexed = false
	}
}

// countWaiter updates the waiter counts for the shard and for the session.
func (ho *Holdings) countWaiter(session arena.Handle, by int) {
	ho.waiters += by
	s := ho.core.Sessions.At(session)
	s.waits = uint32(int(s.waits) + by)
}

// Emit emits an effect about a holding's acquire, addressed to its session.
func (ho *Holdings) Emit(k shard.EffectKind, h arena.Handle) *shard.Effect {
	l := ho.At(h)
	o := ho.core.Objects.At(l.Object)
	e := ho.core.Run.Emit(k)
	e.Node, e.Name = ho.core.Objects.Node(o).ID, ho.core.Run.speller.Spell(ho.core.Objects.names.Bytes(o.name))
	e.Session, e.Number, e.Order = ho.core.Sessions.At(l.Session).id, l.Number, l.Order
	return e
}

// Admits returns StatusSuccess if the session may have a further holding now, and otherwise the refusal, with a text
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

// Acquired is the outcome that the session is an owner. The limit is the semaphore limit to report.
func (ho *Holdings) Acquired(h arena.Handle, limit uint64) Outcome {
	return Outcome{Flags: shard.FlagAcquired, Order: ho.At(h).Order, Limit: limit}
}

// Queued is the outcome that the session waits.
func (ho *Holdings) Queued(h arena.Handle, limit uint64) Outcome {
	return Outcome{Flags: shard.FlagQueued, Order: ho.At(h).Order, Limit: limit}
}

// First returns an object's oldest holding, or zero.
func (ho *Holdings) First(o *Object) arena.Handle { return ho.byObject.First(o.holdings) }

// Next returns the next holding on the same object, or zero.
func (ho *Holdings) Next(h arena.Handle) arena.Handle { return ho.byObject.Next(h) }

// NextOfSession returns the next holding of the same session, or zero.
func (ho *Holdings) NextOfSession(h arena.Handle) arena.Handle { return ho.bySession.Next(h) }

// Of returns the holding a session has on an object, or zero; also zero for session zero.
func (ho *Holdings) Of(object, session arena.Handle) arena.Handle {
	if session == 0 {
		return 0
	}
	return ho.Find(ho.core.Objects.At(object), object, session)
}
