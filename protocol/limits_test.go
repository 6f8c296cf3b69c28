package protocol

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/protocol/process"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

func TestCommonVersion(t *testing.T) {
	for _, c := range []struct {
		min, max uint64
		version  uint64
		ok       bool
	}{
		{1, 1, 1, true}, {1, 9, 1, true}, {0, 1, 1, true}, {2, 9, 0, false}, {0, 0, 0, false}, {2, 1, 0, false},
	} {
		m := Hello{VersionMin: c.min, VersionMax: c.max}
		if version, ok := m.CommonVersion(); ok != c.ok || ok && version != c.version {
			t.Errorf("with a client of %d to %d: got %d, %t; want %d, %t", c.min, c.max, version, ok, c.version, c.ok)
		}
	}
}

// TestTheLargestMessagesFitTheirFrames: the frame limits must leave space for everything that the field limits allow.
func TestTheLargestMessagesFitTheirFrames(t *testing.T) {
	for _, dataBytes := range []uint64{0, DefaultDataBytes, MaxDataBytes} {
		limits := FrameLimits(dataBytes)
		data := bytes.Repeat([]byte{0xff}, int(dataBytes))
		name := bytes.Repeat([]byte("n"), MaxNameBytes)
		acquire := request(1<<64-1, &Acquire{
			Mutation: Mutation{SessionID: 1<<64 - 1, Sequence: 1<<64 - 1, AcknowledgedSequence: 1<<64 - 2},
			NodeID:   1<<64 - 1, Name: name, Count: Exclusive, WaitMillis: Forever, Data: data, Ephemeral: true,
		})
		hello := request(1<<64-1, &Hello{
			VersionMin: 1<<64 - 1, VersionMax: 1<<64 - 1, ClientName: name[:MaxClientNameBytes],
			ClientVersion: name[:MaxVersionBytes], Token: make([]byte, MaxTokenBytes),
		})
		for _, s := range []sample{acquire, hello} {
			if n := len(s.payload()); uint64(n) > limits.RequestFrameBytes {
				t.Errorf("data of %d: %s of %d bytes, %d fit", dataBytes, s.kind, n, limits.RequestFrameBytes)
			}
		}
		semaphore := Semaphore{
			Name: name, Limit: Exclusive, Count: Exclusive, Revision: 1<<64 - 1, Owners: 1<<64 - 1,
			Waiters: 1<<64 - 1, Ephemeral: true, Data: data,
		}
		describe := &SemaphoreDescribeAnswer{Semaphore: semaphore, Next: 1<<64 - 1, WatchAdded: true}
		waiter := Waiter{OrderID: 1<<64 - 1, SessionID: 1<<64 - 1, Count: Exclusive, TimeoutMillis: Forever}
		for describe.Waiters.Size() < PageBytes-50 {
			describe.Waiters.Append(waiter)
		}
		waiter.Data = data
		describe.Waiters.Append(waiter)
		list := &SemaphoreListAnswer{Next: name}
		small := Semaphore{Limit: 1}
		for list.Semaphores.Size() < PageBytes-1 {
			list.Semaphores.Append(small)
		}
		list.Semaphores.Append(semaphore)
		for _, s := range []sample{answer(1<<64-1, describe), answer(1<<64-1, list)} {
			if n := len(s.payload()); uint64(n) > limits.AnswerFrameBytes {
				t.Errorf("data of %d: %s of %d bytes, %d fit", dataBytes, s.kind, n, limits.AnswerFrameBytes)
			}
		}
	}
}

// TestTheLargestSlotListFitsItsFrame: every slot may have another owner than the slot before, and a page of slots ends
// only after MaxSlotMoves moves.
func TestTheLargestSlotListFitsItsFrame(t *testing.T) {
	const most = 1<<64 - 1
	text := strings.Repeat("t", host.MaxText)
	list := &SlotListAnswer{Version: most, Next: Slots - 1}
	for slot := range uint64(Slots) {
		list.Ranges.Append(SlotRange{First: slot, Last: slot, ShardID: 1023, Generation: most})
	}
	for range host.MaxSlotMoves {
		list.Moves = append(list.Moves, host.SlotMove{
			Slot: Slots - 1, From: 1023, To: 1022, Into: 1022, Generation: most, Large: true, Author: text,
			Reason: text, Age: math.MaxInt64, Failures: math.MaxInt64, LastError: text, Wait: math.MaxInt64,
		})
	}
	payload := answer(most, list).payload()
	if n, most := uint64(len(payload)), FrameLimits(0).AnswerFrameBytes; n > most {
		t.Errorf("the list has %d bytes, %d fit", n, most)
	}
	if _, err := decodeSample(KindSlotList.Answer(), payload); err != nil {
		t.Error(err)
	}
}

