package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/adminclient"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol/health"
	pageadmin "github.com/signalbox/signalbox/server/admin"
)

func TestCheckJudgesWhatHostsSay(t *testing.T) {
	blocked := health.New(health.RolloutBlocked, health.About{Node: "/prod", Name: "web"}, "no leaders in eu")
	blocked.WaitsFor, blocked.More = "leaders in eu", 2
	for what, c := range map[string]struct {
		list    admin.HealthIssues
		subject string
		want    level
		found   string
	}{
		"nothing": {admin.HealthIssues{Asked: 3}, "rollouts", levelOK, "no issues"},
		"one is away": {away(3, 1), "answers", levelWarn, "1 of 3 hosts did not report their health issues: a:1 " +
			"(gone)"},
		"two are": {away(3, 2), "answers", levelFail, "2 of 3 hosts did not report their health issues: a:1 " +
			"(gone); a:1 (gone)"},
		"a rollout is blocked": {admin.HealthIssues{Asked: 1, Items: []admin.HealthIssue{blocked}},
			"rollout web in /prod", levelWarn, "no leaders in eu; the same for 2 more; waits for leaders in eu"},
		"a majority is lost": {admin.HealthIssues{Asked: 1, Items: []admin.HealthIssue{health.New(health.NoQuorum,
			health.About{Shards: []string{"0", "1"}}, "1 of 3 voters answer")}}, "shards meta, 1", levelFail,
			"1 of 3 voters answer"},
		"a host is drained": {admin.HealthIssues{Asked: 1, Items: []admin.HealthIssue{health.New(health.HostDrained,
			health.About{Host: "d"}, "host d is drained")}}, "host d", levelOK, "host d is drained"},
	} {
		var x findings
		judgeHealthIssues(&c.list, &x)
		met := false
		for _, f := range x.list {
			if f.Subject == c.subject {
				met = f.Level == c.want && f.Found == c.found
			}
		}
		if !met || x.worst() != c.want {
			t.Errorf("%s: %+v", what, x.list)
		}
	}
}

// TestWhatNoHostCanKnowIsNotWell: only the shard's leader knows about rollouts, rounds and locks.
func TestWhatNoHostCanKnowIsNotWell(t *testing.T) {
	for _, kind := range []health.Kind{health.NoQuorum, health.NoLeader} {
		var x findings
		judgeHealthIssues(&admin.HealthIssues{Asked: 1, Items: []admin.HealthIssue{
			health.New(kind, health.About{Shards: []string{"1"}}, "a leader is missing"),
		}}, &x)
		unknown := 0
		for _, f := range x.list {
			if f.Level == levelWarn && f.Found == "unknown while a shard has no leader" {
				unknown++
			}
		}
		if unknown != 3 {
			t.Errorf("%s: %+v", kind, x.list)
		}
	}
	silent := away(3, 1)
	var x findings
	judgeHealthIssues(&silent, &x)
	if last := x.list[len(x.list)-1]; last.Found != "no issues on the hosts that answer" {
		t.Errorf("where a host is silent check says %+v", last)
	}
}

// away returns the health issues of a cluster with the given number of silent hosts.
func away(of, silent int) admin.HealthIssues {
	list := admin.HealthIssues{Asked: of}
	for range silent {
		list.Unreachable = append(list.Unreachable, admin.UnreachableHost{Address: "a:1", Reason: "gone"})
	}
	return list
}

func TestWhoLeadsIsWhatTheHighestTermSays(t *testing.T) {
	shards := func(leader, term, applied, sessions uint64) []client.ShardStatus {
		return []client.ShardStatus{{ID: 1, Leader: leader, Term: term, AppliedIndex: applied, Sessions: sessions}}
	}
	hosts := []client.HostStatus{
		{ID: 1, Name: "a", Shards: shards(1, 4, 90, 7), Uptime: time.Second},
		{ID: 2, Name: "b", Shards: shards(2, 5, 100, 5)},
		{ID: 3, Name: "c", Shards: shards(0, 5, 40, 2)},
	}
	s := newStatusReport(hosts, nil)
	want := shardReport{LeaderName: "b", Lag: 60,
		ShardStatus: client.ShardStatus{ID: 1, Leader: 2, Term: 5, AppliedIndex: 100, Sessions: 5}}
	if len(s.Shards) != 1 || s.Shards[0] != want || len(s.Hosts[0].Leads) != 0 || len(s.Hosts[1].Leads) != 1 ||
		s.lag(&hosts[0].Shards[0]) != 10 {
		t.Errorf("%+v", s)
	}
	if s.Meta != nil {
		t.Errorf("nobody told of the meta shard: %+v", s.Meta)
	}
	hosts[0].Meta = client.ShardStatus{Leader: 1, Term: 2, AppliedIndex: 7}
	hosts[2].Meta = client.ShardStatus{Leader: 2, Term: 3, AppliedIndex: 6}
	if s := newStatusReport(hosts, nil); s.Meta == nil || *s.Meta != (shardReport{LeaderName: "b",
		ShardStatus: client.ShardStatus{Leader: 2, Term: 3, AppliedIndex: 7}}) {
		t.Errorf("the meta shard: %+v", s.Meta)
	}
	hosts[1].Shards = shards(0, 6, 100, 5)
	if s := newStatusReport(hosts, nil); len(s.leaderless()) != 1 {
		t.Errorf("a term without a leader: %+v", s)
	}
}

