package admin

import (
	"errors"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/concern"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestADescriptionFindsHosts by id, and by name among the hosts that belong to the cluster.
func TestADescriptionFindsHosts(t *testing.T) {
	standing := func(s State, epoch uint64) Standing { return Standing{State: s, Epoch: epoch} }
	m := &protocol.ClusterDescribeAnswer{ClusterID: []byte("prod"), Hosts: []Host{
		{ID: 3, Name: "d", Target: standing(Expelled, 1)},
		{ID: 4, Name: "d", Current: standing(Online, 3), Target: standing(Online, 4)},
	}}
	x := protocol.Concern{Severity: concern.Failure, Code: []byte("quorum"), Text: []byte("1 of 3"),
		Mend: []byte("start them"), HostID: 4}
	x.Shards.Append(3)
	m.Concerns.Append(x)

	c := clusterOf(m)
	h := c.Named("d")
	if h == nil || h != c.Host(4) || c.Host(5) != nil || c.Named("e") != nil {
		t.Fatalf("%+v", c)
	}
	if h.AtTarget() {
		t.Error("a host that was to be online once more is at its target")
	}
	if x := c.Concerns[0]; x.Severity != Failure || x.Kind != concern.NoMajority || x.Host != "d" ||
		x.Do != "start them" ||
		!slices.Equal(x.Shards, []string{"3"}) {
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
