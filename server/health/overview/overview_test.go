package overview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// bed is a test cluster with one data shard and host ids from 1. Initially all hosts are alive and fresh.
type bed struct {
	*testing.T
	Cluster
}

func newBed(t *testing.T, names ...string) *bed {
	t.Helper()
	b := &bed{t, Cluster{Records: hosts.New("c", []hosts.ShardID{1}), Now: 1000,
		Wall: time.UnixMilli(1e12), Governor: 1,
		Seen: &governor.Seen{Self: 1}}}
	var initialMembers []hosts.InitialMember
	for i, name := range names {
		initialMembers = append(initialMembers, hosts.InitialMember{ID: shard.HostID(i + 1), Name: name,
			Incarnation: hosts.Incarnation{byte(i + 1)}, Addresses: addressesOf(name), Level: level.Newest})
		b.Seen.Hosts = append(b.Seen.Hosts, governor.HostObservation{Host: shard.HostID(i + 1), Tried: true,
			FreshFor: 20_000})
	}
	b.do(b.Records.Bootstrap(b.at("signalbox"), initialMembers))
	for _, id := range []hosts.ShardID{0, 1} {
		b.Seen.Shards = append(b.Seen.Shards, governor.ShardSeen{Shard: id, Leader: 1, LedFor: 30_000, Change: 1})
	}
	return b
}

func addressesOf(name string) hosts.Addresses {
	return hosts.Addresses{Raft: name + ":7421", Client: name + ":7420"}
}

func (b *bed) at(by string) hosts.At {
	return hosts.At{Now: b.Now, Term: 7, Wall: 1e12, Level: level.Newest, By: by, Why: "a test"}
}

func (b *bed) do(a hosts.Answer) {
	b.Helper()
	if a.Status != protocol.StatusSuccess {
		b.Fatal(a.Text)
	}
}

// roles sets the replicas' roles in both shards by letter: v, l.
func (b *bed) roles(letters string) {
	b.Helper()
	var members []hosts.Member
	for i, r := range letters {
		role := hosts.RoleVoter
		if r == 'l' {
			role = hosts.RoleLearner
		}
		members = append(members, hosts.Member{Replica: uint64(i + 1), Role: role})
	}
	for _, id := range []hosts.ShardID{0, 1} {
		b.do(b.Records.Known(b.at("the governor"), 7, id, 1, members))
	}
}

// votes makes hosts the only members of a shard, all voters.
func (b *bed) votes(id hosts.ShardID, on ...shard.HostID) {
	b.Helper()
	var members []hosts.Member
	for _, h := range on {
		members = append(members, hosts.Member{Replica: b.Records.Shard(id).On(h).ID, Role: hosts.RoleVoter})
	}
	b.do(b.Records.Known(b.at("the governor"), 7, id, 2, members))
}

// silent lets hosts be unheard for so long.
func (b *bed) silent(millis uint64, ids ...shard.HostID) {
	for i := range b.Seen.Hosts {
		if h := &b.Seen.Hosts[i]; slices.Contains(ids, h.Host) {
			h.SilentFor, h.FreshFor = millis, 0
		}
	}
}

