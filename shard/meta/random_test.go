package meta

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// commands makes random commands that concern existing objects often enough to matter.
type commands struct {
	r    *rand.Rand
	sent []Command // numbered commands, which may be repeated
}

func newCommands(seed uint64) *commands {
	return &commands{r: rand.New(rand.NewPCG(seed, 17))}
}

func pick[T any](g *commands, list ...T) T { return list[g.r.IntN(len(list))] }

func (co *commands) path() string {
	if co.r.IntN(25) == 0 {
		return pick(co, "", "/", "/a b", "/..", "/a/\x01", "/\xff")
	}
	return pick(co, "/", "//", "") + pick(co, "a", "b", "b-", "c") + pick(co, "", "/x", "/y", "//x/", "/.", "/x/1")
}

func (co *commands) config() Config {
	var c Config
	if co.r.IntN(2) == 0 {
		c.SessionGracePeriodMillis = pick[uint64](co, 0, 999, 1000, 2000, 5000, 5001, 10_000, 15_000, 30_000, 30_001)
	}
	if co.r.IntN(3) == 0 {
		c.SelfCheckPeriodMillis = pick[uint64](co, 499, 500, 1000, 2000, 4999, 10_000, 10_001)
	}
	if co.r.IntN(4) == 0 {
		c.ReadConsistency = pick[protocol.Consistency](co, 0, 1, 2, 3)
		c.AttachConsistency = pick[protocol.Consistency](co, 0, 1, 2)
		c.RateLimiterCountersMode = pick[protocol.CountersMode](co, 0, 1, 2, 2, 2, 9)
	}
	if co.r.IntN(3) == 0 {
		c.QuotaObjects = pick[uint64](co, 0, 1, 5, 1_000_000, 1_000_001)
		c.QuotaBytes = pick[uint64](co, 0, 1<<20-1, 1<<20, 1<<30, 1<<40, 1<<40+1)
	}
	if c.QuotaObjects == 5 {
		c.Asked = protocol.AskedConfig{
			SelfCheckPeriodMillis: c.QuotaBytes, SessionGracePeriodMillis: c.SelfCheckPeriodMillis,
			ReadConsistency: c.SessionGracePeriodMillis, AttachConsistency: c.QuotaObjects,
		}
	}
	return c
}

// id is an existing, former or nonexistent node's id.
func (co *commands) id(m *Machine) shard.NodeID {
	if nodes := m.byPath.entries; len(nodes) > 0 && co.r.IntN(2) == 0 {
		return nodes[co.r.IntN(len(nodes))].ID
	}
	if list := m.dropping.entries; len(list) > 0 && co.r.IntN(2) == 0 {
		return list[co.r.IntN(len(list))].ID
	}
	return shard.NodeID(co.r.Uint64N(uint64(m.lastNode) + 3))
}

// stamp is the leader's stamp, mostly without advancing time, and sometimes from a different leader.
func (co *commands) stamp(m *Machine) clock.Stamp {
	if m.clock.Term == 0 || co.r.IntN(20) > 0 {
		return clock.Stamp{Term: m.clock.Term}
	}
	s := clock.Stamp{Term: m.clock.Term, Elapsed: m.clock.Now - m.clock.Base + co.r.Uint64N(100)}
	switch co.r.IntN(10) {
	case 0:
		s.Term = 1 + co.r.Uint64N(s.Term+1)
	case 1:
		s.Elapsed /= 2
	}
	return s
}

// near is the version, or a close version.
func (co *commands) near(version uint64) uint64 {
	return max(version+pick[uint64](co, 0, 0, 0, 1, 2, 3), 2) - 2 + pick[uint64](co, 2, 2, 2, 1, 0)
}

