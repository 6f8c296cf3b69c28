package client_test

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
)

// fakeShard is a shard: the real machine, and its leader's records.
type fakeShard struct {
	cluster *fakeCluster
	id      uint64
	first   shard.Slot
	leader  int
	term    uint64
	led     time.Time // when the term began
	machine *machine.Machine

	waiting []*fakeWaiting
	notices *shard.WatchSet[fakeRef]
	watches []*fakeWatch
}

// fakeWaiting receives a queued acquire's outcome.
type fakeWaiting struct {
	session, number uint64
	conn            *fakeConn
	request         uint64
}

type fakeRef struct {
	conn    *fakeConn
	request uint64
}

// newFakeShard makes shard i among several, with its share of slots plus more.
func newFakeShard(f *fakeCluster, i, of int, more ...shard.Slot) *fakeShard {
	first := (i*shard.Slots + of - 1) / of
	last := ((i+1)*shard.Slots+of-1)/of - 1
	var slots shard.SlotSet
	slots.Add(shard.Slot(first), shard.Slot(last))
	for _, slot := range more {
		slots.Add(slot, slot)
	}
	s := &fakeShard{
		cluster: f, id: uint64(i + 1), first: shard.Slot(first), leader: i % len(f.hosts),
		machine: machine.New(kinds.All(), machine.Options{Shard: uint64(i + 1), Slots: slots}),
		notices: shard.NewWatchSet[fakeRef](),
	}
	s.newTerm()
	return s
}

func (s *fakeShard) newTerm() {
	s.term++
	s.apply(shard.Command{Kind: shard.CmdLead, Term: s.term}, nil)
	s.led = time.Now()
}

// batch returns a batch with the leader's commands.
func (s *fakeShard) batch(list ...shard.Command) *shard.Batch {
	b := &shard.Batch{Commands: list}
	if list[0].Kind != shard.CmdLead {
		b.Stamp = clock.Stamp{Term: s.term, Elapsed: uint64(time.Since(s.led).Milliseconds())}
	}
	return b
}

// apply executes a command and sends all notices. answer gets the results, in effect order.
func (s *fakeShard) apply(c shard.Command, answer func(e *shard.Effect)) (result shard.Effect) {
	var effects shard.Effects
	s.machine.Apply(s.batch(c), &effects)
	for i := range effects.List {
		e := &effects.List[i]
		switch e.Kind {
		case shard.EffectResult:
			result = *e
			if answer != nil {
				answer(e)
			}
		case shard.EffectGranted:
			s.reportOutcome(e, &protocol.Granted{OrderID: uint64(e.Order)})
		case shard.EffectTimedOut:
			s.reportOutcome(e, &protocol.TimedOut{})
		case shard.EffectAborted:
			s.reportOutcome(e, &protocol.Aborted{Result: protocol.Result{Status: protocol.StatusAborted,
				Reason: e.Abort}})
		case shard.EffectLost:
			if x := s.cluster.sessions[uint64(e.Session)]; x != nil {
				for _, conn := range x.conns() {
					if s.cluster.lossAtHome && conn != x.conn {
						continue
					}
					conn.push(0, &protocol.HoldingLost{
						SessionID: x.id, NodeID: uint64(e.Node), Name: []byte(e.Name), OrderID: uint64(e.Order),
						Reason: protocol.AbortDeleted,
					})
				}
			}
		case shard.EffectChanged:
			s.notices.Apply([]shard.Effect{*e}, func(ref fakeRef, data, owners bool) {
				ref.conn.push(ref.request, &protocol.WatchChanged{Data: data, Owners: owners})
			})
			s.changed(e)
		case shard.EffectSessionEnded:
			s.notices.DropSession(e.Session)
			s.ended(uint64(e.Session), e.End)
		}
	}
	return result
}

func (s *fakeShard) reportOutcome(e *shard.Effect, m protocol.PushMessage) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *fakeWaiting) bool {
		if w.session != uint64(e.Session) || w.number != e.Number {
			return false
		}
		w.conn.push(w.request, m)
		return true
	})
}

// timeOut ends expired waits.
func (s *fakeShard) timeOut() {
	now := s.machine.Clock()
	if at, ok := s.machine.NextAlarm(); ok && now.At(uint64(time.Since(s.led).Milliseconds())) >= at {
		s.apply(shard.Command{Kind: shard.CmdDue, Term: s.term}, nil)
	}
}

// moveTo makes another host the leader.
func (s *fakeShard) moveTo(host int) {
	f := s.cluster
	if s.leader == host {
		return
	}
	s.leader = host
	s.newTerm()
	for _, w := range s.waiting {
		w.conn.push(w.request, &protocol.Aborted{Result: *f.leaderResult(s)})
	}
	s.waiting = nil
	s.notices.DropAll(func(ref fakeRef) { ref.conn.push(ref.request, &protocol.WatchChanged{}) })
	for id, x := range f.sessions {
		if f.home(id) == s && x.conn != nil {
			x.detach(x.conn, f.leaderResult(s))
			x.grace = fakeGrace
		}
	}
}