// TestTheLargestShardListsFitTheirFrames: a cluster never has more shards than a page has items.
func TestTheLargestShardListsFitTheirFrames(t *testing.T) {
	const most = 1<<64 - 1
	text := bytes.Repeat([]byte("t"), MaxOperatorTextBytes)
	describe := &RebalanceDescribeAnswer{Paused: true, NoPacing: true, Author: text, Reason: text, AgeMillis: most}
	update := &ShardUpdate{Operation: exampleOperation(), Action: ShardSetWeight, Count: most, Weight: most}
	for range MaxPageItems {
		update.ShardIDs.Append(most)
		describe.Shards = append(describe.Shards, host.ShardSlots{ID: most, Phase: strings.Repeat("t", host.MaxWord),
			Weight: most, Slots: math.MaxInt64, Target: math.MaxInt64})
		describe.Planned = append(describe.Planned, host.PlannedMoves{From: most, To: most, Slots: math.MaxInt64})
	}
	limits := FrameLimits(0)
	for _, x := range []struct {
		m    sample
		most uint64
	}{
		{request(most, update), limits.RequestFrameBytes},
		{answer(most, &ShardUpdateAnswer{ShardIDs: update.ShardIDs, Since: most}), limits.AnswerFrameBytes},
		{answer(most, describe), limits.AnswerFrameBytes},
	} {
		payload := x.m.payload()
		if n := uint64(len(payload)); n > x.most {
			t.Errorf("%v has %d bytes, %d fit", x.m.kind, n, x.most)
		}
		if _, err := decodeSample(x.m.kind, payload); err != nil {
			t.Error(err)
		}
	}
}

// TestTheLargestMessagesOfRolloutsFitTheirFrames: a host with data limit 0 still receives and sends version payloads.
func TestTheLargestMessagesOfRolloutsFitTheirFrames(t *testing.T) {
	limits := FrameLimits(0)
	name, text := bytes.Repeat([]byte("n"), MaxNameBytes), bytes.Repeat([]byte("t"), MaxRolloutTextBytes)
	payload := make([]byte, MaxRolloutPayloadBytes)
	mutation := Mutation{SessionID: 1<<64 - 1, Sequence: 1<<64 - 1, AcknowledgedSequence: 1<<64 - 2}
	for _, m := range []RequestMessage{
		&RolloutPublish{
			Mutation: mutation, NodeID: 1<<64 - 1, Name: name, Publication: kind.Publication{
				Payload: payload, Label: string(text), By: kind.ChangeInfo{Author: string(text), Reason: string(text)},
				Compare: true, Expected: 1<<64 - 1, Fence: 1<<64 - 1,
			},
		},
		&RolloutOffer{
			Mutation: mutation, NodeID: 1<<64 - 1, Name: name, Offering: kind.Offering{
				Ticket: 1<<64 - 1, Declined: true, Text: string(text), Payload: payload, Label: string(text),
				Author: string(text),
			},
		},
	} {
		if n := len(request(1<<64-1, m).payload()); uint64(n) > limits.RequestFrameBytes {
			t.Errorf("%s of %d bytes, %d fit", m.Kind(), n, limits.RequestFrameBytes)
		}
	}
	version := exampleVersion()
	version.Payload, version.Label = payload, string(text)
	version.By = kind.ChangeInfo{Author: string(text), Reason: string(text)}
	head := exampleHead()
	page := RolloutDescribeAnswer{Revision: 1<<64 - 1, Next: 1<<64 - 1, Head: AppendRecord(nil, &head)}
	location := exampleLocation()
	for range 8 {
		location.Gates = append(location.Gates, kind.GateState{
			Name: string(name[:MaxWordBytes]), Verdict: kind.Verdict{Text: string(text)}, By: string(text),
			Since: field.At(1<<64-1, 0),
		})
	}
	row := Row{ID: 1<<64 - 1, Body: AppendRecord(nil, &location)}
	for page.Rows.Size() < PageBytes {
		page.Rows.Append(row)
	}
	for _, m := range []AnswerMessage{
		&RolloutPollAnswer{
			Target: RolloutTarget{Generation: 1<<64 - 1, Seq: 1<<64 - 1, Label: text, Payload: payload},
		},
		&RolloutDescribeAnswer{Head: AppendRecord(nil, &version)},
		&page,
	} {
		if n := len(answer(1<<64-1, m).payload()); uint64(n) > limits.AnswerFrameBytes {
			t.Errorf("%s of %d bytes, %d fit", m.Kind(), n, limits.AnswerFrameBytes)
		}
	}
}

