package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/protocol/process"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// healthIssues asks the data shard's leader for health issues.
func healthIssues(t *testing.T, c *servertest.Cluster) []health.Issue {
	t.Helper()
	return healthIssuesAt(t, c, c.Leader(1))
}

// healthIssuesAt asks a host.
func healthIssuesAt(t *testing.T, c *servertest.Cluster, host shard.HostID) (list []health.Issue) {
	t.Helper()
	time.Sleep(2 * time.Second) // the list before is shown for a second
	s := speak(t, c, host)
	a := s.must(s.ask(&protocol.Health{})).Health
	for x := range a.Items.All() {
		list = append(list, x.Issue)
	}
	return list
}

// issueOf is the issue with a kind and an object name, nil if missing.
func issueOf(list []health.Issue, k health.Kind, name string) *health.Issue {
	for i := range list {
		if c := &list[i]; c.Kind == k && c.Name == name {
			return c
		}
	}
	return nil
}

// TestRolloutsThatDoNotMoveAreHealthIssues: blocked, late, paused and halted rollouts; each issue disappears when the
// rollout moves.
func TestRolloutsThatDoNotMoveAreHealthIssues(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		sees := func(when string, k health.Kind, waits string) {
			t.Helper()
			list := healthIssues(t, b.c)
			c := issueOf(list, k, "dns")
			if c == nil || c.Node != "/prod" || c.Subject != "rollout dns in /prod" ||
				!strings.Contains(c.WaitsFor, waits) ||
				c.Since.IsZero() || !strings.Contains(c.Do, "signalbox rollout ") ||
				strings.Contains(c.Do, "gate") {
				t.Errorf("%s: %+v", when, list)
			}
			for _, other := range list {
				if other.Name == "dns" && other.Kind != k {
					t.Errorf("%s: it is %s too", when, other.Kind)
				}
			}
		}
		spec := locations([]string{"eu"})
		spec.ProgressDeadline = 10 * time.Second
		b.put(spec)
		if c := issueOf(healthIssues(t, b.c), health.RolloutBlocked, "dns"); c != nil {
			t.Errorf("before anything is published: %+v", c)
		}
		b.publish("one")
		sees("no instance has joined", health.RolloutBlocked, "an instance in eu")
		m := b.join("eu-1", "eu")
		m.ask(protocol.InstanceReport{})
		for range 12 {
			time.Sleep(time.Second)
			m.must(&protocol.Ping{})
		}
		sees("the leader does not get on", health.RolloutDeadlineExceeded, "eu-1")
		m.reach()
		if list := healthIssues(t, b.c); issueOf(list, health.RolloutDeadlineExceeded, "dns") != nil {
			t.Errorf("it is reached: %+v", list)
		}
		b.act(kind.Pause, 0)
		sees("it is paused", health.RolloutPaused, "an operator")
		b.act(kind.Resume, 0)
		b.act(kind.Abort, 0)
		sees("it was aborted", health.RolloutHalted, "an operator")
		b.act(kind.Resume, 0)
		ofIt := func(c health.Issue) bool { return c.Name == "dns" }
		if list := healthIssues(t, b.c); slices.ContainsFunc(list, ofIt) {
			t.Errorf("all is well: %+v", list)
		}
	})
}

// TestBlockedRolloutKeepsItsStartAcrossLeaders: the start is replicated state. The hint follows from the reason.
func TestBlockedRolloutKeepsItsStartAcrossLeaders(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		spec := locations([]string{"eu"})
		spec.Locations[0].Gates = []string{"smoke"}
		b.put(spec)
		published := time.Now()
		b.publish("one")
		time.Sleep(time.Minute)
		to := b.c.Leader(1)%3 + 1
		if err := b.c.Elect(1, to); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if time.Sleep(time.Second); b.c.Leader(1) == to {
				break
			}
		}
		x := issueOf(healthIssues(t, b.c), health.RolloutBlocked, "dns")
		if x == nil || b.c.Leader(1) != to || x.Since.Sub(published).Abs() > 10*time.Second {
			t.Errorf("blocked since %v, by the new leader: %+v", published, x)
		}
		if x != nil && x.Do != "signalbox rollout bypass /prod dns --location eu bypasses the location; "+
			"start an instance in eu" {
			t.Errorf("the hint: %s", x.Do)
		}
	}, servertest.Hosts(3))
}

