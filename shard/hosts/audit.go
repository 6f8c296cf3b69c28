package hosts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Event is the type of an audit entry.
type Event uint8

// The events.
const (
	EventJoin     Event = 1 + iota
	EventTarget         // a host got a new target
	EventCurrent        // the governor brought a host to its target
	EventReplica        // a replica got a new role
	EventAlter          // a host got a new address or domain, or was cordoned or uncordoned
	EventTransfer       // an operator wants a host to lead a shard
	EventPolicy
	EventToken
	EventStep       // an operator ended a step, or a delay after failures
	EventGeneration // the cluster was created from an old cluster's state
	EventAccess     // a principal got or lost rights
	EventBackup     // a client saves a shard's state
	EventAct        // a client changed something other than hosts, with a reason
	EventSlot       // a slot is to move to another shard, has moved, or stays
	EventShard      // a data shard is added, weighed or removed
	events
)

var eventNames = [events]string{
	EventJoin: "join", EventTarget: "host-target", EventCurrent: "host-state",
	EventReplica: "replica", EventAlter: "alter",
	EventTransfer: "leader-transfer", EventPolicy: "policy", EventToken: "join-token",
	EventStep: "step", EventGeneration: "restore", EventAccess: "access",
	EventBackup: "backup", EventAct: "action", EventSlot: "slot-move", EventShard: "shard",
}

// String returns the event's name for people.
func (e Event) String() string { return eventNames[e] }

// Entry is one change in the audit log.
type Entry struct {
	Number uint64 // grows by one with each change
	Event  Event
	Host   shard.HostID // 0 for no host
	Name   string       // the host's name at that time
	Text   string       // the change
	By     string       // the author: a principal, a host, or the governor
	Why    string
	Since  uint64 // shard time
	Wall   uint64
}

// String formats the entry as a log line.
func (e *Entry) String() string {
	text := e.Text
	if e.Name != "" {
		text = fmt.Sprintf("host %s: %s", e.Name, text)
	}
	if e.By != "" {
		text += ", by " + e.By
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return fmt.Sprintf("%d %s %s", e.Number, e.Event, text)
}

// note adds an audit entry.
func (r *Records) note(at At, event Event, h *Host, format string, args ...any) {
	r.lastAudit++
	e := Entry{Number: r.lastAudit, Event: event, Text: codec.Cut(fmt.Sprintf(format, args...), MaxText),
		By: codec.Cut(at.By, MaxText), Why: codec.Cut(at.Why, MaxText), Since: clock.Moment(at.Now), Wall: at.Wall}
	if h != nil {
		e.Host, e.Name = h.ID, h.Name
	}
	if len(r.audit) >= MaxAudit {
		r.audit = r.audit[1:]
	}
	r.audit = append(r.audit, e)
}

// Note adds an audit entry for a change that does not concern hosts: EventStep or EventAccess.
func (r *Records) Note(at At, event Event, what string) {
	r.revision++
	r.note(at, event, nil, "%s", what)
}

// NoteOf adds an audit entry for a client's action, as reported by a host: EventBackup or EventAct.
func (r *Records) NoteOf(at At, event Event, from shard.HostID, i Incarnation, what string) Answer {
	if a := r.reports(from, i); a.Text != "" {
		return a
	}
	r.revision++
	r.note(at, event, r.Host(from), "%s", what)
	return Answer{}
}

// LastAudit is the newest entry's number.
func (r *Records) LastAudit() uint64 { return r.lastAudit }

// Audit returns the entries from a number on, at most the given number of entries. Callers must not modify the list.
// Entries that are no longer kept are left out.
func (r *Records) Audit(from uint64, most int) []Entry {
	if len(r.audit) == 0 || most <= 0 {
		return nil
	}
	k, _ := slices.BinarySearchFunc(r.audit, from, func(e Entry, n uint64) int { return cmp.Compare(e.Number, n) })
	list := r.audit[k:]
	return list[:min(most, len(list))]
}
