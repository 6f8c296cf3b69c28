package shard

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/form/formtest"
)

// TestBytesOfAShardAreWhatTheyWere: a command, and the records and the head of snapshots of each level.
func TestBytesOfAShardAreWhatTheyWere(t *testing.T) {
	var command Command
	var kept answer
	forms := []formtest.Form{
		{Name: "command", Of: &command, Write: func() []byte { return AppendCommand(nil, &command) },
			Adjust: func() { command.Kind, command.Level = CmdAcquire, 100 }}, // above what any field needs
		{Name: "answer", Of: &kept, Later: answerLater(level.First, ""),
			Write: func() []byte { return appendAnswer(nil, &kept, "body") }},
		{Name: "answer that knows what was asked", Of: &kept, Later: answerLater(askedRecorded, ""),
			Write: func() []byte { return appendAnswer(nil, &kept, "body") }},
		{Name: "answer that knows its slot", Of: &kept,
			Write: func() []byte { return appendAnswer(nil, &kept, "body") }},
	}
	for at := level.First; at <= level.Newest; at++ {
		forms = append(forms, recordForms(at)...)
	}
	formtest.Check(t, "testdata/pins", forms...)
}

// recordForms are what a snapshot of a level is made of, but for what package form codes.
func recordForms(at level.Level) []formtest.Form {
	m := New(Options{})
	sem := m.kinds[KindSemaphore].(*semaphores)
	who, part, place, body := m.sessions.alloc(), m.links.alloc(), m.objects.alloc(), sem.alloc()
	m.addNode(1)
	// The texts of things stand beside them, as what they are filled with.
	var described struct {
		session
		description string
		client      ClientState
		answers     []answer
	}
	var joined struct {
		link
		data string
	}
	var named struct {
		object
		name string
	}
	var filled struct {
		semaphore
		data string
	}
	var header snapshotHeader

	// later are the fields that the level does not have.
	later := func(brought map[string]level.Level, unsaved ...string) []string {
		for name, by := range brought {
			if by > at {
				unsaved = append(unsaved, name)
			}
		}
		return unsaved
	}
	name := func(what string) string { return fmt.Sprintf("%s at level %d", what, at) }
	return []formtest.Form{
		{Name: name("session"), Of: &described, Was: []string{"session.", ""},
			Write: func() []byte {
				s, c := m.sessions.at(who), &described.client
				*s = described.session
				s.node, s.client = m.nodes[1].handle, clientTexts{}
				s.description = m.sessions.texts.keep([]byte(described.description))
				s.answers = 0
				m.sessions.setAnswers(s, described.answers)
				m.sessions.note(s, &ClientRef{[]byte(c.Address), []byte(c.Name), []byte(c.Version)})
				return m.appendSession(nil, who, at)
			},
			Unsaved: later(map[string]level.Level{
				"client.Address": TimeLevel, "client.Name": TimeLevel, "client.Version": TimeLevel,
				"session.created": TimeLevel, "session.home": TimeLevel, "answers.quota": limitsRecorded,
				"session.numberSpace": numberSpaceRecorded, "session.losses": lossesRecorded,
			}, "session.node", "session.description", "session.client", "session.answers", "session.bodies",
				"session.links", "session.lastLink", "session.linkCount", "session.waits", "session.stamp",
				"session.ending"),
			Later:  answerLater(at, "answers."),
			Adjust: func() { described.keyLen = MaxKey }},
		{Name: name("link"), Of: &joined, Was: []string{"link.", ""},
			Write: func() []byte {
				l := m.links.at(part)
				*l = joined.link
				l.data = m.links.texts.keep([]byte(joined.data))
				return m.appendLink(nil, part, at)
			},
			Unsaved: later(map[string]level.Level{"link.since": TimeLevel}, "link.session", "link.object", "link.data",
				"link.body", "link.stamp")},
		{Name: name("object"), Of: &named, Was: []string{"object.", ""},
			Write: func() []byte {
				o := m.objects.at(place)
				*o = named.object
				o.node, o.name = m.nodes[1].handle, m.objects.names.keep([]byte(named.name))
				return m.appendObject(nil, place)
			},
			Unsaved: []string{
				"object.node", "object.name", "object.track.base", "object.track.newest", "object.track.newestAt",
				"object.links", "object.lastLink", "object.firstWaiter", "object.linkCount", "object.body",
				"object.stamp", "object.hash", "object.slot", "object.deleting", "object.pending", "object.indexed",
			}},
		{Name: name("semaphore"), Of: &filled, Was: []string{"semaphore.", ""},
			Write: func() []byte {
				s := sem.at(body)
				*s = filled.semaphore
				s.data = sem.texts.keep([]byte(filled.data))
				return sem.save(nil, body, at)
			},
			Unsaved: []string{
				"semaphore.data", "semaphore.taken", "semaphore.owners", "semaphore.dataRevision",
				"semaphore.limitRevision",
			}},
		{Name: name("head"), Of: &header, Write: func() []byte { return header.append(nil) },
			Unsaved: later(map[string]level.Level{
				"pending": pendingRecorded, "limits": limitsRecorded, "limited": limitsRecorded,
				"bytes": limitsRecorded, "clock.Now": timeRecorded, "clock.Base": timeRecorded,
				"group.Number": groupRecorded, "group.Began": groupRecorded,
				"group.Until": groupRecorded, "group.Before": groupRecorded,
				"group.Longest.Timeout": groupRecorded, "group.Longest.Session": groupRecorded,
			}, "slots"),
			Adjust: func() { header.level = at }},
	}
}

// answerLater names what answers from below a level do not know, with the path of the answer.
func answerLater(at level.Level, path string) (list []string) {
	for field, from := range map[string]level.Level{"asked": askedRecorded, "slot": answerSlotRecorded} {
		if at < from {
			list = append(list, path+field)
		}
	}
	return list
}