func (b *bed) text() string {
	var lines []string
	for _, x := range b.Issues() {
		line := fmt.Sprintf("%v %s %s [%s] %s", x.Severity, x.Kind, x.Host, strings.Join(x.Shards, " "), x.Text)
		if !x.Since.IsZero() {
			line += fmt.Sprintf(", since %v", b.Wall.Sub(x.Since))
		}
		if x.WaitsFor != "" {
			line += ", waits for " + x.WaitsFor
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestIssuesSayWhatIsNotAsItShouldBe checks every cluster health issue.
func TestIssuesSayWhatIsNotAsItShouldBe(t *testing.T) {
	for name, c := range map[string]struct {
		hosts string
		act   func(b *bed)
		want  string
		mend  string // of the first
	}{
		"all is well": {"a b c", func(b *bed) { b.roles("vvv") }, "", ""},
		"one host": {"a", func(b *bed) { b.roles("v") },
			"info single-host  [] one host: no other host can serve clients", "host join-token create"},
		"two hosts": {"a b", func(b *bed) { b.roles("lv") },
			"warning two-hosts  [] two hosts: only b votes: its failure stops changes",
			"until there are three"},
		"two hosts vote": {"a b", func(b *bed) { b.roles("vv") },
			"warning no-failure-tolerance  [0 1] 2 of 2 voters are live: another failure stops changes, since 0s\n" +
				"warning two-hosts  [] two hosts: a and b vote: the failure of either stops changes",
			"until there are three"},
		"one of three is silent": {"a b c", func(b *bed) { b.roles("vvv"); b.silent(3100, 2) },
			"warning no-failure-tolerance  [0 1] 2 of 3 voters are live: another failure stops changes, since 3.1s\n" +
				"warning host-unreachable b [] host b is unreachable, since 3.1s",
			"signalbox serve --join a:7421 --name NAME --replace b"},
		"it is taken for failed": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.silent(31_000, 2)
			b.do(b.Records.Failed(b.at("the governor"), 7, 2, 1, hosts.ReasonSilent, "not heard for 5.2 s"))
			b.Now += 31_000
		}, "warning no-failure-tolerance  [0 1] 2 of 3 voters are live: another failure stops changes, since 31s\n" +
			"warning host-failed b [] host b counts as failed: not heard for 5.2 s, since 30.999s",
			"--replace b"},
		"it is taken for failed, as its disk is full": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.Seen.Hosts[1].Full = true
			b.do(b.Records.Failed(b.at("the governor"), 7, 2, 1, hosts.ReasonStuck, "it answers"))
			b.Now += 31_000
		}, "warning host-failed b [] host b accepts no log entries: its disk is nearly full, since 30.999s",
			"free disk space, but never in the data directory itself"},
		"a majority is gone": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.silent(4000, 2, 3)
			b.Seen.Shards[1].Leader = 0
		}, "critical no-quorum  [0 1] 1 of 3 voters are live, since 4s, waits for b, c\n" +
			"warning host-unreachable b [] host b is unreachable, since 4s\n" +
			"warning host-unreachable c [] host c is unreachable, since 4s",
			"start the missing hosts"},
		"two shards wait for other hosts": {"a b c d", func(b *bed) {
			b.roles("vvvl")
			b.votes(1, 1, 2, 4)
			b.silent(4000, 2, 3, 4)
		}, "critical no-quorum  [0] 1 of 3 voters are live, since 4s, waits for b, c\n" +
			"critical no-quorum  [1] 1 of 3 voters are live, since 4s, waits for b, d\n" +
			"warning learner-down d [0] learner host d is unreachable, since 4s, waits for d\n" +
			"warning host-unreachable b [] host b is unreachable, since 4s\n" +
			"warning host-unreachable c [] host c is unreachable, since 4s\n" +
			"warning host-unreachable d [] host d is unreachable, since 4s", "start the missing hosts"},
		"a shard waits for a host that is being expelled": {"a b c d e", func(b *bed) {
			b.roles("vllvv")
			b.votes(1, 1, 2, 3)
			b.silent(4000, 2, 3)
			b.do(b.Records.Expel(b.at("ann"), "c", true, 1))
			b.Now += 5000
		}, "critical no-quorum  [1] 1 of 3 voters are live, since 4s, waits for b, c\n" +
			"warning learner-down b [0] learner host b is unreachable, since 4s, waits for b\n" +
			"warning host-unreachable b [] host b is unreachable, since 4s\n" +
			"info host-expelling c [] host c is being expelled, since 4.999s",
			"c was expelled by the recovery of another shard and will not return: start b with its own data " +
				"directory; if the directory is permanently lost: signalbox shard recover 1 for this shard " +
				"too\n"},
		"a shard has no leader": {"a b c", func(b *bed) { b.roles("vvv"); b.Seen.Shards[1].Leader = 0 },
			"critical no-leader  [1] no leader is known", "check the host logs"},
		"a host is drained": {"a b c d", func(b *bed) {
			b.roles("vvvl")
			b.do(b.Records.Drain(b.at("ann"), "d"))
			b.Now += 90_000
		}, "info host-drained d [] host d is being drained, since 1m29.999s", "signalbox host undrain d"},
		"a host has been drained": {"a b c d", func(b *bed) {
			b.roles("vvvl")
			b.do(b.Records.Drain(b.at("ann"), "d"))
			b.do(b.Records.Reach(b.at("the governor"), 7, 4, protocol.HostOffline, b.Records.Named("d").Target.Epoch))
			b.Now += 90_000
		}, "info host-drained d [] host d is drained, since 1m29.999s", "signalbox host undrain d"},
		"a host is stopped": {"a b c d", func(b *bed) {
			b.roles("vvvl")
			b.do(b.Records.Shutdown(b.at("host d"), 4, hosts.Incarnation{4}, hosts.Start{}))
			b.Now += 5_000
		}, "warning host-stopped d [] host d is stopped, since 4.999s", "signalbox host expel d"},
		"a host is cordoned": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.do(b.Records.Cordon(b.at("ann"), "c", true))
		}, "info host-cordoned c [] host c is cordoned: it gets no more replicas, votes and leaderships",
			"signalbox host uncordon c"},
		"a host does not confirm": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.Now += 11_000
			b.Seen.Hosts[2].FreshFor = 0
		}, "warning no-failure-tolerance  [0 1] 3 of 3 voters are live: another failure stops changes\nwarning " +
			"host-not-up-to-date c [] host c cannot confirm that its data is up to date", ""},
		"a host is heard, and does not join again": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.do(b.Records.Boot(b.at("host c"), hosts.Boot{Host: 3, Incarnation: hosts.Incarnation{3},
				Start: hosts.Start{Number: 2, Draw: 2}, Addresses: addressesOf("c"), Level: level.Newest}))
			b.Now += 11_000
			b.Seen.Hosts[2].FreshFor = 0
		}, "warning no-failure-tolerance  [0 1] 3 of 3 voters are live: another failure stops changes\nwarning " +
			"host-not-joined c [] host c is reachable, but has not rejoined the cluster: it cannot confirm that " +
			"its data is up to date", "--replace c"},
		"a governor that has only just come": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.Now += 11_000
			b.Seen.Hosts[2].FreshFor, b.Seen.Began = 0, b.Now
		}, "", ""},
		"a host that joined was not started": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.do(b.Records.Join(b.at("host d"), hosts.Join{Cluster: "c", Name: "d", Incarnation: hosts.Incarnation{9},
				Addresses: addressesOf("d"), Level: level.Newest, Trusted: true}))
			b.Now += 61_000
		}, "warning host-not-started d [] host d has joined, but was never started, since 1m0.999s",
			"signalbox host expel d"},
		"a host is being expelled": {"a b c d", func(b *bed) {
			b.roles("vvvl")
			b.do(b.Records.Expel(b.at("ann"), "d", true, 1))
			b.Now += 5_000
		}, "info host-expelling d [] host d is being expelled, since 4.999s", ""},
		"a host that is to be online is not": {"a b c d", func(b *bed) {
			b.roles("vvvl")
			b.do(b.Records.Drain(b.at("ann"), "d"))
			b.do(b.Records.Reach(b.at("the governor"), 7, 4, protocol.HostOffline, b.Records.Named("d").Target.Epoch))
			b.do(b.Records.Undrain(b.at("ann"), "d"))
			b.Now += 61_000
		}, "warning host-not-online d [] host d should be online, but is not online yet, since 1m0.999s",
			"signalbox cluster why"},
		"two vote where three are to": {"a b c", func(b *bed) { b.roles("vvl") },
			"warning under-replicated  [0 1] 2 of 3 voters exist, since 0s", "signalbox cluster why"},
		"two of three share a rack": {"a b c", func(b *bed) {
			b.roles("vvv")
			for _, h := range []string{"a", "b", "c"} {
				rack := map[string]string{"c": "2"}[h] + "1"
				b.do(b.Records.Alter(b.at("ann"), h, hosts.Domain{{Key: "rack", Value: rack}}))
			}
		}, "info no-domain-tolerance  [0 1] the failure of rack=1 stops changes",
			"signalbox host alter HOST " +
				"--failure-domain"},
		"a learner is silent": {"a b c d", func(b *bed) { b.roles("vvvl"); b.silent(4000, 4) },
			"warning learner-down d [0 1] learner host d is unreachable, since 4s, waits for d\n" +
				"warning host-unreachable d [] host d is unreachable, since 4s", "restart d"},
		"a host has no copy": {"a b c d", func(b *bed) { b.roles("vvv"); b.Now += 61_000 },
			"warning replica-missing d [0 1] host d has no replica, since 1m0.999s, waits for d",
			"signalbox cluster why"},
		"a host needs no copy of a data shard": {"a b c d", func(b *bed) {
			b.roles("vvv")
			from := b.Records.Policy()
			to := from
			to.Replicas = 3
			b.do(b.Records.SetPolicy(b.at("ann"), from, to))
			b.Now += 61_000
		}, "warning replica-missing d [0] host d has no replica, since 1m0.999s, waits for d",
			"signalbox cluster why"},
		"a copy is behind": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.Seen.Shards[1].Replicas = []governor.ReplicaSeen{{ID: 3, BehindFor: 61_000}}
		}, "warning replica-lagging c [1] the replica on host c is behind, since 1m1s, waits for c",
			"the network of c"},
		"hosts of two versions": {"a b c", func(b *bed) {
			b.roles("vvv")
			for id, version := range []string{"", "v1", "v2", "v2"} {
				if id > 0 {
					b.do(b.Records.Boot(b.at("host"), hosts.Boot{Host: shard.HostID(id),
						Incarnation: hosts.Incarnation{byte(id)}, Start: hosts.Start{Number: 2, Draw: 2},
						Addresses: addressesOf(string(rune('a' + id - 1))), Level: level.Newest, Version: version}))
				}
			}
			b.Seen.Began = b.Now
		}, "warning mixed-versions  [] versions: v1, v2", "finish the rolling upgrade"},
		"backups have ceased": {"a b c", func(b *bed) {
			b.roles("vvv")
			at := b.at("ann")
			at.Wall = uint64(b.Wall.Add(-72 * time.Hour).UnixMilli())
			b.do(b.Records.NoteOf(at, hosts.EventBackup, 1, hosts.Incarnation{1},
				"the state of shard 1 was saved, 9 bytes"))
			at.Wall = uint64(b.Wall.UnixMilli())
			b.do(b.Records.NoteOf(at, hosts.EventBackup, 1, hosts.Incarnation{1},
				"the state of shard 1 is being saved"))
		}, "warning backup-overdue  [] the last backup was saved at 2001-09-06 01:46:40 UTC, since 24h0m0s",
			"check the backup job"},
		"where nothing is observed only records count": {"a b c", func(b *bed) {
			b.roles("vvv")
			b.silent(60_000, 2, 3)
			b.Seen, b.Leader = nil, func(hosts.ShardID) shard.HostID { return 0 }
		}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, strings.Fields(c.hosts)...)
			c.act(b)
			if got := b.text(); got != c.want {
				t.Errorf("have\n%s\nwant\n%s", got, c.want)
			}
			dos := ""
			for _, x := range b.Issues() {
				dos += x.Do + "\n"
			}
			if !strings.Contains(dos, c.mend) {
				t.Errorf("what to do: %s, want %s", dos, c.mend)
			}
		})
	}
}

