package server_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// processStep is one step of a process's story: its request, and the required preparation.
type processStep struct {
	before  func()
	request func() protocol.RequestMessage
}

// story is every process mutation once, in an order in which each succeeds, by a single member.
func (b *processBed) story(a *attendant) []processStep {
	name := func(m protocol.RequestMessage) protocol.RequestMessage {
		fields := reflect.ValueOf(m).Elem()
		fields.FieldByName("Mutation").Set(reflect.ValueOf(a.mutation()))
		fields.FieldByName("NodeID").SetUint(b.node)
		fields.FieldByName("Name").SetBytes(cache)
		return m
	}
	step := func(before func(), m func() protocol.RequestMessage) processStep {
		return processStep{before, func() protocol.RequestMessage { return name(m()) }}
	}
	var exchange uint64
	nothing := func() {}
	prepared := func() { a.epoch = a.next(kind.ItemPrepare).Epoch }
	return []processStep{
		step(nothing, func() protocol.RequestMessage { return &protocol.ProcessPut{} }),
		step(nothing, func() protocol.RequestMessage {
			return &protocol.ProcessJoin{Arrival: kind.Arrival{Joining: kind.Joining{Name: "a", Candidate: true}}}
		}),
		step(func() { a.member = b.only(); a.open(0); prepared() },
			func() protocol.RequestMessage { return &protocol.ProcessPrepareAck{Part: a.part()} }),
		step(func() { a.next(kind.ItemCoordinate) }, func() protocol.RequestMessage {
			return &protocol.ProcessSend{Part: a.part(), Audience: kind.ToAll, Payload: []byte("lock")}
		}),
		step(func() { exchange = a.next(kind.ItemRequest).Exchange }, func() protocol.RequestMessage {
			return &protocol.ProcessReply{Part: a.part(), Exchange: exchange, Data: []byte("locked")}
		}),
		step(func() { a.next(kind.ItemEnd) }, func() protocol.RequestMessage {
			return &protocol.ProcessComplete{Part: a.part(), Result: []byte("done")}
		}),
		step(func() { a.next(kind.ItemComplete) }, func() protocol.RequestMessage {
			return &protocol.ProcessCompleteAck{Part: a.part()}
		}),
		step(nothing, func() protocol.RequestMessage {
			return &protocol.ProcessAction{Action: kind.Action{Kind: kind.ActionRestart,
				By: kind.ChangeInfo{Author: "ann"}}}
		}),
		step(prepared, func() protocol.RequestMessage {
			return &protocol.ProcessFail{Part: a.part(), Text: []byte("no")}
		}),
		step(func() { a.next(kind.ItemCancel) }, func() protocol.RequestMessage {
			return &protocol.InboxAck{MemberID: a.member, Ack: a.acked}
		}),
		step(prepared, func() protocol.RequestMessage { return &protocol.ProcessLeave{MemberID: a.member} }),
		step(nothing, func() protocol.RequestMessage { return &protocol.ProcessDelete{Force: true} }),
	}
}

// only is the id of the only member.
func (b *processBed) only() uint64 {
	b.t.Helper()
	rows := b.describe("").Rows
	want(b.t, "members", rows.Len(), 1)
	for row := range rows.All() {
		return row.ID / 2
	}
	return 0
}

