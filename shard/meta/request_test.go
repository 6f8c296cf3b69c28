package meta

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

func TestEveryKindOfRequestHasItsCommand(t *testing.T) {
	list := everyRequest()
	if len(list) != len(requests) {
		t.Errorf("%d kinds of requests, and %d examples", len(requests), len(list))
	}
	for i, r := range list {
		if want := CmdHostsBootstrap + CommandKind(i); kindOf(r) != want || commandNames[want] == "" {
			t.Errorf("%T is %v, want %v", r, kindOf(r), want)
		}
		if v := reflect.ValueOf(r).Elem(); v.Type() == reflect.TypeOf(requests[kindOf(r)]()).Elem() {
			for k := range v.NumField() {
				if v.Field(k).IsZero() {
					t.Errorf("%T: the example has no %s", r, v.Type().Field(k).Name)
				}
			}
		}
	}
}

// TestARequestThatCannotBeReadIsNotWritten: such a request would stop every replica.
func TestARequestThatCannotBeReadIsNotWritten(t *testing.T) {
	long := plan.Proposal[governor.Action]{Kind: 1, Subject: plan.Subject(strings.Repeat("x", plan.MaxSubject+1))}
	for _, c := range []Command{
		{Kind: CmdHostDrain},
		{Kind: CmdHostDrain, Request: &HostUndrain{Host: "a"}},
		{Kind: CmdNodeDrop + 100, Request: &HostUndrain{Host: "a"}},
		NewCommand(&StepBegin{Proposal: long}, Origin{}),
	} {
		out, err := AppendBatch([]byte("kept"), &Batch{Commands: []Command{c}})
		if !errors.Is(err, ErrBatch) || string(out) != "kept" {
			t.Errorf("%v: %q, %v", c.Kind, out, err)
		}
	}
}

// TestWhatTheRulesRefuseIsReadAllTheSame: an invalid request is answered, and stops no replica.
func TestWhatTheRulesRefuseIsReadAllTheSame(t *testing.T) {
	c := withHosts(t, "a", "b")
	long := strings.Repeat("x", 70_000)
	for _, r := range []Request{
		joinOf(long, 9), &HostAlter{Host: "a", Domain: hosts.Domain{{Key: long, Value: "x"}}},
		&HostFailed{Term: 7, Host: 1, Epoch: 1, Reason: 255, Text: long}, &TokenCreate{ID: long, Millis: 1},
		&ReplicasKnown{Term: 7, Shard: 1, Change: 1, Members: []hosts.Member{{Replica: 1, Role: 255}}},
		&StepReport{Act: plan.Act{Term: 7}, Report: 255}, &HostJoin{hosts.Join{Level: 255}},
	} {
		c.refused(protocol.StatusBadRequest, "", r)
	}
	c.refused(protocol.StatusNotFound, "there is no host", &HostDrain{Host: long})
	for _, o := range []Origin{{By: long}, {Why: "\xff"}} {
		list := c.apply(c.stamp(1), NewCommand(&HostCordon{Host: "a", On: true}, o))
		if list[0].Status != protocol.StatusBadRequest || !strings.Contains(list[0].Message, "who asks") {
			t.Errorf("%+v", list)
		}
	}
}

// TestOnlyTheLeaderAsks: requests in a batch without a time, or from another term, have no effect, and use no number.
func TestOnlyTheLeaderAsks(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	before := c.Digest()
	drain := NewCommand(&HostDrain{Host: "a"}, origin)
	drain.Numbered = Numbered{Client: ClientID{1}, Number: 1, Since: c.NextAnswer()}
	for _, s := range []clock.Stamp{{}, {Term: 6, Elapsed: 5}, {Term: 8, Elapsed: 5}} {
		for _, command := range append([]Command{drain}, NewCommand(&HostReturn{Host: 1}, origin)) {
			if list := c.apply(s, command); len(list) != 1 || list[0].Status != protocol.StatusUnavailable {
				t.Errorf("stamp %+v: %+v", s, list)
			}
		}
	}
	if c.Digest() != before {
		t.Error("something changed")
	}
	if list := c.apply(c.stamp(1), drain); list[0].Status != protocol.StatusSuccess {
		t.Errorf("by the leader: %+v", list)
	}
}

