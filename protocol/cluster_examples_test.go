package protocol

import (
	"encoding/hex"
	"time"

	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/host"
)

// clusterExamples are the examples for host administration and cluster queries.
var clusterExamples = []example{
	{"host-update-drain", request(80, &HostUpdate{
		Operation: exampleOperation(), Action: HostDrain, Host: []byte("b"),
	})},
	{"host-update-alter", request(80, &HostUpdate{
		Operation: exampleOperation(), Action: HostAlter, Host: []byte("2"), Domain: []byte("dc=a,rack=1"),
	})},
	{"host-update-set-weight", request(80, &HostUpdate{
		Operation: exampleOperation(), Action: HostSetWeight, Host: []byte("2"), Weight: 200,
	})},
	{"host-update-expel", request(80, &HostUpdate{
		Operation: exampleOperation(), Action: HostExpel, Host: []byte("b"), Force: true,
	})},
	{"host-update-replace", request(80, &HostUpdate{
		Operation: exampleOperation(), Action: HostReplace, Host: []byte("b"), Successor: []byte("d"),
	})},
	{"host-update-answer", answer(80, &HostUpdateAnswer{HostID: 2, Existed: true, Since: 907})},
	{"host-update-answer-quorum", failure(80, KindHostUpdate, Result{
		Status:  StatusPreconditionFailed,
		Message: "host b cannot be drained: that would leave 1 of 3 voters of shard 0", Since: 908,
	})},
	{"shard-transfer-leader", request(81, &ShardTransferLeader{
		Operation: exampleOperation(), ShardID: 3, Host: []byte("c"),
	})},
	{"shard-transfer-leader-answer", answer(81, &ShardTransferLeaderAnswer{HostID: 3, Existed: true, Since: 909})},
	{"shard-recover", request(81, &ShardRecover{Operation: exampleOperation(), ShardID: 3, Empty: true})},
	{"shard-recover-answer", answer(81, &ShardRecoverAnswer{HostID: 3, Since: 909,
		WaitMillis: 100_000, LongestMillis: 60_000, LongestSession: exampleSession})},
	{"shard-recover-overlap", request(81, &ShardRecover{
		Operation: exampleOperation(), ShardID: 3, AcceptOverlap: true,
	})},
	{"slot-move", request(81, &SlotMove{Operation: exampleOperation(), Slot: 1669, ShardID: 5, Large: true})},
	{"slot-move-cancel", request(81, &SlotMove{Operation: exampleOperation(), Slot: 1669, Cancel: true})},
	{"slot-move-answer", answer(81, &SlotMoveAnswer{Existed: true, Since: 909})},
	{"shard-update-add", request(81, &ShardUpdate{Operation: exampleOperation(), Action: ShardAdd, Count: 3})},
	{"shard-update-remove", request(81, &ShardUpdate{Operation: exampleOperation(), Action: ShardRemove,
		ShardIDs: list[ShardID](new(ShardID(5)), new(ShardID(6)))})},
	{"shard-update-set-weight", request(81, &ShardUpdate{Operation: exampleOperation(), Action: ShardSetWeight,
		ShardIDs: list[ShardID](new(ShardID(5))), Weight: 200})},
	{"shard-update-answer", answer(81, &ShardUpdateAnswer{
		ShardIDs: list[ShardID](new(ShardID(5)), new(ShardID(6)), new(ShardID(7))), Existed: true, Since: 909,
	})},
	{"rebalance", request(81, &Rebalance{Operation: exampleOperation(), Action: RebalancePause})},
	{"rebalance-answer", answer(81, &RebalanceAnswer{Existed: true, Since: 909})},
	{"rebalance-describe", request(82, &RebalanceDescribe{})},
	{"rebalance-describe-answer", answer(82, &RebalanceDescribeAnswer{
		Shards: []host.ShardSlots{
			{ID: 3, Phase: "serving", Weight: 100, Slots: 2400, Target: 2048},
			{ID: 5, Phase: "added", Weight: 200, Slots: 1696, Target: 2048},
		},
		Planned: []host.PlannedMoves{{From: 3, To: 5, Slots: 352}},
		Paused:  true, NoPacing: true, Author: []byte("ann@box"), Reason: []byte("a busy evening"), AgeMillis: 60_000,
	})},
	{"slot-list", request(82, &SlotList{ShardID: 5, From: 1000})},
	{"slot-list-answer", answer(82, &SlotListAnswer{
		Version: 12, Next: 3000,
		Ranges: list[SlotRange](
			&SlotRange{First: 1000, Last: 1668, ShardID: 3},
			&SlotRange{First: 1669, Last: 1669, ShardID: 5, Generation: 2},
			&SlotRange{First: 1670, Last: 2999, ShardID: 3},
		),
		Moves: []host.SlotMove{{
			Slot: 1670, From: 3, To: 5, Into: 5, Generation: 4, Large: true, Author: "ann@box", Reason: "a busy lock",
			Age: 31 * time.Second, Failures: 1, LastError: "shard 5 has no leader", Wait: 9 * time.Minute,
		}},
	})},
	{"cluster-describe", request(82, &ClusterDescribe{Consistency: ConsistencyRelaxed})},
	{"cluster-describe-answer", answer(82, exampleCluster())},
	{"cluster-plan", request(83, &ClusterPlan{})},
	{"cluster-plan-answer", answer(83, &ClusterPlanAnswer{
		Steps: []host.Step{{
			Kind: "promote-replica", Text: "shard 3: making d a voter", Rule: "few", Subject: "shard/3", Shard: 3,
			Host: 4,
			In:   10 * time.Second,
		}},
		Reasons: []host.Reason{exampleGovernorReason()}, Truncated: true,
	})},
	{"cluster-why", request(84, &ClusterWhy{})},
	{"cluster-why-answer", answer(84, &ClusterWhyAnswer{
		Steps: []host.Step{{
			ID: 77, Kind: "add-replica", Text: "shard 3: adding d as a learner, replica 1024", Subject: "shard/3",
			Shard: 3,
			Host:  4, Age: 2_100 * time.Millisecond, Failures: 2, LastError: "host d does not answer",
			Wait: 1_900 * time.Millisecond,
		}},
		Reasons: []host.Reason{exampleGovernorReason()},
	})},
	{"step-cancel", request(85, &StepCancel{Operation: exampleOperation(), StepID: 77, HoldMillis: 60_000})},
	{"step-cancel-delay", request(85, &StepCancel{Operation: exampleOperation(), Subject: []byte("shard/3")})},
	{"step-cancel-answer", answer(85, &StepCancelAnswer{Existed: true, Since: 910})},
	{"policy-set", request(86, &PolicySet{
		Operation: exampleOperation(), From: exampleGovernorPolicy(0), To: exampleGovernorPolicy(3),
	})},
	{"policy-set-replicas", request(87, &PolicySet{
		Operation: exampleOperation(), From: exampleGovernorPolicy(3), To: exampleSpreadPolicy(3),
	})},
	{"policy-set-answer", answer(86, &PolicySetAnswer{Existed: true, Since: 911})},
	{"policy-set-answer-fenced", failure(86, KindPolicySet, Result{
		Status: StatusFenced, Message: "the policy was changed meanwhile", Since: 911,
	})},
	{"audit-read", request(87, &AuditRead{From: 41, Limit: 100})},
	{"audit-read-answer", answer(87, &AuditReadAnswer{
		Entries: []host.Entry{{
			ID: 41, Event: "target", Host: 2, HostName: "b", Text: "OFFLINE, drained", Author: "ann@box",
			Reason: "a new disk", At: time.UnixMilli(1_772_366_400_123),
		}},
		Next: 42, Oldest: 1, Newest: 77,
	})},
	{"join-token-create", request(88, &JoinToken{
		Operation: exampleOperation(), Action: TokenCreate, ID: []byte("q7xk2m"), Hash: exampleHash(),
		ValidMillis: 3_600_000,
	})},
	{"join-token-revoke", request(88, &JoinToken{
		Operation: exampleOperation(), Action: TokenRevoke, ID: []byte("q7xk2m"),
	})},
	{"join-token-answer", answer(88, &JoinTokenAnswer{
		Tokens: []host.JoinToken{{
			ID: "q7xk2m", Left: 3_599 * time.Second, Author: "ann@box", Used: hex.EncodeToString(exampleIncarnation()),
		}},
		Existed: true, Since: 912, Addresses: list[Address](ptr(Address("a.example:7421"))), Authority: exampleHash(),
	})},
}

