package watch_test

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/handle/handletest"
	"github.com/signalbox/signalbox/server/handle/node"
	"github.com/signalbox/signalbox/server/handle/watch"
)

// bed opens a host with the node with id 1.
func bed(t *testing.T) (*handle.Host, *watch.Watches, *handletest.Client) {
	t.Helper()
	h := handletest.Host(t, nil)
	a, err := handletest.NewClient(t, h, node.Handlers(h), "").Ask(&protocol.NodeCreate{Path: []byte("/jobs")})
	if n := handletest.Must[*protocol.NodeCreateAnswer](t, a, err); n.Node.ID != 1 {
		t.Fatalf("the first node has the id %d", n.Node.ID)
	}
	w := watch.New(h)
	return h, w, handletest.NewClient(t, h, w.Handlers(), "")
}

func TestAWatchIsOpenedByTheHubAndStopped(t *testing.T) {
	_, _, c := bed(t)
	if _, err := c.Ask(&protocol.Watch{NodeID: 1, Name: []byte("lock")}); err != nil {
		t.Fatal(err)
	}
	if k := <-c.Appended; k != protocol.KindWatch.Answer() {
		t.Errorf("the hub appended %v first", k)
	}
	_, err := c.Ask(&protocol.Watch{NodeID: 1, Name: []byte("other")})
	handletest.Refused(t, "a watch too many", err, protocol.StatusOverloaded)
	if _, err := c.Ask(&protocol.WatchStop{WatchID: 1}); err != nil {
		t.Error(err)
	}
	_, err = c.Ask(&protocol.WatchStop{WatchID: 1})
	handletest.Refused(t, "a watch that was stopped", err, protocol.StatusNotFound)
}

func TestAWatchThatWaitsToBeOpenedIsStoppedOnceItIsOpen(t *testing.T) {
	_, w, c := bed(t)
	held := make(chan struct{})
	w.Add(c, func() { <-held })
	opened := c.Send(&protocol.Watch{NodeID: 1, Name: []byte("lock")})
	first, second := c.Send(&protocol.WatchStop{WatchID: 1}), c.Send(&protocol.WatchStop{WatchID: 1})
	close(held)
	if _, err := opened(); err != nil {
		t.Error(err)
	}
	if _, err := first(); err != nil {
		t.Error(err)
	}
	_, err := second()
	handletest.Refused(t, "the second stop", err, protocol.StatusNotFound)
}

func TestAWatchThatCannotBeIsRefused(t *testing.T) {
	_, _, c := bed(t)
	for _, x := range []struct {
		m    protocol.Watch
		want protocol.Status
	}{
		{protocol.Watch{NodeID: 1}, protocol.StatusBadRequest},
		{protocol.Watch{NodeID: 1, Name: []byte("lock"), View: []byte("some")}, protocol.StatusBadRequest},
		{protocol.Watch{NodeID: 1, Name: []byte("lock"), ObjectKind: 200}, protocol.StatusUnsupported},
	} {
		_, err := c.Ask(&x.m)
		handletest.Refused(t, fmt.Sprintf("%+v", x.m), err, x.want)
	}
}
