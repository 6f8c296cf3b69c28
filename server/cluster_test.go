package server_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// fixedGovernor answers as a governor that considers the given hosts alive.
type fixedGovernor struct {
	records *hosts.Records
	alive   []shard.HostID
	steps   []executor.Step
	reasons []plan.Reason
}

func (g *fixedGovernor) View() (governor.View, error) {
	seen := &governor.Seen{Self: 1}
	for _, h := range g.records.Hosts() {
		on := governor.HostObservation{Host: h.ID, Tried: true}
		if !slices.Contains(g.alive, h.ID) {
			on.SilentFor = 10_000
		}
		seen.Hosts = append(seen.Hosts, on)
	}
	return governor.View{State: g.records, Seen: seen, Plan: plan.New(governor.Config()), Now: 90_000}, nil
}

func (g *fixedGovernor) Plan() (executor.Forecast, []string, error) {
	return executor.Forecast{Reasons: g.reasons, Cut: true, Steps: []plan.Planned[governor.Action]{{
		Proposal: plan.Proposal[governor.Action]{Kind: governor.KindPromote, Subject: "shard/1",
			Payload: governor.Action{Shard: 1, Host: 3}},
		Rule: "few", At: 95_000,
	}}}, []string{"shard 1: making host-3 a voter"}, nil
}

func (g *fixedGovernor) Steps() ([]executor.Step, error) { return g.steps, nil }
func (g *fixedGovernor) Why() ([]plan.Reason, error)     { return g.reasons, nil }

// operated is a cluster of three hosts with records, led by host 1, and a client.
func operated(t *testing.T, options ...servertest.Option) (*servertest.Cluster, *speaker) {
	t.Helper()
	c := servertest.Start(t, append([]servertest.Option{servertest.Hosts(3)}, options...)...)
	leadMeta(t, c, 1)
	awaitThat(t, "all have registered", func() bool { return len(c.Host(1).Status().Hosts) == 3 })
	c.Host(1).BootstrapHosts()
	awaitThat(t, "all have the records", func() bool { return recordsOf(c, 2) != nil && recordsOf(c, 3) != nil })
	return c, speak(t, c, 1)
}

func recordsOf(c *servertest.Cluster, id shard.HostID) *hosts.Records {
	records, _, _ := c.Host(id).Records()
	return records
}

// leadMeta makes a host the meta leader, at the newest level.
func leadMeta(t *testing.T, c *servertest.Cluster, id shard.HostID) {
	t.Helper()
	awaitThat(t, "the host leads the meta shard at the newest level", func() bool {
		if c.Leader(0) != id {
			_ = c.Elect(0, id)
		}
		return c.Leader(0) == id && c.Host(id).Level().Cluster == level.Newest
	})
}

// awaitThat waits until something is so.
func awaitThat(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: ", what)
		}
	}
}

func by(number uint64) protocol.Operation {
	return protocol.Operation{
		Idempotency: protocol.Idempotency{Client: []byte("0123456789abcdef"), Sequence: number, Since: 1},
		Author:      []byte("ann@box"), Reason: []byte("a test"),
	}
}

// TestOperatorsActOnHosts: each action is recorded with author and reason; refusals have a reason.
func TestOperatorsActOnHosts(t *testing.T) { synctest.Test(t, testOperatorsActOnHosts) }