// TestEveryMutationOfAProcessIsCarriedOutOnce: a repetition over another connection gets the same answer, and no inbox
// item is added twice.
func TestEveryMutationOfAProcessIsCarriedOutOnce(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		a := &attendant{started: b.connect(b.c.Leader(1)).session("/prod", time.Minute), b: b}
		again := speak(t, b.c, b.c.Leader(1))
		again.must(again.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		done := make(map[protocol.Kind]any)
		for _, step := range b.story(a) {
			step.before()
			request := step.request()
			// The client has not seen the answer: nothing is acknowledged.
			reflect.ValueOf(request).Elem().FieldByName("AcknowledgedSequence").SetUint(0)
			first := *a.s.must(a.s.ask(request))
			second := *again.must(again.ask(request))
			want(t, fmt.Sprintf("%v sent again", request.Kind()), fmt.Sprintf("%+v", second.Message()),
				fmt.Sprintf("%+v", first.Message()))
			done[request.Kind()] = first.Message()
		}
		want(t, "created", done[protocol.KindProcessPut].(*protocol.ProcessPutAnswer).Created, true)
		want(t, "the exchange", done[protocol.KindProcessSend].(*protocol.ProcessSendAnswer).Exchange, 1)
		want(t, "the member", done[protocol.KindProcessJoin].(*protocol.ProcessJoinAnswer).MemberID, a.member)
		want(t, "why its inbox ended", a.ended().Message, "the member left")
		want(t, "items that are left", len(a.inbox), 0)
		gone := b.s.ask(&protocol.ProcessDescribe{SectionRequest: partOf(b.node, cache)})
		want(t, "after the delete", gone.Result.Status,
			protocol.StatusNotFound)
		for k := protocol.KindProcessPut; k <= protocol.KindProcessAction; k++ {
			if done[k] == nil {
				t.Errorf("the story has no %v", k)
			}
		}
	})
}

// processRequests are all process requests, with or without a member.
func (b *processBed) processRequests(a *attendant) []protocol.RequestMessage {
	mutations := []protocol.RequestMessage{
		&protocol.ProcessPut{}, &protocol.ProcessJoin{Arrival: arrivalOf("a")}, &protocol.ProcessLeave{},
		&protocol.ProcessPrepareAck{}, &protocol.ProcessSend{}, &protocol.ProcessReply{}, &protocol.ProcessComplete{},
		&protocol.ProcessCompleteAck{}, &protocol.ProcessFail{}, &protocol.InboxAck{},
		&protocol.ProcessAction{Action: kind.Action{Kind: kind.ActionRestart}}, &protocol.ProcessDelete{},
	}
	for _, m := range mutations {
		fields := reflect.ValueOf(m).Elem()
		fields.FieldByName("Mutation").Set(reflect.ValueOf(a.mutation()))
		fields.FieldByName("NodeID").SetUint(b.node)
		fields.FieldByName("Name").SetBytes(cache)
	}
	return append(mutations, a.opening(0))
}

// TestAHostThatDoesNotLeadSendsProcessesOn: each member request names the leader, and reads are answered.
func TestAHostThatDoesNotLeadSendsProcessesOn(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		leader := b.c.Leader(1)
		a := b.join("a")
		other := b.connect(leader%3 + 1)
		other.must(other.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		for _, request := range b.processRequests(a) {
			result := other.ask(request).Result
			want(t, request.Kind().String(), result.Status, protocol.StatusMoved)
			want(t, "leader", result.Moved.LeaderAddress, servertest.Address(leader))
		}
		other.must(other.ask(&protocol.ProcessDescribe{SectionRequest: protocol.SectionRequest{
			NodeID: b.node, Name: cache, Consistency: protocol.ConsistencyStrict,
		}}))
		list := other.must(other.ask(&protocol.ProcessList{ListRequest: protocol.ListRequest{
			NodeID: b.node, ShardID: 1, Consistency: protocol.ConsistencyStrict,
		}})).ProcessList
		want(t, "processes", list.Processes.Len(), 1)
		for p := range list.Processes.All(0) {
			want(t, "the name", p.Name, "cache")
			want(t, "members", p.Members, 1)
			want(t, "it has a moment, and a time to compare it with",
				p.Since.Happened && p.Since.Time <= field.Duration(list.NowMillis+1), true)
		}
	}, servertest.Hosts(3))
}

