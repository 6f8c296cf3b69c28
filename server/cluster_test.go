package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
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
		on := governor.HostObservation{Host: h.ID, Tried: true, FreshFor: 1}
		if !slices.Contains(g.alive, h.ID) {
			on.SilentFor, on.FreshFor = 10_000, 0
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
		&protocol.SlotMove{Slot: 7, ShardID: 1}, &protocol.SlotList{},
		&protocol.ShardUpdate{Action: protocol.ShardAdd, Count: 1}, update(protocol.ShardRemove, 0, 1),
		&protocol.Rebalance{Action: protocol.RebalancePause}, &protocol.RebalanceDescribe{},
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
		&protocol.SlotMove{Slot: 7, ShardID: 1}, &protocol.SlotMove{Slot: 7, Cancel: true},
		&protocol.ShardUpdate{Action: protocol.ShardAdd, Count: 1}, update(protocol.ShardSetWeight, 7, 1),
		&protocol.Rebalance{Action: protocol.RebalancePause},
		&protocol.PolicySet{}, &protocol.AuditRead{}, &protocol.JoinToken{Action: protocol.TokenList},
		&protocol.JoinToken{Action: protocol.TokenCreate, ID: name("x"), Hash: make([]byte, 32)},
	} {
		want(t, m.Kind().String(), admin.ask(m).Result.Status, protocol.StatusUnauthorized)
	}
	reader.must(reader.ask(&protocol.ClusterDescribe{Consistency: protocol.ConsistencyRelaxed}))
	reader.must(reader.ask(&protocol.SlotList{}))
	reader.must(reader.ask(&protocol.RebalanceDescribe{}))
}

// TestOperatorsOrderSlotMoves: an order is listed until it is cancelled, and the audit log names the author.
func TestOperatorsOrderSlotMoves(t *testing.T) { synctest.Test(t, testOperatorsOrderSlotMoves) }

func testOperatorsOrderSlotMoves(t *testing.T) {
	_, s := operated(t, servertest.Shards(2))
	for i, x := range []struct {
		m       protocol.SlotMove
		status  protocol.Status
		existed bool
		moves   int // afterwards
	}{
		{protocol.SlotMove{Slot: 7, ShardID: 2, Large: true}, protocol.StatusSuccess, false, 1},
		{protocol.SlotMove{Slot: 7, ShardID: 2, Large: true}, protocol.StatusSuccess, true, 1},
		{protocol.SlotMove{Slot: 4095, ShardID: 2}, protocol.StatusSuccess, true, 1},
		{protocol.SlotMove{Slot: 4096, ShardID: 2}, protocol.StatusBadRequest, false, 1},
		{protocol.SlotMove{Slot: 1<<16 + 7, Cancel: true}, protocol.StatusBadRequest, false, 1},
		{protocol.SlotMove{Slot: 8, ShardID: 9}, protocol.StatusNotFound, false, 1},
		{protocol.SlotMove{Slot: 8}, protocol.StatusNotFound, false, 1},
		{protocol.SlotMove{Slot: 7, Cancel: true}, protocol.StatusSuccess, false, 0},
		{protocol.SlotMove{Slot: 7, Cancel: true}, protocol.StatusSuccess, true, 0},
	} {
		x.m.Operation = by(uint64(i + 1))
		a := s.ask(&x.m)
		if a.Result.Status != x.status || a.SlotMove.Existed != x.existed {
			t.Errorf("%+v: %v, existed %t", x.m, a.Result, a.SlotMove.Existed)
		}
		l := s.must(s.ask(&protocol.SlotList{ShardID: 2})).SlotList
		if r := slices.Collect(l.Ranges.All()); len(l.Moves) != x.moves || len(r) != 1 ||
			r[0] != (protocol.SlotRange{First: 2048, Last: 4095, ShardID: 2}) || l.Version == 0 {
			t.Errorf("after %+v: version %d, %+v, %+v", x.m, l.Version, r, l.Moves)
		}
		if i == 0 && (l.Moves[0].From != 1 || !l.Moves[0].Large || l.Moves[0].Author != "ann@box") {
			t.Errorf("the move is %+v", l.Moves[0])
		}
	}
	want(t, "a page from no slot", s.ask(&protocol.SlotList{From: 4096}).Result.Status, protocol.StatusBadRequest)
	entries := s.must(s.ask(&protocol.AuditRead{})).AuditRead.Entries
	e := entries[len(entries)-1]
	if e.Event != "slot-move" || e.Author != "ann@box" || e.Reason != "a test" ||
		!strings.Contains(e.Text, "cancelled") {
		t.Errorf("the last entry: %+v", e)
	}
}

// update is a request about shards.
func update(action protocol.ShardAction, weight uint64, ids ...protocol.ShardID) *protocol.ShardUpdate {
	m := &protocol.ShardUpdate{Action: action, Weight: weight}
	for _, id := range ids {
		m.ShardIDs.Append(id)
	}
	return m
}

// onlineRecords returns records in which the cluster's hosts are online.
func onlineRecords(t *testing.T, c *servertest.Cluster) *hosts.Records {
	r, at := hosts.New("c", []hosts.ShardID{1, 2}), hosts.At{Now: 80_000, Term: 7, Level: level.Newest}
	var members []hosts.InitialMember
	for _, h := range recordsOf(c, 1).Hosts() {
		members = append(members, hosts.InitialMember{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation,
			Addresses: h.Addresses, Level: level.Newest})
	}
	want(t, "the bootstrap", r.Bootstrap(at, members).Status, protocol.StatusSuccess)
	for _, m := range members {
		epoch := r.Host(m.ID).Target.Epoch
		want(t, m.Name, r.Reach(at, at.Term, m.ID, protocol.HostOnline, epoch).Status, protocol.StatusSuccess)
	}
	return r
}