// TestTheLargestMessagesOfProcessesFitTheirFrames: a host with data limit 0 still receives and pushes requests, replies
// and results.
func TestTheLargestMessagesOfProcessesFitTheirFrames(t *testing.T) {
	limits := FrameLimits(0)
	const most = 1<<64 - 1
	name, text := bytes.Repeat([]byte("n"), MaxNameBytes), bytes.Repeat([]byte("t"), MaxProcessTextBytes)
	payload := make([]byte, MaxProcessPayloadBytes)
	mutation := Mutation{SessionID: most, Sequence: most, AcknowledgedSequence: most - 1}
	part := Part{MemberID: most, Epoch: most, Ack: most}
	send := &ProcessSend{
		Mutation: mutation, NodeID: most, Name: name, Part: part, Payload: payload, TimeoutMillis: most,
	}
	for range 2000 {
		send.To.Append(most)
	}
	for _, m := range []RequestMessage{
		send,
		&ProcessReply{Mutation: mutation, NodeID: most, Name: name, Part: part, Exchange: most, Data: payload},
		&ProcessComplete{Mutation: mutation, NodeID: most, Name: name, Part: part, Result: payload},
		&ProcessJoin{
			Mutation: mutation, NodeID: most, Name: name, Arrival: process.Arrival{
				Joining: process.Joining{
					Name: string(text), Attributes: payload[:MaxProcessAttributeBytes], Candidate: true,
				},
				Create: true, Spec: exampleProcessSpec(),
			},
		},
	} {
		if n := len(request(most, m).payload()); uint64(n) > limits.RequestFrameBytes {
			t.Errorf("%s of %d bytes, %d fit", m.Kind(), n, limits.RequestFrameBytes)
		}
	}
	member, result := exampleMember(), exampleResult()
	member.Name, member.Attributes, result.Payload = string(text), payload[:MaxProcessAttributeBytes], payload
	head, why := exampleProcessOverview(), exampleProcessReason()
	head.LastAct.By = process.ChangeInfo{Author: string(text), Reason: string(text)}
	head.LastAct.Member = string(text)
	why.Text = strings.Repeat("w", MaxReasonBytes)
	page := &ProcessDescribeAnswer{Revision: most, NowMillis: most, Head: AppendRecord(nil, &head), Next: most}
	for page.Reasons.Len() < 20 {
		page.Reasons.Append(why)
	}
	for page.Reasons.Size()+page.Rows.Size() < PageBytes-1 {
		page.Rows.Append(Row{ID: most, Body: AppendRecord(nil, &member)})
	}
	page.Rows.Append(Row{ID: most, Body: AppendRecord(nil, &result)})
	summary := process.SummaryRow{Since: field.At(most, 0), Summary: process.Summary{
		Name: string(name), Coordinator: string(text), Epoch: most,
	}}
	list := &ProcessListAnswer{Next: name, NowMillis: most}
	for list.Processes.Size() < PageBytes {
		list.Processes.Append(summary)
	}
	for _, m := range []AnswerMessage{page, list} {
		if n := len(answer(most, m).payload()); uint64(n) > limits.AnswerFrameBytes {
			t.Errorf("%s of %d bytes, %d fit", m.Kind(), n, limits.AnswerFrameBytes)
		}
	}
	inbox := &Inbox{SessionID: most, NodeID: most, Name: name, MemberID: most}
	for inbox.Items.Size() < PageBytes-1 {
		inbox.Items.Append(Item{Seq: most, Kind: process.ItemRequest, Epoch: most, Exchange: most, From: most})
	}
	// A push ends with an item: with as many replies as the process rules allow per item, or with one payload.
	end := Item{Seq: most, Kind: process.ItemEnd, Epoch: most, Exchange: most, From: most, Last: true, Missing: most}
	for range 2 {
		end.Replies.Append(Reply{From: most, Data: payload})
	}
	for range 64 {
		end.Missed.Append(most)
	}
	inbox.Items.Append(end)
	if n := len(push(0, inbox).payload()); uint64(n) > limits.AnswerFrameBytes {
		t.Errorf("%s of %d bytes, %d fit", inbox.Kind(), n, limits.AnswerFrameBytes)
	}
}