// TestRightsOnProcesses: readers read, writers take part, admins create, kick, restart and delete. Admin actions are
// audited, with author and reason.
func TestRightsOnProcesses(t *testing.T) {
	var log logbook
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		time.Sleep(time.Second) // for the shards to rise too
		admin := enter(t, c, "admin")
		node := admin.node("/prod/jobs")
		by := kind.ChangeInfo{Author: "ann", Reason: "YP-1"}
		put := &protocol.ProcessPut{NodeID: node, Name: cache, Put: kind.Put{By: by}}
		act := &protocol.ProcessAction{
			NodeID: node, Name: cache,
			Action: kind.Action{Kind: kind.ActionRestart, By: kind.ChangeInfo{Author: "ann", Reason: "hangs"}},
		}
		remove := &protocol.ProcessDelete{NodeID: node, Name: cache, Force: true}
		describe := &protocol.ProcessDescribe{SectionRequest: partOf(node, cache)}
		list := &protocol.ProcessList{ListRequest: listOf(node)}
		arrival := kind.Arrival{Joining: kind.Joining{Name: "a"}}
		join := &protocol.ProcessJoin{NodeID: node, Name: cache, Arrival: arrival}
		admin.must(admin.ask(put))
		for token, may := range map[string][]protocol.Kind{
			"reader": {describe.Kind(), list.Kind()}, "writer": {describe.Kind(), list.Kind(), join.Kind()},
		} {
			s := enter(t, c, token)
			for _, m := range []protocol.RequestMessage{describe, list, join, act, put, remove} {
				allowed := false
				for _, k := range may {
					allowed = allowed || k == m.Kind()
				}
				got := s.ask(m).Result.Status
				want(t, fmt.Sprint(token, ": ", m.Kind()), got != protocol.StatusUnauthorized, allowed)
			}
		}
		admin.must(admin.ask(act))
		admin.must(admin.ask(remove))
		lines := strings.Join(log.lines("msg=audit"), "\n")
		for _, line := range []string{
			`action="put process" object="/prod/jobs \"cache\"" outcome=SUCCESS author=ann reason=YP-1`,
			`action="restart process" object="/prod/jobs \"cache\"" outcome=SUCCESS author=ann reason=hangs`,
			`action="delete process by force" object="/prod/jobs \"cache\"" outcome=SUCCESS`,
			`action="restart process" object="/prod/jobs \"cache\"" outcome=UNAUTHORIZED`,
		} {
			if !strings.Contains(lines, line) {
				t.Errorf("the log does not have %s:\n%s", line, lines)
			}
		}
	}, log.option(), servertest.Config(func(c *server.Config) { c.Access = tokens{} }))
}

