package meta

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// run applies commands as one batch, stamped with the current term, and returns the effects.
func run(m *Machine, commands ...Command) []Effect {
	var out Effects
	m.Apply(&Batch{Stamp: clock.Stamp{Term: m.clock.Term}, Commands: commands}, &out)
	return out.List
}

// do applies one command and returns its result.
func do(m *Machine, c Command) Effect { return run(m, c)[0] }

// want applies one command, fails if the status differs, and returns the result.
func want(t *testing.T, m *Machine, status protocol.Status, c Command) Effect {
	t.Helper()
	before := m.Digest()
	e := do(m, c)
	if e.Status != status {
		t.Fatalf("%v %+v: %v (%s), want %v", c.Kind, c, e.Status, e.Message, status)
	}
	if (e.Message == "") != (status == protocol.StatusSuccess) {
		t.Errorf("%v: %v with the message %q", c.Kind, e.Status, e.Message)
	}
	if changed := e.Flags&FlagChanged != 0; changed != (m.Digest() != before) || changed &&
		status != protocol.StatusSuccess {
		t.Errorf("%v: %v, flags %b, but the digest was %x and is %x", c.Kind, e.Status, e.Flags, before, m.Digest())
	}
	return e
}

// ok applies one command that must succeed and returns its result.
func ok(t *testing.T, m *Machine, c Command) Effect {
	t.Helper()
	return want(t, m, protocol.StatusSuccess, c)
}

func create(path string, c Config) Command {
	return Command{Kind: CmdNodeCreate, Path: path, Config: c}
}

func alter(path string, c Config) Command {
	return Command{Kind: CmdNodeAlter, Path: path, Config: c}
}

func drop(path string) Command { return Command{Kind: CmdNodeDrop, Path: path} }

func confirmed(id shard.NodeID, version uint64) Command {
	return Command{Kind: CmdGraceConfirmed, Node: id, Expected: version}
}

func cleared(id shard.NodeID, s ShardID) Command {
	return Command{Kind: CmdNodeCleared, Node: id, Shard: s}
}

func bootstrap(shards ...ShardID) Command {
	return Command{Kind: CmdRoutingInit, Cluster: "c-1", Shards: shards}
}

// bootstrapped is a cluster's machine with data shards 1 to n.
func bootstrapped(n int) *Machine {
	m := New()
	var shards []ShardID
	for i := range n {
		shards = append(shards, ShardID(i+1))
	}
	do(m, bootstrap(shards...))
	return m
}

// kinds returns the effects' kinds.
func kinds(list []Effect) string {
	s := ""
	for _, e := range list {
		s += e.Kind.String() + " "
	}
	return s
}

func TestEveryCommandIsAnsweredFirstAndUnderItsNumber(t *testing.T) {
	m := bootstrapped(1)
	list := run(m, create("/a", Config{}), Command{Level: level.Newest + 1}, drop("/a"), drop("/a"))
	if got := kinds(list); got != "result node-changed result result node-dropped result " {
		t.Errorf("effects: %s", got)
	}
	for i, op := range []int32{0, 0, 1, 2, 2, 3} {
		if list[i].Op != op {
			t.Errorf("effect %d is of command %d, want %d", i, list[i].Op, op)
		}
	}
	if s := list[2].Status; s != protocol.StatusUnsupported {
		t.Errorf("a command above the level: %v", s)
	}
}

func TestEffectsHaveTheVersionAfterTheCommand(t *testing.T) {
	m := New()
	for _, c := range []Command{create("/a", Config{}), bootstrap(1), create("/a", Config{}),
		alter("/a", cfg(0, 20_000)), drop("/a")} {
		for _, e := range run(m, c) {
			if e.Version != m.Version() {
				t.Errorf("%v of %v carries version %d, the machine has %d", e.Kind, c.Kind, e.Version, m.Version())
			}
		}
	}
	if m.Version() != 4 {
		t.Errorf("four commands changed something, the version is %d", m.Version())
	}
}