func testOperatorsActOnHosts(t *testing.T) {
	c, s := operated(t)
	for i, x := range []struct {
		m      protocol.HostUpdate
		status protocol.Status
		says   string
		holds  func(h *hosts.Host) bool // of host 3, afterwards
	}{
		{protocol.HostUpdate{Action: protocol.HostCordon, Host: name("host-3")}, protocol.StatusSuccess, "",
			func(h *hosts.Host) bool { return h.Cordoned }},
		{protocol.HostUpdate{Action: protocol.HostUncordon, Host: name("3")}, protocol.StatusSuccess, "",
			func(h *hosts.Host) bool { return !h.Cordoned }},
		{protocol.HostUpdate{Action: protocol.HostAlter, Host: name("host-3"), Domain: name("DC=A,rack=1")},
			protocol.StatusSuccess, "", func(h *hosts.Host) bool { return h.Domain.String() == "dc=a,rack=1" }},
		{protocol.HostUpdate{Action: protocol.HostAlter, Host: name("host-3"), Domain: name("rack")},
			protocol.StatusBadRequest, "is not KEY=VALUE", nil},
		{protocol.HostUpdate{Action: protocol.HostDrain, Host: name("host-9")}, protocol.StatusNotFound,
			`there is no host "host-9"`, nil},
		{protocol.HostUpdate{Action: protocol.HostExpel, Host: name("host-3")}, protocol.StatusPreconditionFailed,
			"drain the host first, or expel the host with --force", nil},
		{protocol.HostUpdate{Host: name("host-3")}, protocol.StatusBadRequest, "UNKNOWN", nil},
	} {
		x.m.Operation = by(uint64(i + 1))
		a := s.ask(&x.m)
		if a.Result.Status != x.status || !strings.Contains(string(a.Result.Message), x.says) {
			t.Errorf("%v: %v %s", x.m.Action, a.Result.Status, a.Result.Message)
		}
		if a.Result.Status == protocol.StatusSuccess && (a.HostUpdate.HostID != 3 || a.HostUpdate.Existed ||
			a.HostUpdate.Since == 0) {
			t.Errorf("%v: %+v", x.m.Action, a.HostUpdate)
		}
		if x.holds != nil && !x.holds(recordsOf(c, 1).Host(3)) {
			t.Errorf("%v: %+v", x.m.Action, recordsOf(c, 1).Host(3))
		}
	}
	// The same number is the same action, even in a different request.
	again := protocol.HostUpdate{Operation: by(1), Action: protocol.HostCordon, Host: name("host-3")}
	a := s.must(s.ask(&again))
	if h := recordsOf(c, 1).Host(3); h.Cordoned || a.HostUpdate.Existed {
		t.Errorf("an act was done twice: %+v", a.HostUpdate)
	}
	page := s.must(s.ask(&protocol.AuditRead{})).AuditRead
	entries := page.Entries
	if e := entries[len(entries)-1]; e.Author != "ann@box" || e.Reason != "a test" || e.At.IsZero() ||
		e.HostName != "host-3" || e.Event != "alter" {
		t.Errorf("the last entry: %+v", e)
	}
}

// TestAReplacementNeedsTheOldHostToBeGone: the old host must be unreachable.
func TestAReplacementNeedsTheOldHostToBeGone(t *testing.T) {
	synctest.Test(t, testAReplacementNeedsTheOldHostToBeGone)
}

func testAReplacementNeedsTheOldHostToBeGone(t *testing.T) {
	c, s := operated(t)
	number := uint64(0)
	replace := func() *protocol.Answer {
		number++
		return s.ask(&protocol.HostUpdate{Operation: by(number), Action: protocol.HostReplace, Host: name("host-3"),
			Successor: name("host-2")})
	}
	awaitThat(t, "it is heard", func() bool { return c.Host(1).Hears(3) })
	a := replace()
	want(t, "while it is heard", a.Result.Status, protocol.StatusPreconditionFailed)
	if !strings.Contains(string(a.Result.Message), "host-3 is alive") {
		t.Error(a.Result.Message)
	}
	c.Stop(3)
	awaitThat(t, "it is not heard", func() bool { return !c.Host(1).Hears(3) })
	a = s.must(replace())
	h := recordsOf(c, 1).Host(3)
	if h.Living() || h.Target.Reason != hosts.ReasonReplaced || a.HostUpdate.HostID != 2 {
		t.Errorf("%+v, %+v", h.Target, a.HostUpdate)
	}
}

// TestOthersSendToTheLeader: changes, and questions for the governor, are redirected to the leader.
func TestOthersSendToTheLeader(t *testing.T) { synctest.Test(t, testOthersSendToTheLeader) }

func testOthersSendToTheLeader(t *testing.T) {
	c, _ := operated(t)
	s := speak(t, c, 2)
	for _, m := range []protocol.RequestMessage{
		&protocol.HostUpdate{Action: protocol.HostCordon, Host: name("host-3")},
		&protocol.HostUpdate{Action: protocol.HostReplace, Host: name("host-3"), Successor: name("host-2")},
		&protocol.ShardTransferLeader{ShardID: 1, Host: name("host-2")}, &protocol.StepCancel{StepID: 1},
		&protocol.PolicySet{}, &protocol.ClusterDescribe{}, &protocol.ClusterPlan{}, &protocol.ClusterWhy{},
		&protocol.JoinToken{Action: protocol.TokenList},
	} {
		a := s.ask(m)
		if a.Result.Status != protocol.StatusMoved || a.Result.Moved.LeaderHostID != 1 ||
			a.Result.Moved.LeaderAddress != servertest.Address(1) {
			t.Errorf("%v: %+v", m.Kind(), a.Result)
		}
	}
	d := s.must(s.ask(&protocol.ClusterDescribe{Consistency: protocol.ConsistencyRelaxed})).ClusterDescribe
	if d.GovernorHostID != 1 || d.Observed || len(d.Hosts) != 3 || len(d.Shards) != 2 {
		t.Errorf("from its memory: %+v", d)
	}
	if a := s.must(s.ask(&protocol.AuditRead{})).AuditRead; len(a.Entries) == 0 {
		t.Error("it has no history")
	}
}

