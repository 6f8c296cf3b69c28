package protocol

import "testing"

// betweenHostsExamples are the examples for messages between hosts.
var betweenHostsExamples = []example{
	{"host-boot", request(73, &HostBoot{
		HostID: 4, Incarnation: exampleIncarnation(), StartNumber: 12, StartNonce: 1<<64 - 1,
		RaftAddress: []byte("d:7402"), ClientAddress: []byte("d:7400"), AdminAddress: []byte("d:7401"),
		Version: []byte("1.4.0"), Level: 4, Domain: []byte("dc=a,rack=1"),
	})},
	{"host-boot-answer", answer(73, &HostBootAnswer{})},
	{"host-boot-moved", failure(73, KindHostBoot, Result{
		Status: StatusMoved, Moved: Moved{LeaderHostID: 2},
	})},
	{"host-notify-stopping", request(74, &HostNotify{
		Event: HostReturned, HostID: 4, Incarnation: exampleIncarnation(), StartNumber: 12, StartNonce: 7, Epoch: 5,
	})},
	{"host-notify-address-changed", request(74, &HostNotify{
		Event: HostAddressChanged, HostID: 4, Incarnation: exampleIncarnation(), StartNumber: 12, StartNonce: 7,
		RaftAddress: []byte("e:7402"), ClientAddress: []byte("e:7400"), AdminAddress: []byte("e:7401"),
	})},
	{"host-notify-backup-saved", request(74, &HostNotify{
		Event: HostBackupSaved, HostID: 4, Incarnation: exampleIncarnation(), StartNumber: 12, StartNonce: 7,
		ShardID: 1, Bytes: 56_012_345, Asked: ClientRequest{Author: []byte("ann (token ops)")},
	})},
	{"host-notify-audit-note", request(74, &HostNotify{
		Event: HostAuditNote, HostID: 4, Incarnation: exampleIncarnation(), StartNumber: 12, StartNonce: 7,
		Asked: ClientRequest{
			Author: []byte("ann (token ops)"), Operation: []byte("session destroy: id 4711"),
			Reason: []byte("it hangs"),
		},
	})},
	{"host-notify-upkeep", request(74, &HostNotify{
		Event: HostUpkeep, HostID: 4, Incarnation: exampleIncarnation(), StartNumber: 12, StartNonce: 7,
		Commands: []byte("commands"),
	})},
	{"host-notify-answer", answer(74, &HostNotifyAnswer{})},
	{"shard-report", request(75, &ShardReport{
		Term: 9, GovernorHostID: 3, Target: HostOffline, TargetEpoch: 4, Current: HostOnline, CurrentEpoch: 4,
	})},
	{"shard-report-answer", answer(75, &ShardReportAnswer{
		Speed:       HostSpeed{SyncMicros: 52_000, DelayMicros: 900, RoundMicros: 350, Stalls: 2},
		Incarnation: exampleIncarnation(), Fresh: true, FreshMillis: 81_000, BarrierMillis: 250, DiskFull: true,
		Led: list[LedShard](&LedShard{
			ID: 2, Term: 12, LedMillis: 61_000, Change: 4711, Idle: true, QuotaPercent: 37, CommitMicros: 4_096,
			Members: list[ShardMember](
				&ShardMember{
					ReplicaID: 3, HostID: 3, Incarnation: exampleIncarnation(), Voter: true, Index: 90_001, Tried: true,
				},
				&ShardMember{
					ReplicaID: 1024, HostID: 4, Incarnation: exampleIncarnation(), Index: 70_000, BehindMillis: 5_000,
					Tried: true, SilentMillis: 100, SnapshotPercent: 41, SnapshotRate: 12_000_000,
				},
			),
		}),
		Held: list[HeldReplica](&HeldReplica{ReplicaID: 3}, &HeldReplica{ShardID: 2, ReplicaID: 3}),
	})},
	{"shard-report-answer-counted", answer(75, &ShardReportAnswer{
		Incarnation: exampleIncarnation(),
		Counted:     list[CountedShard](&CountedShard{ShardID: 2, LastOrder: 5_121, LastRevision: 90, LastSession: 8}),
		Leaderless:  list[LeaderlessReplica](&LeaderlessReplica{ShardID: 3, ReplicaID: 1027, Term: 12, Index: 90_003}),
	})},
	{"shard-report-stale", failure(75, KindShardReport, Result{
		Status: StatusStale, Message: "term 9 is over: 10 began",
	})},
	{"step-execute", request(76, &StepExecute{
		Term: 9, StepID: 77, Effect: EffectAdd, ShardID: 2, ReplicaID: 1024, HostID: 4,
		Incarnation: exampleIncarnation(), Change: 4711,
	})},
	{"step-execute-rebuild", request(76, &StepExecute{
		Term: 9, Effect: EffectRebuild, ShardID: 2, ReplicaID: 1025, HostID: 4, Incarnation: exampleIncarnation(),
		Rebuild: Rebuild{
			Group: 1, Empty: true, LongestMillis: 60_000, LongestSession: exampleSession, LastOrder: 5_121,
			LastRevision: 90,
			LastSession:  8, CountedMillis: 31_000,
		},
	})},
	{"step-execute-move-slot", request(76, &StepExecute{
		Term: 9, StepID: 78, Effect: EffectMoveSlot, ShardID: 3, HostID: 4, Into: 5, Slot: 1669, Generation: 2,
		Large: true,
	})},
	{"step-execute-answer", answer(76, &StepExecuteAnswer{})},
	{"step-execute-answer-kept", answer(76, &StepExecuteAnswer{
		Outcome: SlotKept, Reason: []byte("shard 5 has a session of the slot"),
	})},
	{"slot-offer", request(77, &SlotOffer{
		ShardID: 5, From: 3, Slot: 1669, Generation: 2, Content: []byte("content"),
	})},
	{"slot-offer-answer", answer(77, &SlotOfferAnswer{Durable: true, Outcome: SlotOpened})},
	{"slot-offer-answer-refused", answer(77, &SlotOfferAnswer{
		Outcome: SlotKept, Reason: []byte("the attempt was refused earlier"),
	})},
}

func exampleIncarnation() []byte { return []byte("0123456789abcdef") }

// TestClientsHearNothingOfWhatGoesBetweenHosts: host-to-host kinds are known, and not announced.
func TestClientsHearNothingOfWhatGoesBetweenHosts(t *testing.T) {
	known := RequestKinds()
	announced := ReadKinds(&known)
	for _, k := range []Kind{KindSlotOffer, KindHostBoot, KindHostNotify, KindShardReport, KindStepExecute} {
		if !k.IsKnown() || !k.BetweenHosts() || announced.has(k) {
			t.Errorf("%v: known %t, between hosts %t, announced %t", k, k.IsKnown(), k.BetweenHosts(), announced.has(k))
		}
	}
	for _, k := range []Kind{KindHello, KindInboxOpen, minOfHost - 1, maxOfHost + 1, minBetweenHosts - 1,
		maxBetweenHosts + 1} {
		if k.BetweenHosts() {
			t.Errorf("%v goes between hosts only", k)
		}
	}
}
