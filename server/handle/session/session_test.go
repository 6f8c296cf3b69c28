package session_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/handle/handletest"
	"github.com/signalbox/signalbox/server/handle/node"
	"github.com/signalbox/signalbox/server/handle/session"
	"github.com/signalbox/signalbox/shard"
)

// bed opens a host with the node /jobs, and returns two clients with sessions.
func bed(t *testing.T) (h *handle.Host, first, second *handletest.Client) {
	t.Helper()
	h = handletest.Host(t, nil)
	nodes := handletest.NewClient(t, h, node.Handlers(h), "")
	if _, err := nodes.Ask(&protocol.NodeCreate{Path: []byte("/jobs")}); err != nil {
		t.Fatal(err)
	}
	handlers := session.Handlers(h)
	return h, handletest.NewClient(t, h, handlers, ""), handletest.NewClient(t, h, handlers, "")
}

// start starts a session with the key "key".
func start(t *testing.T, c *handletest.Client) uint64 {
	t.Helper()
	a, err := c.Ask(&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 60_000, SessionSecret: []byte("key")})
	return handletest.Must[*protocol.SessionStartAnswer](t, a, err).SessionID
}

func TestASessionIsStartedMovedAndStopped(t *testing.T) {
	_, first, second := bed(t)
	id := start(t, first)
	if !first.Acts(shard.SessionID(id)) {
		t.Error("the session does not act over the connection that started it")
	}
	attach := &protocol.SessionAttach{SessionID: id, SessionSecret: []byte("other"), AttachSequence: 1}
	_, err := second.Ask(attach)
	handletest.Refused(t, "an attach with another key", err, protocol.StatusBadSession)
	attach.SessionSecret = []byte("key")
	a, err := second.Ask(attach)
	if l := handletest.Must[*protocol.SessionAttachAnswer](t, a, err).Lease; l.TimeoutMillis != 60_000 {
		t.Errorf("the lease is %+v", l)
	}
	a, err = first.Ask(&protocol.SessionDescribe{SessionID: id})
	if s := handletest.Must[*protocol.SessionDescribeAnswer](t, a, err).Session; !s.Attached ||
		string(s.Client.Name) != "tester" {
		t.Errorf("the session is described as %+v", s)
	}
	if _, err := second.Ask(&protocol.SessionStop{SessionID: id}); err != nil {
		t.Error(err)
	}
	attach.AttachSequence = 2
	_, err = first.Ask(attach)
	handletest.Refused(t, "an attach of a stopped session", err, protocol.StatusSessionExpired)
}

func TestASessionIsBoundWithItsKeyAndDetached(t *testing.T) {
	_, first, second := bed(t)
	id := start(t, first)
	_, err := second.Ask(&protocol.SessionBind{SessionID: id, SessionSecret: []byte("other")})
	handletest.Refused(t, "a bind with another key", err, protocol.StatusBadSession)
	a, err := second.Ask(&protocol.SessionBind{SessionID: id, SessionSecret: []byte("key")})
	if n := handletest.Must[*protocol.SessionBindAnswer](t, a, err).NodeID; n != 1 {
		t.Errorf("the session is bound in node %d", n)
	}
	_, err = second.Ask(&protocol.SessionStop{SessionID: id})
	handletest.Refused(t, "a stop by a bound client", err, protocol.StatusBadSession)
	if _, err := second.Ask(&protocol.SessionDetach{SessionID: id}); err != nil {
		t.Error(err)
	}
	_, err = second.Ask(&protocol.SessionDetach{SessionID: id})
	handletest.Refused(t, "a second detach", err, protocol.StatusBadSession)
	a, err = first.Ask(&protocol.SessionDetach{SessionID: id})
	handletest.Must[*protocol.SessionDetachAnswer](t, a, err)
	a, err = first.Ask(&protocol.SessionDescribe{SessionID: id})
	if handletest.Must[*protocol.SessionDescribeAnswer](t, a, err).Session.Attached {
		t.Error("a detached session is said to be attached")
	}
}

// TestRequestsOfASessionWaitForItsStop: the binding has a stop without an outcome.
func TestRequestsOfASessionWaitForItsStop(t *testing.T) {
	_, first, second := bed(t)
	for _, x := range []struct {
		by      *handletest.Client
		outcome protocol.Status
	}{{first, protocol.StatusSessionExpired}, {second, protocol.StatusUnavailable}} {
		id := start(t, x.by)
		stop := &handle.Stop{}
		x.by.SwapStop(shard.SessionID(id), nil, stop)
		outcome := x.by.Send(&protocol.SessionDetach{SessionID: id})
		stop.Over(handle.Refuse(x.outcome, ""))
		_, err := outcome()
		handletest.Refused(t, "a held request", err, x.outcome)
		// A request that found the stop in progress, and waits after its end, gets the outcome too.
		_, err = x.by.Ask(&protocol.SessionDetach{SessionID: id})
		handletest.Refused(t, "a late request", err, x.outcome)
	}
}

func TestOperatorsListAndDestroySessions(t *testing.T) {
	_, first, second := bed(t)
	id := start(t, first)
	list := func() int {
		a, err := second.Ask(&protocol.SessionList{NodeID: 1, ShardID: 1})
		return handletest.Must[*protocol.SessionListAnswer](t, a, err).Sessions.Len()
	}
	if n := list(); n != 1 {
		t.Errorf("%d sessions are listed", n)
	}
	_, err := second.Ask(&protocol.SessionList{NodeID: 1, ShardID: 7})
	handletest.Refused(t, "the list of a shard that is not there", err, protocol.StatusNotFound)
	if _, err := second.Ask(&protocol.SessionDestroy{SessionID: id}); err != nil {
		t.Error(err)
	}
	if n := list(); n != 0 {
		t.Errorf("%d sessions are listed after the end", n)
	}
	_, err = second.Ask(&protocol.SessionDescribe{SessionID: id})
	handletest.Refused(t, "the describe of a destroyed session", err, protocol.StatusSessionExpired)
}
