package overview

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
	"slices"
)

// Audit returns a page of the history: from a number on, or for 0 the newest changes, and so many at the most.
func Audit(r *hosts.Records, from uint64, limit int) *protocol.AuditReadAnswer {
	a := &protocol.AuditReadAnswer{Newest: r.LastAudit()}
	if first := r.Audit(1, 1); len(first) > 0 {
		a.Oldest = first[0].Number
	}
	newest := from == 0
	if newest {
		from = max(left(uint64(limit), a.Newest)+1, a.Oldest)
	}
	entries := r.Audit(from, limit)
	for i := range entries {
		e := &entries[i]
		a.Entries.Append(protocol.AuditEntry{
			Number: e.Number, Event: []byte(e.Event.String()), HostID: uint64(e.Host), HostName: []byte(e.Name),
			Text: []byte(e.Text), By: []byte(e.By), Why: []byte(e.Why), WallMillis: e.Wall,
		})
		if a.Entries.Size() >= protocol.PageBytes && e.Number < a.Newest {
			a.Next = e.Number + 1
			return a
		}
	}
	if n := len(entries); n > 0 && entries[n-1].Number < a.Newest {
		a.Next = entries[n-1].Number + 1
	}
	return a
}

// AddTokens adds the join tokens that are good or were used, or of those the ones with the given ids.
func AddTokens(to *protocol.JoinTokens, r *hosts.Records, now uint64, ids ...string) {
	for _, t := range r.ListTokens() {
		if len(ids) > 0 && !slices.Contains(ids, t.ID) {
			continue
		}
		x := protocol.JoinToken{ID: []byte(t.ID), LeftMillis: left(now, t.Until), By: []byte(t.By)}
		if t.Used != (hosts.Incarnation{}) {
			x.Used = t.Used[:]
		}
		to.Append(x)
	}
}
