package shard

import (
	"fmt"
	"math"
	"testing"
)

// What counts in a quota of bytes is what it was chosen for: near the heap that it takes, for the things that there may be
// many of.
func TestQuotasCountWhatTheHeapHolds(t *testing.T) {
	const many = 200_000
	const tolerance = 0.25
	data := []byte("10.0.0.1:8080")
	session := func(m *bed, i int) {
		m.do(Command{Kind: CmdSessionCreate, Slot: Slot(i % Slots), Node: 1, Timeout: 10_000, Data: []byte("worker"), Key: []byte("0123456789abcdef")})
		m.ids = append(m.ids, m.result().Session)
		m.numbers = append(m.numbers, 0)
	}
	for _, c := range []struct {
		what   string
		before func(m *bed)
		grow   func(m *bed, i int)
	}{
		{"sessions", nil, session},
		{"semaphores", nil, func(m *bed, i int) {
			m.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: fmt.Appendf(nil, "semaphore/%07d", i), Count: 1})
		}},
		{"sessions that own a semaphore each", nil, func(m *bed, i int) {
			session(m, i)
			m.as(i, Command{Kind: CmdAcquire, Name: fmt.Appendf(nil, "semaphore/%07d", i), Count: 1, Flags: FlagEphemeral, Data: data})
		}},
		{"waiters of one semaphore", func(m *bed) {
			for i := range many {
				session(m, i)
			}
			m.do(Command{Kind: CmdSemaphoreCreate, Node: 1, Name: []byte("wanted"), Count: 1})
		}, func(m *bed, i int) {
			m.as(i, Command{Kind: CmdAcquire, Name: []byte("wanted"), Count: 1, Data: data, Timeout: Forever})
		}},
		{"semaphores of one session", func(m *bed) { session(m, 0) }, func(m *bed, i int) {
			m.as(0, Command{Kind: CmdAcquire, Name: fmt.Appendf(nil, "semaphore/%07d", i), Count: 1, Flags: FlagEphemeral, Data: data})
		}},
		{"answers", func(m *bed) {
			for i := range many / MaxUnacknowledged {
				session(m, i)
			}
		}, func(m *bed, i int) {
			s := i % len(m.ids)
			m.numbers[s]++
			m.do(Command{Kind: CmdRelease, Node: 1, Session: m.ids[s], Number: m.numbers[s], Name: []byte("none")})
		}},
	} {
		m := newBed(0)
		m.ids, m.numbers = make([]SessionID, 0, many), make([]uint64, 0, many)
		if c.before != nil {
			c.before(m)
		}
		before, usage := heap(), m.m.Usage(0).Bytes
		for i := range many {
			c.grow(m, i)
		}
		held, counted := float64(heap()-before)/many, float64(m.m.Usage(0).Bytes-usage)/many
		t.Logf("%s: %.0f bytes of heap each, %.0f are counted", c.what, held, counted)
		if math.Abs(held-counted) > tolerance*counted {
			t.Errorf("%s: %.0f bytes of heap each, and %.0f are counted", c.what, held, counted)
		}
	}
}
