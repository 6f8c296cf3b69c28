// Package audit logs administrative actions of clients with their outcomes, on the host that answered: changes of
// nodes, deletions of objects that others may own, the end of a session, the saving of a whole shard, and the actions
// of operators. A History notes changes without an entry of their own in the history of the cluster.
package audit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/meta"
)

// Log writes the records. Many goroutines may use it.
type Log struct {
	Nodes *meta.Machine
	To    *slog.Logger
	Clock func() time.Time
	// NodeChanged adds a change of a node to the history of the cluster. It must not block.
	NodeChanged func(client, address, what string)

	refusals Budget
}

// Entry is an administrative action without an outcome yet.
type Entry struct {
	verb, object string
	details      []any  // of the record, by name
	from         string // the address of the client
	node         bool   // of a node: the history of the cluster has the action too
}

// message is the message of the records, for searches in the log.
const message = "audit"

// Begin returns the entry of a request from an address, nil if the request is not administrative.
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

// Record logs an action of a client with its outcome. An action for another host is logged there, and what changed
// nothing was no action. Refused attempts are logged too, but not all if there are many: the client behind them could
// fill a disk with lines.
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

// maxLines is how many lines clients can cause in one second.
const maxLines = 5

// Budget bounds the lines of the log that clients can cause.
type Budget struct {
	mu       sync.Mutex // guards the fields below
	since    time.Time  // the beginning of the second in which lines are counted
	lines    int
	unlogged int // since the latest line
}

// Line reports whether there may be a line in the log now, and how many lines were left out since the last line.
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
