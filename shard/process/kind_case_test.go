package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/level"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// Tests of the rules that depend on sessions, links and objects. The remaining rules are tested in cases_test.go.

// refused fails the test unless the last command was refused with the status, and with these words in the text.
func (r *round) refused(status protocol.Status, words string) {
	r.t.Helper()
	if e := r.Result(); e.Status != status || !strings.Contains(e.Body, words) {
		r.t.Errorf("answered %v %q, not %v %q", e.Status, e.Body, status, words)
	}
}

func (r *round) opensNext() {
	r.t.Helper()
	before := r.epoch()
	if r.pass(field.MillisOf(r.hosted().Spec().MaxOpenDelay) + 1); r.epoch() <= before {
		r.t.Fatalf("epoch %d does not end", before)
	}
}

// TestAnd11ACoordinatorThatIsGone: the coordinator leaves, or its session expires, during a round. The other
// members cancel the round before they prepare for the next one, coordinated by the next oldest.
func TestAnd11ACoordinatorThatIsGone(t *testing.T) {
	for name, ends := range map[string]func(r *round){
		"leaves":  func(r *round) { r.in(0, shard.CmdProcessLeave, shard.Command{}) },
		"expires": func(r *round) { r.Expire(r.IDs[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			r := running(t, 3, processSpec)
			exchange := r.broadcast(1, processkind.ToAll, "work")
			epoch := r.epoch()
			ends(r)
			if owned := r.M.Count().Links; owned != 2 {
				t.Errorf("%d links are left", owned)
			}
			r.in(1, shard.CmdProcessSend, shard.Command{Body: AppendReceivers(nil, Request{})})
			r.refused(protocol.StatusFenced, "epoch")
			r.reply(2, exchange, "done")
			r.opensNext()
			r.expect(1, "end cancelled done", "cancel", "prepare")
			r.expect(2, "cancel", "prepare")
			if is := r.hosted().Coordinator(); is != uint64(r.members[1]) || r.epoch() <= epoch {
				t.Errorf("%d coordinates epoch %d", is, r.epoch())
			}
		})
	}
}

// TestOnlyTheEndOfASessionOpensAnEpoch: silence, or a new leader, does not.
func TestOnlyTheEndOfASessionOpensAnEpoch(t *testing.T) {
	r := running(t, 3, processSpec)
	epoch := r.epoch()
	r.M = machinetest.Copy(t, r.M, empty())
	r.pass(100_000)
	if r.epoch() != epoch || len(r.effects(shard.EffectInbox)) != 0 {
		t.Errorf("epoch %d, and %v have something to handle", r.epoch(), r.effects(shard.EffectInbox))
	}
	r.Expire(r.IDs[1])
	r.opensNext()
	epoch = r.epoch()
	r.pass(100_000)
	if r.epoch() != epoch {
		t.Errorf("another epoch opened")
	}
}

// TestRequestsOfOneMemberStandInOrder: 1,000 requests, acknowledged progressively by the receiver.
func TestRequestsOfOneMemberStandInOrder(t *testing.T) {
	r := running(t, 3, processSpec)
	to := AppendReceivers(nil, Request{To: []uint64{uint64(r.members[2])}})
	after := r.hosted().Member(uint64(r.members[2])).LastSeq()
	for n, got := 0, 0; got < 1000; {
		for ; n < min(got+200, 1000); n++ {
			if e := r.in(1, shard.CmdProcessSend, shard.Command{Body: to, Data: fmt.Append(nil, n)}); e.Status !=
				protocol.StatusSuccess {
				t.Fatalf("request %d: %v %s", n, e.Status, e.Body)
			}
		}
		list, _, _ := Inboxes{r.M}.Inbox(1, []byte("p"), r.IDs[2], r.members[2], after, 4000, nil)
		for _, d := range list {
			if string(d.Payload) != fmt.Sprint(got) || d.From != uint64(r.members[1]) {
				t.Fatalf("request %d is %q of %d", got, d.Payload, d.From)
			}
			after, got = d.Seq, got+1
			r.in(2, shard.CmdProcessReply, shard.Command{Timeout: d.Exchange, Count: after})
		}
		r.ack(1)
	}
}

// TestAMemberThatDoesNotReply: it is named, removed, or its exchange ends without it.
func TestAMemberThatDoesNotReply(t *testing.T) {
	for on, check := range map[processkind.OnTimeout]func(r *round){
		processkind.TimeoutWait: func(r *round) {
			var d Description
			Describe(r.M, 1, "p", shard.PartOptions{Why: true, Now: r.now + 500}, &d)
			k := slices.IndexFunc(d.Reasons, func(re Reason) bool { return re.Code == processkind.ReasonReply })
			if k < 0 || !d.Reasons[k].Late || d.Reasons[k].Members[0].Name != "m2" || d.Now != r.now+500 {
				r.t.Errorf("at %d: %+v", d.Now, d.Reasons)
			}
		},
		processkind.TimeoutEvict: func(r *round) {
			if lost := r.effects(shard.EffectLost); !slices.Equal(lost, []int{2}) {
				r.t.Errorf("%v are put out", lost)
			}
			r.opensNext()
			r.expect(0, "end cancelled a b", "cancel", "prepare")
		},
		processkind.TimeoutFail: func(r *round) { r.expect(0, "coordinate", "request work", "end late a b") },
	} {
		t.Run(on.String(), func(t *testing.T) {
			spec := processSpec
			spec.ReplyTimeout, spec.OnTimeout = 1000, on
			r := newRound(t, 3, spec)
			r.prepareAll()
			exchange := r.broadcast(0, processkind.ToAll, "work")
			r.reply(0, exchange, "a")
			r.reply(1, exchange, "b")
			r.pass(1001)
			check(r)
		})
	}
}

// TestWhatIsTooMuchIsRefused: a payload that is too long; and a member's 257th unacknowledged request, which only
// affects its sender.
func TestWhatIsTooMuchIsRefused(t *testing.T) {
	r := running(t, 3, processSpec)
	toAll := AppendReceivers(nil, Request{Audience: processkind.ToAll})
	r.in(0, shard.CmdProcessSend, shard.Command{Body: toAll, Data: make([]byte, processkind.MaxPayload+1)})
	r.refused(protocol.StatusBadRequest, "65536")
	to := AppendReceivers(nil, Request{To: []uint64{uint64(r.members[2])}})
	for range maxUnread {
		if e := r.in(1, shard.CmdProcessSend, shard.Command{Body: to}); e.Status != protocol.StatusSuccess {
			t.Fatalf("%v %s", e.Status, e.Body)
		}
	}
	before := r.M.Usage(1)
	r.in(0, shard.CmdProcessSend, shard.Command{Body: toAll})
	r.refused(protocol.StatusOverloaded, "m2")
	if len(r.effects(shard.EffectInbox)) != 0 || r.M.Usage(1).Bytes > before.Bytes {
		t.Errorf("something was delivered")
	}
	r.broadcastTo(0, 1)
	r.expect(1, "request ")
}

// broadcastTo sends a request to one member.
func (r *round) broadcastTo(i, to int) {
	r.t.Helper()
	body := AppendReceivers(nil, Request{To: []uint64{uint64(r.members[to])}})
	if e := r.in(i, shard.CmdProcessSend, shard.Command{Body: body}); e.Status != protocol.StatusSuccess {
		r.t.Fatalf("%v %s", e.Status, e.Body)
	}
}

// TestWithoutACandidateNoEpochOpens: until a member becomes a candidate.
func TestWithoutACandidateNoEpochOpens(t *testing.T) {
	r := newRound(t, 1, processSpec)
	observer := processkind.Arrival{Joining: processkind.Joining{Name: "m0"}}
	joins := func(a processkind.Arrival) {
		r.As(0, shard.Command{Kind: shard.CmdProcessJoin, Name: []byte("p"), Body: Append(nil, &a)})
	}
	joins(observer)
	r.restart()
	r.pass(10)
	var d Description
	Describe(r.M, 1, "p", shard.PartOptions{Why: true}, &d)
	if len(d.Reasons) != 1 || d.Reasons[0].Code != processkind.ReasonNoCandidate || !d.Reasons[0].Blocked {
		t.Errorf("%+v", d.Reasons)
	}
	if h, _ := r.M.ListHoldings(r.IDs[0], 0, 0, nil); len(h) != 1 || h[0].Role != "observer" {
		t.Errorf("%+v", h)
	}
	observer.Candidate = true
	joins(observer)
	r.opensNext()
	if h, _ := r.M.ListHoldings(r.IDs[0], 0, 0, nil); len(h) != 1 || h[0].Role != "coordinator" {
		t.Errorf("%+v", h)
	}
}

// TestProcessesOfOneSessionAreIndependent: the round of one continues while the other has its next epoch.
func TestProcessesOfOneSessionAreIndependent(t *testing.T) {
	r := running(t, 2, processSpec)
	epoch := r.epoch()
	for i := range 2 {
		r.As(i, shard.Command{Kind: shard.CmdProcessJoin, Name: []byte("q"),
			Body: Append(nil, &processkind.Arrival{
				Joining: processkind.Joining{Name: "m", Candidate: true}, Create: true, Spec: processSpec,
			})})
	}
	r.pass(10)
	var page []processkind.SummaryRow
	if page, _, _ = List(r.M, 1, "", "", 0, page); len(page) != 2 || page[0].Epoch != epoch ||
		page[0].Phase != processkind.Running || page[1].Phase != processkind.Preparing ||
		string(page[1].Coordinator) != "m" {
		t.Errorf("%+v", page)
	}
	r.broadcastTo(0, 1)
	r.expect(1, "request ")
}

// TestAPayloadIsInTheLogOnce: a request to 1,000 members is hardly longer than its payload in the log; and a
// reply is short.
func TestAPayloadIsInTheLogOnce(t *testing.T) {
	r := running(t, 1000, processSpec)
	r.Do(r.requestToAll(1024))
	bytes := func() int { return len(shard.AppendBatch(nil, &r.One)) }
	if n := bytes(); n > 1024+80 {
		t.Errorf("a request takes %d bytes", n)
	}
	r.in(700, shard.CmdProcessReply, shard.Command{Timeout: uint64(r.Result().Order), Count: 3,
		Data: make([]byte, 100)})
	if n := bytes(); n > 100+70 {
		t.Errorf("a reply takes %d bytes", n)
	}
}

// TestAMemberIsKicked: it gets the reason, even in answers to requests, and may join again.
func TestAMemberIsKicked(t *testing.T) {
	r := running(t, 2, processSpec)
	by := processkind.ChangeInfo{Author: "op", Reason: "misbehaves"}
	act := processkind.Action{Kind: processkind.ActionEvict, MemberID: uint64(r.members[1]), By: by}
	r.Do(shard.Command{Kind: shard.CmdProcessAct, Node: 1, Name: []byte("p"), Body: Append(nil, &act)})
	const why = "evicted by op: misbehaves; join again"
	lost := slices.IndexFunc(r.Out.List, func(e shard.Effect) bool { return e.Kind == shard.EffectLost })
	if e := r.Out.List[lost]; e.Object != shard.KindProcess || e.Body != why || e.Session != r.IDs[1] ||
		e.Order != r.members[1] || e.Name != "p" {
		t.Errorf("%+v", e)
	}
	r.expect(1, why)
	r.in(1, shard.CmdProcessPrepared, shard.Command{})
	r.refused(protocol.StatusNotFound, why)
	before := r.members[1]
	if e := r.join(1, processkind.Arrival{}); e.Status != protocol.StatusSuccess || e.Order <= before {
		t.Errorf("%v %s", e.Status, e.Body)
	}
	r.opensNext()
	r.expect(1, "prepare")
	var d Description
	if Describe(r.M, 1, "p", shard.PartOptions{Part: "actions", After: 1, Limit: 1}, &d); len(d.Rows) != 1 ||
		d.More {
		t.Fatalf("%+v", d)
	}
	var row processkind.ActionRecord
	if err := protocol.ReadRecord(d.Rows[0].Body, &row, 0); err != nil || row.Kind != processkind.ActionEvict ||
		row.Member != "m1" || d.Rows[0].ID != 2 {
		t.Errorf("%+v %v", row, err)
	}
}

// TestAProcessIsDeleted: with members only by force. Watchers and requesters are notified.
func TestAProcessIsDeleted(t *testing.T) {
	r := running(t, 2, processSpec)
	remove := shard.Command{Kind: shard.CmdProcessDelete, Node: 1, Name: []byte("p")}
	r.Do(remove)
	r.refused(protocol.StatusPreconditionFailed, "force")
	remove.Flags = shard.FlagForce
	r.Do(remove)
	if lost := r.effects(shard.EffectLost); r.Result().Status != protocol.StatusSuccess ||
		!slices.Equal(lost, []int{0, 1}) {
		t.Errorf("%v, and %v have lost", r.Result().Status, lost)
	}
	var delta shard.Delta
	if kind := r.M.Changes(shard.Ref{Kind: shard.KindProcess, Node: 1, Name: "p", View: "results"}, 1, &delta); kind !=
		shard.DeltaAbsent {
		t.Errorf("who watches results is reported %d", kind)
	}
	r.expect(1, noProcess)
	r.in(1, shard.CmdInboxAck, shard.Command{Term: 1, Count: 1})
	r.refused(protocol.StatusNotFound, noProcess)
	if u := r.M.Count(); u.Links != 0 || u.OfKind[shard.KindProcess] != 0 || level.Newest == 0 {
		t.Errorf("%+v", u)
	}
}

// TestAnInboxIsSentAsFarAsItIsAcknowledged: items in flight count, and a single item is sent regardless of its size.
func TestAnInboxIsSentAsFarAsItIsAcknowledged(t *testing.T) {
	r := running(t, 2, processSpec)
	for range 4 {
		r.broadcast(0, processkind.ToOthers, strings.Repeat("x", 1000))
	}
	reads := func(after uint64, most, want int) {
		t.Helper()
		list, _, a := Inboxes{r.M}.Inbox(1, []byte("p"), r.IDs[1], r.members[1], after, most, nil)
		if len(list) != want || a.Status != protocol.StatusSuccess {
			t.Errorf("%d items are sent behind %d, %v", len(list), after, a)
		}
	}
	acked := r.hosted().Member(uint64(r.members[1])).Acked()
	reads(acked, 1, 1)
	reads(acked, 2500, 2)
	reads(acked+2, 2000, 0)
	reads(acked+2, 2500, 1)
	r.in(1, shard.CmdInboxAck, shard.Command{Count: acked + 2})
	if to := r.effects(shard.EffectInbox); !slices.Equal(to, []int{1}) {
		t.Errorf("that there is room is reported to %v", to)
	}
	reads(acked+2, 2500, 2)
	if r.in(1, shard.CmdInboxAck, shard.Command{Count: acked + 4}); len(r.effects(shard.EffectInbox)) != 0 {
		t.Error("an empty inbox is reported")
	}
	_, _, a := Inboxes{r.M}.Inbox(1, []byte("p"), r.IDs[0], r.members[1], 0, 1, nil)
	if a.Status != protocol.StatusNotFound {
		t.Errorf("the inbox of another session's member: %v", a)
	}
}

// TestAnEpochOpensWithTheLastMemberThatItNeeds: with the shortest delay. Further members, and all members of a process
// with a longer delay, wait for the delay.
func TestAnEpochOpensWithTheLastMemberThatItNeeds(t *testing.T) {
	gathers := processSpec
	gathers.MinMembers = 3
	waits := gathers
	waits.OpenDelay, waits.MaxOpenDelay = 2*time.Millisecond, 2*time.Millisecond
	for name, c := range map[string]struct {
		spec  processkind.Spec
		opens bool
	}{
		"the shortest delay":   {spec: gathers, opens: true},
		"a longer delay":       {spec: waits},
		"one member is enough": {spec: processSpec},
	} {
		t.Run(name, func(t *testing.T) {
			r := &round{Bed: machinetest.NewAt(empty(), level.Newest, 4), t: t, members: make([]shard.OrderID, 4)}
			r.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
			for i := range 3 {
				r.join(i, processkind.Arrival{Create: i == 0, Spec: r.specOf(i, c.spec)})
				if is := r.epoch() != 0; is != (c.opens && i == 2) {
					t.Errorf("after %d members an epoch is open: %v", i+1, is)
				}
			}
			notified := len(r.effects(shard.EffectInbox))
			if want := 3; c.opens != (notified == want) {
				t.Errorf("%d members have something to handle", notified)
			}
			r.pass(3)
			first := r.epoch()
			if first == 0 {
				t.Error("no epoch is open after the delay")
			}
			if r.join(3, processkind.Arrival{}); r.epoch() != first {
				t.Error("a member beyond those that are needed opens an epoch at once")
			}
			if r.pass(3); r.epoch() == first {
				t.Error("no epoch has opened for a new member")
			}
		})
	}
}
