//go:build linux

package survival_test

import (
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/process"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// TestWhatARestoredClusterHasOfEachKind: a restored cluster has the node and its config, the semaphore and its data,
// the rollout with version and target, and the process with the last result. Former participants cannot continue, and
// the store behind the lock refuses them.
func TestWhatARestoredClusterHasOfEachKind(t *testing.T) {
	places, a := growing(t, "a")
	newNode(t, []*host{a}, "/three", protocol.NodeConfig{})
	c := newCounter(t, places)
	c.write("one")
	config := c.nodeConfig()
	before, err := start([]string{places[0].Client}, "/growing", time.Minute, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	defer before.disconnect()
	if err := before.rollOut("web", "sas", "version one"); err != nil {
		t.Fatal(err)
	}
	if err := before.coordinate("sharding", "done"); err != nil {
		t.Fatal(err)
	}
	head, err := before.processHead("sharding")
	if err != nil || head.Members != 1 {
		t.Fatalf("%v: %+v", err, head)
	}
	lock, store := history.Semaphore{Name: "lock"}, make(history.Store)
	c.acquire()
	early := c.last
	file := savedFrom(t, places[0])
	c.acquire()
	late := c.last
	a.Kill()

	restored(t, file, places[0], 1, "--keep-cluster-id")
	c.above(1 << 40)
	if !store.Write(lock, c.last) || store.Write(lock, early) || store.Write(lock, late) {
		t.Error("the store that the lock guards takes a writer of before")
	}
	c.has("one")
	if got := c.nodeConfig(); got != config {
		t.Errorf("the config was %+v, and is %+v", config, got)
	}
	if _, err := before.acquire("mine"); err == nil {
		t.Error("a session of before acquires something")
	}
	after, err := start([]string{places[0].Client}, "/growing", time.Minute, newRecord(t))
	if err != nil {
		t.Fatal(err)
	}
	defer after.disconnect()
	after.checkRestoredProcess(t, head)
	after.checkRestoredRollout(t)
}

// nodeConfig is the config for the node /growing.
func (c *counter) nodeConfig() sdk.NodeConfig {
	c.t.Helper()
	n, err := c.box.DescribeNode(c.t.Context(), "/growing")
	if err != nil {
		c.t.Fatal(err)
	}
	return n.Config
}

// checkRestoredProcess checks that a process has its last result and no members, and lets a new member coordinate a
// later epoch.
func (c *client) checkRestoredProcess(t *testing.T, was process.Overview) {
	t.Helper()
	head, err := c.processHead("sharding")
	if err != nil || head.Members != 0 || head.LastResult != was.LastResult || head.Epoch < was.Epoch {
		t.Errorf("%v: the process was %+v, and is %+v", err, was, head)
	}
	if err := c.coordinate("sharding", "again"); err != nil {
		t.Error(err)
	}
	if head, err = c.processHead("sharding"); err != nil || head.LastResult <= was.LastResult {
		t.Errorf("%v: after another round it is %+v", err, head)
	}
}

// checkRestoredRollout checks that a rollout has its version, and assigns the version to a joining instance.
func (c *client) checkRestoredRollout(t *testing.T) {
	t.Helper()
	_, err := c.change("web", func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.RolloutPoll{Mutation: m, NodeID: c.node, Name: []byte("web")}
	})
	if err == nil {
		t.Error("an instance that has not joined the new cluster is answered")
	}
	_, err = c.change("web", func(m protocol.Mutation) protocol.RequestMessage {
		return &protocol.RolloutJoin{
			Mutation: m, NodeID: c.node, Name: []byte("web"), Instance: kind.Instance{Name: "one", Location: "sas"},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.ask("web", protocol.InstanceReport{})
	if err != nil || target.Seq != 1 || string(target.Payload) != "version one" {
		t.Errorf("%v: its target is version %d, %q", err, target.Seq, target.Payload)
	}
}
