package twin

import (
	"bytes"

	"github.com/signalbox/signalbox/shard"
)

var (
	longData    = bytes.Repeat([]byte("l"), 300)
	longestData = bytes.Repeat([]byte("L"), shard.MaxData)
	tooLongData = make([]byte, shard.MaxData+1)
	tooLongName = make([]byte, shard.MaxName+1)
)

// target is a mutation's target; missing objects are nil.
type target struct {
	session *shard.SessionState
	sem     *shard.SemaphoreState
	link    *shard.LinkState
}

// mutationOrAgain creates a new mutation, or repeats an old mutation.
func (g *Generator) mutationOrAgain(kind shard.CommandKind) shard.Command {
	if len(g.recent) > 0 && g.chance(40) {
		return oneOf(g.random, g.recent)
	}
	c := g.mutation(kind)
	if len(g.recent) < maxRecent {
		g.recent = append(g.recent, c)
	} else {
		g.recent[g.IntN(maxRecent)] = c
	}
	return c
}

func (g *Generator) mutation(kind shard.CommandKind) shard.Command {
	c := shard.Command{Kind: kind, Node: oneOf(g.random, g.nodes)}
	var t target
	sessionless := kind != shard.CmdAcquire && kind != shard.CmdRelease && g.chance(350)
	contends := (kind == shard.CmdAcquire && g.chance(150) || kind == shard.CmdRelease && g.chance(400)) &&
		g.contender(&c, &t)
	if !sessionless && !contends {
		t.session = g.actor(&c)
	}
	if g.chance(20) {
		c.Node = oneOf(g.random, g.nodes)
	}
	ephemeral := contends && t.sem.Ephemeral
	if !contends {
		ephemeral = g.aim(&c, &t)
	}
	g.number(&c, t.session)
	switch kind {
	case shard.CmdSemaphoreCreate:
		c.Count = oneOf(g.random, []uint64{1, 1, 2, 3, 4, 5, 5, 100, 1 << 63, shard.Forever - 1, shard.Forever,
			shard.Forever})
		if g.chance(20) {
			c.Count = 0
		}
		c.Data = g.data(t)
	case shard.CmdSemaphoreResize:
		c.Count = g.newLimit(t)
		c.Revision = g.expected(t, 300)
	case shard.CmdSemaphoreUpdate:
		c.Data = g.data(t)
		c.Order = g.guard(t, 400)
		c.Revision = g.expected(t, 400)
	case CmdExchange:
		c.Body = g.exchanged(t)
	case shard.CmdSemaphoreDelete:
		if g.chance(600) {
			c.Flags = shard.FlagForce
		}
	case shard.CmdAcquire:
		if ephemeral {
			c.Flags = shard.FlagEphemeral
		}
		c.Count = g.count(t)
		c.Timeout = g.timeout()
		c.Data = g.data(t)
	case shard.CmdRelease:
		c.Order = g.guard(t, 300)
	}
	g.spoil(&c)
	return c
}

// contender draws an owner or a waiter from a semaphore with waiters; false if there is none.
func (g *Generator) contender(c *shard.Command, t *target) bool {
	var all []target
	for i := range g.state.Semaphores {
		sem := &g.state.Semaphores[i]
		if len(sem.Links) == 0 || sem.Links[len(sem.Links)-1].Owner {
			continue
		}
		for j := range sem.Links {
			all = append(all, target{sem: sem, link: &sem.Links[j]})
		}
	}
	if len(all) == 0 {
		return false
	}
	*t = oneOf(g.random, all)
	t.session = g.find(t.link.Session)
	c.Session, c.Node, c.Name = t.link.Session, t.sem.Node, []byte(t.sem.Name)
	return true
}

// find returns the session with the id, or nil.
func (g *Generator) find(id shard.SessionID) *shard.SessionState {
	for i := range g.state.Sessions {
		if s := &g.state.Sessions[i]; s.ID == id {
			return s
		}
	}
	return nil
}

// actor draws a mutation's session, and returns the session if it exists.
func (g *Generator) actor(c *shard.Command) *shard.SessionState {
	if s := g.session(); s != nil && g.chance(930) {
		if hoarder := g.find(g.hoarder); g.phase == phaseHoarding && hoarder != nil && g.chance(800) {
			s = hoarder
		}
		c.Session, c.Node = s.ID, s.Node
		return s
	}
	if g.chance(700) {
		c.Session = g.remote()
	} else {
		c.Session = g.stranger()
	}
	s := g.find(c.Session)
	if s != nil {
		c.Node = s.Node
	}
	return s
}