// TestQuestionsForTheGovernor: answered once the governor has heard from all hosts.
func TestQuestionsForTheGovernor(t *testing.T) { synctest.Test(t, testQuestionsForTheGovernor) }

func testQuestionsForTheGovernor(t *testing.T) {
	c, s := operated(t)
	c.Host(1).GovernBy(nil)
	for _, m := range []protocol.RequestMessage{&protocol.ClusterPlan{}, &protocol.ClusterWhy{}} {
		if a := s.ask(m); a.Result.Status != protocol.StatusUnavailable || a.Result.WaitMillis == 0 {
			t.Errorf("%v: %+v", m.Kind(), a.Result)
		}
	}
	if d := s.must(s.ask(&protocol.ClusterDescribe{})).ClusterDescribe; d.Observed {
		t.Error("something is observed, and nothing governs")
	}
	g := &fixedGovernor{records: recordsOf(c, 1), alive: []shard.HostID{1, 2}}
	g.steps = []executor.Step{{Text: "shard 1: adding host-3", Step: plan.Step[governor.Action]{ID: 7,
		Proposal: plan.Proposal[governor.Action]{Kind: governor.KindAdd, Subject: "shard/1"}, Started: 88_000,
		Failures: 2, LastError: "no answer", NotBefore: 93_000}}}
	g.reasons = []plan.Reason{
		{Code: plan.CodeOpen, Text: "step 7"},
		{Rule: "few", Code: governor.CodeSnapshot, Subjects: []plan.Subject{"shard/1"}, Since: 80_000, Until: 91_000,
			Text: "shard 1: adding host-3 waits for its snapshot, 41 %"},
	}
	c.Host(1).GovernBy(g)
	why := s.must(s.ask(&protocol.ClusterWhy{})).ClusterWhy
	steps, reasons := why.Steps, why.Reasons
	if len(steps) != 1 || len(reasons) != 1 {
		t.Fatalf("%+v", why)
	}
	if x := steps[0]; x.ID != 7 || x.Kind != "add-replica" || x.Age != 2*time.Second || x.Wait != 3*time.Second ||
		x.Failures != 2 || x.LastError != "no answer" {
		t.Errorf("%+v", x)
	}
	if x := reasons[0]; x.Code != "snapshot" || x.Since != 10*time.Second || x.Left != time.Second ||
		!strings.HasSuffix(x.Text, "41 %") || len(x.Subjects) != 1 {
		t.Errorf("%+v", x)
	}
	answer := s.must(s.ask(&protocol.ClusterPlan{})).ClusterPlan
	if x := answer.Steps; len(x) != 1 || x[0].In != 5*time.Second || x[0].Rule != "few" ||
		x[0].Kind != "promote-replica" || x[0].Host != 3 || !answer.Truncated || len(answer.Reasons) != 1 {
		t.Errorf("%+v", x)
	}
	if d := s.must(s.ask(&protocol.ClusterDescribe{})).ClusterDescribe; !d.Observed || d.HealthIssues.Len() == 0 {
		t.Errorf("%+v", d)
	}
}

// TestOnlyWhoMayDoSoEverywhereOperates: a token with rights limited to a path cannot change hosts.
func TestOnlyWhoMayDoSoEverywhereOperates(t *testing.T) {
	synctest.Test(t, testOnlyWhoMayDoSoEverywhereOperates)
}

