package protocol

// rolloutExamples are the examples of rollouts.
var rolloutExamples = []example{
	{"rollout-put", request(40, &RolloutPut{
		Mutation: exampleMutation(7), NodeID: 17, Name: []byte("dns"), Mode: PutEither, ExpectedRevision: 41,
		Spec: exampleSpec(), Author: []byte("ann"), Reason: []byte("three rooms"),
	})},
	{"rollout-put-answer", answer(40, &RolloutPutAnswer{Revision: 42, Created: true})},
	{"rollout-put-answer-bad", failure(40, KindRolloutPut, Result{
		Status: StatusBadRequest, Message: "two locations are called sas",
	})},
	{"rollout-delete", request(41, &RolloutDelete{
		Mutation: exampleMutation(8), NodeID: 17, Name: []byte("dns"), Force: true,
	})},
	{"rollout-delete-answer", answer(41, &RolloutDeleteAnswer{})},
	{"rollout-publish", request(42, &RolloutPublish{
		Mutation: exampleMutation(9), NodeID: 17, Name: []byte("dns"), Payload: []byte("zone 9554"),
		Label: []byte("r9554"), Author: []byte("ann"), Reason: []byte("YP-1"), Compare: true, ExpectedSeq: 6,
		Fence: 81_300,
	})},
	{"rollout-publish-answer", answer(42, &RolloutPublishAnswer{Seq: 7})},
	{"rollout-source", request(43, &RolloutSource{
		Mutation: exampleMutation(10), NodeID: 17, Name: []byte("dns"), Source: []byte("yp-1"),
	})},
	{"rollout-source-off", request(43, &RolloutSource{
		Mutation: exampleMutation(11), NodeID: 17, Name: []byte("dns"), Off: true,
	})},
	{"rollout-source-answer", answer(43, &RolloutSourceAnswer{SourceID: 12})},
	{"rollout-offer", request(44, &RolloutOffer{
		Mutation: exampleMutation(12), NodeID: 17, Name: []byte("dns"), Ticket: 3, Payload: []byte("zone 9555"),
		Label: []byte("r9555"), Author: []byte("yp-1"),
	})},
	{"rollout-offer-declined", request(44, &RolloutOffer{
		Mutation: exampleMutation(13), NodeID: 17, Name: []byte("dns"), Ticket: 4, Declined: true,
		Text: []byte("nothing has changed"),
	})},
	{"rollout-offer-answer", answer(44, &RolloutOfferAnswer{Seq: 8})},
	{"rollout-join", request(45, &RolloutJoin{
		Mutation: exampleMutation(14), NodeID: 17, Name: []byte("dns"), Instance: []byte("a.sas.example"),
		Location: []byte("sas"), Attributes: []byte("rack 4"),
	})},
	{"rollout-join-answer", answer(45, &RolloutJoinAnswer{InstanceID: 11})},
	{"rollout-join-answer-exists", failure(45, KindRolloutJoin, Result{
		Status: StatusAlreadyExists, Message: "session 9 has joined as a.sas.example",
	})},
	{"rollout-leave", request(46, &RolloutLeave{Mutation: exampleMutation(15), NodeID: 17, Name: []byte("dns")})},
	{"rollout-leave-answer", answer(46, &RolloutLeaveAnswer{})},
	{"rollout-role", request(47, &RolloutRole{
		Mutation: exampleMutation(16), NodeID: 17, Name: []byte("dns"), Leader: true,
	})},
	{"rollout-role-answer", answer(47, &RolloutRoleAnswer{})},
	{"rollout-report", request(48, &RolloutReport{
		Mutation: exampleMutation(17), NodeID: 17, Name: []byte("dns"), Report: exampleReport(),
	})},
	{"rollout-report-answer", answer(48, &RolloutReportAnswer{})},
	{"rollout-ask", request(49, &RolloutAsk{
		Mutation: exampleMutation(18), NodeID: 17, Name: []byte("dns"), Report: exampleReport(),
	})},
	{"rollout-ask-answer", answer(49, &RolloutAskAnswer{
		Target: exampleTarget(), NextInMillis: 5000,
	})},
	{"rollout-ask-answer-gone", answer(49, &RolloutAskAnswer{
		Target: RolloutTarget{Generation: 5, Seq: 3}, Gone: true,
	})},
	{"rollout-act", request(50, &RolloutAct{
		Mutation: exampleMutation(19), NodeID: 17, Name: []byte("dns"), Act: exampleAct(),
	})},
	{"rollout-act-answer", answer(50, &RolloutActAnswer{Generation: 14})},
	{"rollout-gate", request(51, &RolloutGate{
		Mutation: exampleMutation(20), NodeID: 17, Name: []byte("dns"), Location: []byte("man"), Gate: []byte("errors"),
		Seq: 7, Generation: 13, Verdict: VerdictFailed, By: []byte("watchdog"), Text: []byte("3 % of answers fail"),
	})},
	{"rollout-gate-answer", answer(51, &RolloutGateAnswer{})},
	{"rollout-describe", request(52, &RolloutDescribe{
		NodeID: 17, Name: []byte("dns"), Part: []byte("history/sas"), After: 9, Limit: 100, Why: true,
		Consistency: ConsistencyStrict,
	})},
	{"rollout-describe-answer", answer(52, &RolloutDescribeAnswer{
		Revision: 42, NowMillis: 81_000, Phase: PhaseBlocked,
		Head: AppendRecord(nil, ptr(exampleHead())), Rows: exampleRolloutRows(), Next: 29,
		Reasons: list[Reason](&Reason{
			Code: []byte("leaders"), Text: []byte("man waits for 1 of 2 leaders: b.man (updating 41 s, attempt 3)"),
			Location: []byte("man"), Seq: 7, Waiting: 1, Of: 2, Named: list[Label](ptr(Label("b.man"))), Since: 40_000,
		}, &Reason{
			Code: []byte("delay"), Text: []byte("vla gets version 7 when its delay is over"), Location: []byte("vla"),
			Seq: 7, Until: 86_000,
		}),
	})},
	{"rollout-list", request(53, &RolloutList{
		NodeID: 17, ShardID: 2, Prefix: []byte("d"), After: []byte("dns"), Limit: 100, Consistency: ConsistencyStrict,
	})},
	{"rollout-list-answer", answer(53, &RolloutListAnswer{
		Rollouts: list[RolloutSummary](&RolloutSummary{
			Name: []byte("dns"), Revision: 42, Phase: PhaseRolling, Locations: 3, Reached: 1, Instances: 9, LastSeq: 7,
			Label: []byte("r9554"),
		}),
		Next: []byte("dns"),
	})},
	{"rollout-plan", request(54, &RolloutPlan{
		NodeID: 17, Name: []byte("dns"), TakesMillis: 60_000, Publish: true, Act: exampleAct(),
		Consistency: ConsistencyStrict,
	})},
	{"rollout-plan-answer", answer(54, &RolloutPlanAnswer{
		NowMillis: 81_000, Steps: list[PlannedStep](
			&PlannedStep{AtMillis: 81_000, Location: []byte("sas"), Seq: 8, Cause: CauseNext},
			&PlannedStep{AtMillis: 146_001, Location: []byte("man"), Seq: 8, Cause: CauseNext},
		),
	})},
}

