package admin

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// Entry is one audit log entry.
type Entry = host.Entry

// Audit returns the audit log, starting with entry number from. Use 1 for all retained entries: the last 10,000
// changes.
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

// LatestAudit returns the newest audit log entries, oldest first: at most the given number, and at most 1,000.
func (a *Admin) LatestAudit(ctx context.Context, most int) ([]Entry, error) {
	page, _, err := a.auditPage(ctx, 0, uint64(max(1, most)))
	return page, err
}

func (a *Admin) auditPage(ctx context.Context, from, limit uint64) (page []Entry, next uint64, err error) {
	m := &protocol.AuditRead{From: from, Limit: limit}
	err = a.read(ctx, OpAudit, cluster.AnyHost, m, func(a *protocol.Answer) {
		page, next = a.AuditRead.Entries, a.AuditRead.Next
	})
	return page, next, err
}
