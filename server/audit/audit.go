// Package audit logs administrative client actions with their outcomes, on the host that answered: node changes,
// deletions of objects that others may own, session ends, shard backups, and operator actions. A History also records
// changes in the cluster's audit log if no other entry covers them.
package audit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/meta"
)

// Log writes audit records. Safe for concurrent use.
type Log struct {
	Nodes *meta.Machine
	To    *slog.Logger
	Clock func() time.Time
	// NodeChanged adds a node change to the cluster's audit log. NodeChanged must not block.
	NodeChanged func(client, address, what string)

	refusals Budget
}

// Entry is an administrative action whose outcome is still unknown.
type Entry struct {
	verb, object string
	details      []any  // record fields, by name
	from         string // the client's address
	node         bool   // a node change: also recorded in the cluster's audit log
}

// message is the log message of all records, for log searches.
const message = "audit"

// Begin returns the audit entry for a request from an address, nil if the request is not administrative.
func (l *Log) Begin(r *protocol.Request, from func() string) *Entry {
	of := actions[r.Kind]
	if of == nil {
		return nil
	}
	e := of(l, r)
	if e != nil {
		e.from = from()
	}
	return e
}

// Record logs a client action with its outcome. Redirected actions are logged by the other host, and actions without
// effect are not logged. Refused attempts are logged up to a rate limit, because a hostile client could otherwise
// fill the disk with log lines.
func (l *Log) Record(e *Entry, client string, answer protocol.AnswerMessage, outcome *protocol.Result) {
	if created, is := answer.(*protocol.NodeCreateAnswer); is && created.Existed ||
		outcome.Status == protocol.StatusMoved {
		return
	}
	level, unlogged := slog.LevelInfo, 0
	if outcome.Status == protocol.StatusUnauthorized {
		log := false
		if log, unlogged = l.refusals.Line(l.Clock()); !log {
			return
		}
		level = slog.LevelWarn
	}
	record := []any{
		"token", client, "address", e.from, "action", e.verb, "object", e.object,
		"outcome", outcome.Status.String(),
	}
	record = append(record, e.details...)
	if outcome.Message != "" {
		record = append(record, "why", outcome.Message)
	}
	if unlogged > 0 {
		record = append(record, "unlogged", unlogged)
	}
	l.To.Log(context.Background(), level, message, record...)
	if e.node && outcome.Status == protocol.StatusSuccess {
		l.NodeChanged(client, e.from, e.verb+" "+e.object)
	}
}

// maxLines is the maximum number of log lines per second that clients can cause.
const maxLines = 5

// Budget limits the rate of log lines clients can cause.
type Budget struct {
	mu       sync.Mutex // guards the fields below
	since    time.Time  // start of the second in which lines are counted
	lines    int
	unlogged int // lines suppressed since the latest line
}

// Line reports whether a line may be logged now, and how many lines were suppressed since the last one.
func (b *Budget) Line(now time.Time) (log bool, unlogged int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.since) >= time.Second {
		b.since, b.lines = now, 0
	}
	if b.lines >= maxLines {
		b.unlogged++
		return false, 0
	}
	b.lines++
	unlogged, b.unlogged = b.unlogged, 0
	return true, unlogged
}