// TestOperatorsAddWeighAndRemoveShards: the answers name the shards, and the description has their weights and phases.
func TestOperatorsAddWeighAndRemoveShards(t *testing.T) {
	synctest.Test(t, testOperatorsAddWeighAndRemoveShards)
}

func testOperatorsAddWeighAndRemoveShards(t *testing.T) {
	c, s := operated(t, servertest.Shards(2))
	add := func(count uint64) *protocol.ShardUpdate {
		return &protocol.ShardUpdate{Action: protocol.ShardAdd, Count: count}
	}
	c.Host(1).GovernBy(nil)
	want(t, "without a governor", s.ask(add(1)).Result.Status, protocol.StatusUnavailable)
	c.Host(1).GovernBy(&fixedGovernor{records: onlineRecords(t, c), alive: []shard.HostID{1, 2, 3}})
	for i, x := range []struct {
		m       *protocol.ShardUpdate
		status  protocol.Status
		existed bool
		text    string // of the answer, the shards
	}{
		{add(2), protocol.StatusSuccess, false, "[3 4]"},
		{add(1), protocol.StatusSuccess, false, "[5]"},
		{add(0), protocol.StatusBadRequest, false, "[]"},
		{add(hosts.MaxShards + 1), protocol.StatusBadRequest, false, "[]"},
		{add(hosts.MaxShards - 1), protocol.StatusPreconditionFailed, false, "[]"},
		{update(protocol.ShardSetWeight, 50, 2), protocol.StatusSuccess, false, "[2]"},
		{update(protocol.ShardSetWeight, 50, 2), protocol.StatusSuccess, true, "[2]"},
		{update(protocol.ShardSetWeight, 50, 1, 2), protocol.StatusBadRequest, false, "[]"},
		{update(protocol.ShardRemove, 0, 3, 4), protocol.StatusSuccess, false, "[3 4]"},
		{update(protocol.ShardRemove, 0, 3, 4), protocol.StatusSuccess, true, "[3 4]"},
		{update(protocol.ShardRemove, 0, 1, 2), protocol.StatusPreconditionFailed, false, "[]"},
		{update(protocol.ShardRemove, 0, 9), protocol.StatusNotFound, false, "[]"},
		{update(protocol.ShardRemove, 0), protocol.StatusBadRequest, false, "[]"},
		{update(protocol.ShardActionUnknown, 0, 1), protocol.StatusBadRequest, false, "[]"},
	} {
		x.m.Operation = by(uint64(i + 10))
		for range 2 { // a repeated request has the same answer
			a := s.ask(x.m)
			ids := slices.Collect(a.ShardUpdate.ShardIDs.All())
			if a.Result.Status != x.status || a.ShardUpdate.Existed != x.existed ||
				fmt.Sprint(ids) != x.text && !(len(ids) == 0 && x.text == "[]") {
				t.Errorf("%+v: %+v, existed %t, %v", x.m, a.Result, a.ShardUpdate.Existed, ids)
			}
		}
	}
	d := s.must(s.ask(&protocol.RebalanceDescribe{})).RebalanceDescribe
	if !slices.Equal(d.Shards, []host.ShardSlots{
		{ID: 1, Phase: "serving", Weight: 100, Slots: 2048, Target: 2731},
		{ID: 2, Phase: "serving", Weight: 50, Slots: 2048, Target: 1365},
		{ID: 3, Phase: "retired", Weight: 100}, {ID: 4, Phase: "retired", Weight: 100},
		{ID: 5, Phase: "added", Weight: 100},
	}) || !slices.Equal(d.Planned, []host.PlannedMoves{{From: 2, To: 1, Slots: 683}}) {
		t.Errorf("%+v, %+v", d.Shards, d.Planned)
	}
}

// TestOperatorsPauseRebalancing: the last order is described, with its author.
func TestOperatorsPauseRebalancing(t *testing.T) { synctest.Test(t, testOperatorsPauseRebalancing) }

func testOperatorsPauseRebalancing(t *testing.T) {
	_, s := operated(t, servertest.Shards(2))
	describe := func() *protocol.RebalanceDescribeAnswer {
		return &s.must(s.ask(&protocol.RebalanceDescribe{})).RebalanceDescribe
	}
	if d := describe(); d.Paused || d.NoPacing || len(d.Author) > 0 || d.AgeMillis != 0 || len(d.Planned) > 0 {
		t.Errorf("before any order: %+v", d)
	}
	weight := update(protocol.ShardSetWeight, 300, 1)
	weight.Operation = by(1)
	s.must(s.ask(weight))
	for i, x := range []struct {
		action           protocol.RebalanceAction
		existed          bool
		paused, noPacing bool
	}{
		{protocol.RebalancePause, false, true, false}, {protocol.RebalanceCancel, true, true, false},
		{protocol.RebalanceNow, false, false, true}, {protocol.RebalanceResume, false, false, false},
		{protocol.RebalanceResume, true, false, false},
	} {
		a := s.must(s.ask(&protocol.Rebalance{Operation: by(uint64(i + 2)), Action: x.action})).Rebalance
		d := describe()
		if a.Existed != x.existed || d.Paused != x.paused || d.NoPacing != x.noPacing ||
			string(d.Author) != "ann@box" || string(d.Reason) != "a test" {
			t.Errorf("%v: existed %t, %+v", x.action, a.Existed, d)
		}
	}
	if p := describe().Planned; !slices.Equal(p, []host.PlannedMoves{{From: 2, To: 1, Slots: 1024}}) {
		t.Errorf("%+v is planned", p)
	}
	want(t, "an unknown order", s.ask(&protocol.Rebalance{Operation: by(9)}).Result.Status,
		protocol.StatusBadRequest)
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
