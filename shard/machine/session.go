package machine

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// session is a client's lease in one node. The home shard has the complete session; for a remote session, a shard
// stores only its own holdings and answers.
type session struct {
	id          shard.SessionID
	node        arena.Handle // see Sessions.Node
	details     arena.Text   // in the session text store
	client      clientTexts  // as reported in the client's last command
	created     uint64       // wall clock, milliseconds; informational
	applied     uint64       // highest number applied
	acked       uint64       // the session has seen the answers up to here
	numberSpace uint64       // the latest number space, 0 for none; at home only
	losses      uint64       // how many semaphores were deleted under the session; remote sessions only
	answers     arena.Handle // in the answer slab; zero without answers
	bodies      arena.Handle // answer bodies; zero if no answer has a body
	timeout     uint32       // milliseconds
	links       arena.Handle // root of its holdings by order id
	lastLink    arena.Handle
	linkCount   uint32
	waits       uint32 // how many of the holdings are waiting
	stamp       uint32
	home        bool
	ending      bool       // ended, with some holdings pending
	noted       slotNumber // a slot in its set, so that most commands need not look into the set
	keyLen      uint8
	key         [shard.MaxKey]byte
}

// Sessions finds sessions by id and by node.
type Sessions struct {
	core *Core
	arena.Slab[session]
	slots []arena.Table
	byID  arena.Forest
	texts arena.Texts
	kept  arena.Slab[[]answer]
	sets  slotSets // in which slots the sessions have used numbers

	last   uint64 // counter of the newest session with its home here
	remote int    // remote sessions
}

// clientTexts are a client's address, name and version, without pointers.
type clientTexts [3]arena.Text

// maxLastSession is the highest last session counter to which sessions of other shards lead. No shard gets there by its
// own sessions.
const maxLastSession = shard.MaxSessionCounter - 1<<40

func newSessions() Sessions {
	return Sessions{slots: make([]arena.Table, shard.Slots), texts: arena.NewTexts()}
}

// Node returns a session's node.
func (se *Sessions) Node(s *session) *Node { return *se.core.Objects.nodes.At(s.node) }

// note stores the address, name and version of a session's client.
func (se *Sessions) note(s *session, c *shard.ClientRef) {
	for i, b := range [...][]byte{c.Address, c.Name, c.Version} {
		se.texts.Replace(&s.client[i], b)
	}
}

// clientOf returns a session's client. Its texts may be used only while the machine's lock is held.
func (se *Sessions) clientOf(s *session) shard.ClientRef {
	return shard.ClientRef{
		Address: se.texts.Bytes(s.client[0]), Name: se.texts.Bytes(s.client[1]), Version: se.texts.Bytes(s.client[2]),
	}
}

func sessionHash(id shard.SessionID) uint32 { return uint32(arena.Mix(uint64(id)) >> 32) }

// Find returns the session, or zero for an unknown session.
func (se *Sessions) Find(id shard.SessionID) arena.Handle {
	t, hash := &se.slots[id.Slot()], sessionHash(id)
	h, at := t.First(hash)
	for h != 0 && se.At(h).id != id {
		h, at = t.Next(hash, at)
	}
	return h
}

// Alive returns the session, or zero for a session that is unknown or has ended.
func (se *Sessions) Alive(id shard.SessionID) arena.Handle {
	if h := se.Find(id); h != 0 && !se.At(h).ending {
		return h
	}
	return 0
}

// ID returns a session's id.
func (se *Sessions) ID(h arena.Handle) shard.SessionID { return se.At(h).id }

// Ended reports whether a session has ended and is forgotten after its last holding.
func (se *Sessions) Ended(h arena.Handle) bool { return se.At(h).ending }

// Applied returns the highest session number the shard has applied.
func (se *Sessions) Applied(h arena.Handle) uint64 { return se.At(h).applied }

// Before sorts a node's sessions by id.
func (se *Sessions) Before(a, b arena.Handle) bool { return se.At(a).id < se.At(b).id }

// add records a session.
func (se *Sessions) add(id shard.SessionID, n *Node) arena.Handle {
	h := se.Alloc()
	se.sets.words.Cover(h)
	s := se.At(h)
	s.id, s.node, s.stamp = id, n.handle, se.core.Snapshots.epoch
	if s.home = se.core.slots.Has(id.Slot()); !s.home {
		se.remote++
	}
	se.slots[id.Slot()].Insert(sessionHash(id), h)
	se.byID.Insert(&n.ids, h, se)
	n.sessions++
	se.core.Nodes.Charge(n, shard.SessionBytes)
	return h
}

