package shard

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// A data shard that has lost its majority for good is made anew, as a new group of replicas, from the state of the
// furthest survivor, while the other shards of the cluster go on. So guests live on, with their numbers. Clients of the
// lost replicas may believe in their sessions: the new group calls no session dead before the session's time is up.
// DESIGN.md, section 14, has the argument.

// Renewal says how a shard is made anew.
type Renewal struct {
	// Group is the number of the new group of replicas. It is above the numbers of all earlier groups of the shard.
	Group uint64
	// Jump is by how much order ids, revisions and the counters of objects grow.
	Jump Jump
	// Committed is a machine with only what the survivor knows to be committed, or nil. The renewed machine may have
	// applied more, which the lost replicas may have undone: sessions that end there live on.
	Committed *Machine
	// Counted are the highest counters that other hosts know of, zeros if no host knows any.
	Counted Counters
	// Quiet is for how long nothing is granted at the least: twice the largest grace of a node, and the time of a look,
	// in milliseconds. Owners with longer timeouts are waited for, too, and half of Quiet after their timeouts.
	Quiet uint64
	// Unknown is for how long no session is dead that only the lost replicas may have known: the longest timeout of a
	// session and the largest grace of a node, in milliseconds.
	Unknown uint64
}

// lossJump is by how much the losses of a guest grow: the survivor may not have known all losses that the guest's home
// has heard of.
const lossJump = 1 << 20

// QuietReason is the text for people with which commands are refused while nothing is granted after a renewal.
const QuietReason = "the shard lost its majority and was made anew a moment ago: nothing is granted until all " +
	"clients have had time to notice what they have lost"

// Group is the group of replicas of a shard that was made anew. All is zero for a shard with the group of its birth.
type Group struct {
	Number uint64
	// Began is the time of the shard at the renewal. Nothing is granted before QuietUntil, and before UnknownUntil no
	// session is dead that may have been lost.
	Began, QuietUntil, UnknownUntil uint64
	// Sessions at home with counters up to LastBefore are of earlier groups. Up to LastKnown the group knows what has
	// become of them. Above, sessions that the group does not know may have been lost.
	LastKnown, LastBefore uint64
}

// quietFor returns for how many milliseconds nothing is granted.
func (g *Group) quietFor(now uint64) uint64 { return g.QuietUntil - min(now, g.QuietUntil) }

// mayHaveLost reports whether a session that the group does not know may be alive, because a lost replica has made the
// session.
func (g *Group) mayHaveLost(id SessionID, now uint64) bool {
	return now < g.UnknownUntil && g.LastKnown < id.Counter() && id.Counter() <= g.LastBefore
}

// Group returns the group of replicas of the shard.
func (m *Machine) Group() Group {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.group
}

// Renew makes the machine of a new group of replicas from a machine with all entries that the furthest survivor has, or
// from an empty machine if there is no survivor. The machine may have applied entries that no majority had: a leader
// would commit those too. The machine stays as it is, and must not change meanwhile. The new machine has all objects
// that do not end with their links, and all sessions, without links.
func (m *Machine) Renew(r Renewal) (*Machine, error) {
	if r.Group <= m.group.Number {
		return nil, fmt.Errorf("shard: group %d does not follow group %d", r.Group, m.group.Number)
	}
	next, err := r.Jump.over(r.Counted, m)
	if err != nil {
		return nil, err
	}
	next.level = max(next.level, groupRecorded)
	made := New(Options{Shard: uint64(m.class), History: m.history.limit, Bounds: m.bounds})
	made.slots = m.slots
	made.beginWith(next, m.quota)
	made.group = r.begin(m, next)
	n := renewal{jump: r.Jump.Others, now: next.clock.Now}
	if err := m.renewInto([]*Machine{made}, func(NodeID) bool { return true }, &n); err != nil {
		return nil, err
	}
	made.takeSessions(m, func(*session) bool { return true })
	if r.Committed != nil {
		made.takeSessions(r.Committed, func(s *session) bool { return s.home && made.sessions.find(s.id) == 0 })
	}
	for _, id := range m.dropping {
		if n := made.nodes[id]; n != nil {
			n.dropping = true
			made.dropping = append(made.dropping, id)
		}
	}
	return made, nil
}

