package server_test

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// valve blocks state machines while closed.
type valve chan struct{}

func newValve() valve {
	v := make(valve, 1)
	v.open()
	return v
}

func (v valve) open() {
	select {
	case v <- struct{}{}:
	default: // it is open
	}
}
func (v valve) close() { <-v }
func (v valve) pass()  { v.close(); v.open() }

// heldMachine accepts entries and snapshots only while its valve is open.
type heldMachine struct {
	shard.StateMachine
	valve valve
}

func (m heldMachine) Apply(entries []shard.Entry) error {
	m.valve.pass()
	return m.StateMachine.Apply(entries)
}

func (m heldMachine) Restore(from io.Reader) error {
	m.valve.pass()
	return m.StateMachine.Restore(from)
}

// heldJoin delays new replicas of a shard on a host.
type heldJoin struct {
	replica.Replicas
	shard  uint64
	valve  valve
	joined *atomic.Bool
}

func (h heldJoin) Join(id, number uint64, machine shard.StateMachine) (shard.Log, error) {
	if id == h.shard {
		h.joined.Store(true)
		machine = heldMachine{machine, h.valve}
	}
	return h.Replicas.Join(id, number, machine)
}

// asking counts a host's questions about single sessions.
type asking struct {
	executor.Calls
	questions *atomic.Int64
}

func (a asking) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	if strings.Contains(string(request), `"one":`) {
		a.questions.Add(1)
	}
	return a.Calls.Call(ctx, to, request)
}

// isIn reports whether a slot is in a shard of a cluster with three data shards.
func isIn(slot shard.Slot, id uint64) bool {
	in := meta.InitialRanges([]meta.ShardID{1, 2, 3})[id-1]
	return slot >= in.First && slot <= in.Last
}

// gaining is a cluster of four hosts with each of three shards on three of them, and the host without the first shard.
func gaining(t *testing.T, change func(*server.Config)) (c *servertest.Cluster, at shard.HostID) {
	t.Helper()
	c = servertest.Start(t, servertest.Hosts(4), servertest.Shards(3), servertest.Config(change))
	if err := c.Policy(func(p *host.Policy) { p.Replicas, p.StableFor = 3, time.Second }); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Minute, "each shard is on three hosts", func() bool {
		return len(c.Replicas(1)) == 3 && len(c.Replicas(2)) == 3 && len(c.Replicas(3)) == 3
	})
	time.Sleep(time.Minute)
	for at = 1; slices.Contains(hostsOf(c, 1), at); at++ {
	}
	return c, at
}

// TestSessionsAcquireAtOnceAtAHostWhoseReplicaIsBeingFilled: the host leads one shard, and slowly receives a replica of
// the sessions' home shard. Once the replica is filled, the host asks no other host.
func TestSessionsAcquireAtOnceAtAHostWhoseReplicaIsBeingFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const home, other = 1, 2
		filling, joined, questions := newValve(), &atomic.Bool{}, &atomic.Int64{}
		c, at := gaining(t, func(c *server.Config) {
			c.Replicas = heldJoin{c.Replicas, home, filling, joined}
			c.Calls = asking{c.Calls, questions}
		})
		if err := c.Elect(other, at); err != nil {
			t.Fatal(err)
		}
		drained := slices.IndexFunc(c.Replicas(home), func(r servertest.Replica) bool { return !r.Leads })
		filling.close()
		joined.Store(false)
		operate(t, c, &meta.HostDrain{Host: servertest.Name(c.Replicas(home)[drained].Host)})
		eventually(t, time.Minute, "a replica of the home comes to the host", joined.Load)
		eventually(t, time.Minute, "the host leads the other shard", func() bool { return c.Leader(other) == at })
		time.Sleep(5 * time.Second)
		t.Cleanup(filling.open) // or the hosts do not close

		node := nodeAt(t, c, "/jobs")
		lock := "lock"
		for !isIn(shard.SlotOf(shard.NodeID(node), []byte(lock)), other) {
			lock += "."
		}
		acquire := func() (a, there *started, id uint64) {
			t.Helper()
			for a == nil || !isIn(shard.SessionID(a.id).Slot(), home) { // the host may lead further shards
				a = speak(t, c, c.Leader(home)).session("/jobs", time.Minute)
			}
			there = &started{s: speak(t, c, at), id: a.id, node: node}
			there.s.must(there.s.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
			id, _ = there.acquire(lock, protocol.Exclusive, -1, true)
			return a, there, id
		}
		began := time.Now()
		owner, _, _ := acquire()
		_, waiter, waiting := acquire()
		owner.s.must(owner.s.ask(&protocol.SessionStop{SessionID: owner.id}))
		waiter.s.await(waiting, protocol.KindGranted)
		if took := time.Since(began); took > 300*time.Millisecond {
			t.Errorf("two acquires and a stop took %v", took)
		}
		filling.open()
		time.Sleep(5 * time.Second)
		asked := questions.Load()
		if asked == 0 {
			t.Error("the host has asked no other host while its replica was being filled")
		}
		acquire()
		want(t, "questions after the replica is filled", questions.Load()-asked, 0)
	})
}