// drop removes a session that has no holdings.
func (se *Sessions) drop(h arena.Handle) {
	se.core.Snapshots.touchSession(h)
	s := se.At(h)
	assert.That(s.linkCount == 0, "a session goes with its links")
	if !s.home {
		se.remote--
	}
	if s.ending {
		se.core.Pending.remove(pendingWork{session: h})
	}
	se.core.Run.Left--
	n := se.Node(s)
	se.core.Nodes.Charge(n, -se.size(h))
	se.sets.set(h, nil)
	se.core.Answers.dropBodies(s)
	se.texts.Free(s.details)
	se.note(s, &shard.ClientRef{})
	se.setAnswers(s, nil)
	se.slots[s.id.Slot()].Remove(sessionHash(s.id), h)
	se.byID.Remove(&n.ids, h)
	se.Release(h)
	n.sessions--
	se.core.Nodes.forgetIfEmpty(n)
}

// end ends a session, for every client and every shard.
func (se *Sessions) end(h arena.Handle, reason protocol.EndReason) {
	s := se.At(h)
	e := se.core.Run.Emit(shard.EffectSessionEnded)
	e.Session, e.Node, e.End = s.id, se.Node(s).ID, reason
	se.releaseHoldings(h)
}

// releaseHoldings releases an ended session's holdings in this shard, in order-id order, and removes the session after
// the last holding.
func (se *Sessions) releaseHoldings(h arena.Handle) {
	s := se.At(h)
	for s.linkCount > 0 {
		if se.core.Run.Left <= 0 {
			se.core.Pending.deferSession(h)
			return
		}
		link := se.core.Holdings.bySession.First(s.links)
		object := se.core.Holdings.At(link).Object
		se.core.kinds[se.core.Objects.At(object).Kind].ReleaseHolding(se.core, link)
	}
	se.drop(h)
}

func validSession(c *shard.Command) bool {
	return c.Timeout <= uint64(shard.MaxSessionTimeout/time.Millisecond) &&
		len(c.Data) <= shard.MaxSessionDetails && len(c.Key) <= shard.MaxKey &&
		c.Client.Fits()
}

func (se *Sessions) create(c *shard.Command) Outcome {
	n := se.core.Nodes.byID[c.Node]
	switch {
	case !validSession(c):
		return Outcome{Status: protocol.StatusBadRequest}
	case !se.core.slots.Has(c.Slot):
		return Outcome{Status: protocol.StatusMoved}
	case n != nil && n.Dropping:
		return Outcome{Status: protocol.StatusNotFound}
	case n != nil && n.sessions >= shard.MaxSessionsPerNode:
		return Outcome{Status: protocol.StatusPreconditionFailed}
	}
	size := shard.SessionBytes + len(c.Data) + len(c.Key) + c.Client.Size()
	if q := se.core.Nodes.Exceeded(n, 0, size); q != shard.QuotaNone {
		return OverQuota(q)
	}
	se.last++
	id := shard.NewSessionID(c.Slot, se.last)
	h := se.add(id, se.core.Nodes.see(c.Node))
	s := se.At(h)
	se.describe(s, c)
	s.keyLen = uint8(copy(s.key[:], c.Key))
	s.created = c.Time
	se.core.Nodes.Charge(se.Node(s), se.sizeOf(h)-shard.SessionBytes)
	se.core.Run.PlaceResult().Session = id
	return Outcome{}
}

// describe records what the session's client reports.
func (se *Sessions) describe(s *session, c *shard.Command) {
	s.timeout = uint32(c.Timeout)
	se.texts.Replace(&s.details, c.Data)
	if !c.Client.IsZero() {
		se.note(s, &c.Client)
	}
}

func (se *Sessions) update(c *shard.Command) Outcome {
	if !validSession(c) {
		return Outcome{Status: protocol.StatusBadRequest}
	}
	h, refusal := se.atHome(c)
	if h == 0 {
		return Outcome{Status: refusal}
	}
	s := se.At(h)
	growth := len(c.Data) - len(se.texts.Bytes(s.details))
	if q := se.core.Nodes.Exceeded(se.Node(s), 0, growth); q != shard.QuotaNone {
		return OverQuota(q)
	}
	se.core.Snapshots.touchSession(h)
	before := se.sizeOf(h)
	se.describe(s, c)
	se.core.Nodes.Charge(se.Node(s), se.sizeOf(h)-before)
	return Outcome{}
}

func (se *Sessions) endOne(c *shard.Command) Outcome {
	if !se.core.slots.Has(c.Session.Slot()) {
		return Outcome{Status: protocol.StatusMoved}
	}
	h := se.Alive(c.Session)
	if h == 0 {
		return Outcome{Status: protocol.StatusSessionExpired}
	}
	reason := protocol.EndStopped
	if c.Flags&shard.FlagOperator != 0 {
		reason = protocol.EndDestroyed
	}
	se.end(h, reason)
	return Outcome{}
}