// TestTheGovernorSaysItsTerm: a batch from the current leader does not execute decisions made under an earlier leader.
func TestTheGovernorSaysItsTerm(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	h := c.records().Named("b")
	add := plan.Proposal[governor.Action]{Kind: governor.KindFail, Subject: "host/2",
		Payload: governor.Action{Host: 2, Epoch: h.Target.Epoch, Reason: hosts.ReasonSilent}}
	for _, term := range []uint64{6, 8} {
		for _, r := range []Request{
			&HostFailed{Term: term, Host: 2, Epoch: h.Target.Epoch, Reason: hosts.ReasonSilent},
			&HostReach{Term: term, Host: 2, Variant: h.Target.Variant, Epoch: h.Target.Epoch},
			&ReplicasKnown{Term: term, Shard: 1, Change: 5, Members: votersOf(1)},
			&StepBegin{Term: term, Revision: c.plan().Revision(), Proposal: add},
			&StepReport{Act: plan.Act{Step: 1, Term: term}, Report: ReportDone},
		} {
			c.refused(protocol.StatusStale, "term", r)
		}
	}
}

// TestAStepIsBegunAndReported: from the proposal to the step's end, with every answer that an executor may get.
func TestAStepIsBegunAndReported(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	joined := c.done(joinOf("d", 9)).Host
	c.done(&HostBoot{hosts.Boot{Host: joined, Incarnation: incarnation(9), Start: startOf(1),
		Addresses: addressesOf("d"), Version: "1.0", Level: level.Newest}})
	add := plan.Proposal[governor.Action]{Kind: governor.KindAdd, Subject: "shard/1",
		Payload: governor.Action{Shard: 1, Replica: c.records().NextReplica(), Host: joined}}
	begin := &StepBegin{Term: 7, Revision: c.plan().Revision(), Proposal: add}
	list := c.ask(begin)
	if got := kinds(list); got != "result topology-changed " || list[0].Flags != FlagChanged {
		t.Fatalf("%s: %+v", got, list[0])
	}
	if p := c.records().Shard(1).Replica(1024); p == nil || p.Host != joined || p.Role != hosts.RoleNone || !p.Joined {
		t.Errorf("the replica that is to be added: %+v", p)
	}
	c.refused(protocol.StatusFenced, "plan has changed", begin)
	again := *begin
	again.Revision, again.Proposal.Payload.Replica = c.plan().Revision(), 1025
	c.refused(protocol.StatusBadRequest, "unfit", &again)
	again.Proposal = plan.Proposal[governor.Action]{Kind: governor.KindTransfer, Subject: "shard/1",
		Payload: governor.Action{Shard: 1, Host: 2, From: 1}}
	c.refused(protocol.StatusPreconditionFailed, "occupied", &again)

	act := c.plan().Step(1).Act(7)
	c.refused(protocol.StatusNotFound, "unknown step", &StepReport{Act: plan.Act{Step: 2, Term: 7}, Report: ReportDone})
	c.refused(protocol.StatusBadRequest, "unfit", &StepReport{Act: act, Report: ReportProgress})
	c.done(&StepReport{Act: act, Report: ReportProgress, Phase: 2})
	c.refused(protocol.StatusStale, "moved on", &StepReport{Act: act, Report: ReportDone})
	act.Phase = 2
	c.done(&StepReport{Act: act, Report: ReportRetry, Text: "no answer"})
	act.Failures = 1
	c.refused(protocol.StatusNotFound, `"shard/2" does not wait`, &StepForget{Subject: "shard/2"})
	c.done(&StepForget{Subject: "shard/1"})
	c.done(&StepReport{Act: act, Report: ReportFail, Text: "refused"})
	c.refused(protocol.StatusStale, "over", &StepReport{Act: act, Report: ReportDone})
	c.existed(&StepCancel{Step: 1})
	c.refused(protocol.StatusNotFound, "no step 9", &StepCancel{Step: 9})
	if b := c.plan().Backoff("shard/1"); b == nil || b.LastError != "refused" || b.Failures != 2 {
		t.Errorf("what is remembered: %+v", b)
	}
	audit := c.records().Audit(c.records().LastAudit(), 1)[0]
	if audit.Event != hosts.EventStep || audit.By != "op" || audit.Why != "a test" {
		t.Errorf("the last entry of the audit history is %v", &audit)
	}
}