// begin returns the group that goes on after the group of a machine.
func (r *Renewal) begin(after *Machine, b beginning) Group {
	now := b.clock.Now
	g := Group{
		Number: r.Group, Began: now, QuietUntil: now + max(r.Quiet, after.longestOwner()+r.Quiet/2),
		UnknownUntil: now + r.Unknown,
		LastBefore:   b.LastSession,
	}
	if r.Committed != nil {
		g.LastKnown = r.Committed.lastSession
	}
	if now < after.group.UnknownUntil {
		g.LastKnown = min(g.LastKnown, after.group.LastKnown) // what the group before may have lost may still be alive
	}
	return g
}

// longestOwner is the longest timeout of the sessions of this home that have a part in an object. A client that reaches
// no host believes in its session for so long.
func (m *Machine) longestOwner() (longest uint64) {
	for h := handle(1); h < m.sessions.used; h++ {
		if s := m.sessions.at(h); s.home && s.linkCount > s.waits {
			longest = max(longest, uint64(s.timeout))
		}
	}
	return longest
}

// takeSessions puts sessions of an earlier machine on record, unless the sessions have ended.
func (m *Machine) takeSessions(from *Machine, takes func(*session) bool) {
	for h := handle(1); h < from.sessions.used; h++ {
		if s := from.sessions.at(h); s.id != 0 && !s.ending && takes(s) {
			m.takeSession(from, s)
		}
	}
}

// takeSession puts a session of the machine before on record, without links. Answers that gave or promised the session
// a part in an object are over. The losses of every guest jump, so that the guest's client looks at what it holds: the
// survivor may not have known all of the guest's links.
func (m *Machine) takeSession(from *Machine, was *session) {
	s := m.sessions.at(m.addSession(was.id, m.restoredNode(from.nodeOf(was).id)))
	client := from.sessions.clientOf(was)
	m.sessions.note(s, &client)
	s.description = m.sessions.texts.keep(from.sessions.texts.bytes(was.description))
	s.created, s.timeout = was.created, was.timeout
	s.key, s.keyLen = was.key, was.keyLen
	s.applied, s.acked, s.numberSpace = was.applied, was.acked, was.numberSpace
	if !s.home {
		s.losses = was.losses + lossJump
	}
	answers := slices.Clone(from.sessions.answersOf(was))
	m.sessions.setAnswers(s, answers)
	for i := range answers {
		a := &answers[i]
		if a.flags&(FlagAcquired|FlagQueued) != 0 {
			a.become(answer{status: protocol.StatusAborted})
		} else if body := from.keptBody(was, a.number); body != "" {
			m.keepBody(s, a.number, body)
		}
	}
	m.charge(m.nodeOf(s), m.sessions.sizeOf(s)-SessionBytes)
}

func (g *Group) append(dst []byte) []byte {
	for _, n := range [...]uint64{g.Number, g.Began, g.QuietUntil, g.UnknownUntil, g.LastKnown, g.LastBefore} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// group reads a group of a shard that has given sessions up to a counter.
func (r *reader) group(lastSession uint64) (g Group) {
	for _, to := range []*uint64{
		&g.Number, &g.Began, &g.QuietUntil, &g.UnknownUntil, &g.LastKnown, &g.LastBefore,
	} {
		*to = r.uvarint()
	}
	r.must(g.LastKnown <= g.LastBefore && g.LastBefore <= lastSession && (g.Number != 0 || g == Group{}),
		"a group of replicas that is not sound")
	return g
}

// Follower is a state machine that applies the log of a shard to a machine which no host serves.
type Follower struct {
	*Machine
	batch   Batch
	effects Effects
}

// Apply implements StateMachine.
func (f *Follower) Apply(entries []Entry) error {
	for i := range entries {
		if err := DecodeBatch(entries[i].Data, &f.batch, f.Level()); err != nil {
			return fmt.Errorf("entry %d: %w", entries[i].Index, err)
		}
		f.effects.Reset()
		f.Machine.Apply(&f.batch, &f.effects)
	}
	return nil
}

// LeadershipChanged implements StateMachine.
func (*Follower) LeadershipChanged(Leadership) {}