// TestARefusalOfAProcessSaysWhy: the message describes the conflict with the current state.
func TestARefusalOfAProcessSaysWhy(t *testing.T) {
	playProcesses(t, func(t *testing.T, b *processBed) {
		revision := b.put(kind.Spec{MaxPayload: 10})
		all := b.run("a", "b")
		a, other := all[0], all[1]
		strange := protocol.Part{MemberID: 99, Epoch: a.epoch}
		old := protocol.Part{MemberID: a.member, Epoch: a.epoch - 1}
		for _, x := range []struct {
			what   string
			by     *attendant
			m      protocol.RequestMessage
			status protocol.Status
			says   string
		}{
			{"a spec that cannot be", a, &protocol.ProcessPut{Put: kind.Put{Mode: field.PutAlter,
				Spec: kind.Spec{KeepResults: 65}}}, protocol.StatusBadRequest, "keeps 1 to 64 results"},
			{"create what is there", a, &protocol.ProcessPut{}, protocol.StatusAlreadyExists, "of this name"},
			{"another spec", a, &protocol.ProcessPut{Put: kind.Put{
				Mode: field.PutAlter, ExpectedRevision: revision + 1}},
				protocol.StatusPreconditionFailed, ""},
			{"no such process", a, &protocol.ProcessPrepareAck{Name: []byte("none")}, protocol.StatusNotFound,
				"no process of this name"},
			{"join what is not there", a, &protocol.ProcessJoin{
				Name: []byte("none"), Arrival: kind.Arrival{Joining: kind.Joining{Name: "a"}}},
				protocol.StatusNotFound, "no process of this name"},
			{"another name", a, &protocol.ProcessJoin{Arrival: kind.Arrival{Joining: kind.Joining{Name: "z"}}},
				protocol.StatusPreconditionFailed, "has joined as a"},
			{"no such member", a, &protocol.ProcessPrepareAck{Part: strange}, protocol.StatusNotFound, "join again"},
			{"an old epoch", a, &protocol.ProcessSend{Part: old, Audience: kind.ToAll}, protocol.StatusFenced,
				"is over"},
			{"a receiver that is not of the epoch", a, a.sending("x", 77), protocol.StatusNotFound, "no member 77"},
			{"a request that is too long", a, a.sending("12345678901"), protocol.StatusBadRequest, "at most 10 bytes"},
			{"a reply to nothing", a, a.replying(9, "x"), protocol.StatusNotFound, "no exchange 9"},
			{"a completion by another", other, &protocol.ProcessComplete{Part: other.part()},
				protocol.StatusPreconditionFailed, "coordinat"},
			{"an ack of what was not there", a, &protocol.InboxAck{MemberID: a.member, Ack: 99},
				protocol.StatusBadRequest, "no seq 99"},
			{"a kick of nobody", a, &protocol.ProcessAction{Action: kind.Action{Kind: kind.ActionEvict, MemberID: 99}},
				protocol.StatusNotFound, "99"},
			{"no act", a, &protocol.ProcessAction{Action: kind.Action{Kind: kind.ActionCreated}},
				protocol.StatusBadRequest, ""},
			{"a delete while there are members", a, &protocol.ProcessDelete{}, protocol.StatusPreconditionFailed,
				"2 members have joined; delete with force"},
		} {
			fields := reflect.ValueOf(x.m).Elem()
			fields.FieldByName("Mutation").Set(reflect.ValueOf(x.by.mutation()))
			fields.FieldByName("NodeID").SetUint(b.node)
			if fields.FieldByName("Name").IsZero() {
				fields.FieldByName("Name").SetBytes(cache)
			}
			got := x.by.s.ask(x.m).Result
			if got.Status != x.status || !strings.Contains(got.Message, x.says) {
				t.Errorf("%s: %v %q, want %v with %q", x.what, got.Status, got.Message, x.status, x.says)
			}
		}
		want(t, "the round goes on", b.head().Phase, kind.Running)
	})
}

// TestTheSpecOfAProcessHasItsDefaults: 0 selects the default, and readers see its value.
func TestTheSpecOfAProcessHasItsDefaults(t *testing.T) {
	defaults := kind.Spec{
		OpenDelay: 100 * time.Millisecond, MaxOpenDelay: 2 * time.Second, MinMembers: 1, MaxPayload: 65_536,
		KeepResults: 16,
	}
	patient := defaults
	patient.OpenDelay, patient.MaxOpenDelay = 5*time.Second, 5*time.Second
	whole := kind.Spec{
		OpenDelay: time.Millisecond, MaxOpenDelay: 2 * time.Millisecond, MinMembers: 3,
		ReplyTimeout: 4 * time.Millisecond, OnTimeout: kind.TimeoutFail, MaxPayload: 5, KeepResults: 6,
	}
	playProcesses(t, func(t *testing.T, b *processBed) {
		for _, x := range []struct{ said, is kind.Spec }{
			{kind.Spec{}, defaults}, {kind.Spec{OpenDelay: 5 * time.Second}, patient}, {whole, whole},
		} {
			put := kind.Put{Mode: field.PutEither, Spec: x.said}
			b.s.must(b.s.ask(&protocol.ProcessPut{NodeID: b.node, Name: cache, Put: put}))
			want(t, "the spec", b.head().Spec, x.is)
		}
	})
}
