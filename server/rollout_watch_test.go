package server_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// viewer maintains a watch's view like a client.
type viewer struct {
	t        *testing.T
	s        *speaker
	id       uint64
	exists   bool
	revision uint64
	head     []byte
	rows     map[uint64][]byte
}

// view opens a watch on a view, and waits until it is complete.
func (b *rolloutBed) view(s *speaker, name string, since uint64) *viewer {
	b.t.Helper()
	return &viewer{t: b.t, s: s, id: b.watch(s, name, since), revision: since, rows: make(map[uint64][]byte)}
}

// until takes pushes in until the view is as wanted.
func (v *viewer) until(what string, is func() bool) {
	v.t.Helper()
	for !is() {
		payload, err := v.next()
		if err != nil {
			v.t.Fatalf("waiting for %s: %v; the view has the head %x and %d rows", what, err, v.head, len(v.rows))
		}
		a := v.s.decode(payload)
		switch a.Kind {
		case protocol.KindWatchSnapshot:
			m := &a.WatchSnapshot
			if m.First {
				v.exists, v.head = m.Exists, bytes.Clone(m.Data)
				clear(v.rows)
			}
			v.put(&m.Rows)
			v.revision = m.Revision
		case protocol.KindWatchDelta:
			m := &a.WatchDelta
			if m.From > v.revision {
				v.t.Fatalf("a delta from %d comes to revision %d", m.From, v.revision)
			}
			if m.Existence != protocol.ExistenceSame {
				v.exists = m.Existence == protocol.ExistenceCreated
				clear(v.rows)
			}
			if m.DataChanged {
				v.head = bytes.Clone(m.Data)
			}
			for id := range m.Gone.All() {
				delete(v.rows, uint64(id))
			}
			v.put(&m.Rows)
			v.revision = m.To
		}
	}
}

func (v *viewer) put(rows *protocol.Rows) {
	for row := range rows.All() {
		v.rows[row.ID] = bytes.Clone(row.Body)
	}
}

// next returns the watch's next push.
func (v *viewer) next() ([]byte, error) {
	for i, k := range v.s.kept {
		if v.s.decode(k.payload).ID == v.id {
			v.s.kept = append(v.s.kept[:i:i], v.s.kept[i+1:]...)
			return k.payload, nil
		}
	}
	for {
		payload, err := v.s.read(30 * time.Second)
		if err != nil || v.s.decode(payload).ID == v.id {
			return payload, err
		}
		v.s.kept = append(v.s.kept, kept{payload})
	}
}

func (v *viewer) record(into field.Value) {
	v.t.Helper()
	readRecord(v.t, v.head, into)
}

// TestEachViewOfARolloutShowsItsChanges: and no changes of other views.
func TestEachViewOfARolloutShowsItsChanges(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		spec := locations([]string{"sas", "man"}, 0, time.Hour)
		spec.Versions, spec.AskInterval = kind.Asked, time.Minute
		source, m := b.session(10*time.Minute), b.session(10*time.Minute)
		early := b.view(speak(t, b.c, 1), "location/sas", 0)
		early.until("nothing", func() bool { return early.revision > 0 || !early.exists })
		b.put(spec)
		early.until("the rollout", func() bool { return early.exists })
		whole, man := b.view(b.s, "", 0), b.view(speak(t, b.c, 1), "location/man", 0)
		instances, ticket := b.view(m.s, "instances/sas", 0), b.view(source.s, "source", 0)
		man.until("a location", func() bool { return man.exists })
		whole.until("two locations", func() bool { return len(whole.rows) == 2 })

		source.must(&protocol.RolloutSource{
			Mutation: source.mutation(), NodeID: b.node, Name: dns, SourceRole: kind.SourceRole{Name: "yp"},
		})
		m.must(&protocol.RolloutJoin{
			Mutation: m.mutation(), NodeID: b.node, Name: dns, Instance: kind.Instance{Name: "a.sas", Location: "sas"},
		})
		instances.until("an instance", func() bool { return len(instances.rows) == 1 })
		var asked kind.Ticket
		ticket.until("a question", func() bool {
			if len(ticket.head) > 0 {
				ticket.record(&asked)
			}
			return asked.Number != 0
		})
		source.must(&protocol.RolloutOffer{
			Mutation: source.mutation(), NodeID: b.node, Name: dns,
			Offering: kind.Offering{Ticket: asked.Number, Payload: []byte("made")},
		})
		var target protocol.RolloutTarget
		early.until("a target", func() bool {
			early.record(&target)
			return target.Generation != 0
		})
		want(t, "payload", string(target.Payload), "made")
		ticket.until("no question", func() bool {
			ticket.record(&asked)
			return asked.Number == 0
		})
		whole.until("a version", func() bool { return len(whole.rows) == 3 })
		m.must(&protocol.RolloutLeave{Mutation: m.mutation(), NodeID: b.node, Name: dns})
		instances.until("no instance", func() bool { return len(instances.rows) == 0 })
		revision := man.revision
		man.s.must(man.s.ask(&protocol.Ping{}))
		for _, k := range man.s.kept {
			if a := man.s.decode(k.payload); a.ID == man.id {
				t.Errorf("the view of man got %v after revision %d", a.Kind, revision)
			}
		}
		b.s.must(b.s.ask(&protocol.RolloutPut{
			NodeID: b.node, Name: dns, Put: kind.Put{Mode: field.PutAlter, Spec: locations([]string{"sas"})},
		}))
		man.until("no location", func() bool { return !man.exists })
		b.s.must(b.s.ask(&protocol.RolloutPut{
			NodeID: b.node, Name: dns, Put: kind.Put{Mode: field.PutAlter, Spec: locations([]string{"sas", "man"})},
		}))
		man.until("the location again", func() bool { return man.exists })
	})
}

// TestAWatchOfARolloutGoesOnAtAnotherHost: from its revision after its host lost leadership, and from a snapshot if it
// missed too much. No view goes back.
func TestAWatchOfARolloutGoesOnAtAnotherHost(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		b.join("a.sas", "sas")
		first := b.publish("one")
		leader := b.c.Leader(1)
		v := b.view(speak(t, b.c, leader), "location/sas", 0)
		var target protocol.RolloutTarget
		at := func(seq uint64) func() bool {
			return func() bool {
				if len(v.head) > 0 {
					v.record(&target)
				}
				return target.Seq == seq
			}
		}
		v.until("the first target", at(first))
		b.c.Crash(leader, false)
		next := shard.HostID(0)
		for next == 0 || next == leader {
			time.Sleep(100 * time.Millisecond)
			next = b.c.Leader(1)
		}
		b.s = speak(t, b.c, next)
		b.act(kind.Pause, 0) // not shown by the view
		second := b.publish("two")
		b.act(kind.Resume, 0)
		b.act(kind.Promote, second)
		other := leader%3 + 1
		if other == next {
			other = next%3 + 1
		}
		resumed := b.view(speak(t, b.c, other), "location/sas", v.revision)
		resumed.head = v.head
		v = resumed
		v.until("the second target", at(second))
		want(t, "payload", string(target.Payload), "two")
	}, servertest.Hosts(3))
}