// TestDescriptionSaysAllThatIsKnown: a drained host, and its replica during a snapshot transfer.
func TestDescriptionSaysAllThatIsKnown(t *testing.T) {
	b := newBed(t, "a", "b", "c", "d")
	b.roles("vvvl")
	b.do(b.Records.Drain(b.at("ann (token ops)"), "d"))
	b.Seen.Shards[1].Replicas = []governor.ReplicaSeen{
		{ID: 4, Index: 90, BehindFor: 700, Percent: 41, Rate: 12_000_000},
	}
	b.Now += 2_000
	a := b.Describe()
	if a.GovernorHostID != 1 || !a.Observed || string(a.ClusterID) != "c" || a.LastAudit == 0 ||
		a.Policy != hosts.DefaultPolicy() {
		t.Errorf("%+v", a)
	}
	all := a.Hosts
	if len(all) != 4 {
		t.Fatalf("%d hosts", len(all))
	}
	d := all[3]
	if d.Name != "d" || d.Target.State != host.Offline || d.Target.Reason != "drained" ||
		d.Target.Author != "ann (token ops)" || d.Target.Text != "a test" || d.Target.Since != 1_999*time.Millisecond ||
		d.Current.State != host.Online || !d.Alive || d.Fresh != 20*time.Second {
		t.Errorf("%+v", d)
	}
	shards := a.Shards
	replicas := shards[1].Replicas
	if r := replicas[3]; r.Host != 4 || r.Role != host.Learner || !r.Observed || r.Behind != 700*time.Millisecond ||
		r.SnapshotPercent != 41 || r.SnapshotRate != 12_000_000 {
		t.Errorf("%+v", r)
	}
	if r := shards[1].Redundancy; r.Voters != 3 || r.Live != 3 || r.Tolerated != 1 || r.Wanted != 3 {
		t.Errorf("%+v", r)
	}
	// A non-governing host reports the records, and the host that it considers the leader.
	b.Seen, b.Leader = nil, func(hosts.ShardID) shard.HostID { return 3 }
	a = b.Describe()
	shards = a.Shards
	if a.Observed || shards[1].Leader != 3 || shards[1].Redundancy.Voters != 0 {
		t.Errorf("not observed: %+v, %+v", a, shards[1])
	}
}

