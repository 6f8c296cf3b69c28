package meta

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// TestFoundingChangesNothingThatReadersSee: the records are created from the registrations, and continue from there.
func TestFoundingChangesNothingThatReadersSee(t *testing.T) {
	c := registered(t, "a", "b", "c")
	ok(t, c.Machine, seen(2, 3))
	before, newest := c.Hosts(), c.Version()
	if _, bootstrapped := c.Topology(); bootstrapped {
		t.Fatal("there are records before the founding")
	}
	r := c.founding()
	r.Generation = hosts.Generation{Number: 2, Draw: [16]byte{9}}
	list := c.ask(r)
	if got := kinds(list); got != "result topology-changed hosts-changed audited audited audited " {
		t.Errorf("%s %s", got, list[0].Message)
	}
	after := c.Hosts()
	for i := range after {
		if after[i].Changed <= newest {
			t.Errorf("host %d changed with %d, and the machine was at %d already", after[i].ID, after[i].Changed,
				newest)
		}
		after[i].Changed = before[i].Changed
		if got, known := c.Host(after[i].ID); !known || got.Name != after[i].Name || got.Seen != after[i].Seen {
			t.Errorf("host %d by itself: %+v", after[i].ID, got)
		}
	}
	if !reflect.DeepEqual(after, before) {
		t.Errorf("readers see\n%+v, and saw\n%+v", after, before)
	}
	s := c.State()
	if len(s.Hosts) != 0 || !slices.Equal(s.Seen, []HostObservation{{2, 3}}) {
		t.Errorf("kept twice: %+v, seen %+v", s.Hosts, s.Seen)
	}
	records := c.records()
	if records.Cluster() != "c-1" || records.Generation() != r.Generation || len(records.Shards()) != 3 {
		t.Errorf("cluster %s, %+v, %d shards", records.Cluster(), records.Generation(), len(records.Shards()))
	}
	if h := records.Host(3); h.Incarnation != incarnation(3) || h.Target.Reason != hosts.ReasonBootstrap {
		t.Errorf("%+v", h)
	}
	c.existed(c.founding())
	mustEqual(t, copyOf(t, c.Machine), c.Machine)
}

func TestFoundingNamesAllThatHaveRegistered(t *testing.T) {
	for words, change := range map[string]func(c *cluster, r *HostsBootstrap){
		"host c has registered and is not named": func(_ *cluster,
			r *HostsBootstrap) {
			r.InitialMembers = r.InitialMembers[:2]
		},
		"4 hosts are named, and 3 have registered": func(_ *cluster, r *HostsBootstrap) {
			r.InitialMembers = append(r.InitialMembers, InitialMember{ID: 4})
		},
		"3 hosts are named, and 2 have registered": func(c *cluster, _ *HostsBootstrap) { c.hosts.remove(2) },
		"distinct incarnations": func(_ *cluster, r *HostsBootstrap) {
			r.InitialMembers[1] = InitialMember{2, incarnation(1)}
		},
		"has no slot table yet": func(c *cluster, _ *HostsBootstrap) { c.routing = Routing{} },
		"starts with 1 to 9": func(c *cluster, r *HostsBootstrap) {
			for id := shard.HostID(4); id < 11; id++ {
				h := host(id, fmt.Sprint("h", id))
				h.Level = level.Newest
				do(c.Machine, register(h))
				r.InitialMembers = append(r.InitialMembers, InitialMember{ID: id})
			}
		},
		"ids from 1 to 1023": func(c *cluster, r *HostsBootstrap) {
			h := host(1024, "x")
			h.Level = level.Newest
			do(c.Machine, register(h))
			r.InitialMembers = append(r.InitialMembers, InitialMember{ID: 1024})
		},
	} {
		c := registered(t, "a", "b", "c")
		r := c.founding()
		change(c, r)
		if e := c.ask(r)[0]; e.Status == protocol.StatusSuccess || !strings.Contains(e.Message, words) {
			t.Errorf("%v %q, want %q", e.Status, e.Message, words)
		}
		if _, bootstrapped := c.Topology(); bootstrapped {
			t.Errorf("%s: refused, and bootstrapped", words)
		}
	}
}

// TestBeforeTheFoundingAndAfterIt: the sort of commands accepted by a cluster before and after its bootstrap.
func TestBeforeTheFoundingAndAfterIt(t *testing.T) {
	c := registered(t, "a", "b")
	for _, r := range everyRequest()[1:] {
		c.refused(protocol.StatusPreconditionFailed, "not bootstrapped", r)
	}
	c.done(c.founding())
	for _, h := range []Host{host(1, "a"), host(3, "c")} {
		h.Level = level.Newest
		h.RaftAddress = "elsewhere:1"
		e := want(t, c.Machine, protocol.StatusPreconditionFailed, register(h))
		if !strings.Contains(e.Message, "bootstrapped") {
			t.Error(e.Message)
		}
	}
}

