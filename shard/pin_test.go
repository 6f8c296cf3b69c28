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
		{Name: "answer", Of: &kept, Later: askedLater(level.First, ""),
			Write: func() []byte { return appendAnswer(nil, &kept, "body") }},
		{Name: "answer that knows what was asked", Of: &kept,
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
	session, semaphore := m.sessions.alloc(), handle(0)
	link, object := m.links.alloc(), m.objects.alloc()
	sem := m.kinds[KindSemaphore].(*semaphores)
	semaphore = sem.alloc()
	m.sessions.at(session).node, m.objects.at(object).node = &node{id: 1}, &node{id: 1}
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
		{Name: name("session"), Of: m.sessions.at(session),
			Write: func() []byte { return m.appendSession(nil, session, at) },
			Unsaved: later(map[string]level.Level{
				"client": TimeLevel, "created": TimeLevel, "home": TimeLevel,
				"answers.quota": limitsRecorded, "numberSpace": numberSpaceRecorded,
			}, "node", "bodies", "links", "lastLink", "linkCount", "waits", "stamp", "ending"),
			Later:  askedLater(at, "answers."),
			Adjust: func() { m.sessions.at(session).keyLen = MaxKey }},
		{Name: name("link"), Of: m.links.at(link), Write: func() []byte { return m.appendLink(nil, link, at) },
			Unsaved: later(map[string]level.Level{"since": TimeLevel}, "session", "object", "body", "stamp")},
		{Name: name("object"), Of: m.objects.at(object), Write: func() []byte { return m.appendObject(nil, object) },
			Unsaved: []string{
				"node", "track.base", "track.newest", "track.newestAt", "links", "lastLink", "firstWaiter",
				"linkCount", "body", "stamp", "hash", "slot", "deleting", "pending", "indexed",
			}},
		{Name: name("semaphore"), Of: sem.at(semaphore), Write: func() []byte { return sem.save(nil, semaphore, at) },
			Unsaved: []string{"taken", "owners", "dataRevision", "limitRevision"}},
		{Name: name("head"), Of: &header, Write: func() []byte { return header.append(nil) },
			Unsaved: later(map[string]level.Level{
				"pending": pendingRecorded, "limits": limitsRecorded, "limited": limitsRecorded,
				"bytes": limitsRecorded, "clock.Now": timeRecorded, "clock.Base": timeRecorded,
			}, "slots"),
			Adjust: func() { header.level = at }},
	}
}

// askedLater names what was asked, which answers of before its level do not know, with the path that it is at.
func askedLater(at level.Level, path string) []string {
	if at >= level.Of(level.Record, "AnswerState.Asked") {
		return nil
	}
	return []string{path + "asked"}
}
