package meta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestCreateMakesANodeOnce(t *testing.T) {
	m := New()
	first := ok(t, m, create("a//b/", cfg(2000, 0)))
	if first.Flags != FlagChanged || first.Node.Path != "/a/b" || first.Node.Version != 1 || first.Node.ID == 0 {
		t.Errorf("the first create: %+v", first)
	}
	again := ok(t, m, create("/a/b", cfg(3000, 20_000)))
	if again.Flags != FlagExisted || again.Node != first.Node {
		t.Errorf("the second create: %+v", again)
	}
	if got := kinds(run(m, create("/a/b", Config{}))); got != "result " {
		t.Errorf("a create that changes nothing yields %s", got)
	}
}

func TestCreateStoresWhatWasSetAndNoDefaults(t *testing.T) {
	m := New()
	n := ok(t, m, create("/a", cfg(2000, 0))).Node
	if n.Config != cfg(2000, 0) {
		t.Errorf("stored: %+v", n.Config)
	}
	if !n.Confirmed() || n.Timing != (Timing{1, 10_000, 10_000, 2000}) {
		t.Errorf("the timing of a new node: %+v", n.Timing)
	}
}

func TestCreateIsRefusedByForm(t *testing.T) {
	m := New()
	for _, c := range []struct {
		command Command
		message string
	}{
		{create("/a b", Config{}), "part 1"},
		{create("", Config{}), "no part"},
		{create("/a", cfg(400, 0)), "self_check_period_ms"},
		{create("/a", cfg(0, 1000)), "must be greater"},
		{create("/a", Config{ReadConsistency: 7}), "read_consistency 7"},
	} {
		e := want(t, m, protocol.StatusBadRequest, c.command)
		if !strings.Contains(e.Message, c.message) {
			t.Errorf("the message %q does not have %q", e.Message, c.message)
		}
	}
	ok(t, m, create("/a", Config{}))
	want(t, m, protocol.StatusBadRequest, create("/a", cfg(400, 0)))
}

func TestANodeThatIsMadeAgainHasANewID(t *testing.T) {
	m := bootstrapped(1)
	first := ok(t, m, create("/a", Config{})).Node.ID
	ok(t, m, drop("/a"))
	ok(t, m, cleared(first, 1))
	m = copyOf(t, m) // the counter outlives a restart, though no node is left
	if second := ok(t, m, create("/a", Config{})).Node.ID; second <= first {
		t.Errorf("the ids are %d and then %d", first, second)
	}
}

func TestAlterMergesAndCounts(t *testing.T) {
	m := New()
	ok(t, m, create("/a", cfg(1234, 0)))
	for i, change := range []Config{cfg(0, 5678), cfg(2345, 0), {ReadConsistency: protocol.ConsistencyStrict}} {
		e := ok(t, m, alter("/a", change))
		if e.Flags != FlagChanged || e.Node.Version != uint64(i+2) {
			t.Errorf("alter %d: %+v", i, e)
		}
	}
	n, _ := m.Node("/a")
	union := cfg(2345, 5678)
	union.ReadConsistency = protocol.ConsistencyStrict
	if n.Config != union {
		t.Errorf("the config is %+v, want the union %+v", n.Config, union)
	}
	for _, change := range []Config{{}, cfg(2345, 0), union} {
		if e := ok(t, m, alter("/a", change)); e.Flags != 0 || e.Node != n {
			t.Errorf("an alter that changes nothing: %+v", e)
		}
	}
}

func TestAnAlterToTheDefaultIsStoredButChangesNoTiming(t *testing.T) {
	m := New()
	ok(t, m, create("/a", Config{}))
	n := ok(t, m, alter("/a", cfg(1000, 10_000))).Node
	if n.Version != 2 || n.Config != cfg(1000, 10_000) || n.Timing.Since != 1 || !n.Confirmed() {
		t.Errorf("%+v", n)
	}
}

