package twin

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// session is one session, home or remote.
type session struct {
	id      shard.SessionID
	node    shard.NodeID
	home    bool
	timeout uint64
	details string
	key     string
	applied uint64
	acked   uint64
	space   uint64 // latest number space drawn
	losses  uint64 // remote session: semaphores deleted while it owned them
	answers map[uint64]shard.AnswerState
	asked   map[uint64]request // by number, if the level has it
	created uint64
	client  shard.ClientState
	slots   map[shard.Slot]bool // in which a numbered command was answered
	seen    int                 // size counted for acknowledged bodies
}

func (s *session) state() shard.SessionState {
	state := shard.SessionState{
		ID:            s.id,
		Node:          s.node,
		Home:          s.home,
		Timeout:       s.timeout,
		Details:       s.details,
		Key:           s.key,
		Applied:       s.applied,
		Acked:         s.acked,
		SequenceSpace: s.space,
		Losses:        s.losses,
		Created:       s.created,
		Client:        s.client,
	}
	state.Slots = slices.Sorted(maps.Keys(s.slots))
	for _, number := range slices.Sorted(maps.Keys(s.answers)) {
		a := s.answers[number]
		if asked, known := s.asked[number]; known {
			a.Asked = asked.sum()
		}
		state.Answers = append(state.Answers, a)
	}
	return state
}

// acknowledge forgets acknowledged answers.
func (s *session) acknowledge(upTo uint64) {
	s.acked = max(s.acked, upTo)
	for number := range s.answers {
		if number <= s.acked {
			if a := s.answers[number]; a.Body != "" {
				s.seen += 32 + len(a.Body)
			}
			delete(s.answers, number)
		}
	}
}

// updateAnswer changes an acquire's cached answer, if still cached.
func (s *session) updateAnswer(l *link, became shard.AnswerState) {
	if a, kept := s.answers[l.number]; kept && a.Order == l.order {
		s.replaceAnswer(a, became)
	}
}

// replaceAnswer replaces a cached answer's outcome.
func (s *session) replaceAnswer(was, became shard.AnswerState) {
	became.Number, became.Slot = was.Number, was.Slot
	s.answers[was.Number] = became
}

// isHome reports whether this shard is the session's home.
func (t *Twin) isHome(id shard.SessionID) bool { return t.slots.Has(id.Slot()) }

func sessionFormIsGood(c *shard.Command) bool {
	return c.Timeout <= uint64(shard.MaxSessionTimeout.Milliseconds()) &&
		len(c.Data) <= shard.MaxSessionDetails &&
		len(c.Key) <= shard.MaxKey &&
		len(c.Client.Address) <= shard.MaxClientAddress &&
		len(c.Client.Name) <= shard.MaxClientName &&
		len(c.Client.Version) <= shard.MaxClientVersion
}

func (t *Twin) sessionCreate(c *shard.Command) {
	var refused protocol.Status
	switch {
	case !sessionFormIsGood(c):
		refused = protocol.StatusBadRequest
	case !t.slots.Has(c.Slot):
		refused = protocol.StatusMoved
	case t.dropping[c.Node]:
		refused = protocol.StatusNotFound
	case len(t.sessionsOf(c.Node)) >= shard.MaxSessionsPerNode:
		refused = protocol.StatusPreconditionFailed
	}
	if refused != protocol.StatusSuccess {
		t.answer(shard.Effect{Status: refused})
		return
	}
	client := len(c.Client.Address) + len(c.Client.Name) + len(c.Client.Version)
	if t.refusedByQuota(c.Node, 0, 256+len(c.Data)+len(c.Key)+client) {
		return
	}
	t.seeNode(c.Node)
	t.lastSession++
	id := shard.NewSessionID(c.Slot, t.lastSession)
	t.sessions[id] = &session{
		id:      id,
		node:    c.Node,
		home:    true,
		timeout: c.Timeout,
		details: string(c.Data),
		key:     string(c.Key),
		answers: make(map[uint64]shard.AnswerState),
		asked:   make(map[uint64]request),
		slots:   make(map[shard.Slot]bool),
		created: c.Time,
		client:  clientOf(c),
	}
	t.answer(shard.Effect{Session: id})
}

func clientOf(c *shard.Command) shard.ClientState {
	return shard.ClientState{Address: string(c.Client.Address), Name: string(c.Client.Name),
		Version: string(c.Client.Version)}
}

// admitRemote records a remote session.
func (t *Twin) admitRemote(id shard.SessionID, node shard.NodeID) *session {
	t.seeNode(node)
	s := &session{
		id: id, node: node, answers: make(map[uint64]shard.AnswerState), asked: make(map[uint64]request),
		slots: make(map[shard.Slot]bool),
	}
	t.sessions[id] = s
	t.emit(shard.Effect{Kind: shard.EffectSessionSeen, Session: id, Node: node})
	return s
}

