package server_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// TestAReportThatChangesNothingIsAnsweredWithoutTheLog: a report that may change something always goes through the log.
func TestAReportThatChangesNothingIsAnsweredWithoutTheLog(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		m := b.join("a.sas", "sas")
		b.publish("one")
		target := m.reach()
		reached := protocol.InstanceReport{Current: target.Seq, Generation: target.Generation}
		report := func(mutation protocol.Mutation, r protocol.InstanceReport) *protocol.RolloutReport {
			return &protocol.RolloutReport{Mutation: mutation, NodeID: b.node, Name: dns, Report: r}
		}
		unseen := func() protocol.Mutation {
			mutation := m.mutation()
			mutation.AcknowledgedSequence--
			return mutation
		}
		failing := reached
		failing.Status, failing.Code = kind.Failed, []byte("x")
		elsewhere := speak(t, b.c, b.c.Leader(1))
		elsewhere.must(elsewhere.ask(&protocol.SessionBind{SessionID: m.id, SessionSecret: []byte("key")}))
		for _, x := range []struct {
			what   string
			logged bool
			does   func()
		}{
			{"the same report", false, func() { m.must(report(m.mutation(), reached)) }},
			{"an ask with it", false, func() { want(t, "seq", m.ask(reached).Target.Seq, target.Seq) }},
			{"the same over another connection", false, func() {
				elsewhere.must(elsewhere.ask(report(m.mutation(), reached)))
			}},
			{"a mutation before it whose answer was not seen", true, func() { m.must(report(unseen(), reached)) }},
			{"another report", true, func() { m.must(report(m.mutation(), failing)) }},
			{"the same as that", false, func() { m.must(report(m.mutation(), failing)) }},
			{"back to the first", true, func() { m.must(report(m.mutation(), reached)) }},
			{"an ask of what is not known to be received", true, func() {
				b.publish("two")
				want(t, "payload", string(m.ask(reached).Target.Payload), "two")
			}},
			{"the same ask", false, func() { want(t, "payload", string(m.ask(reached).Target.Payload), "two") }},
			{"behind a mutation of something else", true, func() {
				m.number++ // of another shard
				m.must(report(m.mutation(), reached))
			}},
		} {
			before := b.unlogged()
			x.does()
			if logged := b.unlogged() == before; logged != x.logged {
				t.Errorf("%s: it went into the log: %v", x.what, logged)
			}
		}
	})
}

// unlogged is how many reports and asks were answered without the log.
func (b *rolloutBed) unlogged() int {
	return b.metric(`signalbox_rollout_noop_requests_total{kind="rollout_report"}`) +
		b.metric(`signalbox_rollout_noop_requests_total{kind="rollout_poll"}`)
}

// metric returns a series' value at the leader, -1 if missing.
func (b *rolloutBed) metric(series string) int {
	b.t.Helper()
	var out bytes.Buffer
	b.c.Host(b.c.Leader(1)).WriteMetrics(&out)
	for line := range strings.Lines(out.String()) {
		if value, is := strings.CutPrefix(line, series+" "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return int(n)
		}
	}
	return -1
}

// TestMetricsShowHowRolloutsAre: event counts, rollouts per state, and stalled rollouts.
func TestMetricsShowHowRolloutsAre(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		spec := locations([]string{"sas", "man"})
		spec.ProgressDeadline = 10 * time.Second
		spec.Reelect.Codes = []string{"gone"}
		b.put(spec)
		a, f := b.join("a.sas", "sas"), b.session(10*time.Minute)
		f.must(&protocol.RolloutJoin{
			Mutation: f.mutation(), NodeID: b.node, Name: dns, Instance: kind.Instance{Name: "b.sas", Location: "sas"},
		})
		b.publish("one")
		target := a.ask(protocol.InstanceReport{}).Target
		b.publish("two")
		a.must(&protocol.RolloutReport{Mutation: a.mutation(), NodeID: b.node, Name: dns,
			Report: protocol.InstanceReport{Generation: target.Generation, Status: kind.Failed,
				Code: []byte("gone"), Attempts: 1}})
		for series, want := range map[string]int{
			`signalbox_rollout_versions_total{shard="1"}`:                                                             2,
			`signalbox_rollout_targets_total{shard="1",cause="initial"}`:                                              1,
			`signalbox_rollout_targets_total{shard="1",cause="reelection"}`:                                           1,
			`signalbox_rollout_targets_total{shard="1",cause="next"}`:                                                 0,
			`signalbox_rollout_halts_total{shard="1",reason="aborted"}`:                                               0,
			`signalbox_rollouts{shard="1",phase="rolling"}`:                                                           1,
			`signalbox_rollouts{shard="1",phase="idle"}`:                                                              0,
			`signalbox_rollout_instances{shard="1",role="leader"}`:                                                    1,
			`signalbox_rollout_instances{shard="1",role="follower"}`:                                                  1,
			`signalbox_rollout_instances{shard="1",role="source"}`:                                                    0,
			`signalbox_rollout_stalled_seconds{node="/prod",rollout="dns",location="sas",reason="deadline-exceeded"}`: -1,
		} {
			if got := b.metric(series); got != want {
				t.Errorf("%s is %d, want %d", series, got, want)
			}
		}
		b.act(kind.Abort, 0)
		for series, want := range map[string]int{
			`signalbox_rollout_halts_total{shard="1",reason="aborted"}`:                                 1,
			`signalbox_rollouts{shard="1",phase="halted"}`:                                              1,
			`signalbox_rollout_stalled_seconds{node="/prod",rollout="dns",location="",reason="halted"}`: 0,
		} {
			if got := b.metric(series); got != want {
				t.Errorf("after an abort %s is %d, want %d", series, got, want)
			}
		}
		b.act(kind.Retry, 0)
		for b.metric(
			`signalbox_rollout_stalled_seconds{node="/prod",rollout="dns",location="sas",reason="deadline-exceeded"}`) < 0 {
			time.Sleep(time.Second)
			b.s.must(b.s.ask(&protocol.Ping{}))
		}
	})
}
