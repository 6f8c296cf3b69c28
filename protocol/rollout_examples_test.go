package protocol

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// rolloutExamples are the examples for rollouts.
var rolloutExamples = []example{
	{"rollout-put", request(40, &RolloutPut{
		Mutation: exampleMutation(7), NodeID: 17, Name: []byte("dns"), Put: kind.Put{
			Mode: field.PutEither, ExpectedRevision: 41, Spec: exampleSpec(),
			By: kind.ChangeInfo{Author: "ann", Reason: "three rooms"},
		},
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
		Mutation: exampleMutation(9), NodeID: 17, Name: []byte("dns"), Publication: kind.Publication{
			Payload: []byte("zone 9554"), Label: "r9554", By: kind.ChangeInfo{Author: "ann", Reason: "YP-1"},
			Compare:  true,
			Expected: 6, Fence: 81_300,
		},
	})},
	{"rollout-publish-answer", answer(42, &RolloutPublishAnswer{Seq: 7})},
	{"rollout-source", request(43, &RolloutSource{
		Mutation: exampleMutation(10), NodeID: 17, Name: []byte("dns"), SourceRole: kind.SourceRole{Name: "yp-1"},
	})},
	{"rollout-source-unregister", request(43, &RolloutSource{
		Mutation: exampleMutation(11), NodeID: 17, Name: []byte("dns"), SourceRole: kind.SourceRole{Off: true},
	})},
	{"rollout-source-answer", answer(43, &RolloutSourceAnswer{SourceID: 12})},
	{"rollout-offer", request(44, &RolloutOffer{
		Mutation: exampleMutation(12), NodeID: 17, Name: []byte("dns"), Offering: kind.Offering{
			Ticket: 3, Payload: []byte("zone 9555"), Label: "r9555", Author: "yp-1",
		},
	})},
	{"rollout-offer-declined", request(44, &RolloutOffer{
		Mutation: exampleMutation(13), NodeID: 17, Name: []byte("dns"), Offering: kind.Offering{
			Ticket: 4, Declined: true, Text: "nothing has changed",
		},
	})},
	{"rollout-offer-answer", answer(44, &RolloutOfferAnswer{Seq: 8})},
	{"rollout-join", request(45, &RolloutJoin{
		Mutation: exampleMutation(14), NodeID: 17, Name: []byte("dns"), Instance: kind.Instance{
			Name: "a.sas.example", Location: "sas", Attributes: []byte("rack 4"),
		},
	})},
	{"rollout-join-answer", answer(45, &RolloutJoinAnswer{InstanceID: 11})},
	{"rollout-join-answer-exists", failure(45, KindRolloutJoin, Result{
		Status: StatusAlreadyExists, Message: "session 9 has joined as a.sas.example",
	})},
	{"rollout-leave", request(46, &RolloutLeave{Mutation: exampleMutation(15), NodeID: 17, Name: []byte("dns")})},
	{"rollout-leave-answer", answer(46, &RolloutLeaveAnswer{})},
	{"rollout-ready", request(47, &RolloutReady{
		Mutation: exampleMutation(16), NodeID: 17, Name: []byte("dns"), Leader: true,
	})},
	{"rollout-ready-answer", answer(47, &RolloutReadyAnswer{})},
	{"rollout-report", request(48, &RolloutReport{
		Mutation: exampleMutation(17), NodeID: 17, Name: []byte("dns"), Report: exampleReport(),
	})},
	{"rollout-report-answer", answer(48, &RolloutReportAnswer{})},
	{"rollout-poll", request(49, &RolloutPoll{
		Mutation: exampleMutation(18), NodeID: 17, Name: []byte("dns"), Report: exampleReport(),
	})},
	{"rollout-poll-answer", answer(49, &RolloutPollAnswer{
		Target: exampleTarget(), NextInMillis: 5000,
	})},
	{"rollout-poll-answer-gone", answer(49, &RolloutPollAnswer{
		Target: RolloutTarget{Generation: 5, Seq: 3}, Gone: true,
	})},
	{"rollout-action", request(50, &RolloutAction{
		Mutation: exampleMutation(19), NodeID: 17, Name: []byte("dns"), Action: exampleAct(),
	})},
	{"rollout-action-answer", answer(50, &RolloutActionAnswer{Generation: 14})},
	{"rollout-gate-report", request(51, &RolloutGateReport{
		Mutation: exampleMutation(20), NodeID: 17, Name: []byte("dns"), GateReport: kind.GateReport{
			Location: "man", Gate: "errors", Seq: 7, Generation: 13,
			Verdict: kind.Verdict{Result: kind.GateFailed, Text: "3 % of answers fail"}, By: "watchdog",
		},
	})},
	{"rollout-gate-report-answer", answer(51, &RolloutGateReportAnswer{})},
	{"rollout-describe", request(52, &RolloutDescribe{SectionRequest: SectionRequest{
		NodeID: 17, Name: []byte("dns"), Section: []byte("history/sas"), After: 9, Limit: 100, Explain: true,
		Consistency: ConsistencyStrict,
	}})},
	{"rollout-describe-generation", request(52, &RolloutDescribe{SectionRequest: SectionRequest{
		NodeID: 17, Name: []byte("dns"), Generation: 3,
	}})},
	{"rollout-describe-answer", answer(52, &RolloutDescribeAnswer{
		Revision: 42, NowMillis: 81_000, Phase: kind.Blocked,
		Head: AppendRecord(nil, ptr(exampleHead())), Rows: exampleRolloutRows(), Next: 29,
		Reasons: views(kind.BlockReason{
			Code: "leaders", Text: "man waits for 1 of 2 leaders: b.man (updating 41 s, attempt 3)", Location: "man",
			Seq: 7, Waiting: 1, Of: 2, Named: []string{"b.man"}, Since: field.At(40_000, 0),
		}, kind.BlockReason{
			Code: "delay", Text: "vla gets version 7 when its delay is over", Location: "vla", Seq: 7,
			Left: 86 * time.Second,
		}),
	})},
	{"rollout-list", request(53, &RolloutList{ListRequest: ListRequest{
		NodeID: 17, ShardID: 2, Prefix: []byte("d"), After: []byte("dns"), Limit: 100, Consistency: ConsistencyStrict,
	}})},
	{"rollout-list-slots", request(53, &RolloutList{ListRequest: ListRequest{
		NodeID: 17, ShardID: 2, ListSlots: exampleListSlots(),
	}})},
	{"rollout-list-answer-missing", answer(53, &RolloutListAnswer{Missing: exampleSlots()})},
	{"rollout-list-answer", answer(53, &RolloutListAnswer{
		Rollouts: views(kind.Summary{
			Name: "dns", Revision: 42, Phase: kind.Rolling, Locations: 3, Reached: 1, Instances: 9, LastSeq: 7,
			Label: "r9554",
		}),
		Next: []byte("dns"),
	})},
	{"rollout-plan", request(54, &RolloutPlan{
		NodeID: 17, Name: []byte("dns"), TakesMillis: 60_000, Publish: true, Action: exampleAct(),
		Consistency: ConsistencyStrict,
	})},
	{"rollout-plan-answer", answer(54, &RolloutPlanAnswer{
		NowMillis: 81_000, Steps: views(
			kind.Step{After: 81 * time.Second, Location: "sas", Seq: 8, Cause: kind.CauseNext},
			kind.Step{After: 146_001 * time.Millisecond, Location: "man", Seq: 8, Cause: kind.CauseNext},
		),
	})},
}

