package node_test

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle/handletest"
	"github.com/signalbox/signalbox/server/handle/node"
)

// roles has the tokens "admin", with full rights, and "reader", with read access below /jobs.
type roles struct{}

func (roles) Authenticate(token []byte) (caller.Rights, string, bool) {
	return role(token), string(token), true
}

type role string

func (r role) Allows(path, _ string, need protocol.Right) bool {
	return r == "admin" || need&protocol.RightRead != 0 && (path == "" || strings.HasPrefix(path+"/", "/jobs/"))
}
func (role) Valid() bool     { return true }
func (role) Version() uint64 { return 0 }

func TestANodeIsCreatedDescribedAndDropped(t *testing.T) {
	h := handletest.Host(t, nil)
	c := handletest.NewClient(t, h, node.Handlers(h), "")
	create := func() *protocol.NodeCreateAnswer {
		a, err := c.Ask(&protocol.NodeCreate{Path: []byte("/jobs")})
		return handletest.Must[*protocol.NodeCreateAnswer](t, a, err)
	}
	created := create()
	if created.Existed || string(created.Node.Path) != "/jobs" {
		t.Errorf("the first creation was answered by %+v", created)
	}
	if again := create(); !again.Existed || again.Node.ID != created.Node.ID {
		t.Errorf("the second creation was answered by %+v", again)
	}
	a, err := c.Ask(&protocol.NodeDescribe{NodeID: created.Node.ID})
	if d := handletest.Must[*protocol.NodeDescribeAnswer](t, a, err); string(d.Node.Path) != "/jobs" {
		t.Errorf("the node is described as %+v", d.Node)
	}
	if _, err := c.Ask(&protocol.NodeDrop{Path: []byte("/jobs")}); err != nil {
		t.Error(err)
	}
	_, err = c.Ask(&protocol.NodeDescribe{Path: []byte("/jobs")})
	handletest.Refused(t, "a dropped node", err, protocol.StatusNotFound)
}

func TestAClientSeesAndChangesOnlyNodesThatItHasRightsIn(t *testing.T) {
	h := handletest.Host(t, roles{})
	admin := handletest.NewClient(t, h, node.Handlers(h), "admin")
	reader := handletest.NewClient(t, h, node.Handlers(h), "reader")
	for _, path := range []string{"/jobs/a", "/other"} {
		if _, err := admin.Ask(&protocol.NodeCreate{Path: []byte(path)}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := reader.Ask(&protocol.NodeList{})
	if list := handletest.Must[*protocol.NodeListAnswer](t, a, err); list.Nodes.Len() != 1 {
		t.Errorf("the reader sees %d nodes", list.Nodes.Len())
	}
	for _, m := range []protocol.RequestMessage{
		&protocol.NodeCreate{Path: []byte("/jobs/b")}, &protocol.NodeCreate{Path: []byte("/other")},
		&protocol.NodeDrop{Path: []byte("/jobs/a")}, &protocol.NodeDescribe{Path: []byte("/other")},
	} {
		_, err := reader.Ask(m)
		handletest.Refused(t, m.Kind().String(), err, protocol.StatusUnauthorized)
	}
	// A client that can see an existing node may call create.
	a, err = reader.Ask(&protocol.NodeCreate{Path: []byte("/jobs/a")})
	if !handletest.Must[*protocol.NodeCreateAnswer](t, a, err).Existed {
		t.Error("a node that was there is said to be new")
	}
}