func testOnlyWhoMayDoSoEverywhereOperates(t *testing.T) {
	c, _ := operated(t, servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
	admin, reader := enter(t, c, "admin"), enter(t, c, "reader")
	for _, m := range []protocol.RequestMessage{
		&protocol.HostUpdate{Action: protocol.HostCordon, Host: name("host-3")},
		&protocol.ShardTransferLeader{ShardID: 1, Host: name("host-2")}, &protocol.StepCancel{StepID: 1},
		&protocol.PolicySet{}, &protocol.AuditRead{}, &protocol.JoinToken{Action: protocol.TokenList},
		&protocol.JoinToken{Action: protocol.TokenCreate, ID: name("x"), Hash: make([]byte, 32)},
	} {
		want(t, m.Kind().String(), admin.ask(m).Result.Status, protocol.StatusUnauthorized)
	}
	reader.must(reader.ask(&protocol.ClusterDescribe{Consistency: protocol.ConsistencyRelaxed}))
}

// TestPolicyIsChangedFromWhatItWas: of two concurrent changes none is lost.
func TestPolicyIsChangedFromWhatItWas(t *testing.T) {
	synctest.Test(t, testPolicyIsChangedFromWhatItWas)
}

func testPolicyIsChangedFromWhatItWas(t *testing.T) {
	c, s := operated(t)
	from := s.must(s.ask(&protocol.ClusterDescribe{})).ClusterDescribe.Policy
	to := from
	to.OfflineAfter = 30 * time.Second
	s.must(s.ask(&protocol.PolicySet{Operation: by(1), From: from, To: to}))
	want(t, "the policy", recordsOf(c, 1).Policy().OfflineAfter, 30*time.Second)
	other := from
	other.Copies = 4
	want(t, "from an older one", s.ask(&protocol.PolicySet{Operation: by(2), From: from, To: other}).Result.Status,
		protocol.StatusFenced)
	bad := to
	bad.Voters = 2
	want(t, "two voters", s.ask(&protocol.PolicySet{Operation: by(3), From: to, To: bad}).Result.Status,
		protocol.StatusBadRequest)
}

// TestJoinTokens: tokens are created, listed and revoked, if joining hosts can reach the cluster.
func TestJoinTokens(t *testing.T) { synctest.Test(t, testJoinTokens) }

func testJoinTokens(t *testing.T) {
	authority := slices.Repeat([]byte{7}, 32)
	c, s := operated(t, servertest.Config(func(c *server.Config) {
		c.RaftAddress = c.Name + ":7421"
		c.Authority = func() []byte { return authority }
	}))
	create := &protocol.JoinToken{Operation: by(1), Action: protocol.TokenCreate, ID: name("q7"),
		Hash: slices.Repeat([]byte{9}, 32), ValidMillis: 60_000}
	a := s.must(s.ask(create)).JoinToken
	made := a.Tokens
	if len(made) != 1 || made[0].ID != "q7" || made[0].Author != "ann@box" || made[0].Left == 0 ||
		made[0].Left > 60_001*time.Millisecond || a.Addresses.Len() != 3 || string(a.Authority) != string(authority) {
		t.Errorf("%+v", a)
	}
	want(t, "one is kept", len(recordsOf(c, 1).Tokens()), 1)
	list := s.must(s.ask(&protocol.JoinToken{Action: protocol.TokenList})).JoinToken
	want(t, "listed", len(list.Tokens), 1)
	s.must(s.ask(&protocol.JoinToken{Operation: by(2), Action: protocol.TokenRevoke, ID: name("q7")}))
	want(t, "none is kept", len(recordsOf(c, 1).Tokens()), 0)
	for what, m := range map[string]*protocol.JoinToken{
		"no verb": {Operation: by(3)}, "a short hash": {Operation: by(4), Action: protocol.TokenCreate,
			Hash: name("x")},
	} {
		want(t, what, s.ask(m).Result.Status, protocol.StatusBadRequest)
	}
}

// TestNoTokenWhereNoneCouldBeUsed: a host unreachable for other hosts explains what to do instead.
func TestNoTokenWhereNoneCouldBeUsed(t *testing.T) { synctest.Test(t, testNoTokenWhereNoneCouldBeUsed) }

func testNoTokenWhereNoneCouldBeUsed(t *testing.T) {
	_, s := operated(t, servertest.Config(func(c *server.Config) { c.RaftAddress = c.Name }))
	a := s.ask(&protocol.JoinToken{Operation: by(1), Action: protocol.TokenCreate, ID: name("q7"),
		Hash: slices.Repeat([]byte{9}, 32), ValidMillis: 60_000})
	want(t, "status", a.Result.Status, protocol.StatusPreconditionFailed)
	if !strings.Contains(string(a.Result.Message), "--raft-listen") {
		t.Error(a.Result.Message)
	}
}
