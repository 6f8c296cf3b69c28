package meta

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
)

func regeneration(jump uint64) Regeneration {
	return Regeneration{Draw: [16]byte{9}, Jump: machine.Jump{Others: jump}, Wall: 1e12, By: "op", Why: "a test",
		First: hosts.InitialMember{
			Name: "a", Incarnation: incarnation(99), Addresses: addressesOf("a"), Version: "1.0", Level: level.Newest}}
}

func regenerated(t *testing.T, m *Machine, r Regeneration) *cluster {
	t.Helper()
	before := m.Digest()
	next, err := m.Regenerate(r)
	if err != nil {
		t.Fatal(err)
	}
	if m.Digest() != before {
		t.Fatal("the old machine has changed")
	}
	return &cluster{TB: t, Machine: next}
}

// TestANewClusterHasTheNodesAndOneHost: nodes are unchanged, old hosts are expelled, and all new numbers are above the
// old ones.
func TestANewClusterHasTheNodesAndOneHost(t *testing.T) {
	const jump = 1 << 40
	old := furnishedTopology(t)
	for _, c := range []Command{create("/prod", Config{}), create("/prod/jobs", Config{}), create("/gone", Config{}),
		{Kind: CmdNodeDrop, Path: "/gone"}} {
		do(old.Machine, c)
	}
	before := old.State()
	next := regenerated(t, old.Machine, regeneration(jump))
	after := next.State()
	if len(after.Nodes) != len(before.Nodes) || len(after.Dropping) != 0 || len(after.Answers) != 0 {
		t.Fatalf("%+v", after)
	}
	for i, n := range after.Nodes {
		was := before.Nodes[i]
		if n.ID != was.ID || n.Path != was.Path || n.Config != was.Config || n.Version != was.Version+jump {
			t.Errorf("%+v was %+v", n, was)
		}
	}
	if after.Version <= before.Version+jump-1 || after.LastNode <= before.LastNode || after.Routing.Version <=
		before.Routing.Version || after.NextAnswer <= before.NextAnswer || after.Term != 0 || after.Now != before.Now {
		t.Errorf("%+v after %+v", after, before)
	}
	checkOneHost(t, before.Records, after.Records)
	if got := fmt.Sprint(after.Routing.Ranges); got != "[{0 2047 1 0} {2048 4095 2 0}]" {
		t.Errorf("the slot ranges are %s", got)
	}
	if p := after.Plan; len(p.Steps()) > 0 || p.Last() <= before.Plan.Last() || p.Revision() <= before.Plan.Revision() {
		t.Errorf("the plan is %+v", p)
	}
	do(next.Machine, Command{Kind: CmdLead, Term: 1})
	next.done(&HostBoot{hosts.Boot{Host: after.Records.Hosts()[len(after.Records.Hosts())-1].ID,
		Incarnation: incarnation(99), Start: startOf(1), Addresses: addressesOf("z"), Version: "1.0",
		Level: level.Newest}})
	next.done(joinOf("b", 100))
	if n, _ := next.Node("/prod"); next.apply(next.stamp(1), create("/new", Config{}))[0].Node.ID <= n.ID+nodeJump {
		t.Error("the id of a node that was lost may be given again")
	}
}

func checkOneHost(t *testing.T, before, after *hosts.Records) {
	t.Helper()
	for _, h := range after.Hosts() {
		if was := before.Host(h.ID); was == nil {
			if h.Name != "a" || h.Incarnation != incarnation(99) || !h.Online() {
				t.Errorf("%+v", h)
			}
			for _, s := range after.Shards() {
				if p := s.On(h.ID); len(s.Replicas) != 1 || p == nil || p.Role != hosts.RoleVoter || p.Joined ||
					p.ID < before.NextReplica()+1<<20 {
					t.Errorf("shard %d: %+v", s.ID, s.Replicas)
				}
			}
		} else if h.Living() || h.Incarnation != was.Incarnation {
			t.Errorf("%+v", h)
		}
	}
	if len(after.Hosts()) != len(before.Hosts())+1 || len(after.Tokens()) != 0 || after.Policy() != before.Policy() ||
		after.Generation() != (hosts.Generation{Number: before.Generation().Number + 1, Draw: [16]byte{9}}) {
		t.Errorf("%+v", after)
	}
	entries := after.Audit(before.LastAudit(), 2)
	if len(entries) != 2 || entries[0].Number != before.LastAudit() || entries[1].Event != hosts.EventGeneration ||
		entries[1].By != "op" || entries[1].Why != "a test" {
		t.Errorf("%+v", entries)
	}
}

// TestRegenerationOverAndOver: each generation has its number, a different number of shards has a new slot table, and
// the audit log keeps all of them.
func TestRegenerationOverAndOver(t *testing.T) {
	next := withHosts(t, "a", "b", "c")
	for i := range uint64(4) {
		r := regeneration(1 << 41)
		r.Shards = int(i) + 1
		r.First.Incarnation = incarnation(shard.HostID(200 + i))
		if i == 2 {
			r.Cluster = "another"
		}
		before := next.State()
		next = regenerated(t, next.Machine, r)
		s := next.State()
		if !reflect.DeepEqual(s.Routing.Ranges, InitialRanges(s.Routing.Shards)) {
			t.Fatalf("the slot ranges are %v", s.Routing.Ranges)
		}
		if s.Records.Generation().Number != i+1 || len(s.Routing.Shards) != r.Shards || s.Routing.Version <=
			before.Routing.Version || len(s.Records.Shards()) != r.Shards+1 || (s.Routing.Cluster == "another") !=
			(i >= 2) || s.Records.LastAudit() <= before.Records.LastAudit() {
			t.Fatalf("%+v", s)
		}
	}
}

// TestRestoreBeforeHostsAreBootstrapped: merely registered hosts are dropped too.
func TestRestoreBeforeHostsAreBootstrapped(t *testing.T) {
	s := regenerated(t, registered(t, "a", "b").Machine, regeneration(1)).State()
	if len(s.Hosts) > 0 || len(s.Records.Hosts()) != 3 || s.Records.Host(1).Living() || s.Records.Host(2).Living() ||
		!s.Records.Host(3).Living() {
		t.Errorf("%+v", s)
	}
}

// TestACommandOfBeforeIsNotCarriedOutAgain: a command's outcome after the saved state is unknown, so it is refused.
func TestACommandOfBeforeIsNotCarriedOutAgain(t *testing.T) {
	old := withHosts(t, "a")
	c := create("/n", Config{})
	c.Numbered = Numbered{Client: ClientID{1}, Number: 1, Since: old.NextAnswer()}
	next := regenerated(t, old.Machine, regeneration(1<<40))
	do(next.Machine, Command{Kind: CmdLead, Term: 1})
	e := next.apply(clock.Stamp{Term: 1, Elapsed: 1}, c)[0]
	if e.Status != protocol.StatusStale {
		t.Errorf("it is answered with %+v", e)
	}
}
