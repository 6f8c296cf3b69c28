package shard

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// groups is a second kind of objects, made only of what kind.go offers: a named list that sessions
// join, with a count of how often it was joined. It shows that a kind needs nothing of another one.
type groups struct{ slab[group] }

type group struct{ joins uint64 }

const (
	kindGroup objectKind  = 7
	cmdJoin   CommandKind = 250
)

func init() {
	kindMakers[kindGroup] = func() kind { return &groups{} }
	mutations[cmdJoin] = mutation{run: join}
}

func (g *groups) of(m *Machine, h handle) *group { return g.at(m.objects.at(h).body) }

func join(m *Machine, c *Command, t *target) {
	st := m.kinds[kindGroup].(*groups)
	if t.object == 0 {
		t.object = m.addObject(kindGroup, t, c.Node, string(c.Name), st.alloc())
		m.changed(t.object, FlagCreated)
	}
	o := m.objects.at(t.object)
	if o.kind != kindGroup || m.links.find(o, t.object, t.session) != 0 {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	m.touchObject(t.object)
	st.at(o.body).joins++
	h := m.addLink(t.session, t.object, c, true)
	m.answerAcquired(h, 0)
	m.changed(t.object, FlagOwners)
}

func (g *groups) releaseLink(m *Machine, h handle) {
	object := m.links.at(h).object
	m.removeLink(h)
	m.changed(object, FlagOwners)
}

func (g *groups) remove(m *Machine, h handle) {
	for m.objects.at(h).linkCount > 0 {
		m.removeLink(m.objects.at(h).lastLink)
	}
	m.changed(h, FlagDeleted)
	m.removeObject(h)
}

func (g *groups) resume(*Machine, handle) {}

func (g *groups) bodySize(handle) int { return 0 }

func (g *groups) free(body handle) { g.release(body) }

func (g *groups) save(dst []byte, body handle, _ level.Level) []byte {
	return binary.AppendUvarint(dst, g.at(body).joins)
}

func (g *groups) load(src []byte, _ level.Level) (handle, bool) {
	joins, n := binary.Uvarint(src)
	h := g.alloc()
	g.at(h).joins = joins
	return h, n > 0
}

func (g *groups) linked(*Machine, handle) error { return nil }

func (g *groups) state(m *Machine, object handle, s *State) {}

func TestAnotherKindStandsBesideSemaphoresWithoutTouchingThem(t *testing.T) {
	m := New(Options{})
	var out Effects
	do := func(c Command) Effect {
		t.Helper()
		out.Reset()
		m.Apply(&Batch{Commands: []Command{c}}, &out)
		return out.List[slices.IndexFunc(out.List, func(e Effect) bool { return e.Kind == EffectResult })]
	}
	session := do(Command{Kind: CmdSessionCreate, Node: 1, Slot: 9}).Session
	second := do(Command{Kind: CmdSessionCreate, Node: 1, Slot: 10}).Session
	name, lock := []byte("workers"), []byte("lock")

	if e := do(Command{Kind: cmdJoin, Session: session, Number: 1, Node: 1, Name: name}); e.Flags != FlagAcquired {
		t.Fatal(e)
	}
	if e := do(Command{Kind: cmdJoin, Session: second, Number: 1, Node: 1, Name: name}); e.Flags != FlagAcquired {
		t.Fatal(e)
	}
	// The rules that all kinds share hold: numbers, slots, names, the links of a session.
	if e := do(Command{Kind: cmdJoin, Session: session, Number: 1, Node: 1, Name: name}); e.Order != 1 {
		t.Fatal("a repeated number was not answered as before:", e)
	}
	if e := do(Command{Kind: CmdAcquire, Session: session, Number: 2, Node: 1, Name: name,
		Count: 1}); e.Status != protocol.StatusPreconditionFailed {
		t.Fatal("a semaphore's command worked on another kind:", e)
	}
	if e := do(Command{Kind: CmdAcquire, Session: session, Number: 3, Node: 1, Name: lock, Count: 1,
		Flags: FlagEphemeral}); e.Flags != FlagAcquired {
		t.Fatal(e)
	}
	if h, _ := m.ListHoldings(session, 0, 0, nil); len(h) != 2 || h[0].Name != "workers" || h[1].Name != "lock" {
		t.Fatal(h)
	}
	if _, objects := m.ListSlot(SlotOf(1, name)); !slices.Contains(objects, ObjectName{Node: 1, Name: "workers"}) {
		t.Fatal(objects)
	}
	if m.Describe(1, name, DescribeOptions{}, &Description{}) {
		t.Fatal("a group was described as a semaphore")
	}

	var file bytes.Buffer
	sn := prepare(t, m)
	do(Command{Kind: CmdSessionEnd, Session: session}) // leaves both, of both kinds
	if err := sn.Save(&file, nil); err != nil {
		t.Fatal(err)
	}
	joined := func(m *Machine) (links uint32, joins uint64) {
		h := m.objects.find(ObjectHash(1, name), 1, name)
		return m.objects.at(h).linkCount, m.kinds[kindGroup].(*groups).of(m, h).joins
	}
	if links, joins := joined(m); links != 1 || joins != 2 {
		t.Fatal(links, joins)
	}
	if links, joins := joined(restored(t, file.Bytes())); links != 2 || joins != 2 {
		t.Fatal("restored:", links, joins)
	}
	if m.Describe(1, lock, DescribeOptions{}, &Description{}) {
		t.Fatal("the ephemeral semaphore outlived its owner")
	}
	if e := do(Command{Kind: CmdNodeDrop, Node: 1, Count: 10}); e.Flags&FlagMore != 0 || m.Count().Objects != 0 {
		t.Fatal("dropping the node left something behind")
	}
}