func exampleSpec() kind.Spec {
	return kind.Spec{
		Locations: []kind.Location{{Name: "sas"}, exampleLocationSpec()},
		DelayFrom: kind.FromAssigned, Versions: kind.Asked,
		Reelect: kind.Reelect{
			Codes: []string{"timestamp-out-of-range", "gone"}, After: time.Minute, Attempts: 3,
			Interval: 10 * time.Second, Most: 5,
		},
		ProgressDeadline: 10 * time.Minute, HaltDeadline: time.Hour, KeepVersions: 64, AskInterval: time.Second,
	}
}

func exampleLocationSpec() kind.Location {
	return kind.Location{
		Name: "man", Delay: 5 * time.Second, Require: 2, MaxFailing: 1, Gates: []string{"errors"},
	}
}

func exampleReport() InstanceReport {
	return InstanceReport{
		Current: 6, Generation: 13, Status: kind.Failed, Code: []byte("timestamp-out-of-range"),
		Text: []byte("the source has forgotten 1554"), Attempts: 4,
	}
}

func exampleTarget() RolloutTarget {
	return RolloutTarget{Generation: 13, Seq: 7, Label: []byte("r9554"), Payload: []byte("zone 9554")}
}

func exampleAct() kind.Action {
	return kind.Action{
		Kind: kind.Rollback, Locations: []string{"sas", "man"}, Seq: 6, Fast: true,
		By: kind.ChangeInfo{Author: "ann", Reason: "answers are wrong"},
	}
}

