package server_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// story is every rollout mutation once, in an order in which each succeeds. Session mutations have the session's
// numbers.
func (b *rolloutBed) story(m *member) []protocol.RequestMessage {
	spec := locations([]string{"sas"})
	spec.Versions, spec.AskInterval = kind.Asked, time.Minute
	spec.Locations[0].Gates = []string{"errors"}
	report := protocol.InstanceReport{Current: 1, Generation: 1}
	return []protocol.RequestMessage{
		&protocol.RolloutPut{Mutation: m.mutation(), NodeID: b.node, Name: dns, Put: kind.Put{Spec: spec}},
		&protocol.RolloutSource{Mutation: m.mutation(), NodeID: b.node, Name: dns,
			SourceRole: kind.SourceRole{Name: "yp"}},
		&protocol.RolloutJoin{
			Mutation: m.mutation(), NodeID: b.node, Name: dns, Instance: kind.Instance{Name: "a.sas", Location: "sas"},
		},
		&protocol.RolloutReady{Mutation: m.mutation(), NodeID: b.node, Name: dns, Leader: true},
		&protocol.RolloutOffer{
			Mutation: m.mutation(), NodeID: b.node, Name: dns,
			Offering: kind.Offering{Ticket: 1, Payload: []byte("one"), Label: "first"},
		},
		&protocol.RolloutPoll{Mutation: m.mutation(), NodeID: b.node, Name: dns},
		&protocol.RolloutReport{Mutation: m.mutation(), NodeID: b.node, Name: dns, Report: report},
		&protocol.RolloutGateReport{
			Mutation: m.mutation(), NodeID: b.node, Name: dns, GateReport: kind.GateReport{
				Location: "sas", Gate: "errors", Seq: 1, Verdict: kind.Verdict{Result: kind.GatePassed},
			},
		},
		&protocol.RolloutPublish{
			Mutation: m.mutation(), NodeID: b.node, Name: dns,
			Publication: kind.Publication{Payload: []byte("two"), Compare: true, Expected: 1, Fence: 7},
		},
		&protocol.RolloutAction{
			Mutation: m.mutation(), NodeID: b.node, Name: dns, Action: kind.Action{Kind: kind.Abort},
		},
		&protocol.RolloutLeave{Mutation: m.mutation(), NodeID: b.node, Name: dns},
		&protocol.RolloutDelete{Mutation: m.mutation(), NodeID: b.node, Name: dns, Force: true},
	}
}

// TestEveryMutationOfARolloutIsCarriedOutOnce: a repetition over another connection gets the same answer, and nothing
// happens twice. The answers match the story.
func TestEveryMutationOfARolloutIsCarriedOutOnce(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		m := b.session(10 * time.Minute)
		again := speak(t, b.c, b.c.Leader(1))
		again.must(again.ask(&protocol.SessionBind{SessionID: m.id, SessionSecret: []byte("key")}))
		answers := make(map[protocol.Kind]any)
		for _, request := range b.story(m) {
			// The client has not seen the answer: nothing is acknowledged.
			reflect.ValueOf(request).Elem().FieldByName("AcknowledgedSequence").SetUint(0)
			first := *m.must(request)
			second := *again.must(again.ask(request))
			one, two := fmt.Sprintf("%+v", first.Message()), fmt.Sprintf("%+v", second.Message())
			want(t, fmt.Sprintf("%v sent again", request.Kind()), two, one)
			answers[request.Kind()] = first.Message()
			if request.Kind() == protocol.KindRolloutAction { // all parts exist after the last of these
				b.checkStory(t)
			}
		}
		want(t, "created", answers[protocol.KindRolloutPut].(*protocol.RolloutPutAnswer).Created, true)
		source := answers[protocol.KindRolloutSource].(*protocol.RolloutSourceAnswer).SourceID
		want(t, "one part for both", answers[protocol.KindRolloutJoin].(*protocol.RolloutJoinAnswer).InstanceID, source)
		want(t, "offered", answers[protocol.KindRolloutOffer].(*protocol.RolloutOfferAnswer).Seq, 1)
		want(t, "published", answers[protocol.KindRolloutPublish].(*protocol.RolloutPublishAnswer).Seq, 2)
		asked := answers[protocol.KindRolloutPoll].(*protocol.RolloutPollAnswer)
		want(t, "generation", asked.Target.Generation, 1)
		want(t, "generation after the act",
			answers[protocol.KindRolloutAction].(*protocol.RolloutActionAnswer).Generation, 2)
		want(t, "after the delete",
			b.s.ask(&protocol.RolloutDescribe{SectionRequest: partOf(b.node, dns)}).Result.Status,
			protocol.StatusNotFound)
	})
}

