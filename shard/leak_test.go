package shard

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// CheckLeaks returns an error if a store of the machine keeps a text or another place that nothing refers to. So an
// empty machine has no texts.
func (m *Machine) CheckLeaks() error {
	var names, data, held, described, kept, bodies int
	var ofKind, linkBodies [MaxKinds]int
	for h := handle(1); h < m.objects.used; h++ {
		o := m.objects.at(h)
		if o.node == 0 {
			continue // a free place
		}
		ofKind[o.kind]++
		names += textsIn(o.name)
		if o.kind == KindSemaphore {
			data += textsIn(m.semaphores().at(o.body).data)
		}
	}
	for h := handle(1); h < m.links.used; h++ {
		l := m.links.at(h)
		held += textsIn(l.data)
		if l.body != 0 {
			linkBodies[m.objects.at(l.object).kind]++
		}
	}
	for h := handle(1); h < m.sessions.used; h++ {
		s := m.sessions.at(h)
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
	check("names of objects", m.objects.names.size(), names)
	check("texts of links", m.links.texts.size(), held)
	check("texts of sessions", m.sessions.texts.size(), described)
	check("lists of answers", m.sessions.kept.size(), kept)
	check("lists of bodies of answers", m.bodies.size(), bodies)
	check("nodes", m.objects.nodes.size(), len(m.nodes))
	for number, k := range m.kinds {
		if k == nil {
			continue
		}
		kind := ObjectKind(number)
		own, ofLinks := placesOf(k)
		check(kind.String()+" objects", own, ofKind[kind])
		check(kind.String()+" link bodies", ofLinks, linkBodies[kind])
		if sem, is := k.(*semaphores); is {
			check("data of semaphores", sem.texts.size(), data)
		}
	}
	if len(leaks) > 0 {
		return fmt.Errorf("leaks: %s", strings.Join(leaks, ", "))
	}
	return nil
}

// textsIn counts the texts that take a place.
func textsIn(list ...text) (n int) {
	for _, t := range list {
		if t != 0 {
			n++
		}
	}
	return n
}

// size returns how many texts are in use.
func (te *texts) size() int {
	n := te.long.size()
	for _, r := range te.rooms {
		n += r.(interface{ size() int }).size()
	}
	return n
}

// placesOf returns how many places are in use in the slab of a kind's objects, and in its slabs for bodies of links.
func placesOf(k kind) (objects, linkBodies int) {
	store := reflect.ValueOf(k).Elem()
	for i := range store.NumField() {
		field := store.Type().Field(i)
		if !strings.HasPrefix(field.Type.Name(), "slab[") {
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
		{"names of objects", func(m *Machine) { m.objects.names.keep(text) }},
		{"data of semaphores", func(m *Machine) { m.semaphores().texts.keep(text) }},
		{"texts of links", func(m *Machine) { m.links.texts.keep(text) }},
		{"texts of sessions", func(m *Machine) { m.sessions.texts.keep(make([]byte, 1000)) }},
		{"lists of answers", func(m *Machine) { m.sessions.kept.alloc() }},
		{"lists of bodies of answers", func(m *Machine) { m.bodies.alloc() }},
		{"nodes", func(m *Machine) { m.objects.nodes.alloc() }},
		{"semaphore objects", func(m *Machine) { m.semaphores().alloc() }},
		{"process objects", func(m *Machine) { m.processes().alloc() }},
		{"process link bodies", func(m *Machine) { m.processes().members.alloc() }},
		{"rollout link bodies", func(m *Machine) { m.rollouts().parts.alloc() }},
	} {
		m := New(Options{})
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
