package admin

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/clienttest"
	"github.com/signalbox/signalbox/protocol"
)

// TestDescriptionIsReadWhole: what hosts say of a cluster reaches the caller.
func TestDescriptionIsReadWhole(t *testing.T) {
	m := &protocol.ClusterDescribeAnswer{
		ClusterID: []byte("prod"), Generation: protocol.Generation{Number: 2}, GovernorHostID: 1, Observed: true,
		Policy: protocol.GovernorPolicy{Voters: 3, OfflineAfterMillis: 5_000, ReplaceAfterMillis: 600_000,
			StableForMillis: 10_000, BalanceEveryMillis: 300_000, Copies: 2},
	}
	m.Hosts.Append(protocol.ClusterHost{
		ID: 4, Name: []byte("d"), Incarnation: []byte("0123456789abcdef"), Starts: 3, Domain: []byte("dc=a"),
		Addresses: protocol.HostAddresses{Raft: []byte("d:1"), Client: []byte("d:2"), Admin: []byte("d:3")},
		Version:   []byte("v1.4.0"), Level: 4, Cordoned: true, Replaces: 2,
		Current: protocol.HostStanding{State: protocol.HostOnline, Epoch: 3, Reason: []byte("started")},
		Target: protocol.HostStanding{State: protocol.HostOffline, Epoch: 3, Reason: []byte("drained"),
			By: []byte("ann"), Text: []byte("a disk"), AgeMillis: 1_500},
		Seen: protocol.HostSeen{Alive: true, SilentMillis: 100, FreshMillis: 80_000},
	})
	s := protocol.ClusterShard{ID: 3, LeaderHostID: 1, Redundancy: protocol.Redundancy{Wanted: 3, Voters: 3, Live: 1,
		Lost: true}}
	s.Redundancy.Domains.Append(protocol.DomainLoss{Label: []byte("dc=a"), Live: 1, Tolerated: true})
	s.Replicas.Append(protocol.ClusterReplica{ID: 1024, HostID: 4, Role: protocol.ReplicaLearner, Observed: true,
		BehindMillis: 700, SnapshotPercent: 41})
	m.Shards.Append(s)
	x := protocol.Concern{Severity: protocol.SeverityFailure, Code: []byte("quorum"), Text: []byte("1 of 3"),
		Mend: []byte("start them"), HostID: 4}
	x.Shards.Append(3)
	m.Concerns.Append(x)

	c := clusterOf(m)
	h := c.Named("d")
	if h == nil || h != c.Host(4) || c.Host(5) != nil || c.Named("e") != nil {
		t.Fatalf("%+v", c)
	}
	want := Host{
		ID: 4, Name: "d", Incarnation: "30313233343536373839616263646566", Starts: 3, RaftAddress: "d:1",
		ClientAddress: "d:2", AdminAddress: "d:3", Domain: "dc=a", Version: "v1.4.0", Level: 4, Cordoned: true,
		Replaces: 2, Alive: true, SilentFor: 100 * time.Millisecond, Fresh: 80 * time.Second,
		Current: Standing{State: Online, Reason: "started", epoch: 3},
		Target: Standing{State: Offline, Reason: "drained", By: "ann", Text: "a disk", Since: 1500 * time.Millisecond,
			epoch: 3},
	}
	if *h != want || h.AtTarget() {
		t.Errorf("the host is\n%+v, want\n%+v", *h, want)
	}
	if got := c.Shards[0]; got.ID != 3 || got.Leader != 1 || got.Tolerated != -1 || got.Wanted != 3 ||
		!slices.Equal(got.Domains, []DomainLoss{{"dc=a", 1, true}}) || !slices.Equal(got.Replicas,
		[]Replica{{ID: 1024, Host: 4, Role: Learner, Observed: true, Behind: 700 * time.Millisecond,
			SnapshotPercent: 41}}) {
		t.Errorf("the shard is %+v", got)
	}
	if p := c.Policy.message(); p != m.Policy {
		t.Errorf("the policy is %+v", p)
	}
	if x := c.Concerns[0]; x.Severity != Failure || x.Host != 4 || x.Mend != "start them" ||
		!slices.Equal(x.Shards, []uint64{3}) {
		t.Errorf("the concern is %+v", x)
	}
}

// TestWhatIsRefusedSaysWhatItIsAbout.
func TestWhatIsRefusedSaysWhatItIsAbout(t *testing.T) {
	g := clienttest.New(t)
	_, err := Of(g.Client).Drain(t.Context(), "nobody", By{Author: "ann"})
	if err == nil || !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrPreconditionFailed) &&
		!errors.Is(err, client.ErrUnsupported) {
		t.Errorf("the error is %v", err)
	}
}