func exampleStop() kind.Halt {
	return kind.Halt{
		Since: field.At(80_001, 0), Reason: kind.HaltedReelections, Location: "sas",
		By: kind.ChangeInfo{Author: "ann", Reason: "5 in a row"},
	}
}

func exampleActRow() kind.ActionRecord {
	return kind.ActionRecord{Action: exampleAct(), ID: 3, At: field.At(80_001, exampleTime)}
}

func exampleHead() kind.State {
	return kind.State{
		Spec: exampleSpec(), SpecRevision: 41, LastSeq: 7, Generation: 13, Paused: exampleStop(), Halted: exampleStop(),
		Sources: []string{"yp-1", "yp-2"}, Declined: "nothing has changed", LastAct: exampleActRow(),
	}
}

func exampleTargetRow() kind.Row {
	return kind.Row{
		Seq: 7, Generation: 13, Assigned: field.At(70_001, exampleTime), Reached: field.At(75_001, exampleTime+5000),
		Abandoned: field.At(80_001, exampleTime+10_000), Cause: kind.CauseReelection, Waived: true,
		Note: "a.sas: timestamp-out-of-range",
	}
}

func exampleCounts() kind.Counts {
	return kind.Counts{Instances: 9, Leaders: 8, Reached: 7, Failing: 1}
}

func exampleLocation() kind.LocationRow {
	return kind.LocationRow{Place: 1, LocationState: kind.LocationState{
		Location: exampleLocationSpec(), Inherited: 5 * time.Second, Target: exampleTargetRow(),
		Gates: []kind.GateState{{
			Name: "errors", Verdict: kind.Verdict{Result: kind.GateInconclusive, Text: "too few answers"},
			By: "watchdog", Since: field.At(79_001, 0),
		}},
		Counts: exampleCounts(), Bypassed: true, Back: 6, Stalled: true, Reelections: 2,
	}}
}

func exampleVersion() kind.Version {
	return kind.Version{
		Seq: 7, Published: field.At(70_001, exampleTime), Withdrawn: true, PayloadBytes: 9, Label: "r9554",
		By: kind.ChangeInfo{Author: "ann", Reason: "YP-1"}, AbandonedIn: []string{"sas"}, Payload: []byte("zone 9554"),
	}
}

func exampleInstance() kind.InstanceState {
	return kind.InstanceState{
		Instance:  kind.Instance{Name: "a.sas.example", Attributes: []byte("rack 4")},
		SessionID: exampleSession, Leader: true, Report: kind.Report{
			Current: 6, Generation: 13, Status: kind.Failed, Code: "timestamp-out-of-range",
			Text: "the source has forgotten 1554", Attempts: 4,
		},
		Since: field.At(79_001, 0), Sent: 13, Received: field.At(70_002, 0),
	}
}

func exampleTicket() kind.Ticket {
	return kind.Ticket{Number: 3, Source: 12, Opened: field.At(80_001, 0)}
}

func exampleRolloutRows() Rows {
	location, version := exampleLocation(), exampleVersion()
	return list[Row](
		&Row{ID: 2 << 2, Body: AppendRecord(nil, &location)},
		&Row{ID: 7<<2 | 1, Body: AppendRecord(nil, &version)},
	)
}