// aim draws the name, mostly of an existing semaphore that suits the kind, and reports whether an acquire should be
// ephemeral.
func (g *Generator) aim(c *shard.Command, t *target) (ephemeral bool) {
	var here, linked []*shard.SemaphoreState
	for i := range g.state.Semaphores {
		sem := &g.state.Semaphores[i]
		if sem.Node != c.Node {
			continue
		}
		here = append(here, sem)
		for _, l := range sem.Links {
			if l.Session == c.Session {
				linked = append(linked, sem)
			}
		}
	}
	wantsLink := map[shard.CommandKind]int{
		shard.CmdAcquire: 300, shard.CmdRelease: 850, shard.CmdSemaphoreUpdate: 500,
	}[c.Kind]
	wantsAny := 850
	if c.Kind == shard.CmdSemaphoreCreate {
		wantsAny = 200
	}
	switch {
	case len(linked) > 0 && g.chance(wantsLink):
		t.sem = oneOf(g.random, linked)
	case len(here) > 0 && g.chance(wantsAny):
		t.sem = oneOf(g.random, here)
	}
	if t.sem != nil {
		c.Name, ephemeral = []byte(t.sem.Name), t.sem.Ephemeral
	} else {
		name := oneOf(g.random, g.names[c.Node])
		for tries := 0; tries < 10 && (name.foreign && !g.chance(50) || c.Kind == shard.CmdAcquire &&
			!name.ephemeral); tries++ {
			name = oneOf(g.random, g.names[c.Node])
		}
		c.Name, ephemeral = name.name, name.ephemeral
		for _, sem := range here {
			if sem.Name == string(c.Name) {
				t.sem, ephemeral = sem, sem.Ephemeral
			}
		}
	}
	if t.sem != nil {
		for i := range t.sem.Links {
			if t.sem.Links[i].Session == c.Session {
				t.link = &t.sem.Links[i]
			}
		}
	}
	return ephemeral != g.chance(30)
}

// number draws the mutation's number and acknowledgement: mostly the next number, now and then a used, acknowledged, or
// skipped number.
func (g *Generator) number(c *shard.Command, s *shard.SessionState) {
	if c.Session == 0 {
		return
	}
	if s == nil {
		s = &shard.SessionState{}
	}
	highest := max(s.Applied, g.numbers[c.Session])
	switch {
	case highest > 0 && g.chance(60):
		c.Number = 1 + g.Uint64N(highest)
		if len(s.Answers) > 0 && g.chance(500) {
			c.Number = oneOf(g.random, s.Answers).Number
		}
		for _, sem := range g.state.Semaphores {
			for _, l := range sem.Links {
				if l.Session == c.Session && sem.Name == string(c.Name) && g.chance(700) {
					c.Number = l.Number
				}
			}
		}
	case g.chance(40):
		c.Number = highest + 2 + g.Uint64N(3)
	case s.SequenceSpace<<36 > highest && g.chance(300):
		c.Number = s.SequenceSpace<<36 + 1 // like the start of a stream
	default:
		c.Number = highest + 1
	}
	g.numbers[c.Session] = max(highest, c.Number)
	c.Acked = min(s.Acked, c.Number-1)
	if g.phase == phaseHoarding && c.Session == g.hoarder &&
		(len(s.Answers) < shard.MaxUnacknowledged || g.chance(900)) {
		return
	}
	switch g.weighted(45, 25, 20, 10) {
	case 1:
		c.Acked = c.Number - 1
	case 2:
		c.Acked += g.Uint64N(c.Number - c.Acked)
	case 3:
		c.Acked = g.Uint64N(c.Number)
	}
}

// guard draws an order id as guard in perMille out of a thousand cases, mostly a correct id.
func (g *Generator) guard(t target, perMille int) shard.OrderID {
	if !g.chance(perMille) {
		return 0
	}
	if t.link != nil && g.chance(700) {
		return t.link.Order
	}
	if t.sem != nil && len(t.sem.Links) > 0 && g.chance(500) {
		return oneOf(g.random, t.sem.Links).Order
	}
	return 1 + shard.OrderID(g.Uint64N(uint64(g.state.LastOrder)+2))
}

