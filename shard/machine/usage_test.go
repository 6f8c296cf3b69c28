package machine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// TestQuotasCountWhatTheHeapHolds: for each numerous type, the byte quota usage is close to the heap in use. It may be
// larger: the counted sizes never change, while a session takes less heap than before.
func TestQuotasCountWhatTheHeapHolds(t *testing.T) {
	const many = 200_000
	const least, most = 0.6, 1.25
	data := []byte("10.0.0.1:8080")
	session := func(m *bed, i int) {
		m.Do(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(i % shard.Slots), Node: 1, Timeout: 10_000,
			Data: []byte("worker"), Key: []byte("0123456789abcdef")})
		m.IDs = append(m.IDs, m.Result().Session)
		m.Numbers = append(m.Numbers, 0)
	}
	for _, c := range []struct {
		what   string
		before func(m *bed)
		grow   func(m *bed, i int)
	}{
		{"sessions", nil, session},
		{"semaphores", nil, func(m *bed, i int) {
			m.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: fmt.Appendf(nil, "semaphore/%07d", i),
				Count: 1})
		}},
		{"sessions that own a semaphore each", nil, func(m *bed, i int) {
			session(m, i)
			m.As(i, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "semaphore/%07d", i), Count: 1,
				Flags: shard.FlagEphemeral, Data: data})
		}},
		{"waiters of one semaphore", func(m *bed) {
			for i := range many {
				session(m, i)
			}
			m.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("wanted"), Count: 1})
		}, func(m *bed, i int) {
			m.As(i, shard.Command{Kind: shard.CmdAcquire, Name: []byte("wanted"), Count: 1, Data: data,
				Timeout: shard.Forever})
		}},
		{"semaphores of one session", func(m *bed) { session(m, 0) }, func(m *bed, i int) {
			m.As(0, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "semaphore/%07d", i), Count: 1,
				Flags: shard.FlagEphemeral, Data: data})
		}},
		{"answers", func(m *bed) {
			for i := range many / shard.MaxUnacknowledged {
				session(m, i)
			}
		}, func(m *bed, i int) {
			s := i % len(m.IDs)
			m.Numbers[s]++
			m.Do(shard.Command{Kind: shard.CmdRelease, Node: 1, Session: m.IDs[s], Number: m.Numbers[s],
				Name: []byte("none")})
		}},
	} {
		m := newBed(0)
		m.IDs, m.Numbers = make([]shard.SessionID, 0, many), make([]uint64, 0, many)
		if c.before != nil {
			c.before(m)
		}
		before, usage := machinetest.Heap(), m.M.Usage(0).Bytes
		for i := range many {
			c.grow(m, i)
		}
		held, counted := float64(machinetest.Heap()-before)/many, float64(m.M.Usage(0).Bytes-usage)/many
		t.Logf("%s: %.0f bytes of heap each, %.0f are counted", c.what, held, counted)
		if held < least*counted || held > most*counted {
			t.Errorf("%s: %.0f bytes of heap each, and %.0f are counted", c.what, held, counted)
		}
	}
}

// TestUsageThatDriftedStopsASnapshotAndADigest: a machine with a wrong count detects it when it visits all its state.
func TestUsageThatDriftedStopsASnapshotAndADigest(t *testing.T) {
	for what, save := range map[string]func(m *Machine){
		"a snapshot": func(m *Machine) { _ = machinetest.Prepare(t, m).Save(&bytes.Buffer{}, nil) },
		"a digest":   func(m *Machine) { m.Digest() },
	} {
		m := New(TestKinds, Options{})
		newBusy(m, 4).steps(40)
		save(m) // nothing is wrong yet
		m.core.Nodes.Charge(m.core.Nodes.byID[1], 1)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken of a machine that counted wrong", what)
				}
			}()
			save(m)
		}()
	}
}