// TestRoundsThatHangAreHealthIssues: a member is overdue, the coordinator is stalled, no member may coordinate.
func TestRoundsThatHangAreHealthIssues(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		b.put(process.Spec{ReplyTimeout: 20 * time.Second})
		all := b.run("a", "b", "c")
		stay := func(d time.Duration) {
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				for _, m := range all {
					m.s.must(m.s.ask(&protocol.Ping{}))
				}
			}
		}
		if list := healthIssues(t, b.c); issueOf(list, health.ProcessCoordinatorStalled, "cache") != nil {
			t.Errorf("a round that has only begun: %+v", list)
		}
		stay(65 * time.Second)
		c := issueOf(healthIssues(t, b.c), health.ProcessCoordinatorStalled, "cache")
		if c == nil || c.Node != "/prod" || c.WaitsFor != "a" {
			t.Fatalf("the coordinator stands still: %+v", c)
		}
		all[0].broadcast("x")
		all[0].answer("y")
		all[1].answer("y")
		stay(25 * time.Second)
		list := healthIssues(t, b.c)
		if c := issueOf(list, health.ProcessMemberOverdue, "cache"); c == nil || c.WaitsFor != "c" ||
			issueOf(list, health.ProcessCoordinatorStalled, "cache") != nil {
			t.Errorf("c has not replied: %+v", list)
		}
		b.s = speak(t, b.c, b.c.Leader(1))
		b.act(process.ActionEvict, all[2].member, "it hangs")
		all = all[:2]
		stay(2 * time.Second)
		if list := healthIssues(t, b.c); issueOf(list, health.ProcessMemberOverdue, "cache") != nil {
			t.Errorf("c was put out: %+v", list)
		}
	})
}

// TestAProcessWithoutACoordinatorIsAHealthIssue.
func TestAProcessWithoutACoordinatorIsAHealthIssue(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		a := b.join("a", func(m *protocol.ProcessJoin) { m.Candidate = false })
		for range 65 {
			time.Sleep(time.Second)
			a.s.must(a.s.ask(&protocol.Ping{}))
		}
		list := healthIssues(t, b.c)
		if c := issueOf(list, health.ProcessBlocked, "cache"); c == nil || c.WaitsFor != "members" {
			t.Errorf("none may coordinate: %+v", list)
		}
	})
}

// TestALockThatIsWaitedForTooLongIsAHealthIssue: only if its node has a limit.
func TestALockThatIsWaitedForTooLongIsAHealthIssue(t *testing.T) {
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		time.Sleep(time.Second) // for the shards to rise too
		node := nodeAt(t, c, "/prod")
		hold := speak(t, c, c.Leader(1)).session("/prod", 10*time.Minute)
		wait := speak(t, c, c.Leader(1)).session("/prod", 10*time.Minute)
		lock := func(on *started, timeout uint64) {
			m := on.mutation()
			on.s.must(on.s.ask(&protocol.Acquire{Mutation: m, NodeID: node, Name: []byte("db"), Count: protocol.Forever,
				WaitMillis: timeout, Ephemeral: true}))
		}
		lock(hold, 0)
		lock(wait, protocol.Forever)
		stay := func(d time.Duration) {
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				hold.s.must(hold.s.ask(&protocol.Ping{}))
				wait.s.must(wait.s.ask(&protocol.Ping{}))
			}
		}
		stay(time.Minute)
		if list := healthIssues(t, c); issueOf(list, health.LongWait, "db") != nil {
			t.Errorf("without a bound: %+v", list)
		}
		stay(9*time.Minute + time.Second)
		byDefault := issueOf(healthIssues(t, c), health.LongWait, "db")
		if byDefault == nil || byDefault.Severity != health.Info || time.Since(byDefault.Since) < 10*time.Minute {
			t.Errorf("by default: %+v", byDefault)
		}
		bound := func(millis uint64) {
			meta := speak(t, c, c.Leader(0))
			n := meta.must(meta.ask(&protocol.NodeAlter{Path: []byte("/prod"),
				Config: protocol.NodeConfig{LongestWaitMillis: millis}})).NodeAlter.Node
			want(t, "the bound", n.Config.LongestWaitMillis, millis)
		}
		bound(30_000)
		x := issueOf(healthIssues(t, c), health.LongWait, "db")
		if x == nil || x.Severity != health.Warning || x.Node != "/prod" ||
			!strings.HasPrefix(x.WaitsFor, "speaker at ") ||
			!strings.Contains(x.Text, "waiters: 1") || time.Since(x.Since) < time.Minute {
			t.Fatalf("%+v", x)
		}
		bound(protocol.Forever)
		if list := healthIssues(t, c); issueOf(list, health.LongWait, "db") != nil {
			t.Errorf("the bound is off: %+v", list)
		}
	}, servertest.Hosts(1))
}