// TestWhoHasNoCopyDoesNotSayWhoLeads: the shard has replicas on some hosts only. A learner, and a host without a
// replica, report an outdated leader for ever. A host without a replica is never behind.
func TestWhoHasNoCopyDoesNotSayWhoLeads(t *testing.T) {
	records := &admin.Cluster{Shards: []admin.Shard{{ID: 1, Replicas: []admin.Replica{{Host: 1, Role: admin.Voter},
		{Host: 2, Role: admin.Voter}, {Host: 3, Role: admin.Voter}, {Host: 4, Role: admin.Learner},
		{Host: 5, Role: admin.Removed}}}}}
	said := func(leader, applied uint64) []client.ShardStatus {
		return []client.ShardStatus{{ID: 1, Leader: leader, Term: 5, AppliedIndex: applied}}
	}
	away := errors.New("gone")
	for name, c := range map[string]struct {
		a, b, c, d, e client.HostStatus
		leader, lag   uint64
	}{
		"at rest": {a: client.HostStatus{Shards: said(2, 90)}, b: client.HostStatus{Shards: said(2, 100)},
			c: client.HostStatus{Shards: said(2, 100)}, d: client.HostStatus{Shards: said(2, 99)},
			e: client.HostStatus{Shards: said(2, 40)}, leader: 2, lag: 10},
		"the majority is lost": {a: client.HostStatus{Shards: said(0, 100)}, b: client.HostStatus{Err: away},
			c: client.HostStatus{Err: away}, d: client.HostStatus{Shards: said(2, 100)},
			e: client.HostStatus{Shards: said(2, 0)}},
		"all voters are lost": {a: client.HostStatus{Err: away}, b: client.HostStatus{Err: away},
			c: client.HostStatus{Err: away}, d: client.HostStatus{Shards: said(2, 100)},
			e: client.HostStatus{Shards: said(2, 0)}},
		"all copies are lost": {a: client.HostStatus{Err: away}, b: client.HostStatus{Err: away},
			c: client.HostStatus{Err: away}, d: client.HostStatus{Err: away}, e: client.HostStatus{Shards: said(2, 0)}},
		"the leader does not answer, and a voter hears it": {a: client.HostStatus{Shards: said(2, 100)},
			b: client.HostStatus{Err: away}, c: client.HostStatus{Shards: said(2, 100)},
			d: client.HostStatus{Err: away}, e: client.HostStatus{Err: away}, leader: 2},
		"the host that is named leads no more": {a: client.HostStatus{Shards: said(2, 100)},
			b: client.HostStatus{Shards: said(0, 100)}, c: client.HostStatus{Err: away},
			d: client.HostStatus{Err: away}, e: client.HostStatus{Err: away}},
	} {
		hosts := []client.HostStatus{c.a, c.b, c.c, c.d, c.e}
		for i := range hosts {
			hosts[i].ID = uint64(i + 1)
		}
		s := newStatusReport(hosts, records)
		if len(s.Shards) != 1 || s.Shards[0].Leader != c.leader || s.Shards[0].Lag != c.lag ||
			(len(s.leaderless()) == 1) != (c.leader == 0) {
			t.Errorf("%s: %+v", name, s.Shards)
		}
		if len(s.Hosts[4].Shards) != 0 {
			t.Errorf("%s: a host without a copy shows %+v", name, s.Hosts[4].Shards)
		}
		if hosts[4].Err == nil && len(hosts[4].Shards) != 1 {
			t.Errorf("%s: the report itself has changed", name)
		}
	}
}