func exampleOperation() Operation {
	return Operation{
		Idempotency: Idempotency{Client: []byte("fedcba9876543210"), Sequence: 9, Since: 900},
		Author:      []byte("ann@box"),
		Reason:      []byte("a new disk"),
	}
}

func exampleHash() []byte { return []byte("0123456789abcdef0123456789abcdef") }

func exampleGovernorPolicy(voters int) host.Policy {
	return host.Policy{
		Voters: voters, OfflineAfter: 5 * time.Second, ReplaceAfter: 10 * time.Minute, StableFor: 10 * time.Second,
		BalanceEvery: 5 * time.Minute, Copies: 2,
	}
}

func exampleSpreadPolicy(replicas int) host.Policy {
	p := exampleGovernorPolicy(3)
	p.Replicas = replicas
	return p
}

func exampleGovernorReason() host.Reason {
	return host.Reason{
		Code: "snapshot", Text: "shard 3: adding d waits for its snapshot, 41 %", Rule: "few",
		Subjects: []string{"shard/3", "host/4"}, Since: 7 * time.Second, Left: 3 * time.Second,
	}
}

func exampleCluster() *ClusterDescribeAnswer {
	return &ClusterDescribeAnswer{
		ClusterID: []byte("prod-1"), Generation: Generation{Number: 1, Nonce: exampleIncarnation()}, GovernorHostID: 3,
		Observed: true, Hosts: []host.Host{exampleClusterHost()}, Shards: []host.Shard{exampleClusterShard()},
		Policy: exampleGovernorPolicy(3),
		HealthIssues: list[HealthIssue](&HealthIssue{health.Issue{
			Kind: health.HostUnreachable, Severity: health.Warning, Subject: "host b",
			Text:  "host b is OFFLINE: silent for 31 s",
			Do:    "start it again, or: signalbox host replace b NEW",
			About: health.About{Host: "b", Shards: []string{"0", "3"}},
		}}),
		LastAudit: 77,
	}
}

