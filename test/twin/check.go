package twin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// Check returns an error with the first violated rule, if a machine that serves the slots cannot be in the state.
func Check(state shard.State, slots shard.SlotSet) error {
	c := checker{
		state:     &state,
		slots:     slots,
		sessions:  make(map[shard.SessionID]*shard.SessionState),
		orders:    make(map[shard.OrderID]string),
		revisions: make(map[shard.Revision]string),
		numbers:   make(map[acquireNumber]linkAt),
		inhabited: make(map[shard.NodeID]bool),
	}
	if state.TimeBase > state.Now {
		return fmt.Errorf("the term began at %d, and it is %d", state.TimeBase, state.Now)
	}
	if err := c.checkSessions(); err != nil {
		return err
	}
	if err := c.checkSemaphores(); err != nil {
		return err
	}
	if err := c.checkAnswers(); err != nil {
		return err
	}
	return c.checkNodes()
}

// checker holds data collected by one rule for another.
type checker struct {
	state     *shard.State
	slots     shard.SlotSet
	sessions  map[shard.SessionID]*shard.SessionState
	orders    map[shard.OrderID]string
	revisions map[shard.Revision]string
	numbers   map[acquireNumber]linkAt
	inhabited map[shard.NodeID]bool
}

// acquireNumber identifies an acquire. If slots have moved, a session's number may have been used in two slots; else
// the slot is 0.
type acquireNumber struct {
	session shard.SessionID
	number  uint64
	slot    shard.Slot
}

// acquire returns the key for an acquire.
func (c *checker) acquire(session shard.SessionID, number uint64, slot shard.Slot) acquireNumber {
	if c.state.SlotChanges == 0 {
		slot = 0
	}
	return acquireNumber{session, number, slot}
}

// pending reports whether work on the semaphore is left for later commands.
func (c *checker) pending(sem *shard.SemaphoreState) bool {
	return slices.ContainsFunc(c.state.Pending, func(p shard.PendingState) bool {
		return p.Session == 0 && p.Node == sem.Node && p.Name == sem.Name
	})
}

// linkAt is a link with its location, for messages.
type linkAt struct {
	*shard.LinkState
	where string
}

func (c *checker) checkSessions() error {
	counters := make(map[uint64]bool)
	var last shard.SessionID
	for i := range c.state.Sessions {
		s := &c.state.Sessions[i]
		switch {
		case i > 0 && s.ID <= last:
			return fmt.Errorf("session %v: out of order", s.ID)
		case s.Home != c.slots.Has(s.ID.Slot()):
			return fmt.Errorf("session %v: home is %v", s.ID, s.Home)
		case s.Home && (s.ID.Counter() == 0 || s.ID.Counter() > c.state.LastSession):
			return fmt.Errorf("session %v: counter beyond the last, %d", s.ID, c.state.LastSession)
		case s.Home && counters[s.ID.Counter()] && c.state.SlotChanges == 0:
			return fmt.Errorf("session %v: counter given out twice", s.ID)
		case !s.Home && (s.Timeout != 0 || s.Details != "" || s.Key != ""):
			return fmt.Errorf("session %v: a remote session with timeout, details or key", s.ID)
		case !s.Home && (s.Created != 0 || s.SequenceSpace != 0 || s.Client != shard.ClientState{}):
			return fmt.Errorf("session %v: a remote session with a client", s.ID)
		case s.Losses != 0 && s.Home:
			return fmt.Errorf("session %v: %d losses at home", s.ID, s.Losses)
		case s.Timeout > uint64(shard.MaxSessionTimeout.Milliseconds()):
			return fmt.Errorf("session %v: timeout %d ms", s.ID, s.Timeout)
		case len(s.Details) > shard.MaxSessionDetails || len(s.Key) > shard.MaxKey:
			return fmt.Errorf("session %v: details or key too long", s.ID)
		case s.Acked > s.Applied || s.Acked == s.Applied && s.Acked != 0 && c.state.Group.Number == 0:
			// A command refused during the quiet time after a rebuild acknowledges, but is not applied.
			return fmt.Errorf("session %v: acknowledged %d, applied %d", s.ID, s.Acked, s.Applied)
		case !slices.IsSorted(s.Slots) || len(slices.Compact(slices.Clone(s.Slots))) != len(s.Slots):
			return fmt.Errorf("session %v: slots %v out of order", s.ID, s.Slots)
		case slices.ContainsFunc(s.Slots, func(slot shard.Slot) bool { return !c.slots.Has(slot) }):
			return fmt.Errorf("session %v: slots %v are not all owned", s.ID, s.Slots)
		case len(s.Answers) > shard.MaxUnacknowledged && c.state.SlotChanges == 0:
			return fmt.Errorf("session %v: keeps %d answers", s.ID, len(s.Answers))
		}
		if s.Home {
			counters[s.ID.Counter()] = true
		}
		last = s.ID
		c.sessions[s.ID] = s
		c.inhabited[s.Node] = true
	}
	return nil
}