func TestALookIsWhatHappenedInBetween(t *testing.T) {
	began := time.Now()
	reading := func(after time.Duration, started time.Time, metrics string) adminclient.Reading {
		m, err := adminclient.Parse(strings.NewReader(metrics))
		if err != nil {
			t.Fatal(err)
		}
		return adminclient.Reading{At: began.Add(after), Metrics: m,
			Status: pageadmin.Status{Host: pageadmin.HostStatus{ID: 1, Name: "a", Started: started}}}
	}
	before := []adminclient.Reading{reading(0, began, `signalbox_requests_total{kind="ping"} 100
signalbox_requests_total{kind="acquire"} 10
signalbox_requests_failed_total{kind="acquire",status="timeout"} 1
signalbox_acquire_wait_seconds_sum 1
signalbox_acquire_wait_seconds_count 1
`)}
	now := []adminclient.Reading{reading(2*time.Second, began, `signalbox_requests_total{kind="ping"} 100
signalbox_requests_total{kind="acquire"} 30
signalbox_requests_failed_total{kind="acquire",status="timeout"} 5
signalbox_acquire_wait_seconds_sum 9
signalbox_acquire_wait_seconds_count 5
signalbox_semaphore_owned_units{node="/a",semaphore="x"} 1.8446744073709552e+19
signalbox_semaphore_waiters{node="/a",semaphore="x"} 0
signalbox_semaphore_owned_units{node="/a",semaphore="y"} 1
signalbox_semaphore_waiters{node="/a",semaphore="y"} 2
signalbox_semaphore_owned_units{node="/a",semaphore="z"} 2
signalbox_semaphore_waiters{node="/a",semaphore="z"} 0
signalbox_rollout_stalled_seconds{node="/a",rollout="dns",location="man",reason="gate"} 5
signalbox_rollout_stalled_seconds{node="/a",rollout="dns",location="vla",reason="no-leaders"} 75
signalbox_rollout_stalled_seconds{node="/a",rollout="feed",location="",reason="halted"} 9
signalbox_process_stalled_seconds{node="/a",process="deploy",member="",reason="too-few-members"} 5
signalbox_process_stalled_seconds{node="/a",process="switch",member="b",reason="overdue"} 75
signalbox_process_stalled_seconds{node="/a",process="switch",member="c",reason="awaiting-reply"} 9
`)}
	l := newSample(before, now, 2)
	if len(l.Requests) != 1 || l.Requests[0].Kind != "acquire" || l.Requests[0].PerSecond != 10 ||
		l.Requests[0].Failed != 2 || l.Waits.PerSecond != 2 || l.Waits.MeanMS != 2000 {
		t.Errorf("%+v", l)
	}
	if len(l.Semaphores) != 2 || l.Semaphores[0].Name != "y" || l.Semaphores[1].Name != "x" || l.more != 1 {
		t.Errorf("%+v", l.Semaphores)
	}
	if text := l.text(); !strings.Contains(text, "x           /a     all     0\n") ||
		!strings.Contains(text, "and 1 more\n") {
		t.Errorf("%s", text)
	}
	if want := "ROLLOUT   NODE   LOCATION   STANDS STILL   FOR\ndns       /a     vla        no-leaders     1m15s\n" +
		"feed      /a     -          halted         9s\n\n" +
		"PROCESS   NODE   WAITS FOR   STANDS STILL     FOR\nswitch    /a     b           overdue          1m15s\n" +
		"switch    /a     c           awaiting-reply   9s\n"; !strings.HasSuffix(l.text(), "\n\n"+want) {
		t.Errorf("it ends with\n%s\nand not with\n%s", l.text(), want)
	}
	// A restarted host has no past samples.
	now[0].Status.Host.Started = began.Add(time.Second)
	if l := newSample(before, now, 2); len(l.Requests) != 0 || l.Hosts[0].Requests != 0 {
		t.Errorf("%+v", l)
	}
}

// TestAWaitWithoutATimeIsTheLongest: a wait without a time is from before times were recorded.
func TestAWaitWithoutATimeIsTheLongest(t *testing.T) {
	now := time.Now()
	var waits []wait
	for i, since := range []time.Time{now, {}, now.Add(-time.Hour)} {
		waits = append(waits, wait{"/a", &operation.DescribedSemaphore{},
			&operation.DescribedWaiter{Waiter: client.Waiter{OrderID: uint64(i), Since: since}}})
	}
	for i, w := range sorted(waits) {
		if want := []uint64{1, 2, 0}[i]; w.waiter.OrderID != want {
			t.Errorf("place %d has %d, not %d", i, w.waiter.OrderID, want)
		}
	}
}