// TestWhoCountsForTheLevelAndForPeriods: every host from its join until its expulsion is final.
func TestWhoCountsForTheLevelAndForPeriods(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	ok(t, c.Machine, seen(3, 2))
	before := c.Version()
	join := joinOf("d", 9)
	join.Level = level.Newest
	id := c.done(join).Host
	if h, _ := c.Host(id); h.Seen != before || h.Level != level.Newest || h.Target != protocol.HostOffline {
		t.Errorf("a newcomer goes by version %d or a later one: %+v", before, h)
	}
	want(t, c.Machine, protocol.StatusPreconditionFailed, seen(id, c.Version()+1))
	list := run(c.Machine, seen(id, c.Version()))
	if kinds(list) != "result host-seen " {
		t.Errorf("%+v", list)
	}
	ok(t, c.Machine, seen(id, 1))
	if h, _ := c.Host(id); h.Seen < before {
		t.Errorf("what a host has seen went back to %d", h.Seen)
	}
	want(t, c.Machine, protocol.StatusNotFound, seen(77, 1))

	c.done(&HostExpel{Host: "c", Force: true})
	if _, holders := c.LevelHolders(); len(holders) != 4 {
		t.Errorf("%d hosts count while the expulsion of one is not final", len(holders))
	}
	ok(t, c.Machine, seen(3, c.Version()))
	c.done(&ReplicasKnown{Term: 7, Shard: 0, Change: 1, Members: votersOf(1, 2)})
	c.done(&ReplicasKnown{Term: 7, Shard: 1, Change: 1, Members: votersOf(1, 2)})
	c.refused(protocol.StatusPreconditionFailed, "has replicas", &HostReach{Term: 7, Host: 3,
		Variant: protocol.HostExpelled, Epoch: c.records().Host(3).Target.Epoch})
	c.done(&ReplicasKnown{Term: 7, Shard: 2, Change: 1, Members: votersOf(1, 2)})
	if h := c.records().Host(3); h.Grace != MaxSessionGracePeriodMillis || h.Bare == 0 {
		t.Errorf("an expelled host may believe what it does for the longest grace period that there is: %+v", h)
	}
	c.reach(3)
	if _, holders := c.LevelHolders(); len(holders) != 3 || len(c.State().Seen) != 1 {
		t.Errorf("%d hosts count, %+v", len(holders), c.State().Seen)
	}
	want(t, c.Machine, protocol.StatusNotFound, seen(3, 1))
	if h, known := c.Host(3); !known || h.Current != protocol.HostExpelled || h.Seen != 0 {
		t.Errorf("the expelled host: %+v", h)
	}
	mustEqual(t, copyOf(t, c.Machine), c.Machine)
}

func votersOf(ids ...uint64) (list []hosts.Member) {
	for _, id := range ids {
		list = append(list, hosts.Member{Replica: id, Role: hosts.RoleVoter})
	}
	return list
}

// TestTheLevelWaitsForEveryHostThatCounts: a recorded host with a lower supported level holds the level back, even if
// offline.
func TestTheLevelWaitsForEveryHostThatCounts(t *testing.T) {
	c := withHosts(t, "a", "b")
	held := *c.topology.records
	for _, h := range c.topology.records.Hosts() {
		if h.ID == 2 {
			h.Level = level.Newest - 1 // no command can put a host below the level
		}
	}
	c.topology.records = &held
	if lowest, holders := c.LevelHolders(); lowest != level.Newest-1 || len(holders) != 1 || holders[0].Name != "b" {
		t.Errorf("%d, %+v", lowest, holders)
	}
	c.level--
	want(t, c.Machine, protocol.StatusPreconditionFailed, Command{Kind: CmdClusterLevel, Raise: level.Newest})
}

// TestAViewStaysAsItIs: during further commands, and concurrent reads, under the race detector.
func TestAViewStaysAsItIs(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range 50 {
		view, _ := c.Topology()
		saved := view.Records.Save(nil)
		if view.Version != c.Version() || view.Clock != c.Clock() {
			t.Errorf("version %d, clock %+v", view.Version, view.Clock)
		}
		readers.Go(func() {
			for range 3 {
				c.Hosts()
				c.Digest()
				if !bytes.Equal(view.Records.Save(nil), saved) || len(view.Plan.Steps()) != 0 {
					t.Error("a view has changed")
				}
			}
		})
		c.done(&HostCordon{Host: "a", On: i%2 == 0})
		c.done(&ReplicasKnown{Term: 7, Shard: 1, Change: uint64(i + 1), Members: votersOf(1, 2, 3)})
	}
}

// TestASnapshotOfTheHostsIsWhatItWas reads a snapshot with hosts and writes it again. Until the release its file may be
// rewritten with -snapshot.write.
func TestASnapshotOfTheHostsIsWhatItWas(t *testing.T) {
	c := furnishedTopology(t)
	path := filepath.Join("testdata", "snapshots", "hosts")
	if *writeSnapshot {
		if err := os.WriteFile(path, saved(t, c.Machine), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := New()
	if err := m.Restore(bytes.NewReader(want)); err != nil {
		t.Fatalf("the snapshot cannot be read any more: %v", err)
	}
	if got := saved(t, m); !bytes.Equal(got, want) {
		t.Error("the snapshot has other bytes now")
	}
	if s := m.State(); len(s.Records.Hosts()) != 4 || len(s.Plan.Steps()) != 1 || len(s.Seen) != 2 ||
		len(s.Plan.Backoffs()) != 1 || len(s.Records.Tokens()) != 1 {
		t.Errorf("there is little in the file: %+v", s)
	}
	mustEqual(t, m, c.Machine)
}