func TestReadsFindWhatIsThereAndNothingElse(t *testing.T) {
	m := bootstrapped(2)
	id := ok(t, m, create("/a", Config{})).Node.ID
	if n, found := m.Node("/a"); !found || n.ID != id {
		t.Errorf("Node(/a) = %+v, %v", n, found)
	}
	if n, found := m.NodeByID(id); !found || n.Path != "/a" {
		t.Errorf("NodeByID(%d) = %+v, %v", id, n, found)
	}
	if _, found := m.Node("/b"); found {
		t.Error("Node(/b) was found")
	}
	if _, found := m.NodeByID(id + 1); found {
		t.Error("an id that was never given was found")
	}
	if _, found := m.Host(1); found {
		t.Error("a host that never registered was found")
	}
	if n := m.NodeCount(); n != 1 {
		t.Errorf("NodeCount() = %d", n)
	}
}

func TestListPages(t *testing.T) {
	m := New()
	for _, p := range []string{"/a", "/a-b", "/a/1", "/a/2", "/a/3", "/b", "/b/1"} {
		ok(t, m, create(p, Config{}))
	}
	list := func(nodes []Node, more bool) string {
		s := ""
		for _, n := range nodes {
			s += n.Path + " "
		}
		return fmt.Sprint(s, more)
	}
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          string
	}{
		{"/", "", 100, "/a /a-b /a/1 /a/2 /a/3 /b /b/1 false"},
		{"/", "", 7, "/a /a-b /a/1 /a/2 /a/3 /b /b/1 false"},
		{"/", "", 6, "/a /a-b /a/1 /a/2 /a/3 /b true"},
		{"/", "/b", 100, "/b/1 false"},
		{"/", "/a/25", 2, "/a/3 /b true"},
		{"/a", "", 100, "/a /a-b /a/1 /a/2 /a/3 false"},
		{"/a", "", 5, "/a /a-b /a/1 /a/2 /a/3 false"},
		{"/a", "/a", 100, "/a-b /a/1 /a/2 /a/3 false"},
		{"/a/", "", 2, "/a/1 /a/2 true"},
		{"/a/", "/a/2", 2, "/a/3 false"},
		{"/a/", "/a/3", 2, "false"},
		{"/a/", "/b/7", 2, "false"},
		{"/a/", "/0", 1, "/a/1 true"},
		{"/c", "", 100, "false"},
		{"/", "", 0, "/a true"},
		{"/", "", -5, "/a true"},
	} {
		if got := list(m.Nodes(c.prefix, c.after, c.limit)); got != c.want {
			t.Errorf("Nodes(%q, %q, %d) = %s, want %s", c.prefix, c.after, c.limit, got, c.want)
		}
	}
}

func TestNoPageIsLongerThanTheLimitOfAllPages(t *testing.T) {
	m := New()
	for i := range shard.MaxPage + 1 {
		ok(t, m, create(fmt.Sprintf("/%05d", i), Config{}))
	}
	page, more := m.Nodes("/", "", 1<<30)
	if len(page) != shard.MaxPage || !more {
		t.Fatalf("a page of %d, more %v", len(page), more)
	}
	if page, more = m.Nodes("/", page[len(page)-1].Path, 1<<30); len(page) != 1 || more {
		t.Fatalf("the next page has %d, more %v", len(page), more)
	}
}

// copyOf saves the machine and restores a new machine.
func copyOf(t testing.TB, m *Machine) *Machine {
	t.Helper()
	r := New()
	if err := r.Restore(bytes.NewReader(saved(t, m))); err != nil {
		t.Fatal(err)
	}
	return r
}

// saved is the machine's snapshot.
func saved(t testing.TB, m *Machine) []byte {
	t.Helper()
	s, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Discard()
	var b bytes.Buffer
	if err := s.Save(&b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mustEqual compares the complete state in two machines.
func mustEqual(t testing.TB, got, want *Machine) {
	t.Helper()
	if g, w := got.State(), want.State(); !reflect.DeepEqual(g, w) {
		t.Fatalf("states differ:\n%+v\n%+v", g, w)
	}
	if g, w := got.Digest(), want.Digest(); g != w {
		t.Fatalf("digests of equal states differ: %x, %x", g, w)
	}
}
