package twin

import (
	"cmp"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// This file moves slots as shard/slots/DESIGN.md says. The twin does not save content in bytes: twins that exchange
// slots share the contents, by slot and generation.

// slotRecord is a slot's state in the shard.
type slotRecord struct {
	state      string
	generation uint64
	to, seen   uint64
	content    *content // while sealed or transferred
}

// content is a slot's content outside of a shard.
type content struct {
	now        uint64 // shard time of the seal
	counters   shard.Counters
	sessions   []*session
	semaphores []*semaphore
	homeIs     map[shard.SessionID]bool
	holds      map[shard.SessionID]bool
	replaced   map[shard.SessionID]bool            // sessions whose id another node's session has
	instead    map[shard.SessionID]shard.SessionID // sessions that release the holdings of others
}

// attempt identifies a content.
type attempt struct {
	slot       shard.Slot
	generation uint64
}

// Exchanges lets two twins exchange slots.
func (t *Twin) Exchanges(with *Twin) { with.offers = t.offers }

// Owned returns the slots the shard owns.
func (t *Twin) Owned() shard.SlotSet { return t.slots }

func (t *Twin) slotRecord(slot shard.Slot) slotRecord {
	if x := t.moved[slot]; x != nil {
		return *x
	}
	if t.slots.Has(slot) {
		return slotRecord{state: "owned"}
	}
	return slotRecord{state: "none"}
}

func (t *Twin) slotStates() (list []shard.SlotState) {
	for _, slot := range slices.Sorted(maps.Keys(t.moved)) {
		x := t.moved[slot]
		list = append(list, shard.SlotState{
			Slot: slot, State: x.state, Generation: x.generation, To: x.to, Seen: x.seen,
		})
	}
	return list
}

// slotCommand carries out a command on a slot.
func (t *Twin) slotCommand(c *shard.Command) {
	if c.Slot >= shard.Slots {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	x := t.slotRecord(c.Slot)
	result, changes := len(t.out.List), t.slotChanges
	status := protocol.StatusStale
	switch c.Kind {
	case shard.CmdSlotSeal:
		status = t.seal(c, x)
	case shard.CmdSlotOpen:
		status = t.open(c, x)
	case shard.CmdSlotRefuse:
		if status = t.ended(c, x); status == protocol.StatusStale && t.waits() {
			status = protocol.StatusOverloaded
		} else if status == protocol.StatusStale {
			status = t.refuse(c, x)
		}
	case shard.CmdSlotCancel:
		switch {
		case x.state == "owned" && x.generation == c.Count+1:
			status = protocol.StatusSuccess
		case x.state == "sealed" && x.generation == c.Count:
			t.own(c.Slot, c.Count+1)
			t.merge(c.Slot, x.content)
			status = protocol.StatusSuccess
		case x.state == "owned" && x.generation < c.Count && x.seen <= c.Count:
			t.own(c.Slot, c.Count+1)
			status = protocol.StatusSuccess
		}
	case shard.CmdSlotRelease:
		status = t.release(c, x)
	case shard.CmdSlotReturn:
		switch {
		case x.state == "owned" && x.generation == c.Number:
			status = protocol.StatusSuccess
		case x.state == "transferred" && x.generation == c.Count && c.Number > x.seen:
			t.own(c.Slot, c.Number)
			t.merge(c.Slot, x.content)
			status = protocol.StatusSuccess
		}
	case shard.CmdSlotSupersede:
		if c.Count > x.generation && c.Count >= x.seen && c.Number != t.shard && c.Number != 0 {
			if x.state == "owned" {
				t.takeOut(c.Slot)
			}
			t.disown(c.Slot, slotRecord{state: "released", generation: c.Count, to: c.Number, seen: c.Count})
			status = protocol.StatusSuccess
		}
	}
	effects := slices.Clone(t.out.List[result:])
	if t.slotChanges != changes {
		is := func(e shard.Effect) bool { return e.Kind == shard.EffectSlotLeft || e.Kind == shard.EffectSlotArrived }
		at := slices.IndexFunc(effects, is)
		if at < 0 {
			at, effects = len(effects), append(effects, shard.Effect{
				Kind: shard.EffectSlotsChanged, Op: t.op, Slot: c.Slot,
			})
		}
		effects[at].Number = t.slotChanges
	}
	t.out.List = t.out.List[:result]
	t.answer(shard.Effect{Status: status})
	t.out.List = append(t.out.List, effects...)
}

func (t *Twin) own(slot shard.Slot, generation uint64) {
	t.moved[slot] = &slotRecord{state: "owned", generation: generation, seen: max(t.slotRecord(slot).seen, generation)}
	t.slots.Add(slot, slot)
	t.slotChanges++
}

func (t *Twin) disown(slot shard.Slot, x slotRecord) {
	t.moved[slot] = &x
	t.slots.Remove(slot)
	t.slotChanges++
}

func (t *Twin) seal(c *shard.Command, x slotRecord) protocol.Status {
	switch {
	case x.state == "sealed" && x.generation == c.Count && x.to == c.Number:
		return protocol.StatusSuccess
	case x.state != "owned", c.Count <= x.generation, c.Count <= x.seen, c.Number == t.shard, c.Number == 0:
		return protocol.StatusStale
	case c.Level != t.level, t.waits(), t.isBusy(c.Slot):
		return protocol.StatusOverloaded
	}
	out := t.takeOut(c.Slot)
	t.offers[attempt{c.Slot, c.Count}] = out
	t.disown(c.Slot, slotRecord{state: "sealed", generation: c.Count, to: c.Number, seen: c.Count, content: out})
	return protocol.StatusSuccess
}

// isBusy reports whether pending work or a node that is being dropped has content in the slot.
func (t *Twin) isBusy(slot shard.Slot) bool {
	for _, s := range t.sessions {
		if s.uses(slot) && (t.hasEnded(s) || t.dropping[s.node]) {
			return true
		}
	}
	for p, sem := range t.semaphores {
		if sem.slot() == slot && (t.isPending(pending{sem: sem}) || t.dropping[p.node]) {
			return true
		}
	}
	return false
}

// uses reports whether a session has anything in a slot.
func (s *session) uses(slot shard.Slot) bool { return s.slots[slot] || s.id.Slot() == slot }

func (sem *semaphore) slot() shard.Slot { return shard.SlotOf(sem.node, []byte(sem.name)) }

// takeOut removes everything in a slot, and returns it.
func (t *Twin) takeOut(slot shard.Slot) *content {
	out := &content{
		now: t.now, counters: shard.Counters{LastOrder: t.lastOrder, LastRevision: t.lastRevision,
			LastSession: t.lastSession},
		homeIs: make(map[shard.SessionID]bool), holds: make(map[shard.SessionID]bool),
		instead: make(map[shard.SessionID]shard.SessionID), replaced: make(map[shard.SessionID]bool),
	}
	for p, sem := range t.semaphores {
		if sem.slot() == slot {
			delete(t.semaphores, p)
			t.unpend(pending{sem: sem})
			out.semaphores = append(out.semaphores, sem)
			for _, l := range sem.links {
				out.holds[l.session] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.sessions)) {
		s := t.sessions[id]
		if !s.uses(slot) {
			continue
		}
		goes := *s
		goes.slots = maps.Clone(s.slots)
		goes.answers, goes.asked = make(map[uint64]shard.AnswerState), make(map[uint64]request)
		for number, a := range s.answers {
			if a.Slot == uint16(slot)+1 {
				goes.answers[number], goes.asked[number] = a, s.asked[number]
				delete(s.answers, number)
				delete(s.asked, number)
			}
		}
		out.sessions = append(out.sessions, &goes)
		delete(s.slots, slot)
		if id.Slot() == slot {
			out.homeIs[id] = true
			s.home, s.timeout, s.details, s.key, s.space, s.created = false, 0, "", "", 0, 0
			s.client = shard.ClientState{}
		}
		if !s.home && t.linksOf(id) == 0 && s.losses == 0 && len(s.slots) == 0 {
			t.unpend(pending{session: s})
			delete(t.sessions, id)
		}
	}
	t.emit(shard.Effect{Kind: shard.EffectSlotLeft, Slot: slot})
	return out
}

// ended is the answer to an open or a refuse of a generation that the shard has heard of; STALE otherwise.
func (t *Twin) ended(c *shard.Command, x slotRecord) protocol.Status {
	switch {
	case x.state == "owned" && x.generation == c.Count, x.seen > c.Count:
		return protocol.StatusSuccess
	case x.seen == c.Count:
		return protocol.StatusPreconditionFailed
	}
	return protocol.StatusStale
}

func (t *Twin) refuse(c *shard.Command, x slotRecord) protocol.Status {
	x.seen = c.Count
	t.moved[c.Slot] = &x
	return protocol.StatusPreconditionFailed
}

func (t *Twin) open(c *shard.Command, x slotRecord) protocol.Status {
	if status := t.ended(c, x); status != protocol.StatusStale {
		return status
	}
	if t.waits() {
		return protocol.StatusOverloaded
	}
	in := t.offers[attempt{c.Slot, c.Count}]
	if _, err := slots.Parse(c.Body); err != nil || in == nil || x.state == "owned" || x.state == "sealed" {
		return t.refuse(c, x)
	}
	for _, theirs := range in.sessions {
		if s := t.sessions[theirs.id]; s != nil && s.node != theirs.node {
			return t.refuse(c, x)
		}
	}
	t.own(c.Slot, c.Count)
	t.merge(c.Slot, in)
	return protocol.StatusSuccess
}

func (t *Twin) release(c *shard.Command, x slotRecord) protocol.Status {
	forget := c.Flags&shard.FlagForget != 0
	switch {
	case x.generation != c.Count:
		return protocol.StatusStale
	case x.state == "sealed" && !forget:
		x.state = "transferred"
	case x.state == "transferred" && forget:
		x.state, x.content = "released", nil
	case x.state == "transferred", x.state == "released":
		return protocol.StatusSuccess
	default:
		return protocol.StatusStale
	}
	t.moved[c.Slot] = &x
	return protocol.StatusSuccess
}

// merge puts content into the shard.
func (t *Twin) merge(slot shard.Slot, in *content) {
	t.lastOrder = max(t.lastOrder, in.counters.LastOrder)
	t.lastRevision = max(t.lastRevision, in.counters.LastRevision)
	t.lastSession = max(t.lastSession, in.counters.LastSession)
	t.emit(shard.Effect{Kind: shard.EffectSlotArrived, Slot: slot})
	for id, s := range t.sessions {
		if id.Slot() == slot {
			s.home = true
			if t.hasEnded(s) {
				s.losses = 0
			}
			t.lastSession = max(t.lastSession, id.Counter())
		}
	}
	more := func(s *session) bool { return in.homeIs[s.id] || in.holds[s.id] || len(s.answers) > 0 }
	for _, s := range in.sessions {
		if more(s) {
			t.mergeSession(slot, in, s)
		}
	}
	for _, s := range in.sessions {
		if !more(s) {
			t.mergeSession(slot, in, s)
		}
	}
	slices.SortFunc(in.semaphores, func(a, b *semaphore) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.name, b.name))
	})
	for _, theirs := range in.semaphores {
		t.seeNode(theirs.node)
		sem := *theirs
		sem.links = nil
		for _, l := range theirs.links {
			moved := *l
			if id, is := in.instead[l.session]; is {
				moved.session = id
			}
			if l.deadline != 0 {
				moved.deadline = 1
				if later := int64(t.now) + int64(l.deadline) - int64(in.now) + 1; later > 1 {
					moved.deadline = uint64(later)
				}
			}
			sem.links = append(sem.links, &moved)
		}
		t.semaphores[sem.place] = &sem
	}
	for _, id := range slices.Sorted(maps.Keys(t.sessions)) {
		s := t.sessions[id]
		if id.Slot() != slot || in.homeIs[id] && !in.replaced[id] || t.hasEnded(s) {
			continue
		}
		t.emit(shard.Effect{Kind: shard.EffectSessionEnded, Session: id, Node: s.node, End: protocol.EndUnknown})
		if s.losses = 0; t.linksOf(id) > 0 {
			t.keepPending(pending{session: s})
		} else {
			delete(t.sessions, id)
		}
	}
}

