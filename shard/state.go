package shard

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// State is everything that a machine holds, written out plainly: for comparing replicas, for tests, and for tools
// that inspect files on disk. Lists are sorted, so that equal machines give equal states.
type State struct {
	LastOrder    OrderID
	LastRevision Revision
	LastSession  uint64
	Term         uint64
	Now          uint64 // the time of the shard in milliseconds, and the time when the term began
	TimeBase     uint64
	Level        level.Level
	Nodes        []NodeState      // by id
	Sessions     []SessionState   // by id
	Semaphores   []SemaphoreState // by node, then name
	Objects      []ObjectState    // of kinds other than semaphores: by node, then name
	Pending      []PendingState   // in the order of continuation
	ObjectLimit  uint64           // quotas of the shard as set: 0 means the default
	ByteLimit    uint64
	Group        Group // zeros before the first renewal of the shard
}

// State writes out the whole state of the machine under the read lock, however long the state is: State is meant for
// tests and tools, not for a machine at work.
func (m *Machine) State() State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := State{
		LastOrder: m.lastOrder, LastRevision: m.lastRevision,
		LastSession: m.lastSession, Term: m.clock.Term, Now: m.clock.Now, TimeBase: m.clock.Base, Level: m.level,
		Pending:     m.pendingState(),
		ObjectLimit: m.quota.set.Objects, ByteLimit: m.quota.set.Bytes,
		Group: m.group,
	}
	for _, n := range m.nodes {
		s.Nodes = append(s.Nodes, NodeState{
			ID: n.id, Dropping: n.dropping, ObjectLimit: n.quota.set.Objects, ByteLimit: n.quota.set.Bytes,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b NodeState) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range s.Nodes {
		for h := m.sessions.byID.First(m.nodes[n.ID].ids); h != 0; h = m.sessions.byID.Next(h) {
			s.Sessions = append(s.Sessions, m.sessionState(m.sessions.At(h)))
		}
		for h := m.objects.byName.First(m.nodes[n.ID].names); h != 0; h = m.objects.byName.Next(h) {
			m.kinds[m.objects.At(h).kind].state(m, h, &s)
		}
	}
	slices.SortFunc(s.Sessions, func(a, b SessionState) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// PendingState is unfinished work of commands: an ended session that still has links, or a semaphore. The semaphore
// is deleted and still has links, or has waiters that fit.
type PendingState struct {
	Session  SessionID // zero for a semaphore
	Node     NodeID
	Name     string
	Deleting bool
}

// NodeState is a node that the shard knows.
type NodeState struct {
	ID          NodeID
	Dropping    bool
	ObjectLimit uint64 // quotas of the node as set: 0 means the default
	ByteLimit   uint64
}

// SessionState is one session, at home or a guest.
type SessionState struct {
	ID          SessionID
	Node        NodeID
	Home        bool
	Timeout     uint64 // milliseconds; 0 for guests, as are the next two
	Description string
	Key         string
	Applied     uint64 // highest number applied
	Acked       uint64
	NumberSpace uint64        // the latest space of numbers; 0 without a space, and for guests
	Losses      uint64        // how many semaphores were deleted under a guest that owned them
	Answers     []AnswerState // by number
	Created     uint64        // wall clock, milliseconds since 1970; 0 if unknown, and for guests
	Client      ClientState   // empty for guests
}

// ClientState describes a session's client.
type ClientState struct {
	Address string
	Name    string
	Version string
}

// AnswerState is an answer that is kept until the session acknowledges the answer.
type AnswerState struct {
	Number   uint64
	Status   protocol.Status
	Flags    EffectFlags
	Abort    protocol.AbortReason
	Order    OrderID
	Revision Revision
	Quota    Quota // the reason of a refusal
	Body     string
	Asked    uint64 // hash of the request; 0 if unknown
	Slot     uint16 // the slot of the object plus one; 0 if unknown
}

// ObjectState is one object of a kind other than semaphores, with the links of its sessions.
type ObjectState struct {
	Node     NodeID
	Name     string
	Kind     ObjectKind
	Revision Revision
	Body     string      // the kind's state of the object, in the kind's own words
	Links    []LinkState // by order id
}

// objectState writes out the common part of all kinds. The kind gives the body of the object and of its links.
func (m *Machine) objectState(object arena.Handle, body string, ofLink func(l *link) string) ObjectState {
	o := m.objects.At(object)
	out := ObjectState{
		Node: m.objects.node(o).id, Name: m.objects.name(o), Kind: o.kind, Revision: o.revision, Body: body,
	}
	for h := m.links.byObject.First(o.links); h != 0; h = m.links.byObject.Next(h) {
		l := m.links.At(h)
		state := m.linkState(l)
		state.Body = ofLink(l)
		out.Links = append(out.Links, state)
	}
	return out
}

func (m *Machine) linkState(l *link) LinkState {
	return LinkState{
		Session: m.sessions.At(l.session).id, Order: l.order, Count: l.count, Data: m.links.texts.String(l.data),
		Timeout: l.timeout.millis(), Number: l.number, Owner: l.owner, Since: l.since,
	}
}

// LinkState is the part of one session in one object.
type LinkState struct {
	Session SessionID
	Order   OrderID
	Count   uint64
	Data    string
	Timeout uint64 // of the waiting or the last waiting acquire: milliseconds or Forever
	Number  uint64 // of the latest acquire
	Owner   bool
	Body    string // the kind's state of the link, in the kind's own words
	// Since is when the link became an owner or a waiter: wall clock, milliseconds since 1970; 0 if unknown
	Since uint64
}

func (m *Machine) sessionState(s *session) SessionState {
	client := m.sessions.clientOf(s)
	out := SessionState{
		ID: s.id, Node: m.nodeOf(s).id, Home: s.home, Timeout: uint64(s.timeout),
		Description: m.sessions.texts.String(s.description), Key: string(s.key[:s.keyLen]),
		Applied: s.applied, Acked: s.acked, NumberSpace: s.numberSpace, Losses: s.losses,
		Created: s.created, Client: client.state(),
	}
	for _, a := range m.sessions.answersOf(s) {
		out.Answers = append(out.Answers, AnswerState{
			Number: a.number, Status: a.status, Flags: a.flags, Abort: a.abort,
			Order: a.order, Revision: a.revision, Quota: a.quota,
			Body: m.keptBody(s, a.number), Asked: a.asked, Slot: uint16(a.slot),
		})
	}
	return out
}
