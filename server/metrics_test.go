package server_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestMetricsCountSemaphoresAsTheNodeAsks(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	for path, mode := range map[string]protocol.CountersMode{
		"/plain": protocol.CountersUnset, "/whole": protocol.CountersAggregated, "/each": protocol.CountersDetailed,
	} {
		s.must(s.ask(&protocol.NodeCreate{Path: []byte(path),
			Config: protocol.NodeConfig{RateLimiterCountersMode: mode}}))
		a := s.session(path, time.Minute)
		a.acquire("a \"lock\"\n", 3, 0, true)
		s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("slots"),
			Limit: 5}))
		a.acquire("slots", 2, 0, false)
	}
	var out bytes.Buffer
	c.Host(1).WriteMetrics(&out)
	text := out.String()
	for _, want := range []string{
		`signalbox_semaphore_owned_units{node="/whole",semaphore="a \"lock\"\n"} 3`,
		`signalbox_semaphore_owned_units{node="/each",semaphore="a \"lock\"\n"} 3`,
		`signalbox_semaphore_owner_units{node="/each",semaphore="a \"lock\"\n",session=`,
		`signalbox_semaphore_owned_units{node="/plain",semaphore="slots"} 2`, // AGGREGATED is the default
		`signalbox_semaphore_owned_units{node="/whole",semaphore="slots"} 2`,
		`signalbox_semaphore_waiters{node="/plain",semaphore="slots"} 0`,
		`signalbox_requests_total{kind="acquire"} 6`,
		`signalbox_shard_sessions{shard="1"} 3`,
		`signalbox_request_duration_seconds_count{kind="acquire"} 6`,
		`signalbox_shard_is_leader{shard="1"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	for _, unwanted := range []string{
		`node="/plain",semaphore="a `, // ephemeral ones only if configured
		`semaphore_owner_units{node="/plain"`, `semaphore_owner_units{node="/whole"`,
	} {
		if strings.Contains(text, unwanted) {
			t.Errorf("not asked for: %s", unwanted)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestSeriesOfSemaphoresAreBoundedAndThoseAskedForComeFirst(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.must(s.ask(&protocol.NodeCreate{Path: []byte("/zoo"),
		Config: protocol.NodeConfig{RateLimiterCountersMode: protocol.CountersDetailed}}))
	s.node("/a")
	asked, plain := s.session("/zoo", time.Minute), s.session("/a", time.Minute)
	const semaphores = 1500
	for _, x := range []*started{plain, asked} {
		for i := range semaphores {
			s.say(&protocol.SemaphoreCreate{NodeID: x.node, Name: name("sem-%04d", i), Limit: 1})
			if x == asked && i == 99 {
				break
			}
		}
	}
	asked.acquire("sem-0000", 1, 0, false)
	var out bytes.Buffer
	c.Host(1).WriteMetrics(&out)
	want(t, "semaphores", strings.Count(out.String(), "signalbox_semaphore_owned_units{"), 999)
	want(t, "those asked for", strings.Count(out.String(), `signalbox_semaphore_owned_units{node="/zoo"`), 100)
	want(t, "their owners", strings.Count(out.String(), `signalbox_semaphore_owner_units{node="/zoo"`), 1)
}

func TestMetricsShowTheSyncsOfTheLog(t *testing.T) {
	syncs := server.NewSyncTimes()
	syncs.Observe(int64(time.Millisecond)) // possible before a host exists
	c := servertest.Start(t, servertest.Config(func(config *server.Config) { config.LogSyncs = syncs }))
	syncs.Observe(int64(time.Millisecond))
	var out bytes.Buffer
	c.Host(1).WriteMetrics(&out)
	if want := "signalbox_wal_fsync_duration_seconds_count 2"; !strings.Contains(out.String(), want) {
		t.Errorf("missing: %s", want)
	}
}

func TestLabelsHaveNothingThatATerminalObeysAndStayApart(t *testing.T) {
	seen := make(map[string]string)
	for value, want := range map[string]string{
		"jobs/étage":   `"jobs/étage"`,
		`say "hi" \`:   `"say \"hi\" \\"`,
		"a\x1b[2J":     `"\"a\\x1b[2J\""`,
		`"a\x1b[2J"`:   `"\"\\\"a\\\\x1b[2J\\\"\""`,
		"a\u202etxt":   `"\"a\\u202etxt\""`,
		"a\u009b2J\nb": `"\"a\\u009b2J\\nb\""`,
		"\xff":         `"\"\\xff\""`,
		"\ufffd":       "\"\ufffd\"",
	} {
		got := server.Label(value)
		if got != want {
			t.Errorf("%q is written as %s, want %s", value, got, want)
		}
		if other, again := seen[got]; again {
			t.Errorf("%q and %q are written alike", value, other)
		}
		seen[got] = value
	}
}