// checkStory checks the story's result before it ends.
func (b *rolloutBed) checkStory(t *testing.T) {
	t.Helper()
	acts, history := b.describe("actions"), b.describe("history/sas")
	want(t, "actions", acts.Rows.Len(), 2)
	want(t, "targets", history.Rows.Len(), 2)
	for row := range history.Rows.All() {
		var target kind.Row
		readRecord(t, row.Body, &target)
		want(t, "the first is reached, the second given up", fmt.Sprint(target.Seq, target.Reached.Happened,
			target.Abandoned.Happened), fmt.Sprint(target.Generation, target.Generation == 1, target.Generation == 2))
	}
	var head kind.State
	b.head("", &head)
	want(t, "versions", head.LastSeq, 2)
	want(t, "why it halted", head.Halted.Reason, kind.HaltedAborted)
}

// TestAHostThatDoesNotLeadSendsRolloutsOn: each mutation names the leader, and reads are answered.
func TestAHostThatDoesNotLeadSendsRolloutsOn(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		leader := b.c.Leader(1)
		m := b.session(10 * time.Minute)
		other := speak(t, b.c, leader%3+1)
		other.must(other.ask(&protocol.SessionBind{SessionID: m.id, SessionSecret: []byte("key")}))
		story := b.story(m)
		for _, request := range story {
			result := other.ask(request).Result
			want(t, request.Kind().String(), result.Status, protocol.StatusMoved)
			want(t, "leader", result.Moved.LeaderAddress, servertest.Address(leader))
		}
		m.must(story[0])
		for _, read := range []protocol.RequestMessage{
			&protocol.RolloutDescribe{SectionRequest: protocol.SectionRequest{
				NodeID: b.node, Name: dns, Consistency: protocol.ConsistencyStrict,
			}},
			&protocol.RolloutList{ListRequest: protocol.ListRequest{
				NodeID: b.node, ShardID: 1, Consistency: protocol.ConsistencyStrict,
			}},
			&protocol.RolloutPlan{NodeID: b.node, Name: dns, Consistency: protocol.ConsistencyStrict},
		} {
			other.must(other.ask(read))
		}
	}, servertest.Hosts(3))
}