func exampleSpec() RolloutSpec {
	return RolloutSpec{
		Locations: list[LocationSpec](
			&LocationSpec{Name: []byte("sas")},
			ptr(exampleLocationSpec()),
		),
		DelayFrom: DelayFromAssigned, Versions: VersionsAsked,
		Reelect: ReelectSpec{
			Codes:       list[Word](ptr(Word("timestamp-out-of-range")), ptr(Word("gone"))),
			AfterMillis: 60_000, Attempts: 3, IntervalMillis: 10_000, Most: 5,
		},
		ProgressMillis: 600_000, HaltMillis: 3_600_000, KeepVersions: 64, AskMillis: 1000,
	}
}

func exampleLocationSpec() LocationSpec {
	return LocationSpec{
		Name: []byte("man"), DelayMillis: 5000, Require: 2, MaxFailing: 1, Gates: list[Word](ptr(Word("errors"))),
	}
}

func exampleReport() InstanceReport {
	return InstanceReport{
		Current: 6, Generation: 13, Status: InstanceFailed, Code: []byte("timestamp-out-of-range"),
		Text: []byte("the source has forgotten 1554"), Attempts: 4,
	}
}

func exampleTarget() RolloutTarget {
	return RolloutTarget{Generation: 13, Seq: 7, Label: []byte("r9554"), Payload: []byte("zone 9554")}
}