func (co *commands) one(m *Machine) Command {
	c := Command{}
	switch n := co.r.IntN(100); {
	case n < 20:
		c = create(co.path(), co.config())
	case n < 45:
		c = alter(co.path(), co.config())
		if co.r.IntN(4) == 0 {
			c.Node = co.id(m)
		}
		if node := m.byID.get(co.id(m)); node != nil && co.r.IntN(3) == 0 {
			c.Path, c.Node, c.Expected = pick(co, node.Path, ""), node.ID, co.near(node.Version)
		}
	case n < 52:
		c = drop(co.path())
		if co.r.IntN(3) == 0 {
			c.Path, c.Node = pick(co, c.Path, ""), co.id(m)
		}
	case n < 67:
		c = confirmed(co.id(m), co.r.Uint64N(4))
		if node := m.byID.get(c.Node); node != nil {
			c.Expected = co.near(node.Version)
		}
	case n < 87:
		c = cleared(co.id(m), ShardID(co.r.Uint64N(5)))
	case n < 93:
		h := host(shard.HostID(co.r.Uint64N(6)), pick(co, "a", "b", "c", "d", "e", "", "x y"))
		h.ClientAddress = pick(co, "c:1", "c:2", "c:3")
		h.Level = pick(co, level.Level(co.r.IntN(int(level.Newest)+2)), level.Newest, level.Newest)
		c = register(h)
		if co.r.IntN(3) == 0 {
			c = seen(h.ID, co.near(m.version))
		}
	case n < 99:
		c = bootstrap(pick(co, []ShardID{1, 2, 3}, []ShardID{3, 2, 1}, []ShardID{1, 2}, []ShardID{0}, nil)...)
	default:
		switch co.r.IntN(4) {
		case 0:
			c = Command{Level: level.Newest + 1} // no build may decode the command yet
		case 3:
			c = Command{Kind: CmdLead, Term: co.near(m.clock.Term)}
		case 1:
			c = Command{Kind: CmdClusterLevel, Raise: pick(co, level.Level(co.r.IntN(int(level.Newest)+1)),
				level.Newest)}
		default:
			c = Command{Kind: pick(co, CmdDigestTake, CmdDigestCompare), Digest: co.r.Uint64()}
		}
	}
	if c.Kind != 0 && c.Kind <= CmdNodeDrop {
		return co.number(c, m)
	}
	return c
}

func (co *commands) some(n int, m *Machine) []Command {
	list := make([]Command, n)
	for i := range list {
		list[i] = co.one(m)
	}
	return list
}

// compare compares one command's effects with the twin's prediction.
func compare(got []Effect, a answer, version uint64) error {
	want := []Effect{{
		Kind: EffectResult, Status: a.status, Flags: a.flags, Node: a.node, Routing: a.routing, Version: version,
	}}
	if a.event != 0 {
		event := Effect{Kind: a.event, Node: a.node, Version: version}
		if a.event == EffectRoutingChanged {
			event.Routing = a.routing
		}
		want = append(want, event)
	}
	message := got[0].Message
	if (message == "") != (a.status == protocol.StatusSuccess) || len(message) > MaxMessage {
		return fmt.Errorf("%v with the message %q", got[0].Status, message)
	}
	if a.flags&FlagRepeated != 0 && message != a.message {
		return fmt.Errorf("the message %q, the first time %q", message, a.message)
	}
	got[0].Message = ""
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("effects %+v (%s)\nforetold %+v", got, message, want)
	}
	return nil
}