// TestARefusalOfARolloutSaysWhy: the message describes the conflict with the current state.
func TestARefusalOfARolloutSaysWhy(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		revision := b.put(locations([]string{"sas", "man"}))
		b.s.must(b.s.ask(&protocol.SemaphoreCreate{NodeID: b.node, Name: []byte("slots"), Limit: 1}))
		a, stranger := b.join("a.sas", "sas"), b.session(time.Minute)
		b.publish("one")
		b.s.must(b.s.ask(&protocol.RolloutPublish{NodeID: b.node, Name: dns, Publication: kind.Publication{Fence: 7}}))
		twice := locations([]string{"sas", "sas"})
		for _, x := range []struct {
			what   string
			by     *member
			m      protocol.RequestMessage
			status protocol.Status
			says   string
		}{
			{"a spec with a name twice", a, &protocol.RolloutPut{Put: kind.Put{Mode: field.PutAlter, Spec: twice}},
				protocol.StatusBadRequest, "sas is there twice"},
			{"create what is there", a, &protocol.RolloutPut{Put: kind.Put{Spec: locations([]string{"sas"})}},
				protocol.StatusAlreadyExists, "there is a rollout of this name"},
			{"another spec", a, &protocol.RolloutPut{Put: kind.Put{
				Mode: field.PutAlter, Spec: locations([]string{"sas"}), ExpectedRevision: revision + 1}},
				protocol.StatusPreconditionFailed, fmt.Sprint(revision)},
			{"a publication that is late", a, &protocol.RolloutPublish{Publication: kind.Publication{Compare: true,
				Expected: 1}},
				protocol.StatusPreconditionFailed, "the last version is 2, not 1"},
			{"a publication that is fenced off", a,
				&protocol.RolloutPublish{Publication: kind.Publication{Fence: 6}}, protocol.StatusFenced, "7"},
			{"no such location", stranger, &protocol.RolloutJoin{Instance: kind.Instance{Name: "x", Location: "vla"}},
				protocol.StatusPreconditionFailed, `"vla" does not exist; existing locations: sas, man`},
			{"a name that is taken", stranger, &protocol.RolloutJoin{Instance: kind.Instance{Name: "a.sas",
				Location: "man"}}, protocol.StatusAlreadyExists, "has joined as a.sas"},
			{"a report of a stranger", stranger, &protocol.RolloutReport{}, protocol.StatusNotFound, "join again"},
			{"a role of a stranger", stranger, &protocol.RolloutReady{}, protocol.StatusNotFound, "join again"},
			{"a generation that was never given", a, &protocol.RolloutPoll{Report: protocol.InstanceReport{
				Generation: 99}}, protocol.StatusBadRequest, "has had no generation 99"},
			{"a ticket that is not open", a, &protocol.RolloutOffer{Offering: kind.Offering{Ticket: 5}},
				protocol.StatusFenced, "ticket 5"},
			{"no such gate", a,
				&protocol.RolloutGateReport{GateReport: kind.GateReport{Location: "sas", Gate: "g", Seq: 1}},
				protocol.StatusNotFound, "g"},
			{"an act on no such version", a, &protocol.RolloutAction{Action: kind.Action{Kind: kind.Rollback,
				Seq: 9}}, protocol.StatusNotFound, "9"},
			{"no act", a, &protocol.RolloutAction{Action: kind.Action{Kind: 77}}, protocol.StatusBadRequest, ""},
			{"a delete while instances live", a, &protocol.RolloutDelete{}, protocol.StatusPreconditionFailed,
				"1 instances have joined"},
			{"the name of a semaphore", a, &protocol.RolloutPublish{Name: []byte("slots")},
				protocol.StatusPreconditionFailed, "object of a kind other than rollout"},
			{"no such rollout", a, &protocol.RolloutPublish{Name: []byte("none")}, protocol.StatusNotFound,
				"no rollout of this name"},
		} {
			fields := reflect.ValueOf(x.m).Elem()
			fields.FieldByName("Mutation").Set(reflect.ValueOf(x.by.mutation()))
			fields.FieldByName("NodeID").SetUint(b.node)
			if fields.FieldByName("Name").IsZero() {
				fields.FieldByName("Name").SetBytes(dns)
			}
			got := x.by.s.ask(x.m).Result
			if got.Status != x.status || !strings.Contains(got.Message, x.says) {
				t.Errorf("%s: %v %q, want %v with %q", x.what, got.Status, got.Message, x.status, x.says)
			}
		}
		noName := b.s.ask(&protocol.RolloutPublish{NodeID: b.node}).Result
		want(t, "no name", noName.Status, protocol.StatusBadRequest)
		foreign := b.s.ask(&protocol.RolloutReady{Mutation: a.mutation(), NodeID: b.node, Name: dns}).Result
		want(t, "a session of another connection", foreign.Status, protocol.StatusBadSession)
		alone := b.s.ask(&protocol.RolloutJoin{NodeID: b.node, Name: dns, Instance: kind.Instance{Name: "x",
			Location: "sas"}})
		want(t, "an instance without a session", alone.Result.Status, protocol.StatusBadRequest)
	})
}

