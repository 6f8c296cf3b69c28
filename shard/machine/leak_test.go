package machine

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// TestCheckLeaksNoticesALeak: CheckLeaks detects one extra text or slot in each store.
func TestCheckLeaksNoticesALeak(t *testing.T) {
	text := []byte("a text that nothing refers to")
	for _, c := range []struct {
		says string
		leak func(m *Machine)
	}{
		{"names of objects", func(m *Machine) { m.core.Objects.names.Keep(text) }},
		{"data of objects", func(m *Machine) {
			machinetest.TextsOf(reflect.ValueOf(m.core.kinds[shard.KindSemaphore])).Keep(text)
		}},
		{"texts of holdings", func(m *Machine) { m.core.Holdings.texts.Keep(text) }},
		{"texts of sessions", func(m *Machine) { m.core.Sessions.texts.Keep(make([]byte, 1000)) }},
		{"lists of answers", func(m *Machine) { m.core.Sessions.kept.Alloc() }},
		{"lists of bodies of answers", func(m *Machine) { m.core.Answers.bodies.Alloc() }},
		{"nodes", func(m *Machine) { m.core.Objects.nodes.Alloc() }},
		{"semaphore objects",
			func(m *Machine) { m.core.kinds[shard.KindSemaphore].(interface{ Alloc() arena.Handle }).Alloc() }},
		{"holding states", func(m *Machine) { m.core.kinds[kindClub].(*clubs).members.Alloc() }},
	} {
		m := New(TestKinds, Options{})
		newBusy(m, 4).steps(10)
		if err := machinetest.CheckLeaks(m); err != nil {
			t.Fatal(err)
		}
		c.leak(m)
		if err := machinetest.CheckLeaks(m); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}

func TestSlabsFindTheirTreesAfterARestore(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 4).steps(10)
	if err := m.Restore(bytes.NewReader(machinetest.File(t, m))); err != nil {
		t.Fatal(err)
	}
	if m.core.Sessions.Trees[0] != &m.core.Sessions.byID || m.core.Objects.Trees[0] != &m.core.Objects.byName ||
		m.core.Holdings.Trees[0] != &m.core.Holdings.byObject ||
		m.core.Holdings.Trees[1] != &m.core.Holdings.bySession {
		t.Error("a slab would shrink the trees of another machine")
	}
}