// TestAShardWithoutAMajorityHasNoLeader: its last leader may be dead, but still be in the last report.
func TestAShardWithoutAMajorityHasNoLeader(t *testing.T) {
	b := newBed(t, "a", "b", "c")
	b.roles("vvv")
	b.Seen.Shards[1].Leader = 2
	b.silent(4000, 2)
	if s := b.Shards()[1]; s.Leader != 2 {
		t.Errorf("with a majority: %+v", s)
	}
	b.silent(4000, 3)
	if s := b.Shards()[1]; s.Leader != 0 || s.Tolerated >= 0 {
		t.Errorf("without a majority: %+v", s)
	}
}

// TestTheLargestDescriptionFitsItsFrame: the maximum number of hosts, with the longest texts, and a thousand former
// hosts, with the latest shown.
func TestTheLargestDescriptionFitsItsFrame(t *testing.T) {
	b := newBed(t, "a", "b", "c")
	b.roles("vvv")
	long := strings.Repeat("x", hosts.MaxAddress-8)
	for i := range 1_010 {
		name := fmt.Sprintf("%s-%d", strings.Repeat("n", hosts.MaxName-8), i)
		b.do(b.Records.Join(b.at(strings.Repeat("b", hosts.MaxText)), hosts.Join{Cluster: "c", Name: name,
			Incarnation: hosts.Incarnation{9, byte(i), byte(i >> 8)}, Addresses: hosts.Addresses{
				Raft: fmt.Sprint(long, i), Client: fmt.Sprint(long, i), Admin: long,
			}, Level: level.Newest, Trusted: true}))
		if id := shard.HostID(i + 4); i < 1_004 {
			b.do(b.Records.Expel(b.at(strings.Repeat("e", hosts.MaxText)), name, true, 1))
			b.do(b.Records.Reach(b.at("the governor"), 7, id, protocol.HostExpelled, b.Records.Host(id).Target.Epoch))
		}
	}
	a := b.Describe()
	size := a.HealthIssues.Size()
	for i := range a.Shards {
		size += protocol.Size(&a.Shards[i])
	}
	living, last := 0, uint64(0)
	for _, h := range a.Hosts {
		size += protocol.Size(&h)
		if h.ID <= last {
			t.Fatal("they are not in order")
		}
		if last = h.ID; h.Current.State != protocol.HostExpelled {
			living++
		}
	}
	if living != 9 || len(a.Hosts) < 20 || size > protocol.PageBytes || last != 1_013 {
		t.Errorf("%d hosts, %d of them living, in %d bytes, the last %d", len(a.Hosts), living, size, last)
	}
}