// TestRightsOnRollouts: readers read, writers publish and take part, and admins create, change and delete. Admin
// actions are audited, with author and reason.
func TestRightsOnRollouts(t *testing.T) {
	var log logbook
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		time.Sleep(time.Second) // for the shards to rise too
		admin := enter(t, c, "admin")
		node := admin.node("/prod/jobs")
		put := &protocol.RolloutPut{NodeID: node, Name: dns, Put: kind.Put{
			Spec: locations([]string{"sas"}), By: kind.ChangeInfo{Author: "ann", Reason: "YP-1"},
		}}
		act := &protocol.RolloutAction{NodeID: node, Name: dns, Action: kind.Action{
			Kind: kind.Pause, By: kind.ChangeInfo{Author: "ann", Reason: "wait"},
		}}
		remove := &protocol.RolloutDelete{NodeID: node, Name: dns, Force: true}
		publish := &protocol.RolloutPublish{NodeID: node, Name: dns}
		describe := &protocol.RolloutDescribe{SectionRequest: partOf(node, dns)}
		admin.must(admin.ask(put))
		for token, may := range map[string][]protocol.RequestMessage{
			"reader": {describe}, "writer": {describe, publish}, "admin": {describe, publish, act, remove},
		} {
			if token == "admin" {
				continue // last, because it deletes
			}
			s := enter(t, c, token)
			for _, m := range []protocol.RequestMessage{describe, publish, act, put, remove} {
				status := protocol.StatusUnauthorized
				for _, allowed := range may {
					if allowed == m {
						status = protocol.StatusSuccess
					}
				}
				want(t, fmt.Sprint(token, ": ", m.Kind()), s.ask(m).Result.Status, status)
			}
		}
		admin.must(admin.ask(act))
		admin.must(admin.ask(remove))
		lines := strings.Join(log.lines("msg=audit"), "\n")
		for _, line := range []string{
			`action="put rollout" object="/prod/jobs \"dns\"" outcome=SUCCESS author=ann reason=YP-1`,
			`action="pause rollout" object="/prod/jobs \"dns\"" outcome=SUCCESS author=ann reason=wait`,
			`action="delete rollout by force" object="/prod/jobs \"dns\"" outcome=SUCCESS`,
			`action="pause rollout" object="/prod/jobs \"dns\"" outcome=UNAUTHORIZED`,
		} {
			if !strings.Contains(lines, line) {
				t.Errorf("the log does not have %s:\n%s", line, lines)
			}
		}
	}, log.option(), servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
}

// TestRolloutsCountInQuotas: a request above the node's quota is refused, and changes nothing.
func TestRolloutsCountInQuotas(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		const quota, payload = 1 << 20, 60_000
		operator := speak(t, b.c, b.c.Leader(0))
		operator.must(operator.ask(&protocol.NodeAlter{
			Path: []byte("/prod"), Config: protocol.NodeConfig{QuotaBytes: quota},
		}))
		time.Sleep(time.Minute) // until the shard has it
		b.s = speak(t, b.c, b.c.Leader(1))
		b.put(locations([]string{"sas"}))
		publish := &protocol.RolloutPublish{NodeID: b.node, Name: dns,
			Publication: kind.Publication{Payload: make([]byte, payload)}}
		for range quota / payload {
			b.s.must(b.s.ask(publish))
		}
		got := b.s.ask(publish).Result
		want(t, "status", got.Status, protocol.StatusQuotaExceeded)
		want(t, "quota", got.Quota.Kind, protocol.QuotaNodeBytes)
		if !strings.Contains(got.Message, "raise quota_bytes of the node") {
			t.Errorf("the message is %q", got.Message)
		}
		var head kind.State
		b.head("", &head)
		want(t, "the newest version", head.LastSeq, quota/payload)
	})
}

// TestThoseWhoTakePartHearOfADeleteByForce: each session once, and the watches on all views.
func TestThoseWhoTakePartHearOfADeleteByForce(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		b.put(locations([]string{"sas"}))
		m := b.join("a.sas", "sas")
		watch := b.watch(m.s, "location/sas", 0)
		want(t, "exists", m.s.await(watch, protocol.KindWatchSnapshot).WatchSnapshot.Exists, true)
		b.s.must(b.s.ask(&protocol.RolloutDelete{NodeID: b.node, Name: dns, Force: true}))
		lost := m.s.await(0, protocol.KindHoldingLost).HoldingLost
		want(t, "session", lost.SessionID, m.id)
		want(t, "name", string(lost.Name), "dns")
		want(t, "kind", lost.ObjectKind, protocol.ObjectRollout)
		want(t, "reason", lost.Reason, protocol.AbortDeleted)
		want(t, "the watch says", m.s.await(watch, protocol.KindWatchDelta).WatchDelta.Existence,
			protocol.ExistenceDeleted)
		got := m.s.ask(&protocol.RolloutPoll{Mutation: m.mutation(), NodeID: b.node, Name: dns}).Result
		want(t, "an ask", got.Status, protocol.StatusNotFound)
	})
}
