package object_test

import (
	"maps"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle/handletest"
	"github.com/signalbox/signalbox/server/handle/node"
	"github.com/signalbox/signalbox/server/handle/object"
	"github.com/signalbox/signalbox/server/handle/session"
)

// bed returns two clients, the first with a session, at a host with the node with id 1 and the semaphore "box".
func bed(t *testing.T) (first, second *handletest.Client, id uint64) {
	t.Helper()
	h := handletest.Host(t, nil)
	all := object.Handlers(h)
	maps.Copy(all, node.Handlers(h))
	maps.Copy(all, session.Handlers(h))
	first, second = handletest.NewClient(t, h, all, ""), handletest.NewClient(t, h, all, "")
	a, err := first.Ask(&protocol.NodeCreate{Path: []byte("/jobs")})
	handletest.Must[*protocol.NodeCreateAnswer](t, a, err)
	a, err = first.Ask(&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 60_000})
	id = handletest.Must[*protocol.SessionStartAnswer](t, a, err).SessionID
	if _, err := first.Ask(&protocol.SemaphoreCreate{NodeID: 1, Name: []byte("box"), Limit: 1}); err != nil {
		t.Fatal(err)
	}
	return first, second, id
}

func TestASemaphoreIsAcquiredDescribedAndReleased(t *testing.T) {
	c, _, id := bed(t)
	acquire := &protocol.Acquire{Mutation: protocol.Mutation{SessionID: id, Sequence: 1}, NodeID: 1,
		Name: []byte("box"), Count: 1}
	a, err := c.Ask(acquire)
	got := handletest.Must[*protocol.AcquireAnswer](t, a, err)
	if got.Outcome != protocol.Acquired {
		t.Errorf("the acquire was answered by %+v", got)
	}
	a, err = c.Ask(&protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("box"), IncludeOwners: true})
	d := handletest.Must[*protocol.SemaphoreDescribeAnswer](t, a, err)
	if d.Semaphore.Count != 1 || d.Owners.Len() != 1 {
		t.Errorf("the semaphore is described as %+v, with %d owners", d.Semaphore, d.Owners.Len())
	}
	a, err = c.Ask(&protocol.SemaphoreList{NodeID: 1, ShardID: 1})
	if n := handletest.Must[*protocol.SemaphoreListAnswer](t, a, err).Semaphores.Len(); n != 1 {
		t.Errorf("%d semaphores are listed", n)
	}
	of := protocol.Mutation{SessionID: id, Sequence: 2}
	_, err = c.Ask(&protocol.Release{Mutation: of, NodeID: 1, Name: []byte("box")})
	if err != nil {
		t.Error(err)
	}
}

func TestAChangeIsRefusedWithTheReason(t *testing.T) {
	first, second, id := bed(t)
	of := protocol.Mutation{SessionID: id, Sequence: 1}
	for _, x := range []struct {
		what string
		by   *handletest.Client
		m    protocol.RequestMessage
		want protocol.Status
	}{
		{"no name", first, &protocol.Acquire{Mutation: of, NodeID: 1}, protocol.StatusBadRequest},
		{"another node", first, &protocol.Acquire{Mutation: of, NodeID: 7, Name: []byte("box")},
			protocol.StatusBadSession},
		{"another connection", second, &protocol.Acquire{Mutation: of, NodeID: 1, Name: []byte("box")},
			protocol.StatusBadSession},
		{"no such session", first, &protocol.Acquire{Mutation: protocol.Mutation{SessionID: id + 100}, NodeID: 1,
			Name: []byte("box")}, protocol.StatusSessionExpired},
		{"the node does not exist", first, &protocol.SemaphoreCreate{NodeID: 7, Name: []byte("box"), Limit: 1},
			protocol.StatusNotFound},
		{"no such semaphore", first, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("none")},
			protocol.StatusNotFound},
		{"a watch without a session", first, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("box"),
			WatchData: true}, protocol.StatusBadRequest},
		{"a rollout that is none", first, &protocol.RolloutPlan{NodeID: 1, Name: []byte("box")},
			protocol.StatusNotFound},
		{"a process that is none", first, &protocol.ProcessDescribe{SectionRequest: protocol.SectionRequest{NodeID: 1,
			Name: []byte("box")}}, protocol.StatusNotFound},
		{"an inbox of no member", first, &protocol.InboxOpen{SessionID: id, NodeID: 1, Name: []byte("box")},
			protocol.StatusNotFound},
	} {
		_, err := x.by.Ask(x.m)
		handletest.Refused(t, x.what, err, x.want)
	}
}

func TestAOneShotWatchIsCountedUntilItsChange(t *testing.T) {
	c, _, id := bed(t)
	watch := &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("box"), WatchData: true, SessionID: id}
	a, err := c.Ask(watch)
	if !handletest.Must[*protocol.SemaphoreDescribeAnswer](t, a, err).WatchAdded {
		t.Error("no watch was added")
	}
	_, err = c.Ask(watch)
	handletest.Refused(t, "one more than a client may have", err, protocol.StatusOverloaded)
	if _, err := c.Ask(&protocol.SemaphoreUpdate{NodeID: 1, Name: []byte("box"), Data: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	if m, is := c.Pushed().(*protocol.WatchChanged); !is || !m.Data {
		t.Errorf("the watch ended with %+v", m)
	}
}
