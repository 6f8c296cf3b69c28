package replica

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// renew makes the shard of a replica anew, under its leader. Nothing is known to be committed: all sessions without a
// record may have been lost.
func renew(t *testing.T, r *Replica, unknown time.Duration) {
	t.Helper()
	made, err := r.Machine.Renew(shard.Renewal{
		Group: 1, Jump: shard.JumpOver(0), Unknown: uint64(unknown.Milliseconds()),
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := made.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := snapshot.Save(&file, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Machine.Restore(&file); err != nil {
		t.Fatal(err)
	}
	r.leader.begin(1<<32 + 1) // terms of later groups are above all of earlier groups
	step := func() { r.leader.step(r.set.Now(), r.leader.stage()) }
	until(t, "the leader serves the renewed shard", r.set, step, r.leader.ready)
}

// TestARenewedHomeCallsNoSessionDeadBeforeItsTime: clients of a session of the group before, or of one that only lost
// replicas may have known, hear that the session is over. Other shards keep what the session has there, until the end
// of the session, or until the time in which lost sessions are unknown is over.
func TestARenewedHomeCallsNoSessionDeadBeforeItsTime(t *testing.T) {
	if level.Newest < 10 {
		t.Skip("no groups below level 10")
	}
	const unknown = time.Hour
	var ahead atomic.Int64
	began := time.Now()
	s := standaloneWith(t, 2, level.Newest, func(c *Config) {
		c.Clock = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	})
	home, other := s.Replicas[0], s.Replicas[1]
	old := startedSession(t, home)
	lost := shard.NewSessionID(old.Slot(), old.Counter()+1)
	for i, id := range []shard.SessionID{old, lost} {
		propose(t, other, shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: id, Number: 1, Count: 1,
			Name: nameIn(other, i+1), Flags: shard.FlagEphemeral})
	}
	keeps := func(when string, guests int) {
		t.Helper()
		other.leader.recheck()
		step := func() { other.leader.reconcile(s.Now()) }
		until(t, when+" other shards keep what they should", s, step, func() bool {
			commands, batches := other.Pipeline.Waiting()
			return commands+batches == 0 && other.Machine.Count().Guests == guests
		})
	}
	bound := &boundConn{}
	home.bound[lost] = []Conn{bound}
	renew(t, home, unknown)

	for id, want := range map[shard.SessionID]shard.Liveness{old: shard.Alive, lost: shard.Unknown} {
		if is := found(home, id); is != shard.Dead {
			t.Errorf("to a client the session %v is %d", id, is)
		}
		if is := answered(t, s, id); is != want {
			t.Errorf("to other hosts the session %v is %d, want %d", id, is, want)
		}
	}
	other.leader.recheck()
	other.leader.reconcile(s.Now())
	keeps("before", 2)

	term := home.leader.stage().term
	propose(t, home, shard.Command{Kind: shard.CmdSessionsExpire, Term: term, Sessions: []shard.SessionID{old}})
	keeps("after the end of the old session", 1)
	s.homes.run(s.Now().Add(time.Minute))
	if is := answered(t, s, lost); is != shard.Unknown || bound.ended {
		t.Errorf("the lost session is %d, ended for its connection: %v", is, bound.ended)
	}

	ahead.Store(int64(unknown + time.Second))
	until(t, "the time goes on", s, func() { home.leader.proposeDue(term) }, func() bool {
		return home.Machine.Liveness(lost) == shard.Dead
	})
	keeps("after the time", 0)
	s.homes.run(s.Now().Add(time.Minute))
	if !bound.ended {
		t.Error("a connection is bound to a session that is over")
	}
}

// boundConn is a connection that a session is bound to.
type boundConn struct {
	Conn
	ended bool
}

func (*boundConn) Unbind(shard.SessionID) (shard.NodeID, bool) { return 1, true }

func (c *boundConn) Push(_ uint64, m protocol.PushMessage) {
	_, c.ended = m.(*protocol.SessionEnded)
}

func (*boundConn) Flush(bool) {}

// answered is what the host says of a session to another host.
func answered(t *testing.T, s *Set, id shard.SessionID) shard.Liveness {
	t.Helper()
	payload, err := s.AnswerHome(t.Context(), 2, encodeHome(homeRequest{Home: homeCall{
		Asked: packSessions([]shard.SessionID{id}),
	}}))
	var a homeAnswer
	if err == nil {
		err = json.Unmarshal(payload, &a)
	}
	if err != nil || len(a.Liveness) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	return shard.Liveness(a.Liveness[0])
}

// TestWhoIsRefusedInTheQuietWaitsForLonger: as long as the quiet lasts, and a second at most.
func TestWhoIsRefusedInTheQuietWaitsForLonger(t *testing.T) {
	r := standalone(t, 1).Replicas[0]
	var waits []uint64
	for _, left := range []uint64{0, 1, 500, 90_000} {
		refused := r.refused(&shard.Command{Kind: shard.CmdAcquire}, &shard.Effect{
			Status: protocol.StatusOverloaded, Timeout: left, Body: shard.QuietReason,
		})
		if refused.Message != shard.QuietReason {
			t.Errorf("refused with %q", refused.Message)
		}
		waits = append(waits, refused.WaitMillis)
	}
	if !slices.Equal(waits, []uint64{20, 20, 500, 1000}) {
		t.Errorf("clients wait for %v ms", waits)
	}
}

// lookConn is a connection over which clients are to look at what their sessions hold.
type lookConn struct {
	boundConn
	looks []uint64
}

func (c *lookConn) Push(_ uint64, m protocol.PushMessage) {
	if lost, is := m.(*protocol.HoldingLost); is {
		c.looks = append(c.looks, lost.SessionID)
	}
}

// TestClientsLookAtWhatTheyHoldOnceAShardHasBegunAnew: not before the new group has reported its members, once for each
// group, and not because of a group that had begun before this host looked first. Sessions may be attached or bound.
func TestClientsLookAtWhatTheyHoldOnceAShardHasBegunAnew(t *testing.T) {
	s := standaloneWith(t, 2, level.Newest, func(*Config) {})
	home := s.Replicas[0]
	bound, attached := startedSession(t, home), startedSession(t, home)
	c := &lookConn{}
	home.bound[bound] = []Conn{c}
	now := s.Now()
	holder := lease.NewHolder(now)
	holder.Owner = c
	if v := home.Leases.Start(attached, 1, time.Minute, holder, 1, now); v != lease.Attached {
		t.Fatal(v)
	}
	at := hosts.At{Now: 1000, Term: 7, Level: level.Newest}
	do := func(a hosts.Answer) {
		t.Helper()
		if a.Status != protocol.StatusSuccess {
			t.Fatal(a.Text)
		}
	}
	records := hosts.New("c", []hosts.ShardID{1, 2})
	var founders []hosts.Founder
	for i := range 3 {
		name := string(rune('a' + i))
		founders = append(founders, hosts.Founder{ID: shard.HostID(i + 1), Name: name, Level: level.Newest,
			Incarnation: hosts.Incarnation{byte(i + 1)},
			Addresses:   hosts.Addresses{Raft: name + ":1", Client: name + ":2"}})
	}
	do(records.Found(at, founders))
	looks := func(when string, want int) {
		t.Helper()
		s.hearGroups(records)
		for _, id := range []shard.SessionID{bound, attached} {
			n := 0
			for _, of := range c.looks {
				if of == uint64(id) {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: clients have looked for the sessions %x, want %d looks for %x", when, c.looks, want, id)
			}
		}
	}
	begun := func() {
		p := records.Shard(2).Founder()
		do(records.Known(at, 7, 2, records.Shard(2).Change+9, []hosts.Member{{Replica: p.ID, Role: hosts.RoleVoter}}))
	}
	looks("at the first look", 0)
	do(records.Recover(at, hosts.Recovery{Shard: 2, Host: 1, Lost: []shard.HostID{2, 3}}, 0))
	looks("before the new group has begun", 0)
	begun()
	looks("once it has begun", 1)
	looks("later", 1)
	s.groups = nil // as on a host that has just started
	looks("at the first look of another", 1)
}
