package machine

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// CheckLeaks returns an error if a store of the machine keeps a text or another place that nothing refers to. So an
// empty machine has no texts.
func (m *Machine) CheckLeaks() error {
	var names, data, held, described, kept, bodies int
	var ofKind, linkBodies [shard.MaxKinds]int
	for h := arena.Handle(1); h < m.core.Objects.End(); h++ {
		o := m.core.Objects.At(h)
		if o.node == 0 {
			continue // a free place
		}
		ofKind[o.Kind]++
		names += textsIn(o.name)
		if textsOf(m.core.kinds[o.Kind]) != nil {
			state := reflect.ValueOf(m.core.kinds[o.Kind]).MethodByName("At").Call(
				[]reflect.Value{reflect.ValueOf(o.State)})
			data += textsIn(arena.Text(state[0].Elem().FieldByName("data").Uint()))
		}
	}
	for h := arena.Handle(1); h < m.core.Holdings.End(); h++ {
		l := m.core.Holdings.At(h)
		held += textsIn(l.data)
		if l.State != 0 {
			linkBodies[m.core.Objects.At(l.Object).Kind]++
		}
	}
	for h := arena.Handle(1); h < m.core.Sessions.End(); h++ {
		s := m.core.Sessions.At(h)
		described += textsIn(s.description, s.client[0], s.client[1], s.client[2])
		if s.answers != 0 {
			kept++
		}
		if s.bodies != 0 {
			bodies++
		}
	}
	var leaks []string
	check := func(what string, got, want int) {
		if got != want {
			leaks = append(leaks, fmt.Sprintf("%d %s are kept for %d", got, what, want))
		}
	}
	check("names of objects", m.core.Objects.names.Size(), names)
	check("texts of links", m.core.Holdings.texts.Size(), held)
	check("texts of sessions", m.core.Sessions.texts.Size(), described)
	check("lists of answers", m.core.Sessions.kept.Size(), kept)
	check("lists of bodies of answers", m.core.Answers.bodies.Size(), bodies)
	check("nodes", m.core.Objects.nodes.Size(), len(m.core.Nodes.byID))
	for number, k := range m.core.kinds {
		if k == nil {
			continue
		}
		kind := shard.ObjectKind(number)
		own, ofLinks := placesOf(k)
		check(kind.String()+" objects", own, ofKind[kind])
		check(kind.String()+" link bodies", ofLinks, linkBodies[kind])
		if texts := textsOf(k); texts != nil {
			check("data of semaphores", texts.Size(), data)
		}
	}
	if len(leaks) > 0 {
		return fmt.Errorf("leaks: %s", strings.Join(leaks, ", "))
	}
	return nil
}

// textsIn counts the texts that take a place.
func textsIn(list ...arena.Text) (n int) {
	for _, t := range list {
		if t != 0 {
			n++
		}
	}
	return n
}

// textsOf returns the texts in the store of a kind, or nil for a kind that has none.
func textsOf(k Kind) *arena.Texts {
	texts := reflect.ValueOf(k).Elem().FieldByName("texts")
	if !texts.IsValid() {
		return nil
	}
	return (*arena.Texts)(texts.Addr().UnsafePointer())
}

// placesOf returns how many places are in use in the slab of a kind's objects, and in its slabs for bodies of links.
func placesOf(k Kind) (objects, linkBodies int) {
	store := reflect.ValueOf(k).Elem()
	for i := range store.NumField() {
		field := store.Type().Field(i)
		if !strings.HasPrefix(field.Type.Name(), "Slab[") {
			continue
		}
		used := max(int(store.Field(i).FieldByName("used").Uint())-1, 0) - store.Field(i).FieldByName("free").Len()
		if field.Anonymous {
			objects += used
		} else {
			linkBodies += used
		}
	}
	return objects, linkBodies
}

// TestCheckLeaksNoticesALeak: CheckLeaks notices one text or place too many in each store.
func TestCheckLeaksNoticesALeak(t *testing.T) {
	text := []byte("a text that nothing refers to")
	for _, c := range []struct {
		says string
		leak func(m *Machine)
	}{
		{"names of objects", func(m *Machine) { m.core.Objects.names.Keep(text) }},
		{"data of semaphores", func(m *Machine) { textsOf(m.core.kinds[shard.KindSemaphore]).Keep(text) }},
		{"texts of links", func(m *Machine) { m.core.Holdings.texts.Keep(text) }},
		{"texts of sessions", func(m *Machine) { m.core.Sessions.texts.Keep(make([]byte, 1000)) }},
		{"lists of answers", func(m *Machine) { m.core.Sessions.kept.Alloc() }},
		{"lists of bodies of answers", func(m *Machine) { m.core.Answers.bodies.Alloc() }},
		{"nodes", func(m *Machine) { m.core.Objects.nodes.Alloc() }},
		{"semaphore objects",
			func(m *Machine) { m.core.kinds[shard.KindSemaphore].(interface{ Alloc() arena.Handle }).Alloc() }},
		{"process objects", func(m *Machine) { m.core.processes().Alloc() }},
		{"process link bodies", func(m *Machine) { m.core.processes().members.Alloc() }},
		{"rollout link bodies", func(m *Machine) { m.core.rollouts().parts.Alloc() }},
	} {
		m := New(TestKinds, Options{})
		newBusy(m, 4).steps(10)
		if err := m.CheckLeaks(); err != nil {
			t.Fatal(err)
		}
		c.leak(m)
		if err := m.CheckLeaks(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}

func TestSlabsFindTheirTreesAfterARestore(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 4).steps(10)
	if err := m.Restore(bytes.NewReader(save(t, prepare(t, m)))); err != nil {
		t.Fatal(err)
	}
	if m.core.Sessions.Trees[0] != &m.core.Sessions.byID || m.core.Objects.Trees[0] != &m.core.Objects.byName ||
		m.core.Holdings.Trees[0] != &m.core.Holdings.byObject ||
		m.core.Holdings.Trees[1] != &m.core.Holdings.bySession {
		t.Error("a slab would shrink the trees of another machine")
	}
}
