package server_test

import (
	"testing"

	kind "github.com/signalbox/signalbox/protocol/process"
)

// TestARoundOfAProcess: each member gets prepare, each request once, and the completion; the coordinator gets the
// replies by member, and the result is kept.
func TestARoundOfAProcess(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		all := b.run("a", "b", "c")
		a := all[0]
		exchange := a.broadcast("lock")
		for _, m := range all {
			i := m.answer("locked by " + m.started.s.t.Name())
			want(t, "the sender", i.From, a.member)
			want(t, "the request", string(i.Payload), "lock")
		}
		end := a.next(kind.ItemEnd)
		want(t, "the exchange that ended", end.Exchange, exchange)
		want(t, "its outcome", end.Outcome, kind.OutcomeAll)
		var from []uint64
		for r := range end.Replies.All() {
			from = append(from, r.From)
		}
		for i, m := range all {
			want(t, "who replied", from[i], m.member)
		}
		a.complete("done")
		for _, m := range all {
			want(t, "the result", string(m.finish().Payload), "done")
		}
		h := b.head()
		want(t, "the state", h.Phase, kind.Complete)
		want(t, "the last result", h.LastResult, a.epoch)
		rows := b.describe("results").Rows
		want(t, "results", rows.Len(), 1)
		for row := range rows.All() {
			var r kind.ResultRow
			readRecord(t, row.Body, &r)
			want(t, "the result that is kept", string(r.Payload), "done")
		}
	})
}