// TestChangesAreDelivered: effects used by readers, for one request per kind.
func TestChangesAreDelivered(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	const hostChanged, unseen = "result topology-changed hosts-changed audited ", "result topology-changed audited "
	for _, x := range []struct {
		r    Request
		want string
		text string // text in the audit entry
	}{
		{joinOf("d", 9), hostChanged, "join host d: joined, by op: a test"},
		{&HostCordon{Host: "a", On: true}, unseen, "alter host a: cordoned, by op: a test"},
		{&HostCordon{Host: "a", On: true}, "result ", ""},
		{&HostRename{Host: 1, Incarnation: incarnation(1), Start: startOf(1), Addresses: addressesOf("z")}, hostChanged,
			"alter host a: at z:1 for hosts, z:2 for clients"},
		{&ShardTransfer{Shard: 1, Host: "b"}, unseen, "leader-transfer host b: to lead shard 1"},
		{&TokenCreate{ID: "t", Hash: [32]byte{1}, Millis: 5}, unseen, "token t was made"},
		{&HostExpel{Host: "4"}, unseen, "host-target host d: EXPELLED, expelled, by op: a test"},
		{&HostReach{Term: 7, Host: 4, Variant: protocol.HostExpelled}, hostChanged, "host-state host d: EXPELLED"},
	} {
		before := c.records().LastAudit()
		list := c.ask(x.r)
		if got := kinds(list); got != x.want {
			t.Errorf("%v: %s(%s), want %s", kindOf(x.r), got, list[0].Message, x.want)
			continue
		}
		if last := list[len(list)-1]; x.text != "" &&
			(last.Entry.Number != before+1 || !strings.Contains(last.Entry.String(), x.text)) {
			t.Errorf("%v is written down as %q, number %d", kindOf(x.r), last.Entry.String(), last.Entry.Number)
		}
	}
}

// TestARepeatedRequestIsAnsweredAsBefore: the answer to a repeated join has the same host.
func TestARepeatedRequestIsAnsweredAsBefore(t *testing.T) {
	c := withHosts(t, "a")
	join := NewCommand(joinOf("b", 9), origin)
	join.Numbered = Numbered{Client: ClientID{1}, Number: 1, Since: c.NextAnswer()}
	first := c.apply(c.stamp(1), join)[0]
	again := c.apply(c.stamp(1), join)
	if len(again) != 1 || again[0].Host != 2 || first.Host != 2 || again[0].Flags != FlagRepeated {
		t.Errorf("%+v\n%+v", first, again)
	}
	r := copyOf(t, c.Machine)
	mustEqual(t, r, c.Machine)
	if got := (&cluster{TB: t, Machine: r}).apply(c.stamp(1), join); !reflect.DeepEqual(got, again) {
		t.Errorf("after a restart: %+v", got)
	}
}

// TestNoRequestHoldsTheLockForLong: a request's work depends on the numbers of hosts, shards and steps, all small. The
// measure is allocations, because the machine's other work cannot hide allocations.
func TestNoRequestHoldsTheLockForLong(t *testing.T) {
	c := withHosts(t, "a", "b", "c")
	for i := range 3 * hosts.MaxAudit {
		c.ask(&HostCordon{Host: "a", On: i%2 == 0})
	}
	on := false
	bytesOf := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			on = !on
			c.ask(&HostCordon{Host: "a", On: on})
		}
	}).AllocedBytesPerOp()
	if bytesOf > 20_000 {
		t.Errorf("a cordon beside a full audit history allocates %d bytes", bytesOf)
	}
}

func ExampleNewCommand() {
	c := NewCommand(&HostDrain{Host: "b"}, Origin{By: "ops@example.org", Why: "new disks"})
	data, err := AppendBatch(nil, &Batch{Stamp: clock.Stamp{Term: 3, Elapsed: 40}, Commands: []Command{c}})
	fmt.Println(c.Kind, LevelOf(&c), len(data), err)
	// Output:
	// host-drain 1 53 <nil>
}

