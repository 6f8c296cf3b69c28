package twin

import (
	"bytes"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// tooManySessions is a list one element too long.
var tooManySessions = make([]shard.SessionID, shard.MaxList+1)

// slot draws a served slot, or, rarely, any slot.
func (g *Generator) slot() shard.Slot {
	if g.few != nil {
		return oneOf(g.random, g.few)
	}
	for {
		slot := shard.Slot(g.IntN(shard.Slots))
		if g.slots.Has(slot) || g.chance(30) {
			return slot
		}
	}
}

// remote draws a remote session from a small set. If every slot is served, remote draws an unknown session of this
// shard.
func (g *Generator) remote() shard.SessionID {
	if len(g.Others) > 0 && g.chance(900) {
		return oneOf(g.random, g.Others)
	}
	for slot := shard.Slot(0); slot < shard.Slots; slot++ {
		if !g.slots.Has(slot) {
			return shard.NewSessionID(slot+shard.Slot(g.IntN(2)), uint64(g.between(1, 3)))
		}
	}
	return g.stranger()
}

// stranger draws an ended or nonexistent session's id in this shard.
func (g *Generator) stranger() shard.SessionID {
	return shard.NewSessionID(g.slot(), 1+g.Uint64N(g.state.LastSession+3))
}

// session draws an existing session, or nil.
func (g *Generator) session() *shard.SessionState {
	if len(g.state.Sessions) == 0 {
		return nil
	}
	return &g.state.Sessions[g.IntN(len(g.state.Sessions))]
}

// sessionID draws a session id, mostly existing.
func (g *Generator) sessionID() shard.SessionID {
	s := g.session()
	switch g.weighted(85, 5, 10) {
	case 0:
		if s != nil {
			return s.ID
		}
	case 1:
		return g.remote()
	}
	return g.stranger()
}

// term draws the highest term, mostly.
func (g *Generator) term() uint64 {
	switch g.weighted(85, 8, 7) {
	case 0:
		return g.state.Term
	case 1:
		return g.state.Term + 1
	}
	return g.Uint64N(g.state.Term + 1)
}

// stamp draws a batch's stamp: mostly the leader's, slightly later than the last stamp; sometimes from a former leader,
// from a leader still unknown to the machine, or none.
func (g *Generator) stamp() clock.Stamp {
	s := clock.Stamp{Term: g.state.Term, Elapsed: g.state.Now - g.state.TimeBase + g.Uint64N(100)}
	switch g.weighted(92, 3, 2, 2, 1) {
	case 1:
		s.Elapsed = g.Uint64N(s.Elapsed + 1)
	case 2:
		s.Term = g.Uint64N(s.Term + 1)
	case 3:
		s.Term++
	case 4:
		s.Elapsed += g.Uint64N(1 << 40)
	}
	if s.Term == 0 {
		return clock.Stamp{}
	}
	return s
}

func (g *Generator) lead() shard.Command {
	c := shard.Command{Kind: shard.CmdLead, Term: g.state.Term + 1}
	switch g.weighted(70, 15, 15) {
	case 1:
		c.Term = g.state.Term
	case 2:
		c.Term = g.Uint64N(g.state.Term + 1)
	}
	return c
}

// groupWait starts or ends the wait after a rebuild, sometimes for another group.
func (g *Generator) groupWait(group shard.Group) shard.Command {
	c := shard.Command{Kind: shard.CmdGroupWait, Term: g.term(), Count: group.Number, Timeout: g.Uint64N(20_000)}
	switch g.weighted(70, 20, 10) {
	case 1:
		c.Flags = shard.FlagOperator
	case 2:
		c.Count = g.Uint64N(group.Number + 2)
	}
	return c
}

// sessionFields draws timeout, details and key, sometimes with an excessive length.
func (g *Generator) sessionFields(c *shard.Command) {
	longest := uint64(shard.MaxSessionTimeout / time.Millisecond)
	c.Timeout = oneOf(g.random, []uint64{0, 1, 5000, 60_000, longest})
	c.Data = oneOf(g.random, [][]byte{nil, []byte("worker"), []byte("\xfe"),
		bytes.Repeat([]byte("d"), shard.MaxSessionDetails)})
	c.Key = oneOf(g.random, [][]byte{nil, nil, []byte("k"), bytes.Repeat([]byte("K"), shard.MaxKey)})
	c.Client = oneOf(g.random, []shard.ClientRef{
		{}, {Address: []byte("10.0.0.1:999"), Name: []byte("worker")}, {Version: []byte("\xfe")}, {
			Address: bytes.Repeat([]byte("a"), shard.MaxClientAddress),
			Name:    bytes.Repeat([]byte("n"), shard.MaxClientName),
			Version: bytes.Repeat([]byte("v"), shard.MaxClientVersion),
		},
	})
	if g.chance(20) {
		c.Client = oneOf(g.random, []shard.ClientRef{
			{Address: make([]byte, shard.MaxClientAddress+1)}, {Name: make([]byte, shard.MaxClientName+1)},
			{Version: make([]byte, shard.MaxClientVersion+1)},
		})
	}
	if g.chance(40) {
		switch g.IntN(4) {
		case 0:
			c.Timeout = longest + 1
		case 1:
			c.Timeout = shard.Forever
		case 2:
			c.Data = make([]byte, shard.MaxSessionDetails+1)
		case 3:
			c.Key = make([]byte, shard.MaxKey+1)
		}
	}
}

func (g *Generator) sessionCreate() shard.Command {
	c := shard.Command{Kind: shard.CmdSessionCreate, Slot: g.slot(), Node: oneOf(g.random, g.nodes)}
	if g.chance(5) {
		c.Slot = shard.Slots + shard.Slot(g.IntN(3))
	}
	g.sessionFields(&c)
	return c
}

func (g *Generator) sessionUpdate() shard.Command {
	c := shard.Command{Kind: shard.CmdSessionUpdate}
	g.sessionFields(&c)
	if s := g.session(); s != nil && g.chance(800) {
		c.Session = s.ID
		if g.chance(700) {
			c.Key = []byte(s.Key)
		}
		return c
	}
	c.Session = g.sessionID()
	return c
}

// sessionNumbers draws numbers, mostly for an existing session; sometimes so high that few or none are left.
func (g *Generator) sessionNumbers() shard.Command {
	c := shard.Command{Kind: shard.CmdSessionNumbers, Session: g.sessionID()}
	if s := g.find(c.Session); s != nil && g.chance(800) {
		c.Key = []byte(s.Key)
	}
	switch g.weighted(70, 20, 7, 3) {
	case 1:
		c.Count = g.Uint64N(6)
	case 2:
		c.Count = 1<<28 - 5 + g.Uint64N(8)
	case 3:
		c.Count = g.Uint64()
	}
	return c
}

func (g *Generator) sessionEnd() shard.Command {
	c := shard.Command{Kind: shard.CmdSessionEnd, Session: g.sessionID()}
	if g.chance(300) {
		c.Flags = shard.FlagOperator
	}
	return c
}

// sessionsEnd makes an expire or a forget.
func (g *Generator) sessionsEnd(kind shard.CommandKind) shard.Command {
	c := shard.Command{Kind: kind}
	if kind == shard.CmdSessionsExpire {
		c.Term, c.Count = g.term(), g.state.SlotChanges
	}
	if g.chance(20) {
		c.Sessions = tooManySessions
		return c
	}
	for range g.between(0, 3) {
		c.Sessions = append(c.Sessions, g.sessionID())
	}
	if len(c.Sessions) > 0 && g.chance(100) {
		c.Sessions = append(c.Sessions, c.Sessions[0])
	}
	return c
}

// waiterWithdraw names a waiter, mostly an existing one, sometimes with a wrong detail.
func (g *Generator) waiterWithdraw() shard.Command {
	var waiting, owning []shard.Command
	for _, sem := range g.state.Semaphores {
		for _, l := range sem.Links {
			c := shard.Command{Kind: shard.CmdWaiterWithdraw, Node: sem.Node, Name: []byte(sem.Name),
				Session: l.Session, Order: l.Order, Number: l.Number}
			if l.Owner {
				owning = append(owning, c)
			} else {
				waiting = append(waiting, c)
			}
		}
	}
	c := shard.Command{Kind: shard.CmdWaiterWithdraw, Node: oneOf(g.random, g.nodes), Name: []byte("p0"),
		Session: g.sessionID(), Order: 1, Number: 1}
	switch {
	case len(waiting) > 0 && g.chance(900):
		c = oneOf(g.random, waiting)
	case len(owning) > 0:
		c = oneOf(g.random, owning)
	}
	if g.chance(800) {
		return c
	}
	switch g.IntN(5) {
	case 0:
		c.Node = oneOf(g.random, g.nodes)
	case 1:
		c.Name = oneOf(g.random, g.names[oneOf(g.random, g.nodes)]).name
	case 2:
		c.Session = g.sessionID()
	case 3:
		c.Order = oneOf(g.random, []shard.OrderID{0, c.Order - 1, c.Order + 1})
	case 4:
		c.Number = oneOf(g.random, []uint64{0, c.Number - 1, c.Number + 1})
	}
	return c
}

// nodeDrop goes on with a drop under way, mostly, in small steps, mostly.
func (g *Generator) nodeDrop() shard.Command {
	c := shard.Command{Kind: shard.CmdNodeDrop, Node: oneOf(g.random, g.nodes), Count: uint64(g.between(1, 4))}
	switch g.weighted(85, 5, 5, 5) {
	case 1:
		c.Count = shard.MaxList
	case 2:
		c.Count = shard.MaxList + 1
	case 3:
		c.Count = 0
	}
	for _, n := range g.state.Nodes {
		if n.Dropping && g.chance(800) {
			c.Node = n.ID
		}
	}
	if g.chance(50) {
		c.Node = 77 // always empty
	}
	return c
}

// aboutLevels makes a level increase, or a digest command, which changes nothing.
func (g *Generator) aboutLevels() shard.Command {
	switch g.weighted(60, 20, 20) {
	case 0:
		return shard.Command{Kind: shard.CmdLevel, Count: g.Uint64N(uint64(level.Newest) + 1)}
	case 1:
		return shard.Command{Kind: shard.CmdDigestTake, Count: g.Uint64()}
	}
	return shard.Command{Kind: shard.CmdDigestCompare, Count: g.Uint64(), Sum: g.Uint64()}
}

// nodeLimits draws quotas for a node, or for the shard: mostly close to or below the current usage; often none, so that
// not everything is refused in the end.
func (g *Generator) nodeLimits() shard.Command {
	c := shard.Command{Kind: shard.CmdNodeLimits, Node: oneOf(g.random, g.nodes)}
	if g.chance(200) {
		c.Node = 0
	}
	if g.chance(50) {
		c.Node = 78 // always empty
	}
	objects, bytes := g.held(c.Node)
	if g.chance(250) {
		c.Count = 1 + objects + uint64(g.between(-1, 3))
	}
	if g.chance(250) {
		c.Bytes = max(1, bytes+g.Uint64N(3000)-g.Uint64N(min(bytes, 300)+1))
	}
	if g.chance(50) {
		c.Count = oneOf(g.random, []uint64{1, shard.MaxSemaphoresPerNode, shard.MaxSemaphoresPerNode + 1,
			shard.Forever})
		c.Bytes = oneOf(g.random, []uint64{0, 1, shard.Forever})
	}
	return c
}

// held is the approximate usage in a node, or in all nodes.
func (g *Generator) held(node shard.NodeID) (objects, bytes uint64) {
	for _, sem := range g.state.Semaphores {
		if sem.Node != node && node != 0 {
			continue
		}
		objects++
		bytes += shard.ObjectBytes + uint64(len(sem.Name)+len(sem.Data))
		for _, l := range sem.Links {
			bytes += shard.LinkBytes + uint64(len(l.Data))
		}
	}
	for _, s := range g.state.Sessions {
		if s.Node == node || node == 0 {
			bytes += shard.SessionBytes + uint64(len(s.Details)+shard.AnswerBytes*len(s.Answers))
		}
	}
	return objects, bytes
}