// expected draws the expected revision for an update or a resize: mostly none, then the present or a different
// revision.
func (g *Generator) expected(t target, perMille int) shard.Revision {
	if !g.chance(perMille) {
		return 0
	}
	if t.sem != nil && g.chance(600) {
		return t.sem.Revision
	}
	return 1 + shard.Revision(g.Uint64N(uint64(g.state.LastRevision)+2))
}

// newLimit draws a resize's limit: mostly around the held and awaited count.
func (g *Generator) newLimit(t target) uint64 {
	if g.chance(20) {
		return 0
	}
	if t.sem == nil || g.chance(300) {
		return oneOf(g.random, []uint64{1, 2, 3, 5, 1 << 63, shard.Forever})
	}
	held := uint64(0)
	for _, l := range t.sem.Links {
		if l.Owner {
			held += l.Count
			continue
		}
		if g.chance(300) { // enough for this waiter, or not quite
			return max(1, held+min(l.Count, shard.Forever-held)-g.Uint64N(2))
		}
	}
	return max(1, oneOf(g.random, []uint64{held, held / 2, held - min(held, 1), t.sem.Limit, t.sem.Limit / 2}))
}

// count draws an acquire's count, around the limit and the session's held count.
func (g *Generator) count(t target) uint64 {
	limit := shard.Forever
	if t.sem != nil {
		limit = t.sem.Limit
	}
	if t.link != nil {
		switch g.weighted(40, 30, 10, 20) {
		case 0:
			return t.link.Count
		case 1:
			return 1 + g.Uint64N(t.link.Count)
		case 2:
			if t.link.Count < limit {
				return t.link.Count + 1
			}
		}
	}
	switch g.weighted(35, 20, 20, 10, 5, 5, 3, 2) {
	case 0:
		return 1
	case 1:
		return min(limit, uint64(g.between(2, 3)))
	case 2:
		return limit
	case 3:
		return limit/2 + 1
	case 4:
		return limit - limit/2
	case 5:
		return 1 + g.Uint64N(limit)
	case 6:
		if limit < shard.Forever {
			return limit + 1
		}
	}
	return oneOf(g.random, []uint64{1, 1, 2, shard.Forever, 1 << 63})
}

func (g *Generator) timeout() uint64 {
	longest := uint64(shard.MaxAcquireTimeout.Milliseconds())
	return oneOf(g.random, []uint64{0, 0, 1, 50, 300, 5000, longest, shard.Forever, shard.Forever})
}

// data draws data: empty, equal to the present data, different, or long.
func (g *Generator) data(t target) []byte {
	switch g.weighted(250, 200, 200, 150, 150, 50) {
	case 1:
		if t.link != nil {
			return []byte(t.link.Data)
		}
	case 2:
		if t.sem != nil {
			return []byte(t.sem.Data)
		}
	case 3:
		return []byte("a")
	case 4:
		return []byte{0xff, 0, byte(g.IntN(4))}
	case 5:
		if g.chance(10) {
			return longestData
		}
		return longData
	}
	return nil
}

// exchanged draws an exchange's data: mostly of maximum length, now and then longer.
func (g *Generator) exchanged(t target) []byte {
	switch g.weighted(300, 500, 180, 20) {
	case 1:
		return bytes.Repeat([]byte{byte(g.IntN(256))}, g.between(1, maxExchanged))
	case 2:
		return g.data(target{sem: t.sem})
	case 3:
		return bytes.Repeat([]byte("x"), maxExchanged+1)
	}
	return []byte{byte(g.IntN(4))}
}

// spoil breaks a few commands' form, each in one way.
func (g *Generator) spoil(c *shard.Command) {
	if !g.chance(15) {
		return
	}
	switch g.IntN(8) {
	case 0:
		c.Name = nil
	case 1:
		c.Name = tooLongName
	case 2:
		if (c.Kind == shard.CmdAcquire || c.Kind == shard.CmdSemaphoreUpdate) && g.chance(300) {
			c.Data = tooLongData
		}
	case 3:
		c.Number = 0
	case 4:
		c.Session = 0
	case 5:
		c.Acked = c.Number + g.Uint64N(2)
	case 6:
		if c.Kind == shard.CmdAcquire {
			c.Count = 0
		}
	case 7:
		if c.Kind == shard.CmdAcquire {
			c.Timeout = oneOf(g.random, []uint64{uint64(shard.MaxAcquireTimeout.Milliseconds()) + 1, shard.Forever - 1})
		}
	}
}