func TestAlterIsRefused(t *testing.T) {
	m := New()
	id := ok(t, m, create("/a", cfg(0, 3000))).Node.ID
	other := ok(t, m, create("/b", Config{})).Node.ID
	conditional := func(version uint64, c Config) Command {
		a := alter("/a", c)
		a.Expected = version
		return a
	}
	for _, c := range []struct {
		status  protocol.Status
		command Command
		message string
	}{
		{protocol.StatusBadRequest, alter("", Config{}), "neither a node path nor a node id"},
		{protocol.StatusBadRequest, alter("/..", Config{}), "dots"},
		{protocol.StatusNotFound, alter("/c", cfg(1, 1)), "no node /c"},
		{protocol.StatusNotFound, Command{Kind: CmdNodeAlter, Node: 77}, "no node with id 77"},
		{protocol.StatusNotFound, Command{Kind: CmdNodeAlter, Path: "/a", Node: other},
			fmt.Sprintf("id %d now, not %d", id, other)},
		{protocol.StatusPreconditionFailed, conditional(2, cfg(0, 4000)), "version 1, not 2"},
		{protocol.StatusPreconditionFailed, conditional(2, cfg(1, 1)), "version 1, not 2"},
		{protocol.StatusBadRequest, alter("/a", cfg(3000, 0)), "must be greater"},
		{protocol.StatusBadRequest, conditional(1, cfg(4000, 0)), "must be greater"},
		{protocol.StatusBadRequest, alter("/a", Config{AttachConsistency: 3}), "attach_consistency"},
	} {
		e := want(t, m, c.status, c.command)
		if !strings.Contains(e.Message, c.message) {
			t.Errorf("the message %q does not have %q", e.Message, c.message)
		}
		if c.status == protocol.StatusPreconditionFailed && e.Node.ID != id {
			t.Errorf("the node does not come with %q", e.Message)
		}
	}
	ok(t, m, conditional(1, cfg(3000, 4000)))
	want(t, m, protocol.StatusPreconditionFailed, conditional(1, cfg(3000, 4000)))
}

func TestANodeIsNamedByPathByIDOrByBoth(t *testing.T) {
	m := New()
	id := ok(t, m, create("/a", Config{})).Node.ID
	ok(t, m, Command{Kind: CmdNodeAlter, Node: id, Config: cfg(0, 2000)})
	ok(t, m, Command{Kind: CmdNodeAlter, Path: "a/", Node: id, Config: cfg(0, 3000)})
	ok(t, m, Command{Kind: CmdNodeAlter, Path: "//a", Config: cfg(0, 4000)})
	n, _ := m.Node("/a")
	if byID, _ := m.NodeByID(id); n != byID || n.Version != 4 {
		t.Errorf("by path %+v, by id %+v", n, byID)
	}
	ok(t, m, Command{Kind: CmdNodeDrop, Node: id})
	if _, found := m.Node("/a"); found {
		t.Error("the node was dropped by id and is there by path")
	}
}

func TestADropSentAgainDoesNotHitTheNextNodeOfThePath(t *testing.T) {
	m := New()
	first := ok(t, m, create("/a", Config{})).Node.ID
	again := Command{Kind: CmdNodeDrop, Path: "/a", Node: first}
	if e := ok(t, m, again); e.Node.ID != first || e.Node.Path != "/a" {
		t.Errorf("a drop answers with %+v", e.Node)
	}
	want(t, m, protocol.StatusNotFound, again)
	ok(t, m, create("/a", Config{}))
	want(t, m, protocol.StatusNotFound, again)
	want(t, m, protocol.StatusNotFound, Command{Kind: CmdNodeDrop, Node: first})
	if _, found := m.Node("/a"); !found {
		t.Error("the new node is gone")
	}
}

func TestTheClusterHasALimitOfNodes(t *testing.T) {
	m := bootstrapped(1)
	var out Effects
	batch := Batch{Commands: make([]Command, 1)}
	for i := range MaxNodes {
		batch.Commands[0] = create(fmt.Sprintf("/%06d", i), Config{})
		m.Apply(&batch, &out)
		if out.List[0].Status != protocol.StatusSuccess {
			t.Fatalf("node %d: %v", i, out.List[0])
		}
		out.Reset()
	}
	want(t, m, protocol.StatusPreconditionFailed, create("/one-more", Config{}))
	if e := ok(t, m, create("/000000", Config{})); e.Flags != FlagExisted {
		t.Errorf("a node that exists, at the limit: %+v", e)
	}
	mustEqual(t, copyOf(t, m), m)
	ok(t, m, drop("/000000"))
	ok(t, m, create("/one-more", Config{}))
}

