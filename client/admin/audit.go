package admin

import (
	"context"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
)

// Entry is one change that is in the history.
type Entry struct {
	Number   uint64
	Event    string // a word, such as "target"
	Host     uint64 // 0 for none
	HostName string // as it was then
	Text     string
	By       string // an operator, a host, or the governor
	Why      string
	At       time.Time // by the clock of the host that proposed it
}

// Audit returns the history of changes from a number on, 1 for all that is kept: the last 10,000.
func (a *Admin) Audit(ctx context.Context, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for next := max(1, from); next != 0; {
			page, following, err := a.auditPage(ctx, next, 0)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			next = following
		}
	}
}

// LatestAudit returns the newest changes of the history, so many at the most and no more than 1,000, the oldest first.
func (a *Admin) LatestAudit(ctx context.Context, most int) ([]Entry, error) {
	page, _, err := a.auditPage(ctx, 0, uint64(max(1, most)))
	return page, err
}

func (a *Admin) auditPage(ctx context.Context, from, limit uint64) (page []Entry, next uint64, err error) {
	m := &protocol.AuditRead{From: from, Limit: limit}
	err = a.read(ctx, OpAudit, cluster.AnyHost, m, func(a *protocol.Answer) {
		page, next = nil, a.AuditRead.Next
		for e := range a.AuditRead.Entries.All() {
			page = append(page, Entry{Number: e.Number, Event: string(e.Event), Host: e.HostID,
				HostName: string(e.HostName), Text: string(e.Text), By: string(e.By), Why: string(e.Why),
				At: time.UnixMilli(int64(e.WallMillis))})
		}
	})
	return page, next, err
}
