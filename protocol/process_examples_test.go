package protocol

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/process"
)

// processExamples are the examples for coordination processes.
var processExamples = []example{
	{"process-put", request(60, &ProcessPut{
		Mutation: exampleMutation(21), NodeID: 17, Name: []byte("cache"), Put: process.Put{
			Mode: field.PutEither, ExpectedRevision: 41, Spec: exampleProcessSpec(),
			By: process.ChangeInfo{Author: "ann", Reason: "five hosts"},
		},
	})},
	{"process-put-answer", answer(60, &ProcessPutAnswer{Revision: 42, Created: true})},
	{"process-delete", request(61, &ProcessDelete{
		Mutation: exampleMutation(22), NodeID: 17, Name: []byte("cache"), Force: true,
	})},
	{"process-delete-answer", answer(61, &ProcessDeleteAnswer{})},
	{"process-delete-answer-members", failure(61, KindProcessDelete, Result{
		Status: StatusPreconditionFailed, Message: "3 members have joined; delete with force",
	})},
	{"process-join", request(62, &ProcessJoin{
		Mutation: exampleMutation(23), NodeID: 17, Name: []byte("cache"), Arrival: process.Arrival{
			Joining: process.Joining{Name: "a.example", Attributes: []byte("rack 4"), Candidate: true},
			Create:  true, Spec: exampleProcessSpec(),
		},
	})},
	{"process-join-observer", request(62, &ProcessJoin{
		Mutation: exampleMutation(24), NodeID: 17, Name: []byte("cache"),
		Arrival: process.Arrival{Joining: process.Joining{Name: "ann"}},
	})},
	{"process-join-answer", answer(62, &ProcessJoinAnswer{MemberID: 11})},
	{"process-leave", request(63, &ProcessLeave{
		Mutation: exampleMutation(25), NodeID: 17, Name: []byte("cache"), MemberID: 11,
	})},
	{"process-leave-answer", answer(63, &ProcessLeaveAnswer{})},
	{"process-prepare-ack", request(64, &ProcessPrepareAck{
		Mutation: exampleMutation(26), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
	})},
	{"process-prepare-ack-answer", answer(64, &ProcessPrepareAckAnswer{})},
	{"process-prepare-ack-answer-evicted", failure(64, KindProcessPrepareAck, Result{
		Status: StatusNotFound, Message: "evicted by ann: it hangs; join again",
	})},
	{"process-send", request(65, &ProcessSend{
		Mutation: exampleMutation(27), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
		To: list[OrderID](ptr(OrderID(11)), ptr(OrderID(300))), Payload: []byte("lock"), TimeoutMillis: 5000,
	})},
	{"process-send-all", request(65, &ProcessSend{
		Mutation: exampleMutation(28), NodeID: 17, Name: []byte("cache"), Part: examplePart(), Audience: process.ToAll,
		Payload: []byte("lock"),
	})},
	{"process-send-answer", answer(65, &ProcessSendAnswer{Exchange: 9})},
	{"process-send-answer-fenced", failure(65, KindProcessSend, Result{
		Status: StatusFenced, Message: "epoch 12 is over, or the member does not belong to the epoch; " +
			"the last epoch is 16",
	})},
	{"process-reply", request(66, &ProcessReply{
		Mutation: exampleMutation(29), NodeID: 17, Name: []byte("cache"), Part: examplePart(), Exchange: 9,
		Data: []byte("locked"),
	})},
	{"process-reply-failed", request(66, &ProcessReply{
		Mutation: exampleMutation(30), NodeID: 17, Name: []byte("cache"), Part: examplePart(), Exchange: 9,
		Failed: true, Data: []byte("the disk is full"),
	})},
	{"process-reply-answer", answer(66, &ProcessReplyAnswer{})},
	{"process-complete", request(67, &ProcessComplete{
		Mutation: exampleMutation(31), NodeID: 17, Name: []byte("cache"), Part: examplePart(), Result: []byte("done"),
	})},
	{"process-complete-answer", answer(67, &ProcessCompleteAnswer{})},
	{"process-complete-ack", request(68, &ProcessCompleteAck{
		Mutation: exampleMutation(32), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
	})},
	{"process-complete-ack-answer", answer(68, &ProcessCompleteAckAnswer{})},
	{"process-fail", request(69, &ProcessFail{
		Mutation: exampleMutation(33), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
		Text: []byte("two of five refuse"),
	})},
	{"process-fail-answer", answer(69, &ProcessFailAnswer{})},
	{"inbox-ack", request(70, &InboxAck{
		Mutation: exampleMutation(34), NodeID: 17, Name: []byte("cache"), MemberID: 11, Ack: 7,
	})},
	{"inbox-ack-answer", answer(70, &InboxAckAnswer{})},
	{"process-action", request(71, &ProcessAction{
		Mutation: exampleMutation(35), NodeID: 17, Name: []byte("cache"), Action: process.Action{
			Kind: process.ActionEvict, MemberID: 11, By: process.ChangeInfo{Author: "ann", Reason: "it hangs"},
		},
	})},
	{"process-action-answer", answer(71, &ProcessActionAnswer{})},
	{"process-describe", request(72, &ProcessDescribe{SectionRequest: SectionRequest{
		NodeID: 17, Name: []byte("cache"), Section: []byte("results"), After: 25, Limit: 100, Explain: true,
		Consistency: ConsistencyStrict,
	}})},
	{"process-describe-generation", request(72, &ProcessDescribe{SectionRequest: SectionRequest{
		NodeID: 17, Name: []byte("cache"), Generation: 3,
	}})},
	{"process-describe-answer", answer(72, &ProcessDescribeAnswer{
		Revision: 42, NowMillis: 81_000, Head: AppendRecord(nil, ptr(exampleProcessOverview())),
		Rows: exampleProcessRows(),
		Next: 25, Reasons: views(exampleProcessReason()),
	})},
	{"process-list", request(73, &ProcessList{ListRequest: ListRequest{
		NodeID: 17, ShardID: 2, Prefix: []byte("c"), After: []byte("cache"), Limit: 100, Consistency: ConsistencyStrict,
	}})},
	{"process-list-slots", request(73, &ProcessList{ListRequest: ListRequest{
		NodeID: 17, ShardID: 2, ListSlots: exampleListSlots(),
	}})},
	{"process-list-answer-missing", answer(73, &ProcessListAnswer{NowMillis: 81_000, Missing: exampleSlots()})},
	{"process-list-answer", answer(73, &ProcessListAnswer{
		Processes: views(process.SummaryRow{Since: field.At(80_001, 0), Summary: process.Summary{
			Name: "cache", Revision: 42, Epoch: 12, Phase: process.Preparing, Members: 3, Prepared: 2, LastResult: 8,
			Coordinator: "a.example",
		}}),
		Next: []byte("cache"), NowMillis: 81_000,
	})},
	{"inbox-open", request(74, &InboxOpen{
		SessionID: exampleSession, NodeID: 17, Name: []byte("cache"), MemberID: 11, After: 6,
	})},
	{"inbox-open-answer", answer(74, &InboxOpenAnswer{Acked: 7, LastSeq: 9})},
	{"inbox", push(0, exampleInbox(
		&Item{Seq: 7, Kind: process.ItemCancel, Epoch: 8},
		&Item{Seq: 8, Kind: process.ItemPrepare, Epoch: 12, Members: 3, Coordinator: 11},
		&Item{Seq: 9, Kind: process.ItemCoordinate, Epoch: 12},
		&Item{Seq: 10, Kind: process.ItemRequest, Epoch: 12, Exchange: 9, From: 11, Payload: []byte("lock")},
		&Item{Seq: 12, Kind: process.ItemComplete, Epoch: 12, Payload: []byte("done")},
	))},
	{"inbox-replies", push(0, exampleInbox(&Item{
		Seq: 11, Kind: process.ItemEnd, Epoch: 12, Exchange: 9, From: 11, Outcome: process.OutcomeLate,
		Replies: list[Reply](
			&Reply{From: 11, Data: []byte("locked")}, &Reply{From: 300, Failed: true, Data: []byte("the disk is full")},
		),
		Last: true, Missing: 2, Missed: list[OrderID](ptr(OrderID(301)), ptr(OrderID(302))),
	}))},
	{"inbox-end", push(0, &Inbox{
		SessionID: exampleSession, NodeID: 17, Name: []byte("cache"), MemberID: 11,
		End: Result{Status: StatusNotFound, Message: "evicted by ann: it hangs; join again"},
	})},
}