func exampleAct() Act {
	return Act{
		Verb: VerbRollback, Locations: list[Word](ptr(Word("sas")), ptr(Word("man"))), Seq: 6, Fast: true,
		Author: []byte("ann"), Reason: []byte("answers are wrong"),
	}
}

func exampleStop() RolloutStop {
	return RolloutStop{
		Since: 80_001, Reason: HaltReelections, Location: []byte("sas"), Author: []byte("ann"),
		Text: []byte("5 in a row"),
	}
}

func exampleActRow() RolloutActRow {
	return RolloutActRow{Number: 3, Moment: 80_001, WallMillis: exampleTime, Act: exampleAct()}
}

func exampleHead() RolloutHead {
	return RolloutHead{
		Spec: exampleSpec(), SpecRevision: 41, LastSeq: 7, Generation: 13, Paused: exampleStop(), Halted: exampleStop(),
		Sources: list[Label](ptr(Label("yp-1")), ptr(Label("yp-2"))), Declined: []byte("nothing has changed"),
		LastAct: exampleActRow(),
	}
}

func exampleTargetRow() TargetRow {
	return TargetRow{
		Seq: 7, Generation: 13, Assigned: 70_001, Reached: 75_001, Abandoned: 80_001, Cause: CauseReelection,
		Waived: true, Note: []byte("a.sas: timestamp-out-of-range"), AssignedWallMillis: exampleTime,
		ReachedWallMillis: exampleTime + 5000, AbandonedWallMillis: exampleTime + 10_000,
	}
}

func exampleCounts() InstanceCounts {
	return InstanceCounts{Instances: 9, Leaders: 8, Reached: 7, Failing: 1}
}

func exampleLocation() RolloutLocation {
	return RolloutLocation{
		Place: 1, Spec: exampleLocationSpec(), InheritedMillis: 5000, Target: exampleTargetRow(),
		Gates: list[GateState](&GateState{
			Name: []byte("errors"), Verdict: VerdictInconclusive, By: []byte("watchdog"),
			Text: []byte("too few answers"), Since: 79_001,
		}),
		Counts: exampleCounts(), Bypassed: true, Back: 6, Stuck: true, Reelections: 2,
	}
}

func exampleVersion() RolloutVersion {
	return RolloutVersion{
		Seq: 7, Published: 70_001, WallMillis: exampleTime, Withdrawn: true, PayloadBytes: 9, Label: []byte("r9554"),
		Author: []byte("ann"), Reason: []byte("YP-1"), AbandonedIn: list[Word](ptr(Word("sas"))),
		Payload: []byte("zone 9554"),
	}
}

func exampleInstance() RolloutInstance {
	return RolloutInstance{
		Name: []byte("a.sas.example"), SessionID: exampleSession, Leader: true, Report: exampleReport(), Since: 79_001,
		Sent: 13, Received: 70_002, Attributes: []byte("rack 4"),
	}
}

func exampleRolloutRows() Rows {
	location, version := exampleLocation(), exampleVersion()
	return list[Row](
		&Row{ID: 2 << 2, Body: AppendRecord(nil, &location)},
		&Row{ID: 7<<2 | 1, Body: AppendRecord(nil, &version)},
	)
}
