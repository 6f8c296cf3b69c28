package client_test

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// fakeSession is the home shard leader's record of a session, beside the machine.
type fakeSession struct {
	cluster  *fakeCluster
	id       uint64
	node     uint64
	timeout  time.Duration
	sequence uint64
	conn     *fakeConn // attached over; nil while detached
	since    time.Time // time of the detachment
	grace    time.Duration
	bound    map[*fakeConn]struct{}
}

func (f *fakeCluster) home(id uint64) *fakeShard { return f.shardOf(shard.SessionID(id).Slot()) }

// leave detaches the session from a lost connection.
func (s *fakeSession) leave(c *fakeConn) {
	if s == nil {
		return
	}
	delete(s.bound, c)
	if s.conn == c {
		s.conn, s.since, s.grace = nil, time.Now(), 0
		if s.timeout == 0 {
			s.cluster.home(s.id).end(s.id, shard.Command{Kind: shard.CmdSessionsExpire})
		}
	}
}

// conns are the connections on which the session takes part.
func (s *fakeSession) conns() []*fakeConn {
	var list []*fakeConn
	if s.conn != nil {
		list = append(list, s.conn)
	}
	for c := range s.bound {
		list = append(list, c)
	}
	return list
}

func (c *fakeConn) sessionStart(r *protocol.Request) {
	f, m := c.host.cluster, &r.SessionStart
	n := f.nodes[string(m.Path)]
	if n == nil {
		c.refuse(r, protocol.StatusNotFound)
		return
	}
	i := slices.IndexFunc(f.shards, func(s *fakeShard) bool { return f.hosts[s.leader] == c.host })
	if i < 0 {
		c.fail(r.ID, r.Kind, f.leaderResult(f.shards[0]))
		return
	}
	s := f.shards[i]
	e := s.apply(shard.Command{
		Kind: shard.CmdSessionCreate, Slot: s.first, Node: shard.NodeID(n.ID), Timeout: m.TimeoutMillis,
		Data: []byte(m.Details.Description), Key: m.SessionSecret,
	}, nil)
	if e.Status != protocol.StatusSuccess {
		c.refuse(r, e.Status)
		return
	}
	id := uint64(e.Session)
	f.sessions[id] = &fakeSession{
		cluster: f, id: id, node: n.ID, timeout: time.Duration(m.TimeoutMillis) * time.Millisecond,
		sequence: m.AttachSequence, conn: c, bound: make(map[*fakeConn]struct{}),
	}
	c.sessions[id] = true
	c.answer(r.ID, &protocol.SessionStartAnswer{SessionID: id, Lease: f.lease(f.sessions[id])})
}

const fakeGrace = 3 * time.Second

func (f *fakeCluster) lease(s *fakeSession) protocol.Lease {
	return protocol.Lease{
		NodeID: s.node, TimeoutMillis: uint64(s.timeout.Milliseconds()), GraceMillis: uint64(fakeGrace.Milliseconds()),
		Lost: f.lost,
	}
}

func (c *fakeConn) sessionAttach(r *protocol.Request) {
	f, m := c.host.cluster, &r.SessionAttach
	home := f.home(m.SessionID)
	if f.hosts[home.leader] != c.host {
		c.fail(r.ID, r.Kind, f.leaderResult(home))
		return
	}
	s := f.sessions[m.SessionID]
	switch {
	case s == nil:
		c.refuse(r, protocol.StatusSessionExpired)
	case m.AttachSequence < s.sequence, !home.machine.KeyMatches(shard.SessionID(m.SessionID), m.SessionSecret):
		c.refuse(r, protocol.StatusBadSession)
	default:
		s.sequence = m.AttachSequence
		if old := s.conn; old != nil && old != c {
			s.detach(old, &protocol.Result{Status: protocol.StatusBadSession})
		}
		delete(s.bound, c)
		s.conn = c
		c.sessions[s.id] = true
		c.answer(r.ID, &protocol.SessionAttachAnswer{Lease: f.lease(s)})
	}
}

// detach detaches the session from a live connection, with the reason.
func (s *fakeSession) detach(c *fakeConn, why *protocol.Result) {
	delete(c.sessions, s.id)
	for _, x := range s.cluster.shards {
		x.forgetSession(c, s.id)
	}
	s.leave(c)
	c.push(0, &protocol.SessionDetached{SessionID: s.id, Result: *why})
}

func (c *fakeConn) sessionBind(r *protocol.Request) {
	f, m := c.host.cluster, &r.SessionBind
	s := f.sessions[m.SessionID]
	switch {
	case s == nil:
		c.refuse(r, protocol.StatusSessionExpired)
	case !f.home(m.SessionID).machine.KeyMatches(shard.SessionID(m.SessionID), m.SessionSecret):
		c.refuse(r, protocol.StatusBadSession)
	default:
		if !c.sessions[s.id] {
			c.sessions[s.id] = false
			s.bound[c] = struct{}{}
		}
		c.answer(r.ID, &protocol.SessionBindAnswer{NodeID: s.node})
	}
}

func (c *fakeConn) sessionEnd(r *protocol.Request) {
	f := c.host.cluster
	id, command := r.SessionStop.SessionID, shard.Command{Kind: shard.CmdSessionEnd}
	if r.Kind == protocol.KindSessionDestroy {
		id, command.Flags = r.SessionDestroy.SessionID, shard.FlagOperator
	}
	home := f.home(id)
	switch s := f.sessions[id]; {
	case f.hosts[home.leader] != c.host:
		c.fail(r.ID, r.Kind, f.leaderResult(home))
	case s == nil:
		c.refuse(r, protocol.StatusSessionExpired)
	case r.Kind == protocol.KindSessionStop && s.conn != c:
		c.refuse(r, protocol.StatusBadSession)
	default:
		home.end(id, command)
		if r.Kind == protocol.KindSessionStop {
			c.answer(r.ID, &protocol.SessionStopAnswer{})
		} else {
			c.answer(r.ID, &protocol.SessionDestroyAnswer{})
		}
	}
}

// expire ends sessions that were silent for too long.
func (s *fakeShard) expire() {
	f := s.cluster
	now := time.Now()
	for id, x := range f.sessions {
		if f.home(id) != s {
			continue
		}
		silent := x.since.Add(x.grace)
		if x.conn != nil {
			silent = x.conn.heard
		}
		if now.Sub(silent) >= x.timeout && x.timeout > 0 {
			s.end(id, shard.Command{Kind: shard.CmdSessionsExpire})
		}
	}
}

// end ends a session in all shards.
func (s *fakeShard) end(id uint64, command shard.Command) {
	command.Session, command.Term = shard.SessionID(id), s.term
	command.Sessions = []shard.SessionID{shard.SessionID(id)}
	s.apply(command, nil)
	for _, other := range s.cluster.shards {
		if other != s {
			other.apply(shard.Command{Kind: shard.CmdSessionsForget, Sessions: command.Sessions}, nil)
		}
	}
}

// ended reports a session's end at its home to its connections.
func (s *fakeShard) ended(id uint64, why protocol.EndReason) {
	f := s.cluster
	x := f.sessions[id]
	if x == nil || f.home(id) != s {
		return
	}
	delete(f.sessions, id)
	for _, c := range x.conns() {
		delete(c.sessions, id)
		for _, other := range f.shards {
			other.forgetSession(c, id)
		}
		c.push(0, &protocol.SessionEnded{SessionID: id, Reason: why})
	}
}