// TestRoutingListsNoLearnerThatIsBeingFilled: a shard's leader cannot reach the host that gets a replica of the shard.
// The host is listed, and clients are notified, once the replica is filled.
func TestRoutingListsNoLearnerThatIsBeingFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, at := gaining(t, func(*server.Config) {})
		leader, others := c.Leader(1), []shard.HostID(nil)
		for _, id := range hostsOf(c, 1) {
			if id != leader {
				others = append(others, id)
			}
		}
		governs, drained := others[0], others[1]
		eventually(t, time.Minute, "a third host governs", func() bool {
			_ = c.Elect(0, governs) // retried after a refusal
			return c.Leader(0) == governs
		})
		time.Sleep(10 * time.Second)
		c.Net().Cut(leader, at)
		c.Net().Cut(at, leader)
		operate(t, c, &meta.HostDrain{Host: servertest.Name(drained)})
		eventually(t, time.Minute, "the host gets a replica", func() bool { return slices.Contains(hostsOf(c, 1), at) })
		time.Sleep(10 * time.Second)
		listed := func() bool {
			s := speak(t, c, governs)
			for r := range s.must(s.ask(&protocol.Routing{})).Routing.Shards.All() {
				if r.ID == 1 && slices.Contains(slices.Collect(r.ReplicaHostIDs.All()), protocol.HostID(at)) {
					return true
				}
			}
			return false
		}
		want(t, "the learner is listed", listed(), false)
		version := c.Host(governs).Status().RoutingVersion
		c.Heal()
		eventually(t, time.Minute, "the filled learner is listed", listed)
		if c.Host(governs).Status().RoutingVersion <= version {
			t.Error("clients do not hear of the filled learner")
		}
	})
}

// TestABindAfterAStopWasAcknowledgedIsRefused: the binding host is a follower with an outdated replica.
func TestABindAfterAStopWasAcknowledgedIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		valves := make(map[shard.HostID]valve)
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			g, logs := newValve(), c.Logs
			valves[c.ID] = g
			c.Logs = func(id uint64, machine shard.StateMachine) (shard.Log, error) {
				if id == 1 {
					machine = heldMachine{machine, g}
				}
				return logs(id, machine)
			}
		}))
		nodeAt(t, c, "/jobs")
		leader := c.Leader(1)
		behind := leader%3 + 1
		a := speak(t, c, leader).session("/jobs", time.Minute)
		first, second := speak(t, c, behind), speak(t, c, behind)
		first.must(first.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		valves[behind].close()
		t.Cleanup(valves[behind].open) // or the hosts do not close
		a.s.must(a.s.ask(&protocol.SessionStop{SessionID: a.id}))
		bind := second.say(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")})
		time.Sleep(100 * time.Millisecond)
		valves[behind].open()
		want(t, "a bind after the stop", second.await(bind, protocol.KindSessionBind.Answer()).Result.Status,
			protocol.StatusSessionExpired)
	})
}

// unknowing are calls that make a host appear to know no sessions.
type unknowing struct {
	executor.Calls
	host shard.HostID
}

func (u unknowing) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	payload, err := u.Calls.Call(ctx, to, request)
	var answer map[string]json.RawMessage
	if to != u.host || err != nil || json.Unmarshal(payload, &answer) != nil || answer["liveness"] == nil {
		return payload, err
	}
	var liveness []byte
	if err := json.Unmarshal(answer["liveness"], &liveness); err != nil {
		return nil, err
	}
	answer["liveness"], _ = json.Marshal(make([]byte, len(liveness)))
	return json.Marshal(answer)
}

// TestAHostIsAskedIfAnotherDoesNotKnow: the home's leader answers that it does not know any session, and no host
// reports ends.
func TestAHostIsAskedIfAnotherDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApart(t, func(c *server.Config) {
			c.Calls = unknowing{without{c.Calls, func(member string) bool { return member == "ended" }}, 1}
		})
		home, _, waiter, waiting := a.contended()
		time.Sleep(time.Second)
		home.s.must(home.s.ask(&protocol.SessionStop{SessionID: home.id}))
		waiter.s.awaitFor(waiting, protocol.KindGranted, sweepEvery+5*time.Second)
	})
}
