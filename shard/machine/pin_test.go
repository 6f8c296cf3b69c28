package machine

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec/codectest"
	"github.com/signalbox/signalbox/shard/slots"
)

// TestBytesOfAShardAreWhatTheyWere: a command, and the records and the header of snapshots.
func TestBytesOfAShardAreWhatTheyWere(t *testing.T) {
	var command shard.Command
	var kept answer
	forms := []codectest.Form{
		{Name: "command", Of: &command, Write: func() []byte { return shard.AppendCommand(nil, &command) },
			Adjust: func() { command.Kind, command.Level = shard.CmdAcquire, 100 }}, // above the needs of any field
		{Name: "answer", Of: &kept, Write: func() []byte { return appendAnswer(nil, &kept, "body") }},
	}
	codectest.Check(t, "testdata/pins", append(forms, recordForms()...)...)
}

// recordForms are the parts of a snapshot, except those encoded by package codec.
func recordForms() []codectest.Form {
	m := New(TestKinds, Options{})
	who, part, place := m.core.Sessions.Alloc(), m.core.Holdings.Alloc(), m.core.Objects.Alloc()
	m.core.Nodes.add(1)
	m.core.Sessions.sets.words.Cover(who)
	// Texts are next to their objects, as filled values.
	var described struct {
		session
		details string
		client  shard.ClientState
		answers []answer
		slot    shard.Slot
	}
	var joined struct {
		Holding
		data     string
		deadline uint64
	}
	var named struct {
		Object
		name string
	}
	var header snapshotHeader

	return []codectest.Form{
		{Name: "session", Of: &described, Was: []string{"session.", ""},
			Write: func() []byte {
				s, c := m.core.Sessions.At(who), &described.client
				*s = described.session
				s.node, s.client = m.core.Nodes.byID[1].handle, clientTexts{}
				s.details = m.core.Sessions.texts.Keep([]byte(described.details))
				s.answers = 0
				m.core.Sessions.setAnswers(s, described.answers)
				m.core.Sessions.sets.set(who, []shard.Slot{described.slot})
				m.core.Sessions.note(s, &shard.ClientRef{Address: []byte(c.Address), Name: []byte(c.Name),
					Version: []byte(c.Version)})
				return m.core.Snapshots.appendSession(nil, who)
			},
			Unsaved: []string{"session.node", "session.details", "session.client", "session.answers",
				"session.bodies",
				"session.links", "session.lastLink", "session.linkCount", "session.waits", "session.stamp",
				"session.ending", "session.noted"},
			Adjust: func() { described.keyLen = shard.MaxKey }},
		{Name: "link", Of: &joined, Was: []string{"Holding.", "", "Order", "order", "Count", "count", "Number",
			"number", "Owner", "owner", "Since", "since"},
			Write: func() []byte {
				m.core.Holdings.setDeadline(part, 0)
				l := m.core.Holdings.At(part)
				*l = joined.Holding
				l.alarm = 0
				m.core.Holdings.setDeadline(part, joined.deadline)
				l.data = m.core.Holdings.texts.Keep([]byte(joined.data))
				return m.core.Snapshots.appendLink(nil, part)
			},
			Unsaved: []string{"Holding.Session", "Holding.Object", "Holding.data", "Holding.State", "Holding.stamp",
				"Holding.alarm"}},
		{Name: "object", Of: &named, Was: []string{"Object.", "", "Kind", "kind", "Revision", "revision"},
			Write: func() []byte {
				o := m.core.Objects.At(place)
				*o = named.Object
				o.node, o.name = m.core.Nodes.byID[1].handle, m.core.Objects.names.Keep([]byte(named.name))
				return m.core.Snapshots.appendObject(nil, place)
			},
			Unsaved: []string{
				"Object.node", "Object.name", "Object.track.base", "Object.track.newest", "Object.track.newestAt",
				"Object.holdings", "Object.lastHolding", "Object.FirstWaiter", "Object.Held", "Object.State",
				"Object.stamp", "Object.hash", "Object.alarm", "Object.slot", "Object.Deleting", "Object.Pending",
				"Object.indexed",
			}},
		{Name: "head", Of: &header,
			Write: func() []byte {
				h := header
				h.slots = slots.Slots{} // package slots tests their form
				return h.append(nil)
			},
			Unsaved: []string{"slots"}},
	}
}