// TestASnapshotOfAnotherUsageIsRefused: restoring must yield the writer's count.
func TestASnapshotOfAnotherUsageIsRefused(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 4).steps(40)
	file := machinetest.File(t, m)
	restored(t, file)
	changed := changedHeader(file, func(payload []byte) []byte {
		payload[len(payload)-len(appendGroup([]byte{0, 0}, &shard.Group{}))-1]++ // the last byte before the time
		return payload
	})
	err := New(TestKinds, Options{}).Restore(bytes.NewReader(changed))
	if !errors.Is(err, ErrBadSnapshot) || !strings.Contains(err.Error(), "quota usage") {
		t.Error(err)
	}
}

func TestReadsOfQuotas(t *testing.T) {
	b := newBed(0)
	b.Do(shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
	limit := func(n shard.NodeID, objects, bytes uint64) {
		b.Do(shard.Command{Kind: shard.CmdNodeLimits, Node: n, Count: objects, Bytes: bytes, Level: level.Newest})
	}
	create := func(n shard.NodeID, name string) {
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: n, Name: []byte(name), Count: 1, Level: level.Newest})
	}
	limit(9, 4, 0)
	limit(3, 0, 1000)
	limit(5, 2, 2000)
	limit(5, 0, 0)
	limit(0, 7, 70_000)
	create(9, "a")
	create(9, "b")
	create(3, "c")
	create(4, "d")
	want := []shard.NodeLimits{{Node: 3, Limits: shard.Limits{Bytes: 1000}},
		{Node: 9, Limits: shard.Limits{Objects: 4}}}
	if got := b.M.LimitedNodes(nil); !slices.Equal(got, want) {
		t.Errorf("limited are %+v", got)
	}
	for n, want := range map[shard.NodeID]shard.Limits{
		0: {Objects: 7, Bytes: 70_000}, 3: {Bytes: 1000}, 4: {}, 5: {}, 9: {Objects: 4}, 77: {},
	} {
		if got := b.M.Limits(n); got != want {
			t.Errorf("the limits of node %d are %+v", n, got)
		}
	}
	for n, want := range map[shard.NodeID]shard.Usage{
		0: {Objects: 4, Bytes: 4 * (shard.ObjectBytes + 1), ObjectLimit: 7, ByteLimit: 70_000},
		3: {Objects: 1, Bytes: shard.ObjectBytes + 1, ObjectLimit: shard.DefaultNodeObjects, ByteLimit: 1000},
		9: {Objects: 2, Bytes: 2 * (shard.ObjectBytes + 1), ObjectLimit: 4, ByteLimit: 52_500},
		5: {ObjectLimit: shard.DefaultNodeObjects, ByteLimit: 52_500}, // three quarters of the shard
	} {
		if got := b.M.Usage(n); got != want {
			t.Errorf("node %d takes %+v", n, got)
		}
	}
	fullest := func(share float64, most int) (ids []shard.NodeID) {
		for _, n := range b.M.FullestNodes(share, most, nil) {
			ids = append(ids, n.Node)
		}
		return ids
	}
	if got := fullest(0, 2); !slices.Equal(got, []shard.NodeID{9, 3}) {
		t.Errorf("the fullest two are %v", got)
	}
	if got := fullest(0.5, 100); !slices.Equal(got, []shard.NodeID{9}) {
		t.Errorf("half full is %v", got)
	}
}

// BenchmarkFullestNodes: how long the read lock is held for the metrics of 100,000 nodes; and the write lock, if each
// has its own quota, when a snapshot is fixed.
func BenchmarkFullestNodes(b *testing.B) {
	const many = 100_000
	t := newBed(0)
	t.Do(shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
	for n := range shard.NodeID(many) {
		t.Do(shard.Command{Kind: shard.CmdNodeLimits, Node: n + 1, Count: 2, Level: level.Newest})
		t.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: n + 1, Name: []byte("one"), Count: 1,
			Level: level.Newest})
	}
	b.Run("read", func(b *testing.B) {
		var list []shard.NodeUsage
		for b.Loop() {
			list = t.M.FullestNodes(0.6, 100, list[:0])
		}
	})
	b.Run("fix", func(b *testing.B) {
		for b.Loop() {
			machinetest.Prepare(b, t.M).Discard()
		}
	})
}