func (t *Twin) mergeSession(slot shard.Slot, in *content, theirs *session) {
	s := t.sessions[theirs.id]
	if s != nil && s.node != theirs.node { // no correct client uses such an id
		in.replaced[theirs.id] = true
		if in.holds[theirs.id] {
			t.seeNode(theirs.node)
			t.lastSession++
			ended := &session{id: shard.NewSessionID(slot, t.lastSession), node: theirs.node, home: true,
				applied: theirs.applied, answers: make(map[uint64]shard.AnswerState), asked: make(map[uint64]request),
				slots: make(map[shard.Slot]bool)}
			t.sessions[ended.id] = ended
			t.keepPending(pending{session: ended})
			in.instead[theirs.id] = ended.id
		}
		return
	}
	if s == nil {
		ended := theirs.id.Slot() != slot && t.isHome(theirs.id)
		if ended && !in.holds[theirs.id] {
			return
		}
		t.seeNode(theirs.node)
		s = &session{id: theirs.id, node: theirs.node, home: t.isHome(theirs.id),
			answers: make(map[uint64]shard.AnswerState), asked: make(map[uint64]request),
			slots: make(map[shard.Slot]bool)}
		t.sessions[s.id] = s
		if ended {
			t.lastSession = max(t.lastSession, s.id.Counter())
			t.keepPending(pending{session: s})
		} else if !s.home {
			t.emit(shard.Effect{Kind: shard.EffectSessionSeen, Session: s.id, Node: s.node})
		}
	}
	if theirs.slots[slot] {
		s.slots[slot] = true
	}
	s.applied = max(s.applied, theirs.applied)
	for number, a := range theirs.answers {
		if _, has := s.answers[number]; !has {
			s.answers[number], s.asked[number] = a, theirs.asked[number]
		}
	}
	s.acknowledge(theirs.acked)
	for number := range s.answers {
		if number <= s.acked {
			delete(s.answers, number)
		}
	}
	if in.homeIs[s.id] && !t.hasEnded(s) {
		s.timeout, s.details, s.key, s.space = theirs.timeout, theirs.details, theirs.key, theirs.space
		s.created, s.client = theirs.created, theirs.client
		if s.losses > 0 {
			t.emit(shard.Effect{Kind: shard.EffectCheckHoldings, Session: s.id, Node: s.node, Limit: s.losses})
			s.losses = 0
		}
	}
}