func exampleClusterHost() host.Host {
	return host.Host{
		ID: 4, Name: "d", Incarnation: hex.EncodeToString(exampleIncarnation()), Starts: 3,
		RaftAddress: "d.example:7421", ClientAddress: "d.example:7420", AdminAddress: "d.example:7422",
		Domain: host.Domain{{Key: "dc", Value: "a"}, {Key: "rack", Value: "1"}}, Version: "v1.4.0", Level: 4,
		Current: host.Standing{
			State: HostOnline, Epoch: 3, Reason: "started", Text: "start 3", Author: "host d", Since: 81 * time.Second,
		},
		Target: host.Standing{
			State: HostOffline, Epoch: 3, Reason: "no-contact", Text: "not heard for 5.2 s", Author: "the governor",
			Since: time.Second,
		},
		Cordoned: true, Replaces: 2, Returns: 300 * time.Millisecond,
		Alive: true, SilentFor: 100 * time.Millisecond, StuckFor: 200 * time.Millisecond, Fresh: 80 * time.Second,
	}
}

func exampleClusterShard() host.Shard {
	return host.Shard{
		ID: 3, Change: 4711, Leader: 3, Led: 61 * time.Second, Reported: 400 * time.Millisecond,
		Replicas: []host.Replica{
			{ID: 3, Host: 3, Role: host.Voter, Since: 90 * time.Second, Observed: true, Index: 90_001},
			{
				ID: 1024, Host: 4, Role: host.Learner, Since: 7 * time.Second, Observed: true, Index: 70_000,
				Behind: 5 * time.Second, SnapshotPercent: 41, SnapshotRate: 12_000_000,
			},
		},
		Redundancy: host.Redundancy{
			Wanted: 3, Voters: 3, Live: 2, Tolerated: ^1, // 1 on the wire, with the flag
			Domains: []host.DomainLoss{{Label: "dc=a", Live: 1, Tolerated: true}},
		},
		PreferredLeader: 1, PreferredLeaderFor: 59 * time.Second,
	}
}