func TestFiftyThousandRandomCommandsDoWhatTheTwinForetells(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	g := newCommands(7)
	m, replica, w := New(), New(), newTwin()
	seen := map[string]int{}
	var pending []Command // not applied by the replica, which gets different batches
	catchUp := func() {
		b := Batch{Stamp: clock.Stamp{Term: replica.clock.Term}, Commands: pending}
		src := encoded(t, &b)
		var out Effects
		if err := DecodeBatch(src, &b, level.Newest); err != nil {
			t.Fatal(err)
		}
		replica.Apply(&b, &out)
		pending = nil
	}
	for i := range 50_000 {
		stamp, plain := g.stamp(m), clock.Stamp{Term: m.clock.Term}
		c := g.one(m)
		if stamp != plain {
			// A host writes at the current level, or a slightly older one.
			c.Level = max(c.Level, m.level-level.Level(g.r.IntN(2)), LevelOf(&c))
			if catchUp(); c.Kind != 0 {
				b := Batch{Stamp: stamp, Commands: []Command{c}}
				src := encoded(t, &b)
				if err := DecodeBatch(src, &b, level.Newest); err != nil {
					t.Fatal(err)
				}
				replica.Apply(&b, new(Effects))
			}
		}
		var out Effects
		m.Apply(&Batch{Stamp: stamp, Commands: []Command{c}}, &out)
		got := out.List
		w.begin(stamp)
		a := w.apply(&c)
		message := got[0].Message
		if err := compare(got, a, w.version); err != nil {
			t.Fatalf("command %d, %v %+v: %v", i, c.Kind, c, err)
		}
		w.remember(message)
		seen[fmt.Sprint(c.Kind, " ", a.status, " ", a.flags)]++
		if c.Config.QuotaObjects != 0 || c.Config.QuotaBytes != 0 {
			seen[fmt.Sprint("quota ", a.status)]++
		}
		if c.Kind != 0 && stamp == plain {
			pending = append(pending, c)
		}
		// A batch has the level from before the batch, and a single term.
		if c.Kind == CmdClusterLevel || c.Kind == CmdLead || g.r.IntN(30) == 0 {
			catchUp()
		}
		if i%1000 == 999 {
			if got, want := m.State(), w.state(); !reflect.DeepEqual(got, want) {
				t.Fatalf("after command %d:\n%+v\nforetold\n%+v", i, got, want)
			}
			catchUp()
			mustEqual(t, replica, m)
		}
		if i%5000 == 2500 { // a restart in the middle
			catchUp()
			mustEqual(t, replica, m)
			old := saved(t, replica)
			if replica = New(); i%2 == 0 {
				replica = furnished()
			}
			if err := replica.Restore(bytes.NewReader(old)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ends := []string{
		"node-create SUCCESS 2", "node-create SUCCESS 1", "node-create BAD_REQUEST 0",
		"node-alter SUCCESS 2", "node-alter SUCCESS 0", "node-alter BAD_REQUEST 0", "node-alter NOT_FOUND 0",
		"node-alter PRECONDITION_FAILED 0",
		"node-drop SUCCESS 2", "node-drop NOT_FOUND 0",
		"settle-grace SUCCESS 2", "settle-grace SUCCESS 0", "settle-grace NOT_FOUND 0",
		"settle-grace PRECONDITION_FAILED 0",
		"node-cleared SUCCESS 2", "node-cleared SUCCESS 0", "node-cleared PRECONDITION_FAILED 0",
		"node-cleared NOT_FOUND 0",
		"host-register SUCCESS 2", "host-register SUCCESS 1", "host-register SUCCESS 3",
		"host-register PRECONDITION_FAILED 0",
		"routing-init SUCCESS 2", "routing-init SUCCESS 1", "routing-init PRECONDITION_FAILED 0",
	}
	ends = append(ends, "node-create SUCCESS 4", "node-create SUCCESS 5", "node-alter SUCCESS 4",
		"node-alter NOT_FOUND 4", "node-drop SUCCESS 4", "node-create STALE 0", "node-drop STALE 0")
	ends = append(ends, "node-create SEQUENCE_REUSED 0", "node-alter SEQUENCE_REUSED 0", "node-drop SEQUENCE_REUSED 0")
	ends = append(ends, "lead SUCCESS 0", "lead STALE 0", "node-create UNAVAILABLE 0",
		"host-seen UNAVAILABLE 0")
	if s := m.State(); s.Term < 10 || s.Now < s.TimeBase || s.TimeBase == 0 {
		t.Errorf("term %d began at %d, and it is %d", s.Term, s.TimeBase, s.Now)
	}
	ends = append(ends, "quota SUCCESS", "quota BAD_REQUEST")
	for _, k := range ends {
		if seen[k] == 0 {
			t.Errorf("no command ended as %q: the test shows less than it should", k)
		}
	}
	if n := len(w.answered); n < MaxAnswers+1000 {
		t.Errorf("%d numbered commands were answered: hardly an answer was forgotten", n)
	}
	t.Logf("%v", seen)
}

// TestPagesTogetherAreTheList: whatever page sizes a list is read with, the pages together are the nodes with the
// prefix.
func TestPagesTogetherAreTheList(t *testing.T) {
	g := newCommands(5)
	m := New()
	for range 300 {
		run(m, create(g.path()+pick(g, "", "z", "/q", "/r/s", "-t"), Config{}))
	}
	all := m.State().Nodes
	for range 2000 {
		prefix := ParsePrefix(pick(g, "", "/", "/a", "a/", "/b", "b-", "/b/", "/b/x", "/b/x/", "/c/y", "/zz",
			"/a/x/1z"))
		var want, got []string
		for _, n := range all {
			if len(n.Path) >= len(prefix) && n.Path[:len(prefix)] == prefix {
				want = append(want, n.Path)
			}
		}
		for after, more := "", true; more; {
			var page []Node
			page, more = m.Nodes(prefix, after, 1+g.r.IntN(6))
			if more && len(page) == 0 {
				t.Fatalf("an empty page of %q after %q with more behind it", prefix, after)
			}
			for _, n := range page {
				got = append(got, n.Path)
				after = n.Path
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("prefix %q: %q, want %q", prefix, got, want)
		}
	}
}