func (c *checker) checkSemaphores() error {
	for i := range c.state.Semaphores {
		sem := &c.state.Semaphores[i]
		where := fmt.Sprintf("semaphore %d/%s", sem.Node, quote(sem.Name))
		if i > 0 {
			before := &c.state.Semaphores[i-1]
			if before.Node > sem.Node || before.Node == sem.Node && strings.Compare(before.Name, sem.Name) >= 0 {
				return fmt.Errorf("%s: out of order", where)
			}
		}
		switch {
		case len(sem.Name) < 1 || len(sem.Name) > shard.MaxName:
			return fmt.Errorf("%s: name of %d bytes", where, len(sem.Name))
		case !c.slots.Has(shard.SlotOf(sem.Node, []byte(sem.Name))):
			return fmt.Errorf("%s: slot is not served here", where)
		case len(sem.Data) > shard.MaxData:
			return fmt.Errorf("%s: data of %d bytes", where, len(sem.Data))
		case sem.Limit == 0:
			return fmt.Errorf("%s: limit 0", where)
		case sem.Ephemeral && sem.Limit != shard.Forever:
			return fmt.Errorf("%s: ephemeral with limit %d", where, sem.Limit)
		case sem.Ephemeral && !c.pending(sem) && (len(sem.Links) == 0 || !sem.Links[0].Owner):
			return fmt.Errorf("%s: ephemeral without an owner", where)
		case sem.Revision == 0 || sem.Revision > c.state.LastRevision:
			return fmt.Errorf("%s: revision %d, last is %d", where, sem.Revision, c.state.LastRevision)
		case c.revisions[sem.Revision] != "" && c.state.SlotChanges == 0:
			return fmt.Errorf("%s: revision %d is also that of %s", where, sem.Revision, c.revisions[sem.Revision])
		}
		c.revisions[sem.Revision] = where
		c.inhabited[sem.Node] = true
		if err := c.checkLinks(sem, where); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) checkLinks(sem *shard.SemaphoreState, where string) error {
	most := sem.Limit // order ids of grants, and of wait starts
	if !sem.Ephemeral {
		most = shard.Forever
	}
	held, slot := uint64(0), shard.SlotOf(sem.Node, []byte(sem.Name))
	seen := make(map[shard.SessionID]bool)
	waiting := false
	for i := range sem.Links {
		l := &sem.Links[i]
		s := c.sessions[l.Session]
		switch {
		case s == nil:
			return fmt.Errorf("%s: link of unknown session %v", where, l.Session)
		case s.Node != sem.Node:
			return fmt.Errorf("%s: link of session %v of node %d", where, l.Session, s.Node)
		case seen[l.Session]:
			return fmt.Errorf("%s: two links of session %v", where, l.Session)
		case i > 0 && l.Order <= sem.Links[i-1].Order:
			return fmt.Errorf("%s: order %d out of order", where, l.Order)
		case l.Order == 0 || l.Order > c.state.LastOrder:
			return fmt.Errorf("%s: order %d, last is %d", where, l.Order, c.state.LastOrder)
		case c.orders[l.Order] != "":
			return fmt.Errorf("%s: order %d is also in %s", where, l.Order, c.orders[l.Order])
		case l.Count == 0 || l.Count > most:
			return fmt.Errorf("%s: order %d counts %d of %d", where, l.Order, l.Count, sem.Limit)
		case len(l.Data) > shard.MaxData:
			return fmt.Errorf("%s: order %d: data of %d bytes", where, l.Order, len(l.Data))
		case l.Timeout > uint64(shard.MaxAcquireTimeout.Milliseconds()) && l.Timeout != shard.Forever:
			return fmt.Errorf("%s: order %d: timeout %d ms", where, l.Order, l.Timeout)
		case l.Owner && waiting:
			return fmt.Errorf("%s: owner %d behind a waiter", where, l.Order)
		case l.Owner && l.Count > most-held:
			return fmt.Errorf("%s: owners hold more than the limit, %d", where, sem.Limit)
		case !l.Owner && !waiting && l.Count > sem.Limit && !c.pending(sem):
			return fmt.Errorf("%s: head waiter %d counts %d of %d", where, l.Order, l.Count, sem.Limit)
		case !l.Owner && !waiting && held <= sem.Limit && l.Count <= sem.Limit-held && !c.pending(sem):
			return fmt.Errorf("%s: head waiter %d fits beside %d of %d and was not granted", where, l.Order, held,
				sem.Limit)
		case l.Deadline != 0 && (l.Owner || l.Timeout == shard.Forever):
			return fmt.Errorf("%s: order %d has a deadline and waits for no time", where, l.Order)
		case l.Deadline == 0 && !l.Owner && l.Timeout != shard.Forever && !c.pending(sem):
			return fmt.Errorf("%s: waiter %d has no deadline", where, l.Order)
		case !l.Owner && l.Timeout == 0:
			return fmt.Errorf("%s: waiter %d with timeout 0", where, l.Order)
		case l.Number == 0 || l.Number > s.Applied:
			return fmt.Errorf("%s: order %d: number %d, applied %d", where, l.Order, l.Number, s.Applied)
		}
		if other, twice := c.numbers[c.acquire(l.Session, l.Number, slot)]; twice {
			return fmt.Errorf("%s: order %d: number %d is also in %s", where, l.Order, l.Number, other.where)
		}
		if l.Owner {
			held += l.Count
		} else {
			waiting = true
		}
		seen[l.Session] = true
		c.orders[l.Order] = where
		c.numbers[c.acquire(l.Session, l.Number, slot)] = linkAt{l, where}
	}
	return nil
}

// checkAnswers checks that cached answers agree with their links.
func (c *checker) checkAnswers() error {
	for i := range c.state.Sessions {
		s := &c.state.Sessions[i]
		if slices.Contains(c.state.Pending, shard.PendingState{Session: s.ID}) {
			continue // ended, so its answers are unused
		}
		for j, a := range s.Answers {
			l, linked := c.numbers[c.acquire(s.ID, a.Number, shard.Slot(a.Slot-1))]
			switch {
			case j > 0 && a.Number <= s.Answers[j-1].Number:
				return fmt.Errorf("session %v: answer %d out of order", s.ID, a.Number)
			case a.Number <= s.Acked || a.Number > s.Applied:
				return fmt.Errorf("session %v: answer %d, acknowledged %d, applied %d", s.ID, a.Number, s.Acked,
					s.Applied)
			case a.Flags&^keptFlags != 0 && a.Flags != answerWithExchange:
				return fmt.Errorf("session %v: answer %d keeps flags %b", s.ID, a.Number, a.Flags)
			case a.Flags&shard.FlagQueued != 0 && (!linked || l.Owner || l.Order != a.Order):
				return fmt.Errorf("session %v: answer %d says queued as %d and is not", s.ID, a.Number, a.Order)
			case linked && !l.Owner && a.Flags != shard.FlagQueued:
				return fmt.Errorf("session %v: answer %d does not say that it waits", s.ID, a.Number)
			case linked && l.Owner && (a.Flags != shard.FlagAcquired || l.Order != a.Order):
				return fmt.Errorf("session %v: answer %d does not say that it owns as %d", s.ID, a.Number, l.Order)
			}
		}
	}
	return nil
}

func (c *checker) checkNodes() error {
	for i, n := range c.state.Nodes {
		if i > 0 && n.ID <= c.state.Nodes[i-1].ID {
			return fmt.Errorf("node %d: out of order", n.ID)
		}
		if !n.Dropping && !c.inhabited[n.ID] && n.ObjectLimit == 0 && n.ByteLimit == 0 {
			return fmt.Errorf("node %d: known and empty", n.ID)
		}
	}
	for id := range c.inhabited {
		if !slices.ContainsFunc(c.state.Nodes, func(n shard.NodeState) bool { return n.ID == id }) {
			return fmt.Errorf("node %d: has something and is not known", id)
		}
	}
	return nil
}