// TestHistoryIsReadInPages: from the beginning in pages, and directly at the end.
func TestHistoryIsReadInPages(t *testing.T) {
	b := newBed(t, "a", "b", "c")
	for i := range 10 {
		b.do(b.Records.Cordon(b.at("ann"), "c", i%2 == 0))
	}
	last := b.Records.LastAudit()
	var numbers []uint64
	for from := uint64(1); from != 0; {
		a := Audit(b.Records, from, 4)
		if len(a.Entries) > 4 || a.Oldest != 1 || a.Newest != last {
			t.Fatalf("%+v", a)
		}
		for _, e := range a.Entries {
			numbers = append(numbers, e.ID)
		}
		from = a.Next
	}
	for i, n := range numbers {
		if n != uint64(i+1) {
			t.Fatalf("numbers %v", numbers)
		}
	}
	if len(numbers) != int(last) {
		t.Errorf("%d entries of %d", len(numbers), last)
	}
	newest := Audit(b.Records, 0, 3)
	if entries := newest.Entries; len(entries) != 3 || entries[2].ID != last ||
		newest.Next != 0 || entries[2].Text != "uncordoned" || entries[2].Author != "ann" {
		t.Errorf("the newest: %+v", entries)
	}
	for _, from := range []uint64{last + 1, 1 << 60} {
		if a := Audit(b.Records, from, 4); len(a.Entries) != 0 || a.Next != 0 {
			t.Errorf("from %d: %+v", from, a)
		}
	}
}