// TestWhatWasDoneForAReasonIsWrittenDown: with its reason, and only through recorded hosts.
func TestWhatWasDoneForAReasonIsWrittenDown(t *testing.T) {
	c := withHosts(t, "a")
	a := c.records().Named("a")
	note := ActNote{Host: a.ID, Incarnation: a.Incarnation, What: "session destroy: id 7"}
	before := c.records().LastAudit()
	c.done(&note)
	c.refused(protocol.StatusNotFound, "no host 9", &ActNote{Host: 9, Incarnation: a.Incarnation, What: "something"})
	for _, what := range []string{"", strings.Repeat("x", hosts.MaxText+1)} {
		note.What = what
		c.refused(protocol.StatusBadRequest, "of at most 256 bytes", &note)
	}
	list := c.records().Audit(before+1, 100)
	if len(list) != 1 {
		t.Fatalf("%d entries: %v", len(list), list)
	}
	e := &list[0]
	if e.Event != hosts.EventAct || e.Name != "a" || e.Text != "session destroy: id 7" || e.By != "op" || e.Why == "" {
		t.Errorf("%v", e)
	}
}

// TestWhoSavesABackupIsWrittenDown: each report is one entry, even if repeated, and only for recorded hosts.
func TestWhoSavesABackupIsWrittenDown(t *testing.T) {
	c := withHosts(t, "a")
	a := c.records().Named("a")
	note := BackupNote{Host: a.ID, Incarnation: a.Incarnation, Shard: 3, Phase: SaveBegun}
	c.done(&note)
	c.done(&note)
	note.Phase, note.Bytes = SaveDone, 77
	c.done(&note)
	note.Phase = SaveGivenUp
	c.done(&note)
	note.Phase = SaveGoesOn
	c.done(&note)
	note.Phase++
	c.refused(protocol.StatusBadRequest, "phase 5", &note)
	c.refused(protocol.StatusNotFound, "no host 9",
		&BackupNote{Host: 9, Incarnation: a.Incarnation, Phase: SaveBegun})
	c.refused(protocol.StatusNotFound, "no host 1 with incarnation",
		&BackupNote{Host: a.ID, Incarnation: incarnation(200), Phase: SaveBegun})
	var said []string
	for _, e := range c.records().Audit(1, 100) {
		if e.Event == hosts.EventBackup {
			said = append(said, e.Name+": "+e.Text+", by "+e.By)
		}
	}
	want := []string{
		"a: the state of shard 3 is being saved, by op", "a: the state of shard 3 is being saved, by op",
		"a: the state of shard 3 was saved, 77 bytes, by op",
		"a: saving the state of shard 3 was given up after 77 bytes, by op",
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestABackupHoldsMoves: from the first state on, until the meta shard's state is saved, or a state is given up.
func TestABackupHoldsMoves(t *testing.T) {
	c := withHosts(t, "a")
	a := c.records().Named("a")
	held := func() bool { return c.records().MovesHeld(c.Clock().Now) != nil }
	for _, x := range []struct {
		shard ShardID
		phase SavePhase
		held  bool
	}{
		{3, SaveBegun, true}, {3, SaveDone, true}, {0, SaveBegun, true}, {0, SaveGoesOn, true}, {0, SaveDone, false},
		{3, SaveGoesOn, true}, {3, SaveGivenUp, false},
	} {
		c.done(&BackupNote{Host: a.ID, Incarnation: a.Incarnation, Shard: x.shard, Phase: x.phase})
		if held() != x.held {
			t.Errorf("after phase %d of shard %d moves are held: %v", x.phase, x.shard, held())
		}
	}
	c.done(&BackupNote{Host: a.ID, Incarnation: a.Incarnation, Shard: 3, Phase: SaveBegun})
	if c.records().MovesHeld(c.Clock().Now+hosts.HoldMillis+1) != nil {
		t.Error("a silent backup holds moves for longer than a minute")
	}
}