func exampleInbox(items ...*Item) *Inbox {
	return &Inbox{
		SessionID: exampleSession, NodeID: 17, Name: []byte("cache"), MemberID: 11, Items: list[Item](items...),
	}
}

func exampleProcessSpec() process.Spec {
	return process.Spec{
		OpenDelay: 200 * time.Millisecond, MaxOpenDelay: 3 * time.Second, MinMembers: 3, ReplyTimeout: 10 * time.Second,
		OnTimeout: process.TimeoutEvict, MaxPayload: 4096, KeepResults: 4,
	}
}

func examplePart() Part { return Part{MemberID: 11, Epoch: 12, Ack: 7} }

func exampleProcessOverview() process.Overview {
	return process.Overview{
		Spec: exampleProcessSpec(), SpecRevision: 41, Epoch: 12, Phase: process.Running, Since: field.At(80_101, 0),
		Opened: field.At(80_001, 0), Opening: true, Opens: field.Duration(82_000), Coordinator: 11, Members: 4, Of: 3,
		LastResult: 8, LastAct: exampleProcessAct(),
	}
}

func exampleProcessAct() process.ActionRecord {
	return process.ActionRecord{
		Kind: process.ActionEvict, At: field.At(79_001, exampleTime), Epoch: 8, MemberID: 10, Member: "b.example",
		By: process.ChangeInfo{Author: "ann", Reason: "it hangs"},
	}
}

func exampleMember() process.MemberState {
	return process.MemberState{
		Peer: process.Peer{
			Name: "a.example", SessionID: exampleSession, Candidate: true, Attributes: []byte("rack 4"),
		},
		Joined: field.At(70_001, 0), Of: true, Prepared: 12, Completed: 8, Unread: 2,
	}
}

func exampleResult() process.ResultRow {
	return process.ResultRow{
		Result: process.Result{Epoch: 8, At: field.At(75_001, exampleTime), Size: 4}, Payload: []byte("done"),
	}
}

func exampleProcessRows() Rows {
	member, result := exampleMember(), exampleResult()
	return list[Row](
		&Row{ID: 8<<1 | 1, Body: AppendRecord(nil, &result)},
		&Row{ID: 11 << 1, Body: AppendRecord(nil, &member)},
	)
}

func exampleProcessReason() process.BlockReason {
	return process.BlockReason{
		Code: "awaiting-reply", Text: "exchange 9 waits for 1 of 3: b.example (300), for 41s", Blocked: true, Epoch: 12,
		Exchange: 9, From: 11, Waiting: 1, Of: 3, Named: []uint64{300}, Since: field.At(40_000, 0),
		Left: field.Duration(86_000), Late: true,
	}
}