// TestAuditNamesTheShardOfATransfer: the audit log names the shard, and the meta shard as such.
func TestAuditNamesTheShardOfATransfer(t *testing.T) {
	b := newBed(t, "a", "b", "c")
	b.roles("vvv")
	for id, want := range []string{"to lead the meta shard", "to lead shard 1"} {
		b.do(b.Records.Transfer(b.at("ann"), hosts.ShardID(id), "b"))
		entries := Audit(b.Records, 0, 1).Entries
		if len(entries) != 1 || entries[0].HostName != "b" || entries[0].Text != want {
			t.Errorf("%+v, want %q", entries, want)
		}
	}
}

// TestNewGovernorIsNotObservedYet: until the governor knows which hosts are alive, it shows no observations.
func TestNewGovernorIsNotObservedYet(t *testing.T) {
	b := newBed(t, "a", "b", "c")
	b.roles("vvv")
	b.Seen.Hosts[2] = governor.HostObservation{Host: 3, Tried: true, SilentFor: 500, Unheard: true}
	view := func() Cluster {
		return Observed(governor.View{State: b.Records, Seen: b.Seen, Now: b.Now},
			func(hosts.ShardID) shard.HostID { return 1 })
	}
	c := view()
	if a := c.Describe(); a.Observed || !c.Governs || a.GovernorHostID != 1 || len(c.Redundancies()) > 0 ||
		a.Hosts[2].Alive || a.Shards[1].Leader != 1 {
		t.Errorf("%+v", a)
	}
	b.Seen.Hosts[2].SilentFor = 2000
	c = view()
	if a := c.Describe(); !a.Observed || a.Hosts[2].Alive || a.Shards[1].Live != 2 || a.Shards[1].Tolerated != 0 {
		t.Errorf("%+v", a)
	}
}

// TestShardIssueKeepsItsStartAcrossGovernors: a new governor knows from the records how long a host has been gone, and
// how long a shard has had no spare voter.
func TestShardIssueKeepsItsStartAcrossGovernors(t *testing.T) {
	start := func(b *bed) time.Duration {
		t.Helper()
		for _, x := range b.Issues() {
			if x.Kind == kind.NoFailureTolerance {
				return b.Wall.Sub(x.Since)
			}
		}
		t.Fatalf("%+v", b.Issues())
		return 0
	}
	b := newBed(t, "a", "b", "c")
	b.roles("vvv")
	b.silent(31_000, 3)
	b.do(b.Records.Failed(b.at("the governor"), 7, 3, 1, hosts.ReasonSilent, "it is silent"))
	b.Now += 600_000
	b.silent(2_500, 3) // by the next governor
	if age := start(b).Round(time.Second); age != 10*time.Minute {
		t.Errorf("it has lasted for %v", age)
	}
	b = newBed(t, "a", "b")
	b.roles("vl")
	b.Now += 600_000
	b.votes(0, 1, 2)
	b.votes(1, 1, 2)
	b.Now += 2_000
	if age := start(b).Round(time.Second); age != 2*time.Second {
		t.Errorf("since the last voter was added %v have passed", age)
	}
}
