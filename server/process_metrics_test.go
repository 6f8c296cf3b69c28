package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// metric returns a series at the data shard's leader, rounded down, -1 if missing.
func (b *processBed) metric(series string) int {
	b.t.Helper()
	return (&rolloutBed{t: b.t, c: b.c}).metric(series)
}

// metrics checks many.
func (b *processBed) metrics(when string, all map[string]int) {
	b.t.Helper()
	for series, want := range all {
		if got := b.metric(series); got != want {
			b.t.Errorf("%s: %s is %d, want %d", when, series, got, want)
		}
	}
}

// TestMetricsSayHowProcessesAre: event counts, number of processes per state, and awaited members.
func TestMetricsSayHowProcessesAre(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		b.put(kind.Spec{ReplyTimeout: 20 * time.Second})
		all := b.run("a", "b", "c")
		a := all[0]
		late := `signalbox_process_stalled_seconds{node="/prod",process="cache",member="c",reason="overdue"}`
		waits := `signalbox_process_stalled_seconds{node="/prod",process="cache",member="c",reason="awaiting-reply"}`
		a.broadcast("x")
		all[0].answer("y")
		all[1].answer("y")
		all[2].next(kind.ItemRequest)
		b.metrics("a round", map[string]int{
			`signalbox_processes{shard="1",state="running"}`:                      1,
			`signalbox_processes{shard="1",state="complete"}`:                     0,
			`signalbox_process_members{shard="1"}`:                                3,
			`signalbox_process_unacknowledged_requests{shard="1"}`:                1,
			`signalbox_process_epochs_total{shard="1"}`:                           1,
			`signalbox_process_rounds_total{shard="1",outcome="completed"}`:       0,
			`signalbox_process_oldest_state_seconds{shard="1",state="preparing"}`: 0,
			`signalbox_inboxes_open{shard="1"}`:                                   3,
			`signalbox_inbox_items_total{shard="1"}`:                              7,
			`signalbox_inbox_backpressure_total{shard="1"}`:                       0,
			`signalbox_requests_total{kind="process_reply"}`:                      2,
			`signalbox_requests_failed_total{kind="process_send",status="any"}`:   -1,
			late: -1, waits: -1,
		})
		everyone := func(d time.Duration) {
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				for _, m := range all {
					m.s.must(m.s.ask(&protocol.Ping{}))
				}
			}
		}
		everyone(12 * time.Second)
		if got := b.metric(waits); got < 10 || got > 13 {
			t.Errorf("c is waited for for %d s, want about 12", got)
		}
		if got := b.metric(`signalbox_process_oldest_state_seconds{shard="1",state="running"}`); got < 10 || got > 13 {
			t.Errorf("the round runs for %d s, want about 12", got)
		}
		everyone(12 * time.Second)
		if got := b.metric(late); got < 22 || got > 26 {
			t.Errorf("c is late for %d s, want about 24", got)
		}
		b.metrics("it is late", map[string]int{`signalbox_process_reply_timeouts_total{shard="1"}`: 1, waits: -1})
		b.act(kind.ActionEvict, all[2].member, "it hangs")
		a.next(kind.ItemEnd)
		a.next(kind.ItemCancel)
		a.prepare()
		b.metrics("it was put out", map[string]int{
			`signalbox_process_evictions_total{shard="1"}`:                  1,
			`signalbox_process_epochs_total{shard="1"}`:                     2,
			`signalbox_process_rounds_total{shard="1",outcome="cancelled"}`: 1,
			`signalbox_inboxes_open{shard="1"}`:                             2,
			late:                                                            -1,
		})
	})
}
