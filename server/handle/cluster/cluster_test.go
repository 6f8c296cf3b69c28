package cluster_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/handle/cluster"
	"github.com/signalbox/signalbox/server/handle/handletest"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// alone is a host that governs no cluster.
type alone struct{}

func (alone) Overview() (overview.Cluster, error) {
	return overview.Cluster{}, handle.ErrNotBootstrapped
}
func (alone) Governing() overview.Governor { return nil }
func (alone) Recovery(hosts.ShardID, bool) (hosts.Recovery, error) {
	return hosts.Recovery{}, handle.ErrNotGoverning
}
func (alone) HealthIssues() []health.Issue {
	of := health.About{Node: "/jobs", Name: "box"}
	return []health.Issue{{Kind: health.UpgradeNotFinalized}, {Kind: health.UpgradeNotFinalized, About: of}}
}
func (alone) HostStatus() *protocol.HostStatusAnswer { return &protocol.HostStatusAnswer{HostID: 1} }
func (alone) HostLoad() *protocol.HostLoadAnswer     { return &protocol.HostLoadAnswer{Requests: 7} }
func (alone) Authority() []byte                      { return nil }
func (alone) AddTraffic(a *protocol.HostLoadAnswer, _ *caller.Caller) {
	a.Traffic.Nodes.Append(protocol.NodeTraffic{Path: []byte("/prod"), Requests: 7})
}
func (alone) ReadersOf(uint64) []shard.HostID { return []shard.HostID{1} }

func TestAHostAnswersAboutItself(t *testing.T) {
	h := handletest.Host(t, nil)
	c := handletest.NewClient(t, h, cluster.Handlers(h, alone{}), "")
	a, err := c.Ask(&protocol.Routing{})
	routing := handletest.Must[*protocol.RoutingAnswer](t, a, err)
	if routing.Shards.Len() != 2 || routing.Slots.Len() == 0 {
		t.Errorf("the routing has %d shards and %d ranges", routing.Shards.Len(), routing.Slots.Len())
	}
	a, err = c.Ask(&protocol.Routing{KnownVersion: routing.Version})
	if again := handletest.Must[*protocol.RoutingAnswer](t, a, err); again.Shards.Len() != 0 {
		t.Error("a client that knows the routing gets it again")
	}
	a, err = c.Ask(&protocol.HostLoad{})
	if n := handletest.Must[*protocol.HostLoadAnswer](t, a, err).Requests; n != 7 {
		t.Errorf("the load is that of %d requests", n)
	}
	for _, traffic := range []bool{false, true} {
		a, err = c.Ask(&protocol.HostLoad{Traffic: traffic})
		if n := handletest.Must[*protocol.HostLoadAnswer](t, a, err).Traffic.Nodes.Len(); n > 0 != traffic {
			t.Errorf("%d nodes are listed, traffic is requested: %v", n, traffic)
		}
	}
	a, err = c.Ask(&protocol.Health{})
	if n := handletest.Must[*protocol.HealthAnswer](t, a, err).Items.Len(); n != 2 {
		t.Errorf("%d health issues are listed", n)
	}
}

func TestOperatorsAreRefusedWithTheReason(t *testing.T) {
	h := handletest.Host(t, nil)
	c := handletest.NewClient(t, h, cluster.Handlers(h, alone{}), "")
	for _, x := range []struct {
		m    protocol.RequestMessage
		want protocol.Status
	}{
		{&protocol.ClusterDescribe{}, protocol.StatusUnavailable},
		{&protocol.ClusterPlan{}, protocol.StatusUnavailable},
		{&protocol.HostUpdate{Action: protocol.HostDrain, Host: []byte("host-1")}, protocol.StatusPreconditionFailed},
		{&protocol.ShardRecover{ShardID: 1}, protocol.StatusUnavailable},
		{&protocol.HostUpdate{Action: 99}, protocol.StatusBadRequest},
		{&protocol.StepCancel{}, protocol.StatusBadRequest},
		{&protocol.JoinToken{Action: protocol.TokenCreate, Hash: []byte("short")}, protocol.StatusBadRequest},
	} {
		_, err := c.Ask(x.m)
		handletest.Refused(t, x.m.Kind().String(), err, x.want)
	}
	a, err := c.Ask(&protocol.AuditRead{})
	handletest.Must[*protocol.AuditReadAnswer](t, a, err)
}
