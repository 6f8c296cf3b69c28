package admin

import (
	"errors"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestADescriptionFindsHosts finds hosts by id, and by name among the cluster's members.
func TestADescriptionFindsHosts(t *testing.T) {
	standing := func(s State, epoch uint64) HostState { return HostState{State: s, Epoch: epoch} }
	m := &protocol.ClusterDescribeAnswer{ClusterID: []byte("prod"), Hosts: []Host{
		{ID: 3, Name: "d", Target: standing(Expelled, 1)},
		{ID: 4, Name: "d", Current: standing(Online, 3), Target: standing(Online, 4)},
	}}
	x := health.New(health.NoQuorum, health.About{Shards: []string{"3"}, Host: "d"}, "1 of 3")
	m.HealthIssues.Append(protocol.HealthIssue{Issue: x})

	c := clusterOf(m)
	h := c.HostByName("d")
	if h == nil || h != c.Host(4) || c.Host(5) != nil || c.HostByName("e") != nil {
		t.Fatalf("%+v", c)
	}
	if h.AtTarget() {
		t.Error("a host that was to be online once more is at its target")
	}
	if !reflect.DeepEqual(c.HealthIssues, []HealthIssue{x}) {
		t.Errorf("the health issues are %+v", c.HealthIssues)
	}
}

// TestWhatIsRefusedSaysWhatItIsAbout.
func TestWhatIsRefusedSaysWhatItIsAbout(t *testing.T) {
	g := clienttest.New(t)
	_, err := New(g.Client).Drain(t.Context(), "nobody", ChangeInfo{Author: "ann"})
	if err == nil || !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrPreconditionFailed) &&
		!errors.Is(err, client.ErrUnsupported) {
		t.Errorf("the error is %v", err)
	}
}