func (t *Twin) sessionUpdate(c *shard.Command) {
	if !sessionFormIsGood(c) {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	if !t.isHome(c.Session) {
		t.answer(shard.Effect{Status: protocol.StatusMoved})
		return
	}
	s := t.sessions[c.Session]
	if s == nil || t.hasEnded(s) {
		t.answer(shard.Effect{Status: protocol.StatusSessionExpired})
		return
	}
	if s.key != "" && s.key != string(c.Key) {
		t.answer(shard.Effect{Status: protocol.StatusBadSession})
		return
	}
	if t.refusedByQuota(s.node, 0, len(c.Data)-len(s.details)) {
		return
	}
	s.timeout = c.Timeout
	s.details = string(c.Data)
	if said := clientOf(c); said != (shard.ClientState{}) {
		s.client = said
	}
	t.answer(shard.Effect{})
}

// sessionNumbers draws a space of 2^36 numbers.
func (t *Twin) sessionNumbers(c *shard.Command) {
	if !t.isHome(c.Session) {
		t.answer(shard.Effect{Status: protocol.StatusMoved})
		return
	}
	s := t.sessions[c.Session]
	if s == nil || t.hasEnded(s) {
		t.answer(shard.Effect{Status: protocol.StatusSessionExpired})
		return
	}
	if s.key != "" && s.key != string(c.Key) {
		t.answer(shard.Effect{Status: protocol.StatusBadSession})
		return
	}
	next := s.space + 1
	for used := s.applied >> 36; next <= used; {
		next = used + 1
	}
	if t.mistake == DrawsTwice && s.space != 0 {
		next = s.space
	}
	if c.Count > next {
		next = c.Count
	}
	if next >= 1<<28-1 {
		t.answer(shard.Effect{Status: protocol.StatusPreconditionFailed})
		return
	}
	s.space = next
	t.answer(shard.Effect{Number: next << 36})
}

func (t *Twin) sessionEnd(c *shard.Command) {
	if !t.isHome(c.Session) {
		t.answer(shard.Effect{Status: protocol.StatusMoved})
		return
	}
	s := t.sessions[c.Session]
	if s == nil || t.hasEnded(s) {
		t.answer(shard.Effect{Status: protocol.StatusSessionExpired})
		return
	}
	reason := protocol.EndStopped
	if c.Flags&shard.FlagOperator != 0 {
		reason = protocol.EndDestroyed
	}
	t.end(s, reason)
	t.answer(shard.Effect{})
}

func (t *Twin) sessionsExpire(c *shard.Command) {
	if len(c.Sessions) > shard.MaxList {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	if c.Term != t.term || c.Count != t.slotChanges {
		t.answer(shard.Effect{Status: protocol.StatusStale})
		return
	}
	for _, id := range c.Sessions {
		if t.left <= 0 {
			t.answerMore(true)
			return
		}
		if s := t.sessions[id]; s != nil && s.home && !t.hasEnded(s) {
			t.end(s, protocol.EndExpired)
		}
	}
	t.answerMore(false)
}

func (t *Twin) sessionsForget(c *shard.Command) {
	if len(c.Sessions) > shard.MaxList {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	for _, id := range c.Sessions {
		if t.left <= 0 {
			t.answerMore(true)
			return
		}
		if s := t.sessions[id]; s != nil && !s.home && !t.hasEnded(s) {
			t.end(s, protocol.EndUnknown)
		}
	}
	t.answerMore(false)
}

// end ends the session.
func (t *Twin) end(s *session, reason protocol.EndReason) {
	t.emit(shard.Effect{Kind: shard.EffectSessionEnded, Session: s.id, Node: s.node, End: reason})
	t.releaseAll(s)
}

// releaseAll removes an ended session's links, by order id, and then the session.
func (t *Twin) releaseAll(s *session) {
	type holding struct {
		sem *semaphore
		l   *link
	}
	var all []holding
	for _, sem := range t.semaphores {
		if l := sem.linkOf(s.id); l != nil {
			all = append(all, holding{sem, l})
		}
	}
	slices.SortFunc(all, func(a, b holding) int {
		if a.l.order < b.l.order {
			return -1
		}
		return 1
	})
	for _, h := range all {
		if t.left <= 0 {
			t.keepPending(pending{session: s})
			return
		}
		wasHead := h.sem.head() == h.l
		t.unlink(h.sem, h.l)
		if !h.sem.deleting {
			t.afterRemoval(h.sem, h.l.owner, wasHead)
		} else if len(h.sem.links) == 0 {
			t.removeSemaphore(h.sem)
		}
	}
	t.left--
	t.unpend(pending{session: s})
	delete(t.sessions, s.id)
}
