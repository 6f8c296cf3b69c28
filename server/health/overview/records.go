package overview

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Audit returns a page of the audit log, with at most limit entries: from the entry with a number on, or the newest
// entries if the number is 0.
func Audit(r *hosts.Records, from uint64, limit int) *protocol.AuditReadAnswer {
	a := &protocol.AuditReadAnswer{Newest: r.LastAudit()}
	if first := r.Audit(1, 1); len(first) > 0 {
		a.Oldest = first[0].Number
	}
	if from == 0 {
		from = max(a.Newest-min(uint64(limit), a.Newest)+1, a.Oldest)
	}
	entries, size := r.Audit(from, limit), 0
	for i := range entries {
		e := &entries[i]
		entry := host.Entry{ID: e.Number, Event: e.Event.String(), Host: uint64(e.Host), HostName: e.Name,
			Text: e.Text, Author: e.By, Reason: e.Why, At: field.WallTime(e.Wall)}
		a.Entries = append(a.Entries, entry)
		if size += protocol.Size(&entry); size >= protocol.PageBytes && e.Number < a.Newest {
			a.Next = e.Number + 1
			return a
		}
	}
	if n := len(entries); n > 0 && entries[n-1].Number < a.Newest {
		a.Next = entries[n-1].Number + 1
	}
	return a
}

// Tokens returns the join tokens that are valid or used. If ids are given, only tokens with these ids are returned.
func Tokens(r *hosts.Records, now uint64, ids ...string) (list []host.JoinToken) {
	for _, t := range r.ListTokens() {
		if len(ids) == 0 || slices.Contains(ids, t.ID) {
			list = append(list, host.JoinToken{ID: t.ID, Left: left(now, t.Until), Author: t.By, Used: digits(t.Used)})
		}
	}
	return list
}