// TestAFullNodeAndOtherSettingsAreHealthIssues: four fifths of a quota, and a host with settings different from the
// leader's.
func TestAFullNodeAndOtherSettingsAreHealthIssues(t *testing.T) {
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		time.Sleep(time.Second) // for the shards to rise too
		leader := c.Leader(1)
		node := nodeAt(t, c, "/prod")
		meta := speak(t, c, c.Leader(0))
		meta.must(meta.ask(&protocol.NodeAlter{Path: []byte("/prod"), Config: protocol.NodeConfig{QuotaObjects: 10}}))
		on := speak(t, c, leader).session("/prod", 10*time.Minute)
		create := func(name string) {
			on.s.must(on.s.ask(&protocol.SemaphoreCreate{Mutation: on.mutation(), NodeID: node, Name: []byte(name),
				Limit: 1}))
		}
		quota := func() *health.Issue {
			list := healthIssues(t, c)
			for i := range list {
				if list[i].Kind == health.QuotaNearlyUsed {
					return &list[i]
				}
			}
			return nil
		}
		for i := range 8 {
			create(string(rune('a' + i)))
		}
		if x := quota(); x != nil {
			t.Errorf("at 8 of 10: %+v", x)
		}
		create("i")
		if x := quota(); x == nil || x.Node != "/prod" || !strings.Contains(x.Text, "90 % used: 9 of 10 objects") ||
			!strings.HasSuffix(x.Subject, ", of node /prod") {
			t.Errorf("at 9 of 10: %+v", x)
		}
		on.s.must(on.s.ask(&protocol.SemaphoreDelete{Mutation: on.mutation(), NodeID: node, Name: []byte("i")}))
		if x := quota(); x != nil {
			t.Errorf("at 8 again: %+v", x)
		}
		for _, id := range []shard.HostID{1, 2, 3} {
			var found []health.Issue
			for _, x := range c.Host(id).HealthIssues() {
				if x.Kind == health.QuotaSettingsDiffer {
					found = append(found, x)
				}
			}
			// The shard has the leader's quota; each host is set to a different one.
			if other := id != leader; other != (len(found) == 1) {
				t.Errorf("host %d, where host %d leads: %+v", id, leader, found)
			}
		}
	}, servertest.Hosts(3), servertest.Config(func(c *server.Config) { c.ShardObjects = 1000 * uint64(c.ID) }))
}

// TestAHostThatHoldsTheLevelIsAHealthIssue.
func TestAHostThatHoldsTheLevelIsAHealthIssue(t *testing.T) {
	leveltest.Raise(t)
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		want := fmt.Sprintf("level %d waits for host host-3, which supports levels up to %d", level.Newest,
			level.Newest-1)
		var list []health.Issue
		for range 60 { // until the governor has looked at the hosts
			time.Sleep(time.Second)
			list = c.Host(c.Leader(0)).HealthIssues()
			if slices.ContainsFunc(list, func(x health.Issue) bool {
				return x.Kind == health.UpgradeNotFinalized && x.Text == want && x.Do != ""
			}) {
				return
			}
		}
		t.Errorf("%+v; want %q", list, want)
	}, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
		if c.ID == 3 {
			c.Level = level.Newest - 1
		}
	}))
}

// TestMetricsCountHealthIssues: one series per kind, even without issues.
func TestMetricsCountHealthIssues(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		series := `signalbox_health_issues{kind="rollout-blocked",severity="warning"}`
		time.Sleep(2 * time.Second)
		if got := b.metric(series); got != 0 {
			t.Errorf("%d before", got)
		}
		b.put(locations([]string{"eu"}))
		b.publish("one")
		time.Sleep(2 * time.Second)
		if got := b.metric(series); got != 1 {
			t.Errorf("%d while one is blocked", got)
		}
	})
}