func TestDroppedNodesWaitForEveryDataShard(t *testing.T) {
	m := bootstrapped(3)
	id := ok(t, m, create("/a", Config{})).Node.ID
	want(t, m, protocol.StatusPreconditionFailed, cleared(id, 1)) // it lives
	if list := run(m, drop("/a")); kinds(list) != "result node-dropped " || list[1].Node.ID != id {
		t.Errorf("%+v", list)
	}
	wait := func(want string) {
		t.Helper()
		list, more := m.Dropping(0, 10)
		if got := fmt.Sprint(list, more); got != want {
			t.Errorf("Dropping = %s, want %s", got, want)
		}
		mustEqual(t, copyOf(t, m), m)
	}
	wait("[{1 3 [1 2 3]}] false")
	ok(t, m, cleared(id, 2))
	wait("[{1 3 [1 3]}] false")
	if e := ok(t, m, cleared(id, 2)); e.Flags != 0 {
		t.Errorf("a repeat changed something: %+v", e)
	}
	ok(t, m, cleared(id, 1))
	ok(t, m, cleared(id, 3))
	wait("[] false")
	if e := ok(t, m, cleared(id, 3)); e.Flags != 0 {
		t.Errorf("a late repeat changed something: %+v", e)
	}

	want(t, m, protocol.StatusPreconditionFailed, cleared(id, 4)) // no such data shard
	want(t, m, protocol.StatusNotFound, cleared(id+1, 1))         // never given
	want(t, m, protocol.StatusBadRequest, cleared(0, 1))
	want(t, m, protocol.StatusBadRequest, cleared(1, 0))
}

func TestDroppingIsReadInPages(t *testing.T) {
	m := bootstrapped(1)
	for i := range 5 {
		ok(t, m, create(fmt.Sprintf("/%d", i), Config{}))
		ok(t, m, drop(fmt.Sprintf("/%d", i)))
	}
	var got []shard.NodeID
	for after, more := shard.NodeID(0), true; more; {
		var page []Dropped
		page, more = m.Dropping(after, 2)
		for _, d := range page {
			got = append(got, d.ID)
			after = d.ID
		}
	}
	if fmt.Sprint(got) != "[1 2 3 4 5]" {
		t.Errorf("the pages have %v", got)
	}
}

func TestDropBeforeBootstrapLeavesNothingToClear(t *testing.T) {
	m := New()
	id := ok(t, m, create("/a", Config{})).Node.ID
	ok(t, m, drop("/a"))
	if list, _ := m.Dropping(0, 10); len(list) != 0 {
		t.Errorf("Dropping = %v", list)
	}
	if got := m.NodeAlive(id); got != NodeIsDead {
		t.Errorf("NodeAlive = %v", got)
	}
}

func TestDropsAreRefusedWhileTooManyWait(t *testing.T) {
	m := bootstrapped(1)
	for range MaxDropping {
		run(m, create("/a", Config{}), drop("/a"))
	}
	id := ok(t, m, create("/a", Config{})).Node.ID
	want(t, m, protocol.StatusOverloaded, drop("/a"))
	ok(t, m, cleared(id-1, 1))
	ok(t, m, drop("/a"))
}

func TestALaggingReplicaKillsNothing(t *testing.T) {
	ahead, behind := bootstrapped(1), bootstrapped(1)
	for _, m := range []*Machine{ahead, behind} {
		run(m, create("/a", Config{}), create("/b", Config{}))
	}
	run(ahead, drop("/a"), create("/c", Config{}), create("/d", Config{}), drop("/d"))
	for _, c := range []struct {
		id            shard.NodeID
		ahead, behind Liveness
	}{
		{1, NodeIsDead, NodeIsAlive},
		{2, NodeIsAlive, NodeIsAlive},
		{3, NodeIsAlive, NodeLater},
		{4, NodeIsDead, NodeLater},
		{5, NodeLater, NodeLater},
	} {
		if a, b := ahead.NodeAlive(c.id), behind.NodeAlive(c.id); a != c.ahead || b != c.behind {
			t.Errorf("node %d: %v ahead and %v behind, want %v and %v", c.id, a, b, c.ahead, c.behind)
		}
	}
}
