package replica

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
)

// renew rebuilds a replica's shard from a machine, under its leader.
func renew(t *testing.T, r *Replica, from *machine.Machine) {
	t.Helper()
	made, err := from.Renew(machine.Renewal{Group: 1, Jump: machine.JumpOver(0)})
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
	applied := make(chan error, 1) // a batch's callers are answered before its application ends
	if err := r.log.Barrier(func(err error) { applied <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	if err := r.Restore(&file); err != nil {
		t.Fatal(err)
	}
	r.leader.begin(1<<32 + 1) // terms of later groups are above all terms of earlier groups
	step := func() { r.leader.step(r.set.Now(), r.leader.stage()) }
	until(t, "the leader serves the renewed shard", r.set, step, r.leader.ready)
}

// TestARenewedHomeCallsNoSessionDeadDuringItsWait: clients with an old session learn that the session is over. Other
// shards keep its holdings, and hosts that asked are notified of the end after the wait, even if a client already
// knows.
func TestARenewedHomeCallsNoSessionDeadDuringItsWait(t *testing.T) {
	const wait = time.Hour
	var ahead atomic.Int64
	began := time.Now()
	s := standaloneWith(t, 2, level.Newest, func(c *Config) {
		c.Clock = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	})
	home, other := s.All()[0], s.All()[1]
	old := startedSession(t, home)
	lost := shard.NewSessionID(old.Slot(), old.Counter()+1)
	for i, id := range []shard.SessionID{old, lost} {
		propose(t, other, shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: id, Number: 1, Count: 1,
			Name: nameIn(other, i+1), Flags: shard.FlagEphemeral})
	}
	keeps := func(when string, remotes int) {
		t.Helper()
		other.leader.recheck()
		step := func() { other.leader.reconcile(s.Now()) }
		until(t, when+" other shards keep what they should", s, step, func() bool {
			commands, batches := other.Pipeline.Waiting()
			return commands+batches == 0 && other.Machine.Count().RemoteSessions == remotes
		})
	}
	bound := &boundConn{}
	s.Sessions.bound.set(lost, []Conn{bound})
	renew(t, home, home.Machine)

	const asking = 2
	for _, id := range []shard.SessionID{old, lost} {
		if is := answered(t, s, id); is != shard.Unknown {
			t.Errorf("to other hosts the session %v is %d", id, is)
		}
		if one := s.HomeShards.lookUp(t.Context(), asking, &askedSession{ID: id}); one.Liveness != shard.Dead {
			t.Errorf("to a client the session %v is %d", id, one.Liveness)
		}
		if _, noted := s.Sessions.remote.byHost[asking][id]; !noted {
			t.Errorf("a host that has remote sessions of session %v is not to be notified of its end", id)
		}
	}
	never := shard.NewSessionID(old.Slot(), home.Machine.Count().LastSession+1)
	s.HomeShards.lookUp(t.Context(), asking, &askedSession{ID: never})
	if _, noted := s.Sessions.remote.byHost[asking][never]; noted {
		t.Error("the end of a session that never was is waited for")
	}
	keeps("before", 2)
	if bound.ended.Load() {
		t.Error("the lost session has ended for its connection")
	}

	term := home.leader.stage().term
	propose(t, home, shard.Command{Kind: shard.CmdGroupWait, Term: term, Count: 1,
		Timeout: uint64(wait.Milliseconds())})
	ahead.Store(int64(wait + time.Second))
	until(t, "the time goes on", s, func() { home.leader.proposeDue(term) }, func() bool {
		return home.Machine.Liveness(lost) == shard.Dead
	})
	until(t, "the end is reported", s, func() {}, func() bool { return bound.ended.Load() })
	keeps("after the time", 0)
	if n := len(s.Sessions.remote.byHost[asking]); n != 0 {
		t.Errorf("%d ends are to be reported still", n)
	}
}

// boundConn is a connection bound to a session.
type boundConn struct {
	Conn
	ended atomic.Bool
}

func (*boundConn) Unbind(shard.SessionID) (shard.NodeID, bool) { return 1, true }

func (c *boundConn) Push(_ uint64, m protocol.PushMessage) {
	_, ended := m.(*protocol.SessionEnded)
	c.ended.Store(ended)
}

func (*boundConn) Flush(bool) {}

func (*boundConn) Mark() bool { return false }

// answered is the host's answer to another host about a session.
func answered(t *testing.T, s *Set, id shard.SessionID) shard.Liveness {
	t.Helper()
	payload, err := s.HomeShards.Answer(t.Context(), 2, encodeHome(homeRequest{Home: homeCall{
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
	r := standalone(t, 1).All()[0]
	var waits []uint64
	for _, left := range []uint64{0, 1, 500, 90_000} {
		refused := r.results.refused(&shard.Command{Kind: shard.CmdAcquire}, &shard.Effect{
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

// lossConn is a connection on which clients are notified of lost holdings.
type lossConn struct {
	boundConn
	lost map[uint64][]protocol.LostHoldings // by session
}

func (c *lossConn) Push(_ uint64, m protocol.PushMessage) {
	if lost, is := m.(*protocol.HoldingLost); is && len(lost.Name) == 0 {
		c.lost[lost.SessionID] = append(c.lost[lost.SessionID],
			protocol.LostHoldings{Fence: lost.OrderID, Slots: lost.Slots})
	}
}

// groupWorld is a host that leads two shards, with a three-host cluster's records.
type groupWorld struct {
	t       *testing.T
	set     *Set
	records *hosts.Records
	at      hosts.At
}

func newGroupWorld(t *testing.T) *groupWorld {
	w := &groupWorld{t: t, set: standaloneWith(t, 2, level.Newest, func(*Config) {}),
		records: hosts.New("c", []hosts.ShardID{1, 2}),
		at:      hosts.At{Now: 1000, Term: 7, Level: level.Newest, Version: 41}}
	var initialMembers []hosts.InitialMember
	for i := range 3 {
		name := string(rune('a' + i))
		initialMembers = append(initialMembers, hosts.InitialMember{ID: shard.HostID(i + 1), Name: name,
			Level: level.Newest, Incarnation: hosts.Incarnation{byte(i + 1)},
			Addresses: hosts.Addresses{Raft: name + ":1", Client: name + ":2"}})
	}
	w.do(w.records.Bootstrap(w.at, initialMembers))
	return w
}

func (w *groupWorld) do(a hosts.Answer) {
	w.t.Helper()
	if a.Status != protocol.StatusSuccess {
		w.t.Fatal(a.Text)
	}
}

// TestClientsHearWhatTheyHaveLostByTheOrderForAGroup: clients are notified once, immediately, without contact to the
// rebuilt shard. A later attach gets the loss in its answer, until the shard grants again.
func TestClientsHearWhatTheyHaveLostByTheOrderForAGroup(t *testing.T) {
	w := newGroupWorld(t)
	if err := w.set.All()[1].end.Close(); err != nil { // the shard is elsewhere
		t.Fatal(err)
	}
	home := w.set.All()[0]
	bound, attached := startedSession(t, home), startedSession(t, home)
	c := &lossConn{lost: make(map[uint64][]protocol.LostHoldings)}
	w.set.Sessions.bound.set(bound, []Conn{c})
	now := w.set.Now()
	holder := lease.NewHolder(now)
	holder.Owner = c
	if v := home.Leases.Start(attached, 1, time.Minute, holder, 1, now); v != lease.Attached {
		t.Fatal(v)
	}
	w.do(w.records.Count(w.at, 7, []hosts.Count{{Shard: 2, Counters: shard.Counters{LastOrder: 1<<20 + 2}}}))
	hears := func(when string, ordered uint64, want ...protocol.LostHoldings) {
		t.Helper()
		if got, heard := w.set.hearGroups(w.records); got != ordered || !heard {
			t.Errorf("%s: heard of the order of version %d: %v", when, got, heard)
		}
		for _, id := range []shard.SessionID{bound, attached} {
			if !reflect.DeepEqual(c.lost[uint64(id)], want) {
				t.Errorf("%s: a client has lost %v, want %v", when, c.lost[uint64(id)], want)
			}
		}
	}
	hears("before", 0)
	w.do(w.records.Recover(w.at, hosts.Recovery{Shard: 2, Host: 1, Lost: []shard.HostID{2, 3}}, 0))
	fence := uint64(w.records.Shard(2).Fence)
	if protocol.ShardOfOrder(fence) != 2 || fence <= 1<<50 {
		t.Errorf("the fence is %d", fence)
	}
	slots := w.records.Endangered(2)
	lost := protocol.LostHoldings{Fence: fence, Slots: slots.Bytes()}
	hears("by the order", 41, lost)
	hears("later", 41, lost)
	if list := w.set.Lost(); !reflect.DeepEqual(list, []protocol.LostHoldings{lost}) {
		t.Errorf("an attach hears %v", list)
	}
	w.do(w.records.Grants(2, 1))
	hears("once the shard grants", 0, lost)
	if list := w.set.Lost(); len(list) != 0 {
		t.Errorf("an attach hears %v still", list)
	}
}

// TestAReplicaOfAnEarlierGroupCloses: the replica closes because of the recorded request, which the host does not
// confirm before, or because of a leader announcement from a later group.
func TestAReplicaOfAnEarlierGroupCloses(t *testing.T) {
	for _, by := range []string{"record", "announcement"} {
		t.Run(by, func(t *testing.T) {
			w := newGroupWorld(t)
			r := w.set.All()[1]
			if !r.Leads() {
				t.Fatal("this host does not lead")
			}
			closed := func() bool { return !r.Holds() && !r.Leads() }
			if by == "announcement" {
				r.announced.note(shard.Leadership{Leader: 2, Term: r.Leader().Term}) // same group
				r.retireAnnounced()
				w.set.retiring.Wait()
				if closed() {
					t.Fatal("closed by another leader of its own group")
				}
				r.announced.note(shard.Leadership{Leader: 2, Term: 1<<shard.GroupTermBits + 1})
				r.retireAnnounced()
			} else {
				w.do(w.records.Recover(w.at, hosts.Recovery{Shard: 2, Host: 1, Lost: []shard.HostID{2, 3}}, 0))
				if _, heard := w.set.hearGroups(w.records); heard {
					t.Error("the host goes by the order before its replica is closed")
				}
			}
			w.set.retiring.Wait()
			if !closed() {
				t.Error("the replica of the group before goes on")
			}
			if _, heard := w.set.hearGroups(w.records); !heard {
				t.Error("the host does not say that it goes by the order")
			}
			if !w.set.All()[0].Leads() {
				t.Error("a replica of another shard was closed")
			}
		})
	}
}
