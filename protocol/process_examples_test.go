package protocol

// processExamples are the examples of coordination processes.
var processExamples = []example{
	{"process-put", request(60, &ProcessPut{
		Mutation: exampleMutation(21), NodeID: 17, Name: []byte("cache"), Mode: PutEither, ExpectedRevision: 41,
		Spec: exampleProcessSpec(), Author: []byte("ann"), Reason: []byte("five hosts"),
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
		Mutation: exampleMutation(23), NodeID: 17, Name: []byte("cache"), Member: []byte("a.example"),
		Attributes: []byte("rack 4"), Candidate: true, Create: true, Spec: exampleProcessSpec(),
	})},
	{"process-join-observer", request(62, &ProcessJoin{
		Mutation: exampleMutation(24), NodeID: 17, Name: []byte("cache"), Member: []byte("ann"),
	})},
	{"process-join-answer", answer(62, &ProcessJoinAnswer{MemberID: 11})},
	{"process-leave", request(63, &ProcessLeave{
		Mutation: exampleMutation(25), NodeID: 17, Name: []byte("cache"), MemberID: 11,
	})},
	{"process-leave-answer", answer(63, &ProcessLeaveAnswer{})},
	{"process-prepared", request(64, &ProcessPrepared{
		Mutation: exampleMutation(26), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
	})},
	{"process-prepared-answer", answer(64, &ProcessPreparedAnswer{})},
	{"process-prepared-answer-kicked", failure(64, KindProcessPrepared, Result{
		Status: StatusNotFound, Message: "kicked by ann: it hangs; join again",
	})},
	{"process-send", request(65, &ProcessSend{
		Mutation: exampleMutation(27), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
		To: list[OrderID](ptr(OrderID(11)), ptr(OrderID(300))), Payload: []byte("lock"), TimeoutMillis: 5000,
	})},
	{"process-send-all", request(65, &ProcessSend{
		Mutation: exampleMutation(28), NodeID: 17, Name: []byte("cache"), Part: examplePart(), Audience: ToAll,
		Payload: []byte("lock"),
	})},
	{"process-send-answer", answer(65, &ProcessSendAnswer{Exchange: 9})},
	{"process-send-answer-fenced", failure(65, KindProcessSend, Result{
		Status: StatusFenced, Message: "epoch 12 is over, or the member is not of it; the last is 16",
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
	{"process-completed", request(68, &ProcessCompleted{
		Mutation: exampleMutation(32), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
	})},
	{"process-completed-answer", answer(68, &ProcessCompletedAnswer{})},
	{"process-fail", request(69, &ProcessFail{
		Mutation: exampleMutation(33), NodeID: 17, Name: []byte("cache"), Part: examplePart(),
		Text: []byte("two of five refuse"),
	})},
	{"process-fail-answer", answer(69, &ProcessFailAnswer{})},
	{"inbox-ack", request(70, &InboxAck{
		Mutation: exampleMutation(34), NodeID: 17, Name: []byte("cache"), MemberID: 11, Ack: 7,
	})},
	{"inbox-ack-answer", answer(70, &InboxAckAnswer{})},
	{"process-act", request(71, &ProcessAct{
		Mutation: exampleMutation(35), NodeID: 17, Name: []byte("cache"), Verb: ProcessKick, MemberID: 11,
		Author: []byte("ann"), Reason: []byte("it hangs"),
	})},
	{"process-act-answer", answer(71, &ProcessActAnswer{})},
	{"process-describe", request(72, &ProcessDescribe{
		NodeID: 17, Name: []byte("cache"), Part: []byte("results"), After: 25, Limit: 100, Why: true,
		Consistency: ConsistencyStrict,
	})},
	{"process-describe-answer", answer(72, &ProcessDescribeAnswer{
		Revision: 42, NowMillis: 81_000, Head: AppendRecord(nil, ptr(exampleProcessHead())), Rows: exampleProcessRows(),
		Next: 25, Reasons: list[ProcessReason](ptr(exampleProcessReason())),
	})},
	{"process-list", request(73, &ProcessList{
		NodeID: 17, ShardID: 2, Prefix: []byte("c"), After: []byte("cache"), Limit: 100, Consistency: ConsistencyStrict,
	})},
	{"process-list-answer", answer(73, &ProcessListAnswer{
		Processes: list[ProcessSummary](&ProcessSummary{
			Name: []byte("cache"), Revision: 42, Epoch: 12, State: ProcessIsPreparing, Members: 3, Prepared: 2,
			LastResult: 8, Coordinator: []byte("a.example"), Since: 80_001,
		}),
		Next: []byte("cache"), NowMillis: 81_000,
	})},
	{"inbox-open", request(74, &InboxOpen{
		SessionID: exampleSession, NodeID: 17, Name: []byte("cache"), MemberID: 11, After: 6,
	})},
	{"inbox-open-answer", answer(74, &InboxOpenAnswer{Acked: 7, LastSeq: 9})},
	{"inbox", push(0, exampleInbox(
		&Item{Seq: 7, Kind: ItemCancel, Epoch: 8},
		&Item{Seq: 8, Kind: ItemPrepare, Epoch: 12, Members: 3, Coordinator: 11},
		&Item{Seq: 9, Kind: ItemCoordinate, Epoch: 12},
		&Item{Seq: 10, Kind: ItemRequest, Epoch: 12, Exchange: 9, From: 11, Payload: []byte("lock")},
		&Item{Seq: 12, Kind: ItemComplete, Epoch: 12, Payload: []byte("done")},
	))},
	{"inbox-replies", push(0, exampleInbox(&Item{
		Seq: 11, Kind: ItemEnd, Epoch: 12, Exchange: 9, From: 11, Outcome: OutcomeLate,
		Replies: list[Reply](
			&Reply{From: 11, Data: []byte("locked")}, &Reply{From: 300, Failed: true, Data: []byte("the disk is full")},
		),
		Last: true, Missing: 2, Missed: list[OrderID](ptr(OrderID(301)), ptr(OrderID(302))),
	}))},
	{"inbox-end", push(0, &Inbox{
		SessionID: exampleSession, NodeID: 17, Name: []byte("cache"), MemberID: 11,
		End: Result{Status: StatusNotFound, Message: "kicked by ann: it hangs; join again"},
	})},
}

func exampleInbox(items ...*Item) *Inbox {
	return &Inbox{
		SessionID: exampleSession, NodeID: 17, Name: []byte("cache"), MemberID: 11, Items: list[Item](items...),
	}
}

func exampleProcessSpec() ProcessSpec {
	return ProcessSpec{
		OpenMillis: 200, OpenMostMillis: 3000, MinMembers: 3, ReplyMillis: 10_000, OnTimeout: TimeoutKick,
		PayloadBytes: 4096, KeepResults: 4,
	}
}

func examplePart() Part { return Part{MemberID: 11, Epoch: 12, Ack: 7} }

func exampleProcessHead() ProcessHead {
	return ProcessHead{
		Spec: exampleProcessSpec(), SpecRevision: 41, Epoch: 12, State: ProcessIsRunning, Since: 80_101, Opened: 80_001,
		OpensMillis: 82_000, Coordinator: 11, Members: 4, Of: 3, LastResult: 8, LastAct: exampleProcessAct(),
	}
}

func exampleProcessAct() ProcessActRow {
	return ProcessActRow{
		Verb: ProcessKick, Moment: 79_001, WallMillis: exampleTime, Epoch: 8, MemberID: 10, Member: []byte("b.example"),
		Author: []byte("ann"), Reason: []byte("it hangs"),
	}
}

func exampleMember() ProcessMember {
	return ProcessMember{
		Name: []byte("a.example"), SessionID: exampleSession, Candidate: true, Joined: 70_001, Of: true, Prepared: 12,
		Completed: 8, Unread: 2, Attributes: []byte("rack 4"),
	}
}

func exampleResult() ProcessResult {
	return ProcessResult{
		Epoch: 8, Moment: 75_001, WallMillis: exampleTime, PayloadBytes: 4, Payload: []byte("done"),
	}
}

func exampleProcessRows() Rows {
	member, result := exampleMember(), exampleResult()
	return list[Row](
		&Row{ID: 8<<1 | 1, Body: AppendRecord(nil, &result)},
		&Row{ID: 11 << 1, Body: AppendRecord(nil, &member)},
	)
}

func exampleProcessReason() ProcessReason {
	return ProcessReason{
		Code: []byte("reply"), Text: []byte("exchange 9 waits for 1 of 3: b.example (300), for 41s"),
		Blocked: true, Epoch: 12, Exchange: 9, From: 11, Waiting: 1, Of: 3, Named: list[OrderID](ptr(OrderID(300))),
		Since: 40_000, Until: 86_000, Late: true,
	}
}