func (s *fakeShard) forgetConn(c *fakeConn) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *fakeWaiting) bool { return w.conn == c })
	s.watches = slices.DeleteFunc(s.watches, func(w *fakeWatch) bool { return w.conn == c })
	for id := range c.sessions {
		s.notices.DropWhere(shard.SessionID(id), func(ref fakeRef) bool { return ref.conn == c })
	}
}

func (s *fakeShard) forgetSession(c *fakeConn, id uint64) {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *fakeWaiting) bool { return w.conn == c && w.session == id })
	s.notices.DropWhere(shard.SessionID(id), func(ref fakeRef) bool { return ref.conn == c })
}

// mutate carries out a semaphore's change.
func (c *fakeConn) mutate(r *protocol.Request) {
	f := c.host.cluster
	var m *protocol.Mutation
	var node uint64
	var name []byte
	var command shard.Command
	switch r.Kind {
	case protocol.KindSemaphoreCreate:
		x := &r.SemaphoreCreate
		m, node, name = &x.Mutation, x.NodeID, x.Name
		command = shard.Command{Kind: shard.CmdSemaphoreCreate, Count: x.Limit, Data: x.Data}
	case protocol.KindSemaphoreUpdate:
		x := &r.SemaphoreUpdate
		m, node, name = &x.Mutation, x.NodeID, x.Name
		command = shard.Command{Kind: shard.CmdSemaphoreUpdate, Data: x.Data, Order: shard.OrderID(x.OrderID),
			Revision: shard.Revision(x.ExpectedRevision)}
	case protocol.KindSemaphoreResize:
		x := &r.SemaphoreResize
		m, node, name = &x.Mutation, x.NodeID, x.Name
		command = shard.Command{Kind: shard.CmdSemaphoreResize, Count: x.Limit,
			Revision: shard.Revision(x.ExpectedRevision)}
	case protocol.KindSemaphoreDelete:
		x := &r.SemaphoreDelete
		m, node, name = &x.Mutation, x.NodeID, x.Name
		command = shard.Command{Kind: shard.CmdSemaphoreDelete}
		if x.Force {
			command.Flags = shard.FlagForce
		}
	case protocol.KindAcquire:
		x := &r.Acquire
		m, node, name = &x.Mutation, x.NodeID, x.Name
		command = shard.Command{Kind: shard.CmdAcquire, Count: x.Count, Timeout: x.WaitMillis, Data: x.Data}
		if x.Ephemeral {
			command.Flags = shard.FlagEphemeral
		}
	case protocol.KindRelease:
		x := &r.Release
		m, node, name = &x.Mutation, x.NodeID, x.Name
		command = shard.Command{Kind: shard.CmdRelease, Order: shard.OrderID(x.OrderID)}
	}
	if _, ok := c.sessions[m.SessionID]; m.SessionID != 0 && !ok {
		c.refuse(r, protocol.StatusBadSession)
		return
	}
	slot := shard.SlotOf(shard.NodeID(node), name)
	s := f.shardOf(slot)
	if f.hosts[s.leader] != c.host {
		c.fail(r.ID, r.Kind, f.placeResult(slot))
		return
	}
	command.Node, command.Name = shard.NodeID(node), name
	command.Session, command.Number, command.Acked = shard.SessionID(m.SessionID), m.Sequence, m.AcknowledgedSequence
	s.apply(command, func(e *shard.Effect) { s.result(c, r, &command, e) })
}

func (s *fakeShard) result(c *fakeConn, r *protocol.Request, command *shard.Command, e *shard.Effect) {
	if e.Status != protocol.StatusSuccess {
		c.fail(r.ID, r.Kind, &protocol.Result{Status: e.Status, Reason: e.Abort})
		return
	}
	switch r.Kind {
	case protocol.KindAcquire:
		a := &protocol.AcquireAnswer{OrderID: uint64(e.Order), SemaphoreLimit: e.Limit}
		switch {
		case e.Flags&shard.FlagAcquired != 0:
			a.Outcome = protocol.Acquired
		case e.Flags&shard.FlagQueued != 0:
			a.Outcome = protocol.Queued
			s.waiting = slices.DeleteFunc(s.waiting, func(w *fakeWaiting) bool {
				return w.session == uint64(command.Session) && w.number == command.Number
			})
			s.waiting = append(s.waiting, &fakeWaiting{
				session: uint64(command.Session), number: command.Number, conn: c, request: r.ID,
			})
		}
		c.answer(r.ID, a)
	case protocol.KindRelease:
		c.answer(r.ID, &protocol.ReleaseAnswer{Released: e.Flags&shard.FlagReleased != 0})
	case protocol.KindSemaphoreCreate:
		c.answer(r.ID, &protocol.SemaphoreCreateAnswer{Revision: uint64(e.Revision)})
	case protocol.KindSemaphoreUpdate:
		c.answer(r.ID, &protocol.SemaphoreUpdateAnswer{Revision: uint64(e.Revision)})
	case protocol.KindSemaphoreResize:
		c.answer(r.ID, &protocol.SemaphoreResizeAnswer{Revision: uint64(e.Revision)})
	case protocol.KindSemaphoreDelete:
		c.answer(r.ID, &protocol.SemaphoreDeleteAnswer{})
	}
}
